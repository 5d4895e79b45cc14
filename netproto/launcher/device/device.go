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

// Options say what a Device is. Root or FS and Name are needed; the zero value of everything else is useful.
type Options struct {
	// Root is the data folder, an existing one. Nothing outside of it is read or written.
	Root string
	// FS is used in place of Root if it is not nil. It stays the caller's to close.
	FS platform.FS
	// Name is what the desk shows; at most MaxName bytes.
	Name string
	// Dialect is what desks speak that do not speak our own mode. The two can't be told apart on the wire.
	Dialect wire.Dialect
	// Launcher runs the application; nil refuses to.
	Launcher Launcher
	// ReleasedOnly does not use our own messages even with those who know them.
	ReleasedOnly bool
	// Log is told what happens to the connection and to files.
	Log zerolog.Logger
}

// Device is the device's side: a folder that follows a desk. Use New to make one. All methods are safe for concurrent
// use.
type Device struct {
	o     Options
	fsys  platform.FS
	owned io.Closer // fsys, if it is ours
	lock  io.Closer
	tree  *tree.Tree
	disk  *disk
	board *statusBoard
	log   *logBook
	app   *appRunner
	turn  chan struct{} // holds one while nobody is in Run
	state chan struct{} // holds one when the run state changed

	told *wire.Layout // that a desk of our own mode was told last; of the worker alone
}

var (
	// ErrNameTooLong says that the name of a device does not fit into a message.
	ErrNameTooLong = errors.New("the name of a device may have 255 bytes: choose a shorter one")
	// ErrInUse says that another process, or another Device, has the folder.
	ErrInUse = errors.New("another launcher uses this data folder: end it, or choose another folder")
)

// New opens the data folder, takes its lock and removes what an earlier process left half-written. Close must be called.
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

// Close lets go of the folder. Run must have returned.
func (d *Device) Close() error {
	var errs []error
	for _, c := range []io.Closer{d.lock, d.owned} {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// Run dials the desk, serves it, and begins again when the connection ends, until ctx ends. Then it ends the application: it
// asks, and kills after five seconds. dial makes a connection; DialDesk makes a dial. The error is that of ctx, or ErrBusy
// when Run is running or has run.
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
		d.away(ctx, err)
		_ = interrupt.Sleep(ctx, pause) // the loop looks at ctx
		pause = min(2*pause, longestPause)
	}
	d.app.close()
	if err := d.disk.save(true); err != nil {
		d.o.Log.Warn().Err(err).Msg("the cache of hashes was not saved")
	}
	d.board.enter(ConnectionStopped, "")
	d.board.close()
	return ctx.Err()
}

// connect is one connection from its beginning to its end.
func (d *Device) connect(ctx context.Context, dial func(ctx context.Context) (Conn, error)) (accepted bool, err error) {
	d.board.enter(ConnectionDialing, "")
	conn, err := dial(ctx)
	if err != nil {
		return false, err
	}
	s := newDeviceSession(d, conn)
	return s.serve(ctx)
}

// away notes why there is no connection.
func (d *Device) away(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	d.o.Log.Info().Err(err).Msg("not connected with a desk")
	d.board.enter(ConnectionAway, err.Error())
}

// Status is a snapshot, before, during and after Run.
func (d *Device) Status() Status {
	s := d.board.get()
	s.Log = d.log.shown()
	return s
}

// Watch returns a channel that ticks when the Status has changed, the first time at once. It holds one tick: whoever is slow
// misses some and reads a newer Status. It is closed when ctx ends or Run returns.
func (d *Device) Watch(ctx context.Context) <-chan struct{} { return d.board.watch(ctx) }

// Say adds a line of the host to the log: to Status and, as soon as there is one, to the desk. It does not block.
func (d *Device) Say(line Line) {
	d.log.add(line)
	d.board.change(func(*Status) {})
}

// Start starts an application by hand. The error is ErrBusy or ErrNoLauncher; everything later is seen in Status.
func (d *Device) Start(r StartRequest) error { return d.app.start(r) }

// LastStart is what a desk, or Start, asked for last.
func (d *Device) LastStart() (StartRequest, bool) { return d.app.lastStart() }

// Stop asks the application to close and kills it when it has not after five seconds. It returns at once.
func (d *Device) Stop() { d.app.stopByHand() }

// Kill ends the application at once.
func (d *Device) Kill() { d.app.stop(wire.StopKill) }

// runChanged tells everybody about another phase of the application.
func (d *Device) runChanged() {
	phase := d.app.now()
	d.board.change(func(s *Status) {
		if s.Run != phase {
			s.Run, s.RunSince = phase, time.Now()
		}
	})
	signal(d.state)
}

// properties are what desks may ask for.
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

// joinNames puts one name a line, as many as fit.
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
