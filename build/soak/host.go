package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"collet/build/qa/process"
	"collet/netproto/dial"
	"collet/netproto/server/admin"
	"collet/netproto/server/config"
	"collet/netproto/transporttest"
)

// The server's limits of time, shorter than their defaults so that they are reached, and long enough for clients of ours on
// a machine that is busy with something else.
const (
	handshakeTime = 3 * time.Second
	progressTime  = 4 * time.Second
	pingTime      = 4 * time.Second
	drainTime     = 5 * time.Second
)

const (
	// startTime is how long a server may take until it listens. What it hashes has a few MB.
	startTime = time.Minute
	// stopTime is how long it may take to end when it is asked to.
	stopTime = drainTime + 10*time.Second
	// reloadPoll is how often is looked whether a reload by signal is over.
	reloadPoll = 20 * time.Millisecond
	// maxLine is the longest line of a log that is understood, in bytes.
	maxLine = 64 << 10
)

// transport is one transport to the server.
type transport struct {
	name, addr string
	dialer     *dial.Dialer
}

// host is the server's process and everything that reaches it.
type host struct {
	process    *process.Process
	log        *serverLog
	gauge      *gauge
	control    string // path of its control socket
	transports []transport
}

// settings is the text of the server's settings file. The idle clients stay connected for the whole run.
func settings(memory bool, run time.Duration) string {
	return fmt.Sprintf(`CompatibilityVersion = %q
[ServerNetwork]
TlsCertificate = "cert.pem"
TlsPrivateKey = "key.pem"
UpdateFilesInMemory = %v
[Limits]
HandshakeTime = "%v"
ProgressTime = "%v"
PingTime = "%v"
DrainTime = "%v"
IdleTime = "%v"
`, compatibility, memory, handshakeTime, progressTime, pingTime, drainTime, max(config.DefaultLimits().IdleTime, 2*run))
}

// startHost starts the server on the package folder dir and returns when it listens everywhere.
func startHost(ctx context.Context, o Options, dir string) (*host, error) {
	authority, err := transporttest.NewAuthority("soak")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "server.toml")
	if err := errors.Join(authority.Files(dir, transporttest.Spec{}), os.WriteFile(file, []byte(settings(o.Memory, o.Time)), 0o644)); err != nil {
		return nil, err
	}
	const anywhere = "127.0.0.1:0"
	h := &host{log: newServerLog(), control: filepath.Join(dir, "control")}
	h.process, err = process.Start(process.Options{Path: o.Program, Env: o.environment(), Dir: dir, Output: h.log, Args: []string{
		"--config", file, "--listen", anywhere, "--listen-tls", anywhere, "--listen-ws", anywhere, "--metrics", anywhere,
		"--control", h.control, "--log-format", "json",
	}})
	if err != nil {
		return nil, err
	}
	if err := h.reach(ctx, filepath.Join(dir, "ca.pem")); err != nil {
		h.process.Stop(stopTime)
		return nil, fmt.Errorf("%w; the server printed:\n%s", err, h.log)
	}
	return h, nil
}

// reach waits until the server listens, and knows then where.
func (h *host) reach(ctx context.Context, ca string) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	select {
	case <-h.log.listens:
	case <-h.process.Done():
		return errors.New("the server ended at once")
	case <-ctx.Done():
		return fmt.Errorf("the server does not say where it listens for all that it should: %w", ctx.Err())
	}
	secure, err := dial.ClientTLS(ca, "")
	if err != nil {
		return err
	}
	said := h.log.addresses()
	h.transports = []transport{
		{"TCP", said[saysTCP], &dial.Dialer{}},
		{"TLS", said[saysTLS], &dial.Dialer{TLS: secure}},
		{"WebSocket", said[saysWebSocket], &dial.Dialer{WebSocket: "/"}},
	}
	h.gauge = newGauge(said[saysMetrics])
	return nil
}

// dial makes a connection with nothing but its transport on it. It is closed when ctx ends; detach keeps it open then.
func (t transport) dial(ctx context.Context) (conn net.Conn, detach func() bool, err error) {
	conn, err = t.dialer.DialContext(ctx, "tcp", t.addr)
	if err != nil {
		return nil, nil, err
	}
	return conn, context.AfterFunc(ctx, func() { conn.Close() }), nil
}

