//go:build !nocluster

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

const (
	// clusterName is the engine's name of every cluster, and user its name of every node: who may join is decided by token and
	// certificate.
	clusterName = "collet"
	user        = "collet"
	// maxMessage is the largest message in bytes: a record with its settings is below 4 MiB (compat.MaxAuditLine), a set of floors
	// below 256 KiB.
	maxMessage = 8 << 20
	// maxMemory and maxDisk limit the engine in bytes. It keeps nothing in memory streams; ten million floors take 500 MB on disk.
	maxMemory = 16 << 20
	maxDisk   = 64 << 30
	// pingTime is the time between signs of life of a connection; two missing ones end it.
	pingTime = 2 * time.Second
	// startTime is how long the engine may take to open its files.
	startTime = time.Minute
	// quietReports is how many failed tries to reach a peer are one line of the log.
	quietReports = 60
)

// engine is a member's own engine.
type engine struct{ server *server.Server }

// startEngine starts the engine of a member. It listens only where the configuration says.
// problem is told why another member and this one refuse each other.
func startEngine(c Config, problem func(error), log zerolog.Logger) (*engine, error) {
	opt := &server.Options{
		ServerName: c.Name, NoSigs: true, NoLog: true, DontListen: c.ListenNodes == "" && c.alone(), Username: user, Password: c.Token,
		JetStream: true, StoreDir: c.Folder, SyncAlways: true, JetStreamMaxMemory: maxMemory, JetStreamMaxStore: maxDisk,
		MaxPayload: maxMessage, PingInterval: pingTime, MaxPingsOut: 2, ConnectErrorReports: quietReports, ReconnectErrorReports: quietReports,
	}
	var err error
	if !opt.DontListen { // the engine does not open its port for members before one for nodes
		opt.Host, opt.Port = "127.0.0.1", server.RANDOM_PORT
	}
	if c.ListenNodes != "" {
		if opt.Host, opt.Port, err = hostPort(c.ListenNodes); err != nil {
			return nil, err
		}
		opt.TLSConfig, opt.TLSTimeout, opt.Cluster.NoAdvertise, opt.NoAuthUser = c.TLS, 5, true, ""
	}
	if !c.alone() {
		opt.Cluster = server.ClusterOpts{Name: clusterName, Username: user, Password: c.Token, TLSConfig: c.TLS, TLSTimeout: 5, NoAdvertise: true, PingInterval: pingTime, MaxPingsOut: 2}
		if opt.Cluster.Host, opt.Cluster.Port, err = hostPort(c.Listen); err != nil {
			return nil, err
		}
		for _, peer := range c.Peers { // with this node itself: the engine counts them
			opt.Routes = append(opt.Routes, &url.URL{Scheme: "nats", Host: peer, User: url.UserPassword(user, c.Token)})
		}
	}
	s, err := server.NewServer(opt)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	lines := &engineLog{log: log, folder: c.Folder, problem: problem}
	s.SetLoggerV2(lines, false, false, false)
	s.Start()
	e := &engine{s}
	if !s.ReadyForConnections(startTime) {
		e.close()
		if fault := lines.fatal.Load(); fault != nil {
			return nil, fmt.Errorf("cluster: %s", *fault)
		}
		return nil, fmt.Errorf("cluster: the engine did not start within %v", startTime)
	}
	return e, nil
}

// close ends the engine, and waits for it.
func (e *engine) close() {
	e.server.Shutdown()
	e.server.WaitForShutdown()
}

// hostPort splits an address; without a host it is every address of the machine.
func hostPort(address string) (string, int, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	n, err := strconv.Atoi(port)
	if host == "" {
		host = "0.0.0.0"
	}
	return host, n, err
}

// connect connects to the own engine, to the members, or to an existing NATS cluster. A connection is made again for ever. problem is told
// what the connection reports by itself, and nil when it is there.
func connect(c Config, e *engine, problem func(error), log zerolog.Logger) (*nats.Conn, error) {
	opt := []nats.Option{
		nats.Name(c.Name), nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond), nats.RetryOnFailedConnect(true),
		nats.PingInterval(pingTime), nats.MaxPingsOutstanding(2), nats.Timeout(pingTime), nats.IgnoreAuthErrorAbort(),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn().Err(err).Msg("The connection to the cluster was lost; it is made again")
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			problem(nil)
			log.Info().Msg("The connection to the cluster is there")
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { problem(err) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			problem(err)
			log.Warn().Err(err).Msg("The connection to the cluster has a problem")
		}),
	}
	address := ""
	switch {
	case c.external():
		more, err := externalOptions(c)
		if err != nil {
			return nil, err
		}
		address, opt = strings.Join(c.Servers, ","), append(opt, more...)
	case e != nil:
		opt = append(opt, nats.UserInfo(user, c.Token), nats.InProcessServer(e.server))
	default:
		address, opt = "nats://"+strings.Join(c.Peers, ",nats://"), append(opt, nats.UserInfo(user, c.Token))
		if c.TLS != nil {
			opt = append(opt, nats.Secure(c.TLS))
		}
	}
	conn, err := nats.Connect(address, opt...)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	return conn, nil
}

