package settings_test

import (
	"strings"
	"testing"

	"collet/app/settings"
)

// TestNativeBy checks the rule: native code requires a signature, a server authenticated by TLS, or an explicit choice.
func TestNativeBy(t *testing.T) {
	for _, test := range []struct {
		word           string
		signed, secure bool
		want           string
	}{
		{"", false, false, ""}, {"auto", false, false, ""}, {"release", false, false, ""}, {"release", false, true, ""}, {"other", false, false, ""},
		{"auto", false, true, "sha256"}, {"", false, true, "sha256"}, {"auto", true, false, "sha256"}, {"release", true, false, "sha256"},
		{"sha256", false, false, "sha256"}, {"fnv", false, false, "fnv"}, {"fnv", false, true, "fnv"},
	} {
		if got := settings.NativeBy(test.word, test.signed, test.secure); got != test.want {
			t.Errorf("%q, signed %t, TLS %t: %q, want %q", test.word, test.signed, test.secure, got, test.want)
		}
	}
}

// TestUnprovenServer checks that a package rejects settings under which a client accepts no native code, or accepts it from
// any server.
func TestUnprovenServer(t *testing.T) {
	const server = "ClientNetwork.ServerHost = \"%\"\n"
	for text, want := range map[string]string{
		strings.Replace(server, "%", "host", 1):                                         "nothing is signed, and the server is reached without TLS",
		strings.Replace(server, "%", "ws://host/x", 1):                                  "nothing is signed",
		strings.Replace(server, "%", "host", 1) + "Update.Trust = \"auto\"":             "nothing is signed",
		strings.Replace(server, "%", "host", 1) + "Update.Trust = \"sha256\"":           "",
		strings.Replace(server, "%", "host", 1) + "Update.Trust = \"fnv\"":              "",
		strings.Replace(server, "%", "host", 1) + "Update.Trust = \"release\"":          "",
		strings.Replace(server, "%", "host", 1) + "ClientNetwork.Tls = true":            "",
		strings.Replace(server, "%", "tls://host:1", 1):                                 "",
		strings.Replace(server, "%", "wss://host/x", 1):                                 "",
		strings.Replace(server, "%", "host", 1) + "Release.TrustedRoot = \"root.json\"": "",
		"Release.Urls = [\"https://host/x\"]\nUpdate.Trust = \"sha256\"":                "exclude each other",
	} {
		s, err := settings.Parse("x", text)
		if err == nil {
			err = s.Check()
		}
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := settings.Parse("x", "\n[Update]\nTrust = \"yes\""); err == nil || !strings.Contains(err.Error(), `x:3: Update.Trust: "yes" is unknown`) {
		t.Error(err)
	}
}
