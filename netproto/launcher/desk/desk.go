package desk

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"collet/netproto/den"
	"collet/netproto/launcher/tree"
	"collet/platform"
)

// Desk is the server role: it owns the working copy, and devices connect to it. Make one with New and call Serve with
// listeners. All methods are safe for concurrent use.
type Desk struct {
	options    Options
	settings   sessionSettings
	root       *workingCopy
	cache      *platform.Dir // nil without CacheFile
	doubtsName string        // in cache
	tree       *tree.Tree
	rules      atomic.Pointer[tree.IgnoreRules]
	scans      scans
	hashing    queue
	logs       logHub
	registry   *registry
	sessions   atomic.Int64
}

// New checks the options and opens the working copy; Close closes it. The error is an *OptionError, a *tree.IgnoreError,
// or that of the folder.
func New(o Options) (*Desk, error) {
	if o.Root == "" {
		return nil, &OptionError{Option: "Root", Reason: "is empty: name the folder of the working copy"}
	}
	if o.MaxDevices <= 0 {
		o.MaxDevices = DefaultMaxDevices
	}
	root, err := openWorkingCopy(o.Root)
	if err != nil {
		return nil, err
	}
	d := &Desk{options: o, root: root, registry: newRegistry()}
	if err := d.loadRules(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	options := tree.Options{Links: o.Links, Skip: func(path string, dir bool) bool { return d.rules.Load().Entry(path, dir) }}
	if o.CacheFile != "" {
		if d.cache, err = platform.OpenDir(filepath.Dir(o.CacheFile)); err != nil {
			return nil, errors.Join(err, root.Close())
		}
		options.Cache, options.CacheName = d.cache, filepath.Base(o.CacheFile)
		d.doubtsName = options.CacheName + doubtsSuffix
		d.loadDoubts()
	}
	d.tree = tree.New(root, options)
	d.settings = sessionSettings{times: o.Times.withDefaults(), dialect: o.Dialect, known: newLayouts(),
		keep: func(path string) bool { return d.rules.Load().File(path) }}
	return d, nil
}

// loadRules reads the ignore file, which may have changed.
func (d *Desk) loadRules() error {
	text := ""
	for _, line := range d.options.Ignore {
		text += line + "\n"
	}
	data, err := d.root.readFile(tree.IgnoreFile, tree.MaxIgnore)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	rules, err := tree.ParseIgnore(text, string(data))
	if err != nil {
		return err
	}
	d.rules.Store(&rules)
	return nil
}

// scan reads the ignore rules and scans the folder that is at the working copy's path now.
func (d *Desk) scan(ctx context.Context) (scanned, error) {
	if err := d.root.follow(); err != nil {
		return scanned{}, err
	}
	if err := d.loadRules(); err != nil {
		return scanned{}, err
	}
	stop := d.registry.tickEvery(scanTick)
	defer stop()
	layout, problems, err := d.tree.Scan(ctx)
	return scanned{layout: layout, problems: problems}, err
}

// scanTick is how often the progress of a scan is reported.
const scanTick = 250 * time.Millisecond

// Serve accepts devices until ctx or the listener ends, and returns when all their sessions have ended. It may be called
// for several listeners. The caller closes the listener, whose options should come from Transport.
func (d *Desk) Serve(ctx context.Context, l *den.Listener) error {
	return d.serve(ctx, func(ctx context.Context) (connection, error) {
		conn, err := l.Accept(ctx)
		return denConnection{conn}, err
	})
}

func (d *Desk) serve(ctx context.Context, accept func(context.Context) (connection, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	for {
		w, err := accept(ctx)
		switch {
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			return err
		}
		if d.sessions.Add(1) > int64(d.options.MaxDevices) {
			d.options.Log.Warn().Str("peer", w.Address().String()).Int("limit", d.options.MaxDevices).Msg("too many devices")
			d.sessions.Add(-1)
			w.Abort()
			continue
		}
		group.Go(func() { newRunner(d, w).run(ctx) })
	}
}

// Close closes the working copy. Call it after Serve, Push and Watch have returned.
func (d *Desk) Close() error {
	err := d.tree.Save()
	if d.cache != nil {
		err = errors.Join(err, d.cache.Close())
	}
	return errors.Join(err, d.root.Close())
}

// Devices are snapshots of all devices that are connected or awaited, sorted by ID.
func (d *Desk) Devices() []DeviceInfo {
	infos := d.registry.snapshot()
	hashed, total := d.tree.Progress()
	for i := range infos {
		if p := &infos[i].Push; p.Phase == PushScanning {
			p.Hashed, p.HashTotal = int64(hashed), int64(total)
		}
	}
	return infos
}

// Changes sends a tick when the result of Devices has changed. It is level-triggered: a slow reader misses ticks, never
// the latest state. The first tick is sent at once. The channel is closed when ctx ends.
func (d *Desk) Changes(ctx context.Context) <-chan struct{} { return d.registry.watch(ctx) }

// Logs sends the lines that devices log from now on, in order of arrival, until ctx ends. A reader slower than the
// devices loses lines; LogLine.Lost counts them. devices are ids or names; none means all, including later ones.
func (d *Desk) Logs(ctx context.Context, devices ...string) <-chan LogLine {
	devices = slices.Clone(devices)
	return d.logs.read(ctx, func(id string) bool {
		return len(devices) == 0 || slices.ContainsFunc(devices, func(wanted string) bool { return id == wanted || nameOf(id) == wanted })
	})
}

// LogTail is the last lines of one device, oldest first, at most MaxLogTail. It is empty for an unknown device.
func (d *Desk) LogTail(device string) []LogLine { return d.logs.tail(device) }

// update publishes the state of a session.
func (d *Desk) update(r *runner) {
	if record := r.record.Load(); record != nil {
		d.registry.update(record, r.session.info, r.session.phase == phaseReady)
	}
}

// register gives a device its record and its id.
func (d *Desk) register(r *runner, name string) (string, *doubts) {
	record, doubts := d.registry.register(r, name, r.conn.Address().Addr())
	r.record.Store(record)
	d.logs.add(LogLine{Device: record.id, Time: time.Now(), Text: "connected"})
	d.options.Log.Info().Str("peer", r.conn.Address().String()).Str("device", record.id).Msg("device connected")
	return record.id, doubts
}

// unregister handles the end of a session.
func (d *Desk) unregister(r *runner, cause error) {
	record := r.record.Load()
	if record == nil {
		return
	}
	text := "went away"
	if cause != nil && !errors.Is(cause, context.Canceled) && !errors.Is(cause, io.EOF) {
		text += ": " + cause.Error()
	}
	d.options.Log.Info().Str("peer", r.conn.Address().String()).Str("device", record.id).AnErr("cause", cause).Msg("device went away")
	d.logs.add(LogLine{Device: record.id, Time: time.Now(), Text: text, Lost: r.session.lost})
	for _, id := range d.registry.markDisconnected(record, time.Now()) {
		d.logs.forget(id)
		d.settings.known.forget(id)
	}
}

// nameOf is the name in an id.
func nameOf(id string) string {
	if at := strings.LastIndexByte(id, '@'); at >= 0 {
		return id[:at]
	}
	return id
}
