package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"collet/platform/commandlinetest"
)

// TestExamples: each example of the help is a command line that is accepted.
func TestExamples(t *testing.T) {
	commandlinetest.Examples(t, func(more ...kong.Option) *kong.Kong {
		parser, err := newParser(new(flags), io.Discard, io.Discard, more...)
		if err != nil {
			t.Fatal(err)
		}
		return parser
	})
}

// TestCompletionAndManual end the program before it does anything.
func TestCompletionAndManual(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{{[]string{"--completion", "fish"}, "complete -c collet-client"}, {[]string{"--man", dir}, ""}, {[]string{"--complete=--log", "--lang", "de"}, "--log-level\t"}, {[]string{"--complete=", "--generation"}, "g2b\t"}} {
		var out, errs bytes.Buffer
		if code, again := run(c.args, &out, &errs); code != 0 || again != nil || errs.Len() > 0 || !strings.Contains(out.String(), c.want) {
			t.Errorf("%q: code %d\n%s\n%s", c.args, code, &out, &errs)
		}
	}
	commandlinetest.Manual(t, dir, 1)
}
