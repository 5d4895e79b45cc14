package main

import (
	"io"
	"testing"

	"github.com/alecthomas/kong"

	"collet/platform/commandlinetest"
)

// TestExamples: each command has an example in its help, and each example is a command line that is accepted.
func TestExamples(t *testing.T) {
	commandlinetest.Examples(t, func(more ...kong.Option) *kong.Kong {
		parser, err := newParser(new(commands), t.Context(), out{io.Discard, io.Discard}, more...)
		if err != nil {
			t.Fatal(err)
		}
		return parser
	})
}
