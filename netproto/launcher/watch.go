package launcher

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Watch pushes at once and then after every change of the working copy, until ctx ends. A push that fails is told to
// Each, and the next change tries again. The error is about watching itself; ctx's end is none.
func (d *Desk) Watch(ctx context.Context, o WatchOptions) error {
	if o.Settle <= 0 {
		o.Settle = DefaultSettle
	}
	w, err := d.newTreeWatch()
	if err != nil {
		return err
	}
	defer w.notify.Close()
	for {
		result, err := d.Push(ctx, o.Push)
		if ctx.Err() != nil {
			return nil
		}
		if o.Each != nil {
			o.Each(result, err)
		}
		if err := w.wait(ctx, o.Settle); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
}

// treeWatch hears about changes below the working copy: inotify, kqueue or ReadDirectoryChangesW, each folder for itself.
type treeWatch struct {
	desk   *Desk
	notify *fsnotify.Watcher
}

func (d *Desk) newTreeWatch() (*treeWatch, error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w := &treeWatch{desk: d, notify: notify}
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
