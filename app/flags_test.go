package main

import (
	"bytes"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"collet/app/update"
)

func TestParseFlags(t *testing.T) {
	tests := []struct {
		args string
		code int // -1: accepted
		says string
	}{
		{"", -1, ""},
		{"--help", 0, "ClientLibCompatibilityVersion"},
		{"--version", 0, "collet-client "},
		{"--nonsense", 2, "unknown flag"},
		{"--json", 2, "--json goes with --headless"},
		{"--run", 2, "--run goes with --headless"},
		{"--offline --verify", 2, "exclude each other"},
		{"--name box", 2, "go with --remote-launcher"},
		{"--dialect draft", 2, "go with --remote-launcher"},
		{"--remote-launcher desk --run --headless", 2, "the desk decides what"},
		{"--remote-launcher desk --name " + strings.Repeat("x", 256), 2, "longer than 255 bytes"},
		{"--remote-launcher desk --dialect other", 2, "--dialect"},
		{"--remote-launcher desk:1 --name box --dialect draft --headless --json --ClientLibPath x --runtime-name y -- --frames 5", -1, ""},
		{"--yes", 2, "--yes goes with --adopt"},
		{"--adopt old --dir other", 2, "--adopt excludes --dir"},
		{"--adopt old --headless --yes", -1, ""},
		{"--server here", 2, "has no port"},
		{"--role=runtime", 2, "internal"},
		{"--generation=g9", 2, "--generation"},
		{"--headless --json --run --server localhost:1 --dir x", -1, ""},
		{"--ForceEmbeddedRuntime=false", -1, ""},
		{"-- --headless --ask-reload", -1, ""},
		{"--relaunched=2 --show-crash=x --went-back=true --keep-host=true --ClientLibPath=other.so --dir=d -- --relaunched=9", -1, ""}, // by host.Relaunch
	}
	for _, test := range tests {
		t.Run(test.args, func(t *testing.T) {
			var out bytes.Buffer
			_, err := parseFlags(strings.Fields(test.args), &out, &out)
			var ended stop
			if test.code < 0 {
				if err != nil {
					t.Fatalf("refused: %v\n%s", err, &out)
				}
				return
			}
			if !errors.As(err, &ended) || ended.code != test.code {
				t.Errorf("ended with %v, want code %d", err, test.code)
			}
			if said := out.String() + ended.Error(); !strings.Contains(said, test.says) {
				t.Errorf("says %q, want %q in it", said, test.says)
			}
		})
	}
}

func TestGameArgumentsStayWhole(t *testing.T) {
	f, err := parseFlags([]string{"--headless", "--", "--headless", "--", "x y"}, &bytes.Buffer{}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(f.Args, "|"); got != "--headless|--|x y" {
		t.Errorf("game gets %q", got)
	}
}

func TestReleaseFlags(t *testing.T) {
	for _, test := range []struct{ args, says string }{
		{"--release ftp://x/y", "want http://HOST/PATH"},
		{"--release http://x/#part", "want http://HOST/PATH"},
		{"--release http://x/ --trust fnv", "exclude each other"},
		{"--bandwidth fast", "is no rate"},
		{"--trust nobody", "--trust"},
	} {
		var out strings.Builder
		if _, err := parseFlags(strings.Fields(test.args), &out, &out); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, %q", test.args, err, out.String())
		}
	}
	var out strings.Builder
	f, err := parseFlags(strings.Fields("--release http://a/x,y --release https://b/z --channel beta --bandwidth 2M"), &out, &out)
	if err != nil || len(f.Release) != 2 || f.Release[0] != "http://a/x,y" || f.Channel != "beta" {
		t.Errorf("%+v, %v, %s", f.Release, err, out.String())
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	for link, want := range map[string]string{
		"lathe://join/7": "", "lathe:join": "", "web+lathe://a%20b": "", "x:" + strings.Repeat("a", maxLink-2): "",
		"x:" + strings.Repeat("a", maxLink-1): "longer", "join": "not a link", "--verify": "not a link", "-x:y": "not a link", "://": "not a link", "lathe://a\nb": "control",
	} {
		err := linkFault(link)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v; want %q", link, err, want)
		}
	}
	var said strings.Builder
	if _, err := parseFlags([]string{"--DeepLinkUri", "join"}, &said, &said); err == nil || !strings.Contains(err.Error(), `--DeepLinkUri "join" is not a link`) {
		t.Errorf("%v, said %s", err, &said)
	}
	f, err := parseFlags([]string{"--DeepLinkUri", "lathe://join/7", "--", "--windowed"}, &said, &said)
	if err != nil || f.DeepLinkUri != "lathe://join/7" || len(f.Args) != 1 {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestHelpHasEveryExitCode checks that --help lists the exit code of every end. A redirect is followed, so a process never ends with
// its code.
func TestHelpHasEveryExitCode(t *testing.T) {
	_, codes, _ := strings.Cut(description, "Exit codes:")
	for _, end := range update.Ends() {
		code := regexp.MustCompile(`\b` + strconv.Itoa(end.Exit) + ` [a-z]`)
		if end.Outcome != update.Redirected && !code.MatchString(codes) {
			t.Errorf("--help does not list exit code %d of %s", end.Exit, end.Key)
		}
	}
}
