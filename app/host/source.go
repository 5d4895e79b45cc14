package host

import (
	"context"
	"errors"
	"net"
	"path"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"collet/app/generations"
	"collet/app/update"
	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/dial"
	"collet/netproto/release"
	"collet/netproto/session"
	"collet/platform"
	"collet/platform/text"
)

// source is an update server as an update.Source, implemented by a session.Client. It maps errors of the protocol to causes for
// players. One Updater uses it at a time; Close may be called from any goroutine.
type source struct {
	options session.Options
	servers *generations.File // remembered generations of servers; nil remembers nothing
	secure  bool              // TLS authenticates the server
	reply   serverReply       // of the server of the last Connect
	offered []release.File    // the last file list

	answers  atomic.Int64 // complete verdicts and lists
	received atomic.Int64 // bytes of all sessions, as received

	mu      sync.Mutex
	client  *session.Client // of the last Connect; nil before the first
	closed  int             // number of Close calls
	dialing func()          // ends the Connect under way; nil without one
}

var (
	_ update.Source = (*source)(nil)
	_ update.Teller = (*source)(nil)
)

// generationOf maps the values of --generation. 0 means automatic detection.
func generationOf(word string) netproto.Generation {
	return map[string]netproto.Generation{"c1": netproto.C1, "g1": netproto.G1, "g2a": netproto.G2a, "g2b": netproto.G2b}[word]
}

// newSource prepares a source for one announced compatibility version.
func newSource(u *updates, compatibility string) *source {
	generation := generationOf(u.opt.Generation)
	identity, manifest := u.identity(compatibility)
	return &source{
		secure:  u.secure(),
		servers: &generations.File{FS: u.fs, Name: path.Join(filepath.ToSlash(u.settings.Baking.CacheResources), generations.FileName), Log: u.log},
		options: session.Options{
			Addr: u.route.addr, Dial: u.route.dial, Generation: generation, Auto: generation == 0,
			Compatibility: compatibility, Target: string(u.target), Log: u.log, RequestSize: new(session.RequestSize),
			Identity: identity, Manifest: manifest,
		},
	}
}

// session is the session of the last Connect, or nil. It may be closed.
func (s *source) session() *session.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

// dial is session.Dial for the one Connect under way. Close ends it; it then leaves no session open and returns net.ErrClosed.
func (s *source) dial(ctx context.Context, options session.Options) (*session.Client, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	before := s.closed
	options.Dial = s.count(options.Dial)
	s.dialing = cancel
	s.mu.Unlock()
	client, err := session.Dial(ctx, options)
	s.mu.Lock()
	closed := s.closed != before
	s.dialing = nil
	if err == nil && !closed {
		s.client = client
	}
	s.mu.Unlock()
	switch {
	case !closed:
		return client, err
	case err == nil:
		return nil, errors.Join(net.ErrClosed, client.Close())
	default: // the fault of the end of ctx
		return nil, net.ErrClosed
	}
}

// progress is the source's progress. It may be called at any time, from any goroutine.
func (s *source) progress() progress {
	return progress{answers: int(s.answers.Load()), bytes: s.received.Load(), waiting: true}
}

// dialer opens a connection, as in session.Options.
type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// count wraps dial so that received bytes are counted.
func (s *source) count(dial dialer) dialer {
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &received{conn, &s.received}, nil
	}
}

// received is a connection that counts received bytes.
type received struct {
	net.Conn
	sum *atomic.Int64
}

// Read implements net.Conn.
func (c *received) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.sum.Add(int64(n))
	return n, err
}

// Connect implements update.Source. A concurrent Close ends it with an error.
func (s *source) Connect(ctx context.Context) (compat.Judgement, error) {
	if err := s.Close(); err != nil {
		return compat.Judgement{}, s.fault(err)
	}
	options := s.options
	if options.Auto && s.servers != nil {
		options.Generation = s.servers.Recall(options.Addr)
	}
	client, err := s.dial(ctx, options)
	if err != nil {
		return compat.Judgement{}, s.fault(err)
	}
	s.answers.Add(1)
	s.recordReply(client)
	if options.Auto && s.servers != nil {
		s.servers.Remember(options.Addr, client.Generation())
	}
	return client.Judgement(), nil
}

