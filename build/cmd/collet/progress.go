package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// rewriteEvery is how often the line on a terminal changes: often enough to look alive, seldom enough to be read.
	rewriteEvery = 100 * time.Millisecond
	// lineEvery is how often a line is added where lines can't be rewritten, as in a log of continuous integration.
	lineEvery = 10 * time.Second
	// progressWidth is the longest line in characters: a terminal of 80 columns, without the last one, which wraps on some.
	progressWidth = 79
)

// progress shows how far a run is: one line that is rewritten on a terminal, a line now and then elsewhere. It is safe
// for concurrent use.
type progress struct {
	mu       sync.Mutex
	out      io.Writer
	raw      io.Writer // below out, for cursor movements
	terminal bool
	now      func() time.Time
	began    time.Time
	last     time.Time // when something was shown
	shown    bool      // a line stands on the terminal
}

func newProgress(out io.Writer) *progress {
	p := &progress{out: out, now: time.Now}
	p.raw, p.terminal = terminalOf(out)
	p.began = p.now()
	p.last = p.began
	return p
}

// showCount shows the line if it is time for one.
func (p *progress) showCount(done, total, broken int, what string) {
	p.show(func(now time.Time) string { return p.formatLine(now, done, total, broken, what) })
}

// show shows a line, which it asks for if it is time for one.
func (p *progress) show(text func(now time.Time) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, pause := p.now(), lineEvery
	if p.terminal {
		pause = rewriteEvery
	}
	if now.Sub(p.last) < pause {
		return
	}
	p.last = now
	line := []rune(text(now))
	if p.terminal {
		p.shown = true
		fmt.Fprintf(p.raw, "\r\x1b[K%s", clean(string(line[:min(len(line), progressWidth)])))
		return
	}
	fmt.Fprintln(p.out, string(line))
}

func (p *progress) formatLine(now time.Time, done, total, broken int, what string) string {
	text := fmt.Sprintf("%d", done)
	if total > 0 {
		text += fmt.Sprintf(" of %d (%d %%)", total, int64(done)*100/int64(total))
	}
	elapsed := now.Sub(p.began)
	text += ", " + elapsed.Round(time.Second).String()
	if left := time.Duration(float64(elapsed) * float64(total-done) / float64(max(done, 1))); done > 0 && total > done {
		text += ", about " + left.Round(time.Second).String() + " left"
	}
	if broken > 0 {
		text += fmt.Sprintf(", violations %d", broken)
	}
	if what != "" {
		text += ": " + clean(what)
	}
	return text
}

// clearLine clears the line, so that the table begins on an empty one.
func (p *progress) clearLine() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		p.shown = false
		fmt.Fprint(p.raw, "\r\x1b[K")
	}
}
