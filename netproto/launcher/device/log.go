package device

import (
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"collet/netproto/launcher/wire"
)

// logBook has the last lines for Status, and the lines that wait for the desk. Safe for concurrent use.
type logBook struct {
	now func() time.Time

	mu      sync.Mutex
	tail    []Line // at most maxLogShown
	waiting []Line // at most maxLogWaiting
	reports []wire.RunReport
	lost    int           // lines dropped before waiting
	more    chan struct{} // holds one when something waits
}

func newLogBook(now func() time.Time) *logBook {
	return &logBook{now: now, more: make(chan struct{}, 1)}
}

// add adds a text, split into lines.
func (b *logBook) add(line Line) {
	if line.Time.IsZero() {
		line.Time = b.now()
	}
	if line.Source == "" {
		line.Source = SourceGame
	}
	line.Source = cutText(line.Source, wire.MaxName)
	b.mu.Lock()
	defer b.mu.Unlock()
	for text := range cutLines(line.Text) {
		line.Text = text
		b.tail = appendLast(b.tail, line, maxLogShown)
		if len(b.waiting) >= maxLogWaiting {
			b.lost++
		}
		b.waiting = appendLast(b.waiting, line, maxLogWaiting)
	}
	signal(b.more)
}

// report queues the outcome of an application, for desks in our own mode. Only the last ones are kept.
func (b *logBook) report(r wire.RunReport) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.Text = cutText(r.Text, maxLogLine)
	b.reports = appendLast(b.reports, r, 8)
	signal(b.more)
}

// shown is a copy of the last lines.
func (b *logBook) shown() []Line {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]Line(nil), b.tail...)
}

// removeLines removes at most n waiting lines, with the number dropped before them, and all reports.
func (b *logBook) removeLines(n int) (lines []Line, lost int, reports []wire.RunReport) {
	b.mu.Lock()
	defer b.mu.Unlock()
	reports, b.reports = b.reports, nil
	if n == 0 {
		return nil, 0, reports
	}
	n = min(n, len(b.waiting))
	lines = append(lines, b.waiting[:n]...)
	b.waiting = b.waiting[n:]
	lost, b.lost = b.lost, 0
	return lines, lost, reports
}

// empty reports whether no line waits.
func (b *logBook) empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting) == 0 && b.lost == 0
}

// appendLast appends, and drops the first elements above limit.
func appendLast[T any](list []T, item T, limit int) []T {
	if list = append(list, item); len(list) > limit {
		list = list[len(list)-limit:]
	}
	return list
}

// signal puts a token into a channel that holds one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// cutLines splits a text at line ends, and lines longer than maxLogLine at character boundaries. Invalid UTF-8 is
// replaced.
func cutLines(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		text = strings.ToValidUTF8(strings.TrimRight(text, "\r\n"), "\uFFFD")
		for line := range strings.SplitSeq(text, "\n") {
			line = strings.TrimRight(line, "\r")
			for len(line) > maxLogLine {
				piece := cutText(line, maxLogLine)
				if !yield(piece) {
					return
				}
				line = line[len(piece):]
			}
			if !yield(line) {
				return
			}
		}
	}
}

// cutText is the beginning of a text, at most n bytes, cut at a character boundary.
func cutText(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// lineBudget is a rate limiter for lines: logRate a second, logBurst at once.
type lineBudget struct {
	lines float64
	at    time.Time
}

// grant returns how many of want lines may be sent now; if none, the time until the next one.
func (b *lineBudget) grant(now time.Time, want int) (n int, wait time.Duration) {
	if b.at.IsZero() {
		b.lines = logBurst
	} else {
		b.lines = min(logBurst, b.lines+now.Sub(b.at).Seconds()*logRate)
	}
	b.at = now
	if n = min(want, int(b.lines)); n > 0 {
		b.lines -= float64(n)
		return n, 0
	}
	return 0, time.Duration((1 - b.lines) / logRate * float64(time.Second))
}
