package desk

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"collet/netproto/launcher/tree"
	"collet/netproto/launcher/wire"
	"collet/platform"
)

// Watch pushes at once, after every change of the working copy, and when a device connects, until ctx ends. It does not
// wait for disconnected devices: a device gets everything when it reconnects, and its game is restarted only if files
// changed. A failed push is reported to Each, and the next change tries again. The error concerns watching itself; the
// end of ctx is no error.
func (d *Desk) Watch(ctx context.Context, o WatchOptions) error {
	if o.Settle <= 0 {
		o.Settle = DefaultSettle
	}
	w, err := d.newTreeWatch(ctx, o.Push.Devices)
	if err != nil {
		return err
	}
	defer func() { w.notify.Close() }()
	for {
		if err := w.follow(); err != nil {
			return err
		}
		w.push(ctx, o)
		if err := w.wait(ctx, o.Settle); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
}

// push pushes to the wanted devices that lack the current content of the folder, or that have reconnected.
func (w *treeWatch) push(ctx context.Context, o WatchOptions) {
	now, err := w.desk.scans.after(ctx, time.Now(), w.desk.scan)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		tell(o, PushResult{}, err)
	default:
		w.pushOf(ctx, o, now.layout.Digest())
	}
}

func (w *treeWatch) pushOf(ctx context.Context, o WatchOptions, digest wire.Hash) {
	var fresh, back []string
	for id, since := range w.wanted() {
		switch {
		case w.got[id] != digest:
			fresh = append(fresh, id)
		case !w.served[id].Equal(since):
			back = append(back, id)
		}
	}
	if len(w.wanted()) == 0 && w.alone != digest {
		w.alone = digest
		tell(o, PushResult{}, ErrNoDevice)
	}
	w.serve(ctx, o, fresh, o.Push.Start)
	w.serve(ctx, o, back, nil)
}

// serve pushes to some devices and records which content each received.
func (w *treeWatch) serve(ctx context.Context, o WatchOptions, ids []string, start *StartOptions) {
	if len(ids) == 0 || ctx.Err() != nil {
		return
	}
	slices.Sort(ids)
	push := o.Push
	push.Devices, push.Start, push.leave = ids, start, true
	result, err := w.desk.Push(ctx, push)
	if ctx.Err() != nil {
		return
	}
	w.alone = wire.Hash{}
	here := w.desk.registry.present()
	for _, d := range result.Devices {
		w.served[d.Device] = here[d.Device]
		if delete(w.got, d.Device); d.Err == nil {
			w.got[d.Device] = result.digest
		}
	}
	for id := range w.served { // disconnected devices are not remembered forever
		if _, there := here[id]; !there && len(w.served) > keptRecords {
			delete(w.served, id)
			delete(w.got, id)
		}
	}
	tell(o, result, err)
}

func tell(o WatchOptions, r PushResult, err error) {
	if o.Each != nil {
		o.Each(r, err)
	}
}

// treeWatch observes the working copy: inotify, kqueue or ReadDirectoryChangesW, each folder separately.
type treeWatch struct {
	desk    *Desk
	notify  *fsnotify.Watcher
	watched *platform.Dir        // the working copy whose folders are watched
	gone    bool                 // the path is empty
	names   []string             // ids or names of wanted devices; empty is all
	devices <-chan struct{}      // ticks when something about devices changed
	served  map[string]time.Time // by id, since when the connection of the last push exists
	got     map[string]wire.Hash // by id, the working copy that a device has
	alone   wire.Hash            // the working copy for which no device was connected, as was already reported
}

func (d *Desk) newTreeWatch(ctx context.Context, names []string) (*treeWatch, error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return &treeWatch{desk: d, notify: notify, names: names, devices: d.Changes(ctx),
		served: make(map[string]time.Time), got: make(map[string]wire.Hash)}, nil
}

// follow watches the folder that is at the working copy's path now. A missing folder is no error: the push reports it,
// and wait polls for it.
func (w *treeWatch) follow() error {
	err := w.desk.root.follow()
	w.gone = err != nil
	now := w.desk.root.now()
	if w.gone || w.watched == now {
		return nil
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	err = w.notify.Close() // the watched folder is no longer at the path
	w.notify, w.watched = notify, now
	return errors.Join(err, w.add("."))
}

// lookEvery is how often the path of the working copy is polled: no event reports that another folder replaced it.
const lookEvery = time.Second

// moved reports whether the path of the working copy has another folder than at the last push.
func (w *treeWatch) moved() bool {
	err := w.desk.root.follow()
	return (err != nil) != w.gone || err == nil && w.desk.root.now() != w.watched
}

// add watches a folder and its subfolders, except those left out. A folder that vanished meanwhile is no error.
func (w *treeWatch) add(dir string) error {
	if err := w.notify.Add(w.desk.root.Path(dir)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return &fs.PathError{Op: "watch", Path: dir, Err: err}
	}
	entries, err := w.desk.root.ReadDir(dir)
	if err != nil && dir == "." {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if !e.IsDir() || w.desk.rules.Load().Entry(name, true) {
			continue
		}
		if err := w.add(name); err != nil {
			return err
		}
	}
	return nil
}

// wanted are the wanted devices that are connected, and since when.
func (w *treeWatch) wanted() map[string]time.Time {
	here := w.desk.registry.present()
	maps.DeleteFunc(here, func(id string, _ time.Time) bool {
		return len(w.names) > 0 && !slices.Contains(w.names, id) && !slices.Contains(w.names, nameOf(id))
	})
	return here
}

// came reports whether a device connected or reconnected since the last push.
func (w *treeWatch) came() bool {
	for id, since := range w.wanted() {
		if !w.served[id].Equal(since) {
			return true
		}
	}
	return false
}

// wait returns when something changed and the folder was then quiet for settle, or after MaxSettle.
func (w *treeWatch) wait(ctx context.Context, settle time.Duration) error {
	var quiet, latest <-chan time.Time
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-look.C:
			if quiet != nil || !w.moved() {
				continue
			}
		case <-quiet:
			return nil
		case <-latest:
			return nil
		case <-w.devices:
			if quiet != nil || !w.came() {
				continue
			}
		case e, open := <-w.notify.Events:
			if !open {
				return fsnotify.ErrClosed
			}
			if w.gone || !w.matters(e) {
				continue
			}
		case err := <-w.notify.Errors:
			// Events were lost: something changed, and a push finds out what. New folders may have been missed.
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return err
			}
			if err := w.add("."); err != nil {
				return err
			}
		}
		quiet = time.After(settle)
		if latest == nil {
			latest = time.After(MaxSettle)
		}
	}
}

// matters reports whether an event concerns a file that devices get. It also begins to watch new folders.
func (w *treeWatch) matters(e fsnotify.Event) bool {
	name, err := filepath.Rel(w.desk.root.Path("."), e.Name)
	if err != nil || e.Op == fsnotify.Chmod {
		return false
	}
	name = filepath.ToSlash(name)
	info, err := w.desk.root.Lstat(name)
	folder := err == nil && info.IsDir()
	if folder && e.Has(fsnotify.Create) {
		// Changes in an unwatchable folder are pushed with the next observed change.
		if err := w.add(name); err != nil {
			w.desk.options.Log.Warn().Err(err).Str("file", name).Msg("folder is not watched")
		}
	}
	return name == tree.IgnoreFile || !w.desk.ignored(name, folder)
}

// ignored reports whether a name is left out, by itself or with a folder above it.
func (d *Desk) ignored(name string, folder bool) bool {
	rules := d.rules.Load()
	return rules.File(name) || folder && rules.Entry(name, true)
}
