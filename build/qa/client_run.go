package qa

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"collet/build/qa/fileset"
	"collet/build/qa/process"
	"collet/netproto/product"
)

const (
	// maxOutput is how many bytes of a client's output are kept; a run of a big release prints some tens of lines.
	maxOutput = 32 << 10
	// maxShown is how many bytes of it a violation shows.
	maxShown = 2000
	// noServer is an address without a listener, for clients that do not support an offline run.
	noServer = "127.0.0.1:1"
)

// Exit codes of the client; its --help has the table.
const (
	exitReady       = 0
	exitUnreachable = 20
	exitDiskFull    = 22
	exitPermission  = 23
	exitDiskFault   = 28
)

// outcomeStaged is the outcome of a run that requires one more run.
const outcomeStaged = "BinariesStaged"

// clientRun configures one run of the client.
type clientRun struct {
	program string           // instead of the lab's
	offline bool             // recover only, without a server
	server  string           // instead of the lab's
	env     []string         // added to the environment
	wrap    []string         // program with arguments that runs the client, for example a tracer
	limit   time.Duration    // instead of the lab's
	kill    time.Duration    // kill the client after this time; 0 never
	onLine  func(clientLine) // called for each line of output
	onKill  func()           // called just before the kill
}

// clientLine is one line of the client's --json output.
type clientLine struct {
	Phase   string `json:"phase"`
	Bytes   int64  `json:"bytes"` // download of this run
	Outcome string `json:"outcome"`
	Cause   string `json:"cause"`
	Error   string `json:"error"`
	Text    string `json:"text"`
	Exit    *int   `json:"exit"`
}

// clientEnd is the result of one run.
type clientEnd struct {
	code   int  // -1: ended by a signal
	killed bool // by the lab, after the requested time; it may have ended by itself at the same moment
	hung   bool // killed by the lab after the time limit
	last   clientLine
	phases []string
	bytes  int64 // download
	output string
	took   time.Duration
}

// String describes the result for the report.
func (e clientEnd) String() string {
	text := fmt.Sprintf("exit code %d", e.code)
	switch {
	case e.hung:
		text = fmt.Sprintf("did not end within %v and was killed", e.took.Round(time.Second))
	case e.killed && e.code < 0:
		text = fmt.Sprintf("killed after %v", e.took.Round(time.Millisecond))
	case e.code < 0:
		text = "ended by a signal"
	}
	if e.last.Outcome != "" {
		text += ", " + e.last.Outcome
	}
	if e.last.Error != "" {
		text += ": " + e.last.Error
	}
	return text
}

// tail returns the end of the output.
func (e clientEnd) tail() string {
	said := strings.TrimSpace(e.output)
	return said[max(0, len(said)-maxShown):]
}

// outputParser splits a client's output into lines. One goroutine calls Write; the results are read after it has ended.
type outputParser struct {
	mu   sync.Mutex
	end  *clientEnd
	on   func(clientLine)
	rest []byte
}

// Write implements io.Writer.
func (l *outputParser) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end.output += string(data)
	l.end.output = l.end.output[max(0, len(l.end.output)-maxOutput):]
	l.rest = append(l.rest, data...)
	for {
		text, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			l.rest = l.rest[max(0, len(l.rest)-maxOutput):]
			return len(data), nil
		}
		l.rest = rest
		var said clientLine
		if json.Unmarshal(text, &said) == nil {
			l.takeLine(said)
		}
	}
}

func (l *outputParser) takeLine(said clientLine) {
	if said.Phase != "" && !slices.Contains(l.end.phases, said.Phase) {
		l.end.phases = append(l.end.phases, said.Phase)
	}
	l.end.bytes = max(l.end.bytes, said.Bytes)
	if said.Exit != nil {
		l.end.last = said
	}
	if l.on != nil {
		l.on(said)
	}
}

// client is the program under test, with the settings that all its runs share. It is read-only.
type client struct {
	options LabOptions
	env     []string
	own     fileset.OwnNames
}

// program returns the path of the client's program in the install, with slashes; empty if it is elsewhere.
func (c *client) program() string {
	inside, err := filepath.Rel(c.options.Install, c.options.Client)
	if err != nil || !filepath.IsLocal(inside) {
		return ""
	}
	return filepath.ToSlash(inside)
}

// root returns the writable root of a copy of the install.
func (c *client) root(dir string) string { return filepath.Join(dir, c.own.Writable) }

// run runs the client on an install until it ends or is killed. Then it kills the rest of its process group.
func (c *client) run(ctx context.Context, dir string, r clientRun) (clientEnd, error) {
	if err := ctx.Err(); err != nil {
		return clientEnd{}, err
	}
	var end clientEnd
	line := c.commandLine(dir, r)
	began := time.Now()
	p, err := process.Start(process.Options{
		Path: line[0], Args: line[1:], Output: &outputParser{end: &end, on: r.onLine},
		Env: slices.Concat(c.env, r.env),
	})
	if err != nil {
		return clientEnd{}, err
	}
	limit, kill := time.NewTimer(cmp.Or(r.limit, c.options.Limit)), timer(r.kill)
	defer limit.Stop()
	select {
	case <-p.Done():
	case <-kill:
		end.killed = true
		if r.onKill != nil {
			r.onKill()
		}
	case <-limit.C:
		end.hung = true
	case <-ctx.Done():
	}
	p.Kill()
	end.code, end.took = p.Code(), time.Since(began)
	return end, ctx.Err()
}

// timer fires after d; for 0 it never fires.
func timer(d time.Duration) <-chan time.Time {
	if d <= 0 {
		return nil
	}
	return time.After(d)
}

func (c *client) commandLine(dir string, r clientRun) []string {
	program, server := c.options.Client, c.options.Server
	args := c.options.Args
	if r.program != "" && r.program != program { // a program's name is that of its module
		args = slices.Concat([]string{"--runtime-name", product.RuntimeBase(program)}, args)
		program = r.program
	}
	if r.server != "" {
		server = r.server
	}
	line := append(slices.Clone(r.wrap), program, "--headless", "--json", "--dir", dir)
	line = append(line, args...)
	if c.own.Writable != "" {
		line = append(line, "--UserWritablePath", c.root(dir))
	}
	if r.offline {
		return append(line, "--offline", "--server", noServer)
	}
	line = append(line, "--server", server)
	if c.options.Run {
		line = append(append(line, "--run", "--"), c.options.Game...)
	}
	return line
}

// converge runs the client until it reports that everything is current, at most as often as an undisturbed update needs.
func (l *Lab) converge(ctx context.Context, dir string, r clientRun) (end clientEnd, done bool, err error) {
	for range l.runs() {
		if end, err = l.client.run(ctx, dir, r); err != nil || end.code != exitReady {
			return end, false, err
		}
		if end.last.Outcome != outcomeStaged {
			return end, true, nil
		}
	}
	return end, false, nil
}
