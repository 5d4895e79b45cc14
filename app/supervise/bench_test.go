package supervise_test

import (
	"testing"

	"collet/app/supervise"
)

// BenchmarkStartToEnd measures a module in its own process: start, metadata, run, result, end.
func BenchmarkStartToEnd(b *testing.B) {
	for b.Loop() {
		c, err := supervise.Start(b.Context(), supervise.Options{Exe: self(b), Args: []string{"polite"}})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Metadata(b.Context()); err != nil {
			b.Fatal(err)
		}
		if err := c.Run(nil); err != nil {
			b.Fatal(err)
		}
		if e := c.Exit(); e.Result == nil {
			b.Fatal(e)
		}
	}
}
