package main

import (
	"testing"

	"github.com/alecthomas/kong"

	"collet/platform/commandlinetest"
)

// TestExamples: each example of the help is a command line that is accepted.
func TestExamples(t *testing.T) {
	commandlinetest.Examples(t, func(more ...kong.Option) *kong.Kong {
		parser, err := newParser(new(options), more...)
		if err != nil {
			t.Fatal(err)
		}
		return parser
	})
}
