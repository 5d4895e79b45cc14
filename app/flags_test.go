package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
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
		{"--remote-launcher desk --run --headless", 2, "the desk says what comes"},
		{"--remote-launcher desk --name " + strings.Repeat("x", 256), 2, "longer than 255 bytes"},
		{"--remote-launcher desk --dialect other", 2, "--dialect"},
		{"--remote-launcher desk:1 --name box --dialect draft --headless --json --ClientLibPath x --runtime-name y -- --frames 5", -1, ""},
		{"--server here", 2, "has no port"},
		{"--role=runtime", 2, "starts itself"},
		{"--generation=g9", 2, "--generation"},
		{"--headless --json --run --server localhost:1 --dir x", -1, ""},
		{"--ForceEmbeddedRuntime=false", -1, ""},
		{"-- --headless --ask-reload", -1, ""},
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

func TestRelaunchArgs(t *testing.T) {
	tests := []struct {
		name string
		args []string
		next anew
		want string
	}{
		{"first", nil, anew{count: 1}, "--relaunched=1"},
		{"keeps", []string{"--server", "a:1", "--", "--relaunched=9"}, anew{count: 1}, "--server|a:1|--relaunched=1|--|--relaunched=9"},
		{"replaces", []string{"--relaunched=1", "--show-crash=x", "--went-back=true", "--ClientLibPath", "old", "--dir=d"},
			anew{count: 2}, "--dir=d|--relaunched=2"},
		{"only once", []string{"--unblock", "--verify", "--dir=d", "--", "--verify"}, anew{count: 1}, "--dir=d|--relaunched=1|--|--verify"},
		{"crash", []string{"--relaunched=1"}, anew{count: 2, crash: "ended by signal"}, "--relaunched=2|--show-crash=ended by signal"},
		{"went back", nil, anew{count: 1, crash: "x", back: true}, "--relaunched=1|--show-crash=x|--went-back=true"},
		{"module", nil, anew{count: 1, module: "other.so"}, "--relaunched=1|--ClientLibPath=other.so"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := relaunchArgs(test.args, test.next)
			if joined := strings.Join(got, "|"); joined != test.want {
				t.Errorf("got %q, want %q", joined, test.want)
			}
			if _, err := parseFlags(got, &bytes.Buffer{}, &bytes.Buffer{}); err != nil {
				t.Errorf("the next start refuses them: %v", err)
			}
		})
	}
}
