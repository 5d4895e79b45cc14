//go:build unix

package host

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/platform"
)

// TestEndOfATrial: what counts as a fault of the program that was tried, and how its sponsor ends.
func TestEndOfATrial(t *testing.T) {
	exits := func(code int) platform.ProcessEnd { return platform.ProcessEnd{Code: code} }
	signal := platform.ProcessEnd{Code: -1, Signal: "SIGSEGV", Meaning: "segmentation fault"}
	for name, test := range map[string]struct {
		end   trialEnd
		fault string
		code  int
	}{
		"played":                     {trialEnd{up: true, proven: true, end: exits(0)}, "", 0},
		"the game failed":            {trialEnd{up: true, proven: true, end: exits(30)}, "", 30},
		"it crashed after its proof": {trialEnd{up: true, proven: true, end: signal}, "", 40},
		"closed before its proof":    {trialEnd{up: true, end: exits(40)}, "", 40},
		"no server was reached":      {trialEnd{up: true, end: exits(20)}, "", 20},
		"without a wait for up":      {trialEnd{end: exits(0)}, "", 0},
		"started anew":               {trialEnd{up: true, again: &againWord{}, end: exits(0)}, "", 0},
		"asked to end, and killed":   {trialEnd{up: true, asked: true, end: platform.ProcessEnd{Code: -1, Signal: "SIGKILL", Killed: true}}, "", 40},
		"it crashed":                 {trialEnd{up: true, end: signal}, "ended by signal SIGSEGV (segmentation fault)", 40},
		"it panicked":                {trialEnd{up: true, end: exits(2)}, "exited with code 2", 2},
		"a code that no client has":  {trialEnd{end: exits(99)}, "exited with code 99", 99},
		"an exception of Windows":    {trialEnd{end: platform.ProcessEnd{Code: 0xC0000135, Signal: "STATUS_DLL_NOT_FOUND"}}, "ended by exception STATUS_DLL_NOT_FOUND", 40},
		"it hung":                    {trialEnd{late: true, end: platform.ProcessEnd{Code: -1, Signal: "SIGKILL", Killed: true}}, "it did not show itself within 1m0s", 40},
		"it could not be started":    {trialEnd{start: errors.New("exec format error")}, "exec format error", 0},
		"how it ended is not known":  {trialEnd{end: platform.ProcessEnd{Code: -1, Err: errors.New("lost")}}, "ended in an unknown way (lost)", 40},
	} {
		if got := test.end.fault(); got != test.fault {
			t.Errorf("%s: fault %q, want %q", name, got, test.fault)
		}
		if got := test.end.code(); got != test.code {
			t.Errorf("%s: code %d, want %d", name, got, test.code)
		}
	}
}

// program is a shell script.
func program(t *testing.T, lines ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"+strings.Join(lines, "\n")+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

// up is what a trial has to say within a time that is no matter in a test, unless the test is about that.
const longWait = time.Hour

func trialOf(t *testing.T, ctx context.Context, wait time.Duration, lines ...string) trialEnd {
	t.Helper()
	h := hostWith(setup{log: zerolog.Nop()})
	return h.renewal.watchTrial(ctx, platform.Command{Exe: program(t, lines...)}, wait)
}

// TestTrials: programs that say and do all sorts of things. 4 is the wire to the sponsor, 3 the one from there.
func TestTrials(t *testing.T) {
	ctx := context.Background()
	if e := trialOf(t, ctx, longWait, `echo '{"up":{}}' >&4`, `echo '{"proven":{}}' >&4`, `exit 13`); !e.up || !e.proven || e.end.Code != 13 {
		t.Errorf("a good one: %+v", e)
	}
	if e := trialOf(t, ctx, longWait, `echo nonsense >&4`, `echo '{"later":{"x":1}}' >&4`, `printf '{"up":{},"more":2}\n{"proven":{}}\n' >&4`); !e.up || !e.proven {
		t.Errorf("a talkative one: %+v", e)
	}
	if e := trialOf(t, ctx, longWait, `echo '{"again":{"args":["--a","b c"]}}' >&4`); e.again == nil || !slices.Equal(e.again.Args, []string{"--a", "b c"}) || e.fault() != "" {
		t.Errorf("one that starts anew: %+v", e)
	}
	if e := trialOf(t, ctx, longWait, `exec 4>&-`, `exit 5`); e.up || e.end.Code != 5 || e.fault() == "" {
		t.Errorf("one that hangs up: %+v", e)
	}
	if e := trialOf(t, ctx, time.Millisecond, `exec sleep 1000`); !e.late || !e.end.Killed || e.fault() == "" {
		t.Errorf("one that hangs: %+v", e)
	}
	if e := trialOf(t, ctx, longWait, `echo '{"up":{}}' >&4`, `kill -ABRT $$`); e.fault() == "" || e.end.Signal != "SIGABRT" {
		t.Errorf("one that crashes: %+v", e)
	}
	h := hostWith(setup{log: zerolog.Nop()})
	if e := h.renewal.watchTrial(ctx, platform.Command{Exe: filepath.Join(t.TempDir(), "gone")}, longWait); !errors.Is(e.start, os.ErrNotExist) || e.fault() == "" {
		t.Errorf("none: %+v", e)
	}
}

// TestATrialIsAskedToEnd: when the sponsor has to end, the closed connection asks the trial to end.
func TestATrialIsAskedToEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	pipe := filepath.Join(t.TempDir(), "up")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer cancel()
		if _, err := os.ReadFile(pipe); err != nil { // until the trial has written to it
			t.Error(err)
		}
	}()
	e := trialOf(t, ctx, longWait, `echo '{"up":{}}' >&4`, `echo up >`+pipe, `read word <&3`, `exit 40`)
	if !e.asked || e.end.Code != 40 || e.fault() != "" || e.end.Killed {
		t.Errorf("%+v", e)
	}
}

