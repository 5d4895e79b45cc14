package main

import (
	"io"
	"testing"

	"github.com/alecthomas/kong"

	"collet/platform/commandlinetest"
)

// TestExamples: each command has an example in its help, and each example is a command line that is accepted.
func TestExamples(t *testing.T) {
	t.Parallel()
	commandlinetest.Examples(t, func(more ...kong.Option) *kong.Kong {
		parser, err := newParser(new(commands), t.Context(), out{io.Discard, io.Discard}, more...)
		if err != nil {
			t.Fatal(err)
		}
		return parser
	})
}

// TestManualPages writes a page for each command.
func TestManualPages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	parser, err := newParser(new(commands), t.Context(), out{io.Discard, io.Discard}, kong.Exit(func(code int) { panic(code) }))
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if code := recover(); code != 0 {
				t.Fatal(code)
			}
		}()
		_, err := parser.Parse([]string{"--man", dir})
		t.Errorf("the program goes on: %v", err)
	}()
	commandlinetest.Manual(t, dir, len(commandlinetest.Commands(parser.Model.Node)))
}
