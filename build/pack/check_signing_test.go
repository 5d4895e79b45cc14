package pack_test

import (
	"strings"
	"testing"
)

// TestSigningMistakes puts a signing table into a description without one. Each has exactly these mistakes, in this order.
func TestSigningMistakes(t *testing.T) {
	t.Parallel()
	unsigned, _, _ := strings.Cut(good, "[signing.windows]")
	for text, want := range map[string]string{
		// good
		"[signing.windows]\ncertificate-env = \"C\"\nkey-env = \"K\"\npassword-env = \"P\"\ntimestamp-url = \"http://t.example.org\"": "",
		"[signing.windows]\npkcs12-env = \"P12\"":                                                                    "",
		"[signing.windows]\ncommand = [\"signer\", \"/pass\", \"env:PIN\", \"{file}\"]\nenv = [\"PIN\"]":             "",
		"[signing.windows]\ncommand = [\"/opt/signer\", \"--in={file}\"]":                                            "",
		"[signing.windows]\ncommand = [\"packs/core/maps/a.map\", \"{file}\"]":                                       "",
		"[signing.linux]\nkey-env = \"K\"\npassword-env = \"P\"":                                                     "",
		"[signing.linux]\ncommand = [\"gpg\", \"-o\", \"{signature}\", \"{file}\"]\nenv = [\"GNUPGHOME\"]":           "",
		"[signing.macos]\ncommand = [\"codesign\", \"{file}\"]\nnotarize-command = [\"n\", \"{file}\"]\nenv=[\"A\"]": "",

		"[signing.windows]\nkey-env = \"K\"":                                               "signing.windows.certificate-env: is missing",
		"[signing.windows]\ncertificate-env = \"K\"":                                       "signing.windows.key-env: is missing",
		"[signing.windows]\ncertificate-env = \"C\"\nkey-env = \"K\"\npkcs12-env = \"P\"":  "signing.windows.pkcs12-env: goes without certificate-env and key-env",
		"[signing.windows]\ntimestamp-url = \"http://t\"":                                  "signing.windows: has nothing to sign with",
		"[signing.windows]\ntimestamp-url = \"t\"\npkcs12-env = \"P\"":                     "signing.windows.timestamp-url: \"t\" is no web address",
		"[signing.windows]\nenv = [\"A\"]":                                                 "signing.windows.env: goes with a command",
		"[signing.windows]\ncommand = []":                                                  "",
		"[signing.windows]\ncommand = [\"\", \"{file}\"]":                                  "signing.windows.command[0]: is missing; name the program",
		"[signing.windows]\ncommand = [\"../sign\", \"{file}\"]":                           "signing.windows.command[0]: \"../sign\" lies outside",
		"[signing.windows]\ncommand = [\"s\", \"{file}\", \"{out}\"]":                      "signing.windows.command[2]: {out} is unknown; want {file}",
		"[signing.windows]\ncommand = [\"s\", \"{file}\", \"\\u0000\"]":                    "signing.windows.command[2]: has a zero byte",
		"[signing.windows]\ncommand = [\"s\", \"{file}\"]\nenv = [\"a b\", \"\"]":          "signing.windows.env[0]: is no name of an environment variable|signing.windows.env[1]: is missing",
		"[signing.windows]\ncommand = [\"s\", \"{file}\", \"pass:hunter2\"]":               "signing.windows.command[2]: looks like a secret",
		"[signing.windows]\ncommand = [\"s\", \"{file}\", \"/password:hunter2\"]":          "signing.windows.command[2]: looks like a secret",
		"[signing.windows]\ncommand = [\"s\", \"{file}\", \"--key-pin\", \"1234\"]":        "signing.windows.command[3]: looks like a secret",
		"[signing.windows]\ntoken = \"hunter2\"":                                           "signing.windows.token: is not kept in this file",
		"[signing.windows]\nprivate-key = \"hunter2\"":                                     "signing.windows.private-key: is not kept in this file",
		"[signing.linux]\npassword-env = \"P\"":                                            "signing.linux.key-env: is missing; the password belongs to a key",
		"[signing.linux]\nkey-env = \"K\"\ncommand = [\"s\", \"{file}\", \"{signature}\"]": "signing.linux.command: goes without the variables of keys",
		"[signing.linux]\ncommand = [\"s\", \"{file}\"]":                                   "signing.linux.command: has no {signature}",
		"[signing.macos]\nnotarize-command = [\"n\"]":                                      "signing.macos.notarize-command: has no {file}",
		"[signing]\nwindows = \"me\"":                                                      "signing.windows: is text; want a table: [signing.windows]",
		"[signing]\nandroid = \"me\"":                                                      "signing.android: is unknown; [signing] has windows, linux, macos",
	} {
		got := mistakes(t, unsigned+text+"\n")
		var expected []string
		if want != "" {
			expected = strings.Split(want, "|")
		}
		if len(got) != len(expected) {
			t.Errorf("%s\ngot %q, want %q", text, got, expected)
			continue
		}
		for i, line := range got {
			if !strings.Contains(line, ": "+expected[i]) || strings.Contains(line, "hunter2") || strings.Contains(line, "1234") {
				t.Errorf("%s\ngot %q, want %q", text, line, expected[i])
			}
		}
	}
}