// TestProbes: the results for valid, invalid and missing answers of a probe.
func TestProbes(t *testing.T) {
	for name, test := range map[string]struct {
		lines []string
		says  string // of the error; empty for none
	}{
		"an answer":           {[]string{`echo '{"version":"1","later":[1]}' >&4`, `exec sleep 1000`}, ""},
		"none":                {[]string{`exit 7`}, "it gave no answer and exited with code 7"},
		"half a line":         {[]string{`printf '{"version":"1"}' >&4`}, "it gave no answer and exited with code 0"},
		"something else":      {[]string{`echo hello >&4`}, "invalid character"},
		"too much":            {[]string{`yes x | tr -d '\n' >&4`}, "it gave no answer"},
		"an end by a signal":  {[]string{`kill -SEGV $$`}, "SIGSEGV"},
		"a number for a text": {[]string{`echo '{"version":1}' >&4`}, "cannot unmarshal"},
	} {
		got := probe(context.Background(), program(t, test.lines...), "/live")
		if test.says == "" && (got.err != nil || got.answer.Version != "1") || test.says != "" && (got.err == nil || !strings.Contains(got.err.Error(), test.says)) || got.sure {
			t.Errorf("%s: %+v", name, got)
		}
	}
	none := filepath.Join(t.TempDir(), "none")
	if err := os.WriteFile(none, []byte("no program"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := probe(context.Background(), none, "/live"); got.err == nil || !got.sure {
		t.Errorf("no program: %+v", got)
	}
	if got := probe(context.Background(), none+".gone", "/live"); !errors.Is(got.err, os.ErrNotExist) || got.sure {
		t.Errorf("no file: %+v", got)
	}
	outcome, cancel := context.WithCancel(context.Background())
	cancel()
	if got := probe(outcome, program(t, `exec sleep 1000`), "/live"); !errors.Is(got.err, context.Canceled) {
		t.Errorf("ended: %+v", got)
	}
}

// TestProbeRole: this very program answers, by what lies beside the place that it is asked about.
func TestProbeRole(t *testing.T) {
	folder := t.TempDir()
	live := filepath.Join(folder, "Lathe")
	for _, test := range []struct {
		text string
		want alive
	}{
		{"", alive{}},
		{`ClientNetwork.ServerHost = "game.test"`, alive{Asks: true}},
		{`Release.Urls = ["https://game.test"]` + "\n" + `Release.Root = '''{}'''`, alive{Asks: true, Trusts: true}},
		{`Release.Root = '''{}'''`, alive{Trusts: true}},
		{"Nonsense.Name = 1", alive{Fault: "unknown"}},
	} {
		if err := os.WriteFile(live+".toml", []byte(test.text), 0o644); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if code := Probe(live, &out); code != 0 {
			t.Fatalf("code %d", code)
		}
		var got alive
		if err := json.Unmarshal([]byte(out.String()), &got); err != nil || !strings.HasSuffix(out.String(), "\n") {
			t.Fatal(err, out.String())
		}
		if got.Asks != test.want.Asks || got.Trusts != test.want.Trusts || (got.Fault == "") != (test.want.Fault == "") || got.Version == "" || got.ABI == 0 {
			t.Errorf("%s: %+v", test.text, got)
		}
	}
}
