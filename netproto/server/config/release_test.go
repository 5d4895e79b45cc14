package config_test

import (
	"bytes"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"collet/netproto/server/config"
)

// TestReleaseSettings reads every name, prints it, and reads what was printed.
func TestReleaseSettings(t *testing.T) {
	path := writeSettings(t, `
[Release]
Folder = "release"
Channel = "beta"
Product = "lathe"
TrustRoot = "keys/root.json"
Cache = "cache"
CacheSize = 1_000_000
HTTPPrefix = "/game/"
TokensFile = "tokens"
[Limits]
HTTPConnections = 7
[Operations]
HTTPAddress = "0.0.0.0:80"
HTTPCertificate = "chain.pem"
HTTPPrivateKey = "key.pem"
MetricsFrom = ["10.0.0.0/8", "::1"]
`)
	got, err := config.Load(path, "")
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Dir(path)
	at := func(name string) string { return filepath.Join(base, filepath.FromSlash(name)) }
	want := config.Release{Folder: at("release"), Channel: "beta", Product: "lathe", TrustRoot: at("keys/root.json"), Cache: at("cache"), CacheSize: 1_000_000, HTTPPrefix: "/game/", TokensFile: at("tokens")}
	if got.Release != want {
		t.Errorf("got %+v\nwant %+v", got.Release, want)
	}
	o := config.Operations{HTTPAddress: "0.0.0.0:80", HTTPCertificate: at("chain.pem"), HTTPPrivateKey: at("key.pem"), MetricsFrom: []string{"10.0.0.0/8", "::1"}}
	if !reflect.DeepEqual(got.Operations, o) || got.Limits.HTTPConnections != 7 {
		t.Errorf("got %+v, %d connections", got.Operations, got.Limits.HTTPConnections)
	}
	var text bytes.Buffer
	if err := got.Print(&text, nil); err != nil {
		t.Fatal(err)
	}
	again, err := config.Load(writeSettings(t, text.String()), "")
	if err != nil || !reflect.DeepEqual(again, got) {
		t.Errorf("%v: %+v becomes %+v", err, got, again)
	}
}

// TestReleaseSettingsFaults names what is wrong and what would be right.
func TestReleaseSettingsFaults(t *testing.T) {
	for text, want := range map[string]string{
		"CompatibilityVersion = 'x'\nRelease.Folder = 'r'":                        "CompatibilityVersion: is what the releases in Release.Folder say: leave it out",
		"Release.Folder = 'r'\nRelease.Channel = ''":                              "Release.Channel: must name a channel",
		"Release.Folder = 'r'\nRelease.Channel = 'a/b'":                           "is a name, not a path",
		"Release.Folder = 'r'\nRelease.CacheSize = 0":                             "must be a number of bytes",
		"Release.Folder = 'r'\nRelease.HTTPPrefix = 'x'":                          "begins and ends with a slash",
		"Release.Folder = 'r'\nRelease.HTTPPrefix = '/x'":                         "begins and ends with a slash",
		"Release.Folder = 'r'\nRelease.HTTPPrefix = '//'":                         "begins and ends with a slash",
		"Release.Folder = 'r'\nRelease.HTTPPrefix = '/a/../'":                     "begins and ends with a slash",
		"Release.Folder = 'r'\nRelease.HTTPPrefix = '/a b/'":                      "begins and ends with a slash",
		"Release.Folder = 'r'\nRelease.HTTPPrefix = '/a//b/'":                     "begins and ends with a slash",
		"Release.Folder = 'r'\nOperations.HTTPCertificate = 'c'":                  "set both, or neither",
		"Release.Folder = 'r'\nOperations.MetricsFrom = ['here']":                 "is no address or prefix",
		"Release.Folder = 'r'\nLimits.HTTPConnections = 0":                        "Limits.HTTPConnections: must be between 1 and",
		"Release.TokensFile = 't'\nCompatibilityVersion = 'x'":                    "Release.TokensFile: guards the release folder over HTTP: it needs Release.Folder",
		"Release.Folder = 'r'\nRelease.HTTPPrefix = ''\nRelease.TokensFile = 't'": "it needs Release.Folder and Release.HTTPPrefix",
		"Release.Folders = 'r'":                                                   "did you mean Release.Folder?",
	} {
		_, err := config.Load(writeSettings(t, text), "")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v\nwant %q", text, err, want)
		}
	}
	for _, prefix := range []string{"", "/", "/game/", "/a/b.c/d-e_f~g/"} {
		set := config.ForRelease("r")
		set.Release.HTTPPrefix = prefix
		if err := set.Validate(); err != nil {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}