// judge implements acquire.Options.Judge. The key of the timestamp, which signs unattended, vouches for the rules: they can't send players to
// another server, and link to known shops only.
func (s *source) judge(rules []byte) (compat.Judgement, error) {
	known, err := compat.ParseRules(rules)
	if err != nil {
		return compat.Judgement{}, err
	}
	r, err := s.options.Judge(known, time.Now())
	if err != nil {
		return compat.Judgement{}, err
	}
	s.reply = serverReply{tags: r.Told, differences: r.Differences, updater: r.Updater}
	r.Judgement.Endpoint = nil
	return r.Judgement, nil
}

// List implements update.Source.
func (s *source) List(ctx context.Context) ([]release.File, error) {
	offers, err := s.session().List(ctx)
	if err != nil {
		return nil, s.fault(err)
	}
	s.answers.Add(1)
	files := make([]release.File, 0, len(offers))
	skipped := 0
	for _, o := range offers {
		if s.client.Generation().Engine() && release.IsMisspelled(o.Path) {
			if skipped++; skipped <= maxSkipped {
				s.options.Log.Warn().Str("file", text.Line(o.Path)).Msg("the server offers a file that is left out: its name is not in Unicode's form NFC")
			}
			continue
		}
		file := release.File{Path: o.Path, Size: o.Size, Role: release.Role(o.Role), Index: o.Index, Digest: release.FNVDigest(o.FNV)}
		if o.HasSHA256 {
			file.Digest = release.SHA256Digest(o.SHA256)
		}
		files = append(files, file)
	}
	s.offered = files
	return files, nil
}

// maxSkipped is how many names of skipped files are logged: more of them have the same cause.
const maxSkipped = 10

// Fetch implements update.Source.
func (s *source) Fetch(ctx context.Context, wants []update.Want, to update.Delivery) error {
	ranges, owners := rangesOf(wants)
	return s.fault(s.session().Fetch(ctx, ranges, func(i int, data []byte) error { return to.Deliver(owners[i], data) }))
}

// rangesOf lists the ranges to request, and for each range the index of its want. A want without missing ranges has an empty range at
// its end.
func rangesOf(wants []update.Want) (ranges []session.FetchRange, owners []int) {
	for i, w := range wants {
		size := w.File.Size
		missing := w.Missing
		if len(missing) == 0 {
			missing = []update.Range{{Start: size, End: size}}
		}
		for _, r := range missing {
			ranges = append(ranges, session.FetchRange{Index: w.File.Index, Offset: r.Start, End: r.End, Size: size})
			owners = append(owners, i)
		}
	}
	return ranges, owners
}

// Close implements update.Source.
func (s *source) Close() error {
	s.mu.Lock()
	s.closed++
	if s.dialing != nil {
		s.dialing()
	}
	client := s.client
	s.mu.Unlock()
	if client == nil {
		return nil
	}
	return client.Close()
}

// fault maps an error of the protocol to an update.Fault. Faults of the disk, which come through Deliver, are returned unchanged.
func (s *source) fault(err error) error {
	var known *update.Fault
	var format *netproto.FormatError
	var refused *session.RefusedError
	var unreachable *session.UnreachableError
	var untrusted *dial.TLSError
	var route *routeError
	switch {
	case err == nil, errors.As(err, &known), errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &refused):
		later := refused.Reason == netproto.RefuseGoingDown || refused.Reason == netproto.RefuseBusy
		return &update.Fault{Cause: update.ServerFault, Transient: true, Refused: later, Subject: s.options.Addr, Err: err}
	case errors.As(err, &format):
		return &update.Fault{Cause: update.ServerFault, Transient: true, Subject: s.options.Addr, Err: err}
	case errors.As(err, &untrusted) && untrusted.Untrusted():
		return &update.Fault{Cause: update.Untrusted, Subject: s.options.Addr, Err: err}
	case errors.As(err, &route):
		return &update.Fault{Cause: update.Unreachable, Subject: s.options.Addr, Err: err}
	case errors.As(err, &unreachable):
		return &update.Fault{Cause: update.Unreachable, Transient: true, Refused: platform.IsRefused(err), Subject: s.options.Addr, Err: err}
	default:
		return &update.Fault{Cause: update.Interrupted, Transient: true, Subject: s.options.Addr, Err: err}
	}
}
