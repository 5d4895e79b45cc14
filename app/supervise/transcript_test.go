package supervise

import (
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/platform"
)

func TestLogAndOutputGetEveryLine(t *testing.T) {
	var log strings.Builder
	var lines []string
	said := &transcript{log: zerolog.New(&log), output: func(stream string, level zerolog.Level, line string) {
		lines = append(lines, stream+" "+level.String()+" "+line)
	}}
	said.stdout("one")
	said.stderr("two")
	for level := int32(-1); level <= 4; level++ {
		said.module(level, "three")
	}
	if got := strings.Join(lines, "|"); got != "stdout info one|stderr info two|log debug three|log debug three|log info three|log warn three|log error three|log error three" {
		t.Errorf("output: %s", got)
	}
	var levels []string
	for line := range strings.Lines(log.String()) {
		_, rest, _ := strings.Cut(line, `"level":"`)
		level, _, _ := strings.Cut(rest, `"`)
		levels = append(levels, level)
	}
	if got := strings.Join(levels, " "); got != "info info debug debug info warn error error" {
		t.Errorf("levels: %s", got)
	}
	if !strings.Contains(log.String(), `"stream":"stderr","message":"two"`) {
		t.Errorf("log: %s", log.String())
	}
}

func TestTheRuntimesWordsAreFound(t *testing.T) {
	tests := []struct {
		name          string
		end           platform.ProcessEnd
		lines         []string
		signal, words string
		report        string
	}{
		{"in C", platform.ProcessEnd{Code: 2}, []string{"x", "SIGSEGV: segmentation violation", "PC=0x1 m=0 sigcode=1 addr=0x0"},
			"SIGSEGV", "segmentation violation", ""},
		{"fatal", platform.ProcessEnd{Code: 2}, []string{"fatal error: unexpected signal during runtime execution",
			"[signal SIGBUS: bus error code=0x1 addr=0x0 pc=0x7f0]"},
			"SIGBUS", "bus error", "fatal error: unexpected signal during runtime execution"},
		{"with core files", platform.ProcessEnd{Code: -1, Signal: "SIGABRT", Meaning: "aborted"},
			[]string{"SIGSEGV: segmentation violation"}, "SIGSEGV", "segmentation violation", ""},
		{"abort", platform.ProcessEnd{Code: -1, Signal: "SIGABRT", Meaning: "aborted"}, nil, "SIGABRT", "aborted", ""},
		{"Windows", platform.ProcessEnd{Code: 2}, []string{"Exception 0xc0000005 0x0 0x0 0x7ff6"}, "0xc0000005", "", ""},
		{"Windows in Go", platform.ProcessEnd{Code: 2}, []string{"panic: x", "[signal 0xc0000094 code=0x0 addr=0x0 pc=0x1401ef0fd]"},
			"0xc0000094", "", "panic: x"},
		{"another code", platform.ProcessEnd{Code: 3}, []string{"SIGSEGV: segmentation violation", "panic: x"}, "", "", ""},
		{"another signal", platform.ProcessEnd{Code: -1, Signal: "SIGKILL"}, []string{"SIGSEGV: segmentation violation"}, "SIGKILL", "", ""},
		{"said otherwise", platform.ProcessEnd{Code: 2}, []string{" panic: x", "SIGsegv: x", "see SIGSEGV: x", "Exception"}, "", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			said := &transcript{log: zerolog.Nop()}
			said.stdout("SIGILL: illegal instruction") // the runtime never reports on standard output
			for _, line := range test.lines {
				said.stderr(line)
			}
			e := Exit{ProcessEnd: test.end}
			said.logFindings(&e)
			if e.Signal != test.signal || e.Meaning != test.words || e.Report != test.report {
				t.Errorf("got %q %q %q", e.Signal, e.Meaning, e.Report)
			}
			if len(e.Tail) != len(test.lines)+1 {
				t.Errorf("tail %q", e.Tail)
			}
		})
	}
}

func TestTheTailIsBounded(t *testing.T) {
	said := &transcript{log: zerolog.Nop()}
	for range maxTail {
		said.stdout("old")
	}
	for range maxTail {
		said.stderr("new")
	}
	e := Exit{}
	said.logFindings(&e)
	if got := strings.Join(e.Tail, ""); got != strings.Repeat("new", maxTail) {
		t.Errorf("tail %q", e.Tail)
	}
}