// reload makes the server offer what is on disk: by signal, which its metrics tell the outcome of, or else through the
// control socket.
func (h *host) reload(ctx context.Context, signal bool) error {
	if !signal {
		return admin.Ask(ctx, h.control, admin.Reload)
	}
	before, err := h.gauge.readMetrics(ctx)
	if err != nil {
		return err
	}
	p, err := os.FindProcess(h.process.PID())
	if err != nil {
		return err
	}
	defer p.Release()
	if err := p.Signal(syscall.SIGHUP); err != nil {
		return err
	}
	tick := time.NewTicker(reloadPoll)
	defer tick.Stop()
	const reloads, well, failed = "collet_reloads_total", `result="ok"`, `result="failed"`
	for {
		now, err := h.gauge.readMetrics(ctx)
		switch {
		case err != nil:
			return err
		case now.sum(reloads, well) > before.sum(reloads, well):
			return nil
		case now.sum(reloads, failed) > before.sum(reloads, failed):
			return errors.New("the reload failed, as the server's metrics say")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the server did not reload: %w", ctx.Err())
		}
	}
}

// stopServer ends the server and says what was wrong with its end and in its log.
func (h *host) stopServer() (faults []string) {
	running := true
	select {
	case <-h.process.Done():
		running = false
		faults = append(faults, fmt.Sprintf("the server ended by itself with code %d; it printed:\n%s", h.process.Code(), h.log))
	default:
	}
	h.gauge.close()
	began := time.Now()
	h.process.Stop(stopTime)
	if running && (h.process.Code() != 0 || time.Since(began) >= stopTime) {
		faults = append(faults, fmt.Sprintf("asked to end, the server ended with code %d after %v; it printed:\n%s", h.process.Code(), time.Since(began).Round(time.Millisecond), h.log))
	}
	return append(faults, h.log.problems()...)
}

// serverLog reads the server's log: where it listens, and lines that no server should write. It is safe for concurrent use.
type serverLog struct {
	*process.Tail
	listens chan struct{} // closed when it is known where it listens for everything, in whatever order that was said

	mu         sync.Mutex
	rest       []byte
	said       map[string]string // addresses by message
	unexpected []string
	told       bool // listens is closed
}

// The messages of the lines in which a server says where it listens for what.
const (
	saysTCP       = "Listening"
	saysTLS       = "Listens for TLS"
	saysWebSocket = "Listens for WebSocket"
	saysMetrics   = "Metrics are served"
)

func newServerLog() *serverLog {
	return &serverLog{Tail: process.NewTail(), listens: make(chan struct{}), said: map[string]string{}}
}

// Write implements io.Writer.
func (j *serverLog) Write(data []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.rest = append(j.rest, data...)
	for {
		line, rest, whole := bytes.Cut(j.rest, []byte("\n"))
		if !whole {
			j.rest = j.rest[:min(len(j.rest), maxLine)]
			return j.Tail.Write(data)
		}
		j.readLine(line)
		j.rest = append(j.rest[:0], rest...)
	}
}

// readLine understands one line.
func (j *serverLog) readLine(line []byte) {
	var said struct{ Level, Message, Address, At, Metrics string }
	err := json.Unmarshal(line, &said)
	switch {
	case err != nil, said.Level == "error" && !strings.HasPrefix(said.Message, "Could not reload"), said.Level == "fatal", said.Level == "panic":
		if len(j.unexpected) < maxFaults {
			j.unexpected = append(j.unexpected, "in the server's log: "+string(line))
		}
	case said.Address+said.At+said.Metrics != "":
		j.said[said.Message] = said.Address + said.At + said.Metrics
	}
	if !j.told && j.said[saysTCP] != "" && j.said[saysTLS] != "" && j.said[saysWebSocket] != "" && j.said[saysMetrics] != "" {
		j.told = true
		close(j.listens)
	}
}

func (j *serverLog) addresses() map[string]string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return maps.Clone(j.said)
}

func (j *serverLog) problems() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.unexpected
}
