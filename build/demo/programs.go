package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"collet/build/qa"
)

const (
	// serverStart is how long the server may take until it listens: it hashes what it offers first, on
	// a slow disk some 20 MB a second.
	serverStart = 2 * time.Minute
	// politeEnd is how long a program may take to end when it is asked to.
	politeEnd = 5 * time.Second
	// outputTail is how much of a program's output is kept for a failure to show, in bytes.
	outputTail = 4000
)

// output keeps what a program prints and finds the address that the server says it listens on. It is safe for concurrent
// use.
type output struct {
	mu      sync.Mutex
	text    []byte
	rest    []byte
	address chan string // gets one value
}

func newOutput() *output { return &output{address: make(chan string, 1)} }

// Write implements io.Writer.
func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, data...)
	o.text = o.text[max(0, len(o.text)-outputTail):]
	o.rest = append(o.rest, data...)
	for {
		text, rest, whole := bytes.Cut(o.rest, []byte("\n"))
		if !whole {
			return len(data), nil
		}
		o.rest = rest
		var said struct{ Message, Address string }
		if json.Unmarshal(text, &said) == nil && said.Message == "Listening" && said.Address != "" {
			select {
			case o.address <- said.Address:
			default:
			}
		}
	}
}

// tail is the end of what was printed, for messages.
func (o *output) tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.TrimSpace(string(o.text))
}

// StartServer starts the update server of a layout on a port of the loopback interface, 0 for a free one, and returns
// when it listens, with its address. Whoever starts it stops it.
func StartServer(ctx context.Context, l *Layout, port int) (*qa.Process, string, error) {
	printed := newOutput()
	server, err := qa.StartProcess(qa.ProcessOptions{
		Path: l.ServerProgram, Dir: l.Server(), Output: printed,
		Args: []string{"--config", l.ServerSettings(), "--listen", fmt.Sprintf("127.0.0.1:%d", port), "--log-format", "json"},
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
	return nil, "", fmt.Errorf("%w; it printed:\n%s", err, printed.tail())
}
