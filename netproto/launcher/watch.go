package launcher

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
)

// Watch pushes at once and then after every change of the working copy, and when a device comes, until ctx ends. A push that
// fails is told to Each, and the next change tries again. The error is about watching itself; ctx's end is none.
func (d *Desk) Watch(ctx context.Context, o WatchOptions) error {
	if o.Settle <= 0 {
		o.Settle = DefaultSettle
	}
	w, err := d.newTreeWatch(ctx)
	if err != nil {
		return err
	}
	defer w.notify.Close()
	for {
		if err := w.push(ctx, o); err != nil {
			return err
		}
		if err := w.wait(ctx, o.Settle); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
}

// push pushes what changed to the devices that are wanted, or everything to those that came since the last push.
func (w *treeWatch) push(ctx context.Context, o WatchOptions) error {
	came, here := w.newcomers(), w.desk.registry.present()
	now, err := w.desk.scans.after(ctx, time.Now(), w.desk.scan)
	changed := err != nil || now.layout.Digest() != w.last
	if !changed && len(came) == 0 {
		return nil
	}
	push := o.Push
	if !changed {
		if push.Devices = chosen(came, o.Push.Devices); len(push.Devices) == 0 {
			w.served = here
			return nil
		}
	} else if len(push.Devices) > 0 {
		push.Devices = chosen(slices.Collect(maps.Keys(here)), o.Push.Devices)
	}
	var result PushResult
	err = ErrNoDevice
	if len(o.Push.Devices) == 0 || len(push.Devices) > 0 {
		result, err = w.desk.Push(ctx, push)
	}
	if ctx.Err() != nil {
		return nil
	}
	w.last, w.served = Hash{}, here
	if err == nil && allFine(result) {
		w.last = result.digest
	}
	if o.Each != nil {
		o.Each(result, err)
	}
	return nil
}

// chosen are those ids that are wanted by id or name; no wish is a wish for all.
func chosen(ids, wanted []string) (list []string) {
	for _, id := range ids {
		if len(wanted) == 0 || slices.Contains(wanted, id) || slices.Contains(wanted, nameOf(id)) {
			list = append(list, id)
		}
	}
	return list
}

func allFine(r PushResult) bool {
	for _, d := range r.Devices {
		if d.Err != nil {
			return false
		}
	}
	return true
}

// treeWatch hears about changes below the working copy: inotify, kqueue or ReadDirectoryChangesW, each folder for itself.
type treeWatch struct {
	desk    *Desk
	notify  *fsnotify.Watcher
	devices <-chan struct{}      // ticks when something about devices changed
	served  map[string]time.Time // connections that were there before the last push
	last    Hash                 // of the working copy that every device got; zero if not every one did
}

func (d *Desk) newTreeWatch(ctx context.Context) (*treeWatch, error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w := &treeWatch{desk: d, notify: notify, devices: d.Changes(ctx)}
	if err := w.add("."); err != nil {
		return nil, errors.Join(err, notify.Close())
	}
	return w, nil
}

// add watches a folder and those below it that are not left out. One that has gone meanwhile is no error.
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

// newcomers are devices that came since the last push, or came back.
func (w *treeWatch) newcomers() (ids []string) {
	for id, since := range w.desk.registry.present() {
		if served, known := w.served[id]; !known || !served.Equal(since) {
			ids = append(ids, id)
		}
	}
	return ids
}

// wait returns when something changed and nothing did for settle, or after MaxSettle.
func (w *treeWatch) wait(ctx context.Context, settle time.Duration) error {
	var quiet, latest <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-quiet:
			return nil
		case <-latest:
			return nil
		case <-w.devices:
			if quiet != nil || len(w.newcomers()) == 0 {
				continue
			}
		case e, open := <-w.notify.Events:
			if !open {
				return fsnotify.ErrClosed
			}
			if !w.matters(e) {
				continue
			}
		case err := <-w.notify.Errors:
			// Events were lost: something changed, and a push finds out what. Folders may have come unseen.
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

// matters reports whether an event is about a file that devices get, and begins to watch new folders.
func (w *treeWatch) matters(e fsnotify.Event) bool {
	name, err := filepath.Rel(w.desk.root.Path("."), e.Name)
	if err != nil || e.Op == fsnotify.Chmod {
		return false
	}
	name = filepath.ToSlash(name)
	info, err := w.desk.root.Lstat(name)
	folder := err == nil && info.IsDir()
	if folder && e.Has(fsnotify.Create) {
		// What cannot be watched is pushed with the next change of what can.
		if err := w.add(name); err != nil {
			w.desk.options.Log.Warn().Err(err).Str("file", name).Msg("folder is not watched")
		}
	}
	return name == IgnoreFile || !w.desk.ignored(name, folder)
}

// ignored reports whether a name is left out, by itself or with a folder above it.
func (d *Desk) ignored(name string, folder bool) bool {
	rules := d.rules.Load()
	return rules.File(name) || folder && rules.Entry(name, true)
}
