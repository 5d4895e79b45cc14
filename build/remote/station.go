package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"

	"github.com/rs/zerolog"

	"collet/netproto/den"
	"collet/netproto/launcher/desk"
	"collet/netproto/launcher/wire"
)

// defaultAddress is the default listen address: this machine only, on the protocol's port.
const defaultAddress = "localhost:3413"

// Options configure a Station. Root and Home are required.
type Options struct {
	Root    string // the working copy
	Home    Home
	Address string // listen address in a form of den.Listen; empty is defaultAddress
	Network bool   // allow an Address that other machines reach

	Dialect      wire.Dialect
	ReleasedOnly bool     // use the released protocol with Collet's devices, too
	Ignore       []string // lines as in the ignore file
	Times        desk.Times

	// Ask asks a person whether to admit an unknown device. ctx ends when the device stops waiting. If nil, unknown devices are refused.
	Ask func(ctx context.Context, name string, address netip.Addr) bool
	// Note is called with messages for the user that belong to no request. May be nil. It may be called from any goroutine.
	Note func(text string)
	Log  zerolog.Logger
	Own  bool // the station lives for one request only
}

// controller is the part of desk.Desk that Station uses.
type controller interface {
	Devices() []desk.DeviceInfo
	Changes(ctx context.Context) <-chan struct{}
	Push(ctx context.Context, o desk.PushOptions) (desk.PushResult, error)
	Start(ctx context.Context, o desk.StartOptions) ([]desk.Outcome, error)
	Stop(ctx context.Context, o desk.StopOptions) ([]desk.Outcome, error)
	Logs(ctx context.Context, devices ...string) <-chan desk.LogLine
	LogTail(device string) []desk.LogLine
	Watch(ctx context.Context, o desk.WatchOptions) error
}

var _ controller = (*desk.Desk)(nil)

// Doer executes requests: a Station, or a Link to one in another process.
type Doer interface {
	// Do executes a request and returns when it is done or ctx has ended. emit receives events, from one goroutine at a time, and not after
	// Do has returned. The error is a *Failure.
	Do(ctx context.Context, r Request, emit func(Event)) error
}

var (
	_ Doer = (*Station)(nil)
	_ Doer = (*Link)(nil)
)

// Station serves a working copy. Open makes one; its methods may be called from any goroutine.
type Station struct {
	options   Options
	desk      controller
	admission admission
	address   netip.AddrPort // listen address
	close     func() error
}

// Open opens the working copy, listens and admits devices. The error is a *Failure.
func Open(o Options) (*Station, error) {
	if o.Address == "" {
		o.Address = defaultAddress
	}
	if !o.Network && !IsLocal(o.Address) {
		return nil, failure(FaultUsage, "other machines can reach %q, and each of them can read the working copy; add --network if that is meant", o.Address)
	}
	root, err := filepath.Abs(o.Root)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return nil, fail(fmt.Errorf("working copy: %w", err))
	}
	s := &Station{options: o}
	s.options.Root = root
	s.admission = admission{pairs: OpenPairs(o.Home.Pairs()), ask: o.Ask, note: s.note, rejected: map[Pair]bool{}}
	d, err := desk.New(desk.Options{
		Root: root, Dialect: o.Dialect, Ignore: o.Ignore, CacheFile: o.Home.Hashes(root),
		Admit: s.admission.admit, ReleasedOnly: o.ReleasedOnly, Times: o.Times, Log: o.Log,
	})
	if err != nil {
		return nil, fail(err)
	}
	if err := s.listen(d); err != nil {
		return nil, fail(errors.Join(err, d.Close()))
	}
	s.desk = d
	return s, nil
}

// listen accepts devices until close is called.
func (s *Station) listen(d *desk.Desk) error {
	listener, err := den.Listen(s.options.Address, desk.Transport(den.Options{Log: s.options.Log}))
	if err != nil {
		return fmt.Errorf("listen on %s: %w; end what listens there, or take another address with --listen", s.options.Address, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.address = listener.Addr()
	var served sync.WaitGroup
	served.Go(func() {
		if err := d.Serve(ctx, listener); err != nil && ctx.Err() == nil {
			s.note(fmt.Sprintf("no more devices are let in: %v", err))
		}
	})
	s.close = sync.OnceValue(func() error {
		cancel()
		served.Wait()
		return errors.Join(listener.Close(), d.Close())
	})
	return nil
}

// IsLocal reports whether only this machine can reach an address in a form of den.Listen.
func IsLocal(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}

// Root returns the absolute path of the working copy.
func (s *Station) Root() string { return s.options.Root }

// Addr returns the listen address.
func (s *Station) Addr() netip.AddrPort { return s.address }

// Close ends all connections in order and releases the working copy. Call it when every Do has returned.
func (s *Station) Close() error { return s.close() }

func (s *Station) note(text string) {
	if s.options.Note != nil {
		s.options.Note(text)
	}
}

// Failure is the failure of a request. Its text is for a person, and includes advice.
type Failure struct {
	Fault Fault
	Text  string
}

func (f *Failure) Error() string { return f.Text }

func failure(fault Fault, format string, args ...any) *Failure {
	return &Failure{fault, fmt.Sprintf(format, args...)}
}

// fail converts an error to a Failure.
func fail(err error) error {
	var known *Failure
	var option *desk.OptionError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.Canceled):
		return &Failure{FaultCancelled, "interrupted"}
	case errors.Is(err, desk.ErrNoDevice):
		return &Failure{FaultNoDevice, err.Error()}
	case errors.As(err, &option):
		return &Failure{FaultUsage, err.Error()}
	}
	return &Failure{FaultOther, err.Error()}
}
