package host

import (
	"strings"
	"testing"
)

func TestRelaunchArgs(t *testing.T) {
	tests := []struct {
		name string
		args []string
		next relaunchState
		want string
	}{
		{"first", nil, relaunchState{count: 1}, "--relaunched=1"},
		{"keeps", []string{"--server", "a:1", "--", "--relaunched=9"}, relaunchState{count: 1}, "--server|a:1|--relaunched=1|--|--relaunched=9"},
		{"replaces", []string{"--relaunched=1", "--show-crash=x", "--went-back=true", "--ClientLibPath", "old", "--dir=d"},
			relaunchState{count: 2}, "--dir=d|--relaunched=2"},
		{"only once", []string{"--unblock", "--verify", "--dir=d", "--", "--verify"}, relaunchState{count: 1}, "--dir=d|--relaunched=1|--|--verify"},
		{"crash", []string{"--relaunched=1"}, relaunchState{count: 2, crash: "ended by signal"}, "--relaunched=2|--show-crash=ended by signal"},
		{"went back", nil, relaunchState{count: 1, crash: "x", back: true}, "--relaunched=1|--show-crash=x|--went-back=true"},
		{"module", nil, relaunchState{count: 1, module: "other.so"}, "--relaunched=1|--ClientLibPath=other.so"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := relaunchArgs(test.args, test.next)
			if joined := strings.Join(got, "|"); joined != test.want {
				t.Errorf("got %q, want %q", joined, test.want)
			}
		})
	}
}