// engineLog writes what the engine says to the server's log. Its notices about itself are logged at debug level. Any peer that
// reaches its ports can make it warn, so warnings of a kind are limited.
type engineLog struct {
	log     zerolog.Logger
	folder  string      // of the engine's files
	problem func(error) // see startEngine
	fatal   atomic.Pointer[string]

	mu    sync.Mutex
	kinds map[string]*warnings // by the four kinds of Errorf
}

// warnings are the warnings of a kind in a period.
type warnings struct {
	since          time.Time
	lines, omitted int
}

// maxWarnings is how many warnings of a kind are written in warnPeriod. The next one after that says how many were omitted.
const (
	maxWarnings = 3
	warnPeriod  = time.Minute
)

// warn begins a warning, or a line at debug level if there were enough.
func (l *engineLog) warn(kind string, now time.Time) *zerolog.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	w, known := l.kinds[kind]
	if !known {
		w = &warnings{}
		if l.kinds == nil {
			l.kinds = map[string]*warnings{}
		}
		l.kinds[kind] = w
	}
	omitted := 0
	if now.Sub(w.since) >= warnPeriod {
		omitted, *w = w.omitted, warnings{since: now}
	}
	w.lines++
	if w.lines > maxWarnings {
		w.omitted++
		return l.log.Debug()
	}
	line := l.log.Warn()
	if omitted > 0 {
		line = line.Int("hidden", omitted)
	}
	return line
}

// Noticef and the others implement server.Logger.
func (l *engineLog) Noticef(format string, v ...any) {
	l.log.Debug().Msgf("cluster engine: "+format, v...)
}

// Warnf implements server.Logger.
func (l *engineLog) Warnf(format string, v ...any) {
	l.log.Debug().Msgf("cluster engine: "+format, v...)
}

// Errorf implements server.Logger. A peer that can't be reached is no more than a notice: the store says when that matters. After an error of
// writing the engine stores nothing more, and a new copy is needed. A line about a connection has "rid:" for that of a member in it, or "cid:".
func (l *engineLog) Errorf(format string, v ...any) {
	text, now := fmt.Sprintf(format, v...), time.Now()
	peer := strings.Contains(text, " - rid:")
	switch {
	case strings.HasPrefix(format, "Error trying to connect"):
		l.log.Debug().Msg("cluster engine: " + text)
	case strings.HasPrefix(format, "JetStream") && strings.Contains(format, "critical write error"):
		l.log.Error().Str("error", text).Str("folder", l.folder).
			Msg("This member can't write to its copy of the cluster, and follows no more. See to the disk, stop this node, remove the folder, and start it: it gets a new copy from the other members")
	case strings.Contains(text, server.ErrAuthentication.Error()), strings.Contains(text, "Authorization Violation"):
		if peer {
			l.problem(errToken)
		}
		l.warn("token", now).Str("error", text).Msg("A connection between nodes was refused, because their tokens differ: all nodes need the same one (Cluster.TokenFile)")
	case strings.Contains(text, "TLS") && strings.Contains(text, "handshake error"):
		if peer {
			l.problem(fmt.Errorf("%w: %s", errSilent, text[strings.Index(text, "TLS"):]))
		}
		l.warn("TLS", now).Str("error", text).Msg("A connection between nodes was refused by one side's TLS: Cluster.Certificate of each node needs to be of Cluster.Authority, valid, and for its address in Cluster.Peers")
	case peer, strings.Contains(text, " - cid:"):
		l.warn("connection", now).Msg("cluster engine: " + text)
	default:
		l.warn("", now).Msg("cluster engine: " + text)
	}
}

// Fatalf implements server.Logger. The engine stops by itself then.
func (l *engineLog) Fatalf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.fatal.CompareAndSwap(nil, &text)
	l.log.Error().Msg("cluster engine: " + text)
}

// Debugf implements server.Logger.
func (l *engineLog) Debugf(string, ...any) {}

// Tracef implements server.Logger.
func (l *engineLog) Tracef(string, ...any) {}

// pause waits, and returns false if ctx ends before.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

var (
	// errSilent says that no answer came in time.
	errSilent = errors.New("no majority of the cluster's members answers")
	// errToken says that others have another token.
	errToken = fmt.Errorf("%w: they and this node have different tokens. All nodes need the same one (Cluster.TokenFile)", errSilent)
	// errNoLeader says that the members don't agree yet on who decides.
	errNoLeader = errors.New("a majority of the cluster's members is there, and has no leader yet")
)
