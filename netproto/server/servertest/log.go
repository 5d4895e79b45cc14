package servertest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// maxLog is how many bytes of log are kept.
const maxLog = 4 << 20

// Log keeps what a server under test logs. Its methods may be called by several goroutines.
type Log struct {
	mu      sync.Mutex
	text    bytes.Buffer
	written chan struct{} // closed by the next write; nil while no test waits
}

// Write implements io.Writer.
func (b *Log) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.written != nil {
		close(b.written)
		b.written = nil
	}
	if b.text.Len() > maxLog { // a long fuzzing run
		b.text.Reset()
	}
	return b.text.Write(p)
}

// String is everything that has been logged.
func (b *Log) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Logger writes everything to the log.
func (b *Log) Logger() zerolog.Logger { return zerolog.New(b).Level(zerolog.DebugLevel) }

// Patience is how long an event may take on a busy machine.
const Patience = time.Minute

// WaitFor waits for the first line with a text and returns it.
func (b *Log) WaitFor(t testing.TB, text string) string {
	t.Helper()
	ctx, end := context.WithTimeout(t.Context(), Patience)
	defer end()
	for {
		b.mu.Lock()
		if b.written == nil {
			b.written = make(chan struct{})
		}
		all, written := b.text.String(), b.written
		b.mu.Unlock()
		for line := range strings.Lines(all) {
			if strings.Contains(line, text) {
				return line
			}
		}
		select {
		case <-written:
		case <-ctx.Done():
			t.Fatalf("no line with %s in\n%s", text, all)
		}
	}
}

// Has fails the test unless a line of the given level holds every text.
func (b *Log) Has(t testing.TB, level string, texts ...string) {
	t.Helper()
	for line := range strings.Lines(b.String()) {
		found := strings.Contains(line, fmt.Sprintf("%q:%q", "level", level))
		for _, text := range texts {
			found = found && strings.Contains(line, text)
		}
		if found {
			return
		}
	}
	t.Errorf("no %s line with %q in\n%s", level, texts, b)
}
