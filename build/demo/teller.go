package demo

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// quoteLines is how many lines of a log a failure shows.
const quoteLines = 20

// teller prints the running commentary: seconds since the start, who, what. It is safe for concurrent use.
type teller struct {
	mu    sync.Mutex
	out   io.Writer
	began time.Time
}

func newTeller(out io.Writer) *teller { return &teller{out: out, began: time.Now()} }

func (t *teller) say(who, format string, values ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.out, "%6.1f s  %-7s  %s\n", time.Since(t.began).Seconds(), who, fmt.Sprintf(format, values...))
}

// quote prints the last lines of a text.
func (t *teller) quote(what string, text []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	lines = lines[max(0, len(lines)-quoteLines):]
	if len(lines) == 1 && len(lines[0]) == 0 {
		return
	}
	fmt.Fprintf(t.out, "the end of the %s:\n", what)
	for _, l := range lines {
		fmt.Fprintf(t.out, "  | %s\n", l)
	}
}
