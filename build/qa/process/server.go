package process

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	// serverStart is the time limit for a server to listen: it first hashes its files, on a slow disk at about 20 MB a second.
	serverStart = 2 * time.Minute
	// tailBytes is how many bytes of a program's output are kept for messages.
	tailBytes = 4000
	// politeEnd is the time limit for a program to end on request.
	politeEnd = 5 * time.Second
)

// Tail keeps the end of a program's output, and finds the address that a server reports. It is safe for concurrent use.
type Tail struct {
	mu      sync.Mutex
	text    []byte
	rest    []byte
	address chan string // receives one value
}

// NewTail returns an empty Tail.
func NewTail() *Tail { return &Tail{address: make(chan string, 1)} }

// Write implements io.Writer.
func (t *Tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, data...)
	t.text = t.text[max(0, len(t.text)-tailBytes):]
	t.rest = append(t.rest, data...)
	for {
		line, rest, whole := bytes.Cut(t.rest, []byte("\n"))
		if !whole {
			return len(data), nil
		}
		t.rest = rest
		var said struct{ Message, Address string }
		if json.Unmarshal(line, &said) == nil && said.Message == "Listening" && said.Address != "" {
			select {
			case t.address <- said.Address:
			default:
			}
		}
	}
}

// String returns the end of the output.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.text))
}

// StartServer starts an update server with its settings file on a port of the loopback interface, 0 for a free one. It returns the address
// when the server listens. The caller stops the process.
func StartServer(ctx context.Context, program, settings string, port int) (*Process, string, error) {
	printed := NewTail()
	server, err := Start(Options{
		Path: program, Dir: filepath.Dir(settings), Output: printed,
		Args: []string{"--config", settings, "--listen", fmt.Sprintf("127.0.0.1:%d", port), "--log-format", "json"},
	})
	if err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, serverStart)
	defer cancel()
	select {
	case address := <-printed.address:
		return server, address, nil
	case <-server.Done():
		err = errors.New("the server ended")
	case <-ctx.Done():
		err = fmt.Errorf("the server does not listen: %w", ctx.Err())
	}
	server.Stop(politeEnd)
	return nil, "", fmt.Errorf("%w; it printed:\n%s", err, printed)
}
