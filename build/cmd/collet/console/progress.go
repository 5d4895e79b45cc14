package console

import (
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// RewriteEvery is how often the line on a terminal changes: often enough to look alive, seldom enough to be read.
	RewriteEvery = 100 * time.Millisecond
	// LineEvery is how often a line is added where lines can't be rewritten, as in a log of continuous integration.
	LineEvery = 10 * time.Second
	// LineWidth is the longest line in characters: a terminal of 80 columns, without the last one, which wraps on some.
	LineWidth = 79
)

// Progress shows how far a run is: one line that is rewritten on a terminal, a line now and then elsewhere. It is safe
// for concurrent use.
type Progress struct {
	Terminal bool // rewrite one line; NewProgress sets it. Change it only before the first line.

	mu    sync.Mutex
	out   io.Writer
	raw   io.Writer // below out, for cursor movements
	began time.Time
	last  time.Time // when something was shown
	shown bool      // a line stands on the terminal
}

// NewProgress begins to measure time. The first line comes after a pause.
func NewProgress(out io.Writer) *Progress {
	p := &Progress{out: out, began: time.Now()}
	p.raw, p.Terminal = TerminalOf(out)
	p.last = p.began
	return p
}

// ShowCount shows the line if it is time for one: done of total (0: unknown) cases, of which broken are violations, and what is tried now.
func (p *Progress) ShowCount(done, total, broken int, what string) {
	p.Show(func(now time.Time) string { return p.formatLine(now, done, total, broken, what) })
}

// Show shows a line, which it asks for if it is time for one.
func (p *Progress) Show(text func(now time.Time) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, pause := time.Now(), LineEvery
	if p.Terminal {
		pause = RewriteEvery
	}
	if now.Sub(p.last) < pause {
		return
	}
	p.last = now
	line := []rune(text(now))
	if p.Terminal {
		p.shown = true
		fmt.Fprintf(p.raw, "\r\x1b[K%s", Clean(string(line[:min(len(line), LineWidth)])))
		return
	}
	fmt.Fprintln(p.out, string(line))
}

func (p *Progress) formatLine(now time.Time, done, total, broken int, what string) string {
	text := fmt.Sprintf("%d", done)
	if total > 0 {
		text += fmt.Sprintf(" of %d (%d %%)", total, int64(done)*100/int64(total))
	}
	elapsed := now.Sub(p.began)
	text += ", " + elapsed.Round(time.Second).String()
	if done > 0 && total > done {
		text += TimeLeft(elapsed, int64(done), int64(total))
	}
	if broken > 0 {
		text += fmt.Sprintf(", violations %d", broken)
	}
	if what != "" {
		text += ": " + Clean(what)
	}
	return text
}

// TimeLeft tells how long the rest takes at the speed so far. done is at least 1.
func TimeLeft(elapsed time.Duration, done, total int64) string {
	left := time.Duration(float64(elapsed) * float64(total-done) / float64(done))
	return fmt.Sprintf(", about %v left", left.Round(time.Second))
}

// ClearLine clears the line, so that the table begins on an empty one.
func (p *Progress) ClearLine() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		p.shown = false
		fmt.Fprint(p.raw, "\r\x1b[K")
	}
}
