package device

import (
	"context"
	"errors"
	"io"
	"path"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/launcher/tree"
	"collet/netproto/launcher/wire"
	"collet/platform"
	"collet/platform/interrupt"
)

// Options configure a Device. Root or FS, and Name, are required; the zero value of every other field is useful.
type Options struct {
	// Root is the data folder, which must exist. Nothing outside of it is read or written.
	Root string
	// FS replaces Root if it is not nil. The caller closes it.
	FS platform.FS
	// Name is what the desk displays; at most wire.MaxName bytes.
	Name string
	// Dialect is the dialect of desks without our own mode. The two dialects can't be told apart on the wire.
	Dialect wire.Dialect
	// Launcher runs the application; with nil every start is refused.
	Launcher Launcher
	// ReleasedOnly turns our own mode off, also with desks that support it.
	ReleasedOnly bool
	// Log receives events of the connection and of files.
	Log zerolog.Logger
}

// Device is the device's side: a folder that follows a desk. Make one with New. All methods are safe for concurrent use.
type Device struct {
	o     Options
	fsys  platform.FS
	owned io.Closer // fsys, if New opened it
	lock  io.Closer
	tree  *tree.Tree
	disk  *disk
	board *statusBoard
	log   *logBook
	app   *appRunner
	turn  chan struct{} // holds one token while Run is not running
	state chan struct{} // holds one token when the run state changed

	sentLayout *wire.Layout // last layout sent to a desk in our own mode; for the worker only
}

var (
	// ErrNameTooLong says that the name of a device exceeds wire.MaxName.
	ErrNameTooLong = errors.New("the name of a device may have 255 bytes: choose a shorter one")
	// ErrInUse says that another process, or another Device, has locked the folder.
	ErrInUse = errors.New("another launcher uses this data folder: end it, or choose another folder")
)

// New opens the data folder, locks it and removes the leftovers of an earlier process. Close must be called.
func New(o Options) (*Device, error) {
	if len(o.Name) > wire.MaxName {
		return nil, ErrNameTooLong
	}
	d := &Device{o: o, fsys: o.FS, turn: make(chan struct{}, 1), state: make(chan struct{}, 1)}
	if d.fsys == nil {
		dir, err := platform.OpenDir(o.Root)
		if err != nil {
			return nil, err
		}
		d.fsys, d.owned = dir, dir
	}
	if err := d.open(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	d.turn <- struct{}{}
	return d, nil
}

func (d *Device) open() error {
	if err := d.fsys.MkdirAll(wire.StateFolder, 0o755); err != nil {
		return err
	}
	lock, err := d.fsys.Lock(path.Join(wire.StateFolder, "lock"))
	if errors.Is(err, platform.ErrLocked) {
		return ErrInUse
	}
	if err != nil {
		return err
	}
	d.lock = lock
	d.tree = tree.New(d.fsys, tree.Options{Cache: d.fsys, CacheName: path.Join(wire.StateFolder, "hashes")})
	if d.disk, err = openDisk(d.fsys, d.tree, time.Now); err != nil {
		return err
	}
	d.board, d.log = newStatusBoard(time.Now), newLogBook(time.Now)
	d.app = &appRunner{launcher: d.o.Launcher, phase: PhaseStopped, out: d.Say, report: d.log.report, changed: d.runChanged}
	return nil
}

// Close releases the folder. Run must have returned.
func (d *Device) Close() error {
	var errs []error
	for _, c := range []io.Closer{d.lock, d.owned} {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// Run connects to the desk, serves it, and reconnects when the connection ends, until ctx ends. Then it asks the
// application to close, and kills it after five seconds. dial makes a connection; DialDesk makes a dial. The error is
// that of ctx, or ErrBusy if Run was called before.
func (d *Device) Run(ctx context.Context, dial func(ctx context.Context) (Conn, error)) error {
	select {
	case <-d.turn:
	default:
		return ErrBusy
	}
	for pause := firstPause; ctx.Err() == nil; {
		accepted, err := d.connect(ctx, dial)
		if accepted {
			pause = firstPause
		}
		d.reportDisconnected(ctx, err)
		_ = interrupt.Sleep(ctx, pause) // the loop checks ctx
		pause = min(2*pause, longestPause)
	}
	d.app.close()
	if err := d.disk.save(true); err != nil {
		d.o.Log.Warn().Err(err).Msg("the cache of hashes was not saved")
	}
	d.board.enter(ConnectionStopped, "")
	d.board.watchers.Close()
	return ctx.Err()
}

// connect serves one connection from its beginning to its end.
func (d *Device) connect(ctx context.Context, dial func(ctx context.Context) (Conn, error)) (accepted bool, err error) {
	d.board.enter(ConnectionDialing, "")
	conn, err := dial(ctx)
	if err != nil {
		return false, err
	}
	s := newDeviceSession(d, conn)
	return s.serve(ctx)
}

// reportDisconnected reports why there is no connection.
func (d *Device) reportDisconnected(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	d.o.Log.Info().Err(err).Msg("not connected with a desk")
	d.board.enter(ConnectionAway, err.Error())
}

// Status returns a snapshot, before, during and after Run.
func (d *Device) Status() Status {
	s := d.board.get()
	s.Log = d.log.shown()
	return s
}

// Watch returns a channel that sends a tick when the Status has changed, the first one at once. It buffers one tick: a
// slow reader misses ticks and reads a newer Status. It is closed when ctx ends or Run returns.
func (d *Device) Watch(ctx context.Context) <-chan struct{} { return d.board.watchers.Add(ctx) }

// Say adds a line of the host to the log: to Status, and to the desk once one is connected. It does not block.
func (d *Device) Say(line Line) {
	d.log.add(line)
	d.board.change(func(*Status) {})
}

// Start starts an application locally. The error is ErrBusy or ErrNoLauncher; later results appear in Status.
func (d *Device) Start(r StartRequest) error { return d.app.start(r) }

// LastStart returns the last request of a desk or of Start.
func (d *Device) LastStart() (StartRequest, bool) { return d.app.lastStart() }

// Stop asks the application to close, and kills it after five seconds. It returns at once.
func (d *Device) Stop() { d.app.stopByHand() }

// Kill ends the application at once.
func (d *Device) Kill() { d.app.stop(wire.StopKill) }

// runChanged publishes a new phase of the application.
func (d *Device) runChanged() {
	phase := d.app.now()
	d.board.change(func(s *Status) {
		if s.Run != phase {
			s.Run, s.RunSince = phase, time.Now()
		}
	})
	signal(d.state)
}

// property is the value of a property that a desk requests.
func (d *Device) property(name string) string {
	var names []string
	standard := ""
	if d.o.Launcher != nil && name != wire.PropertyNames {
		names, standard = d.o.Launcher.Profiles()
	}
	switch name {
	case wire.PropertyNames:
		return wire.PropertyProfiles + "\n" + wire.PropertyDefaultProfile
	case wire.PropertyProfiles:
		return joinNames(names)
	case wire.PropertyDefaultProfile:
		return cutText(standard, wire.MaxText)
	}
	return ""
}

// joinNames joins names with newlines, as many as fit.
func joinNames(names []string) (text string) {
	for i, name := range names {
		if len(text)+1+len(name) > wire.MaxText {
			break
		}
		if i > 0 {
			text += "\n"
		}
		text += name
	}
	return text
}
