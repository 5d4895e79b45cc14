//go:build crashpoints

package host

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"collet/platform"
)

// This file is in builds with the tag crashpoints only, which are for QA and are not shipped. Such a client counts the
// operations that change its install, from 1 in each process, and looks at two variables of its environment:
//
//	COLLET_CRASH_LIST=FILE   append "number verb names" to FILE before each operation
//	COLLET_CRASH_AT=POINT    kill this process at an operation: its number or "verb name", where name may be a pattern
//	                         ("sync Resources/~*"), then ":before" (so it is without) or ":after"; the first that fits
//
// Verbs: create, write, truncate, sync (of a file), rename, exchange, remove, mkdir, chmod, syncdir.
const (
	crashAt   = "COLLET_CRASH_AT"
	crashList = "COLLET_CRASH_LIST"
)

// watched wraps the install's folder. Operations that platform.FS gets later pass through uncounted until they are
// wrapped here, too.
func watched(fsys platform.FS) platform.FS {
	at, after := strings.CutSuffix(os.Getenv(crashAt), ":after")
	w := &watchedFS{FS: fsys, point: strings.TrimSuffix(at, ":before"), after: after}
	if name := os.Getenv(crashList); name != "" {
		list, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		if err != nil {
			panic(fmt.Sprintf("collet-client: %s: %v", crashList, err)) // a list with holes would hide points
		}
		w.list = list
	}
	return w
}

// watchedFS counts the operations that change its folder, and kills this process at the configured one.
type watchedFS struct {
	platform.FS
	point string // a number, or "verb pattern"; empty: no crash point
	after bool
	list  *os.File // nil without a list

	mu    sync.Mutex // held during an operation, so that ":after" comes before any other operation
	count int
}

// Close implements platform.FS.
func (w *watchedFS) Close() error {
	if w.list != nil {
		w.list.Close()
	}
	return w.FS.Close()
}

// do counts one operation and performs it.
func (w *watchedFS) do(operation func() error, verb string, names ...string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count++
	if w.list != nil {
		fmt.Fprintf(w.list, "%d %s %s\n", w.count, verb, strings.Join(names, " "))
	}
	here := w.fits(verb, names)
	if here && !w.after {
		die()
	}
	err := operation()
	if here {
		die()
	}
	return err
}

func (w *watchedFS) fits(verb string, names []string) bool {
	wanted, pattern, named := strings.Cut(w.point, " ")
	if !named {
		return w.point == strconv.Itoa(w.count)
	}
	return verb == wanted && slices.ContainsFunc(names, func(name string) bool {
		fits, err := path.Match(pattern, name)
		return err == nil && fits
	})
}

// die kills this process, so that no file is closed or flushed.
func die() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		self.Kill()
	}
	select {} // the signal is on its way
}

// OpenFile implements platform.FS.
func (w *watchedFS) OpenFile(name string, flag int, perm fs.FileMode) (file platform.File, err error) {
	open := func() error { file, err = w.FS.OpenFile(name, flag, perm); return err }
	if flag&(os.O_CREATE|os.O_TRUNC) == 0 {
		err = open()
	} else {
		err = w.do(open, "create", name)
	}
	if err != nil {
		return nil, err
	}
	return &watchedFile{File: file, fs: w, name: name}, nil
}

// Rename implements platform.FS.
func (w *watchedFS) Rename(oldName, newName string) error {
	return w.do(func() error { return w.FS.Rename(oldName, newName) }, "rename", oldName, newName)
}

// Link implements platform.FS.
func (w *watchedFS) Link(oldName, newName string) error {
	return w.do(func() error { return w.FS.Link(oldName, newName) }, "link", oldName, newName)
}

// Exchange implements platform.FS.
func (w *watchedFS) Exchange(a, b string) error {
	return w.do(func() error { return w.FS.Exchange(a, b) }, "exchange", a, b)
}

// Remove implements platform.FS.
func (w *watchedFS) Remove(name string) error {
	return w.do(func() error { return w.FS.Remove(name) }, "remove", name)
}

// MkdirAll implements platform.FS.
func (w *watchedFS) MkdirAll(name string, perm fs.FileMode) error {
	return w.do(func() error { return w.FS.MkdirAll(name, perm) }, "mkdir", name)
}

// Chmod implements platform.FS.
func (w *watchedFS) Chmod(name string, mode fs.FileMode) error {
	return w.do(func() error { return w.FS.Chmod(name, mode) }, "chmod", name)
}

// SyncDir implements platform.FS.
func (w *watchedFS) SyncDir(name string) error {
	return w.do(func() error { return w.FS.SyncDir(name) }, "syncdir", name)
}

// watchedFile counts the operations that change a file's content.
type watchedFile struct {
	platform.File
	fs   *watchedFS
	name string
}

// Write implements platform.File.
func (f *watchedFile) Write(data []byte) (n int, err error) {
	f.fs.do(func() error { n, err = f.File.Write(data); return err }, "write", f.name)
	return n, err
}

// Truncate implements platform.File.
func (f *watchedFile) Truncate(size int64) error {
	return f.fs.do(func() error { return f.File.Truncate(size) }, "truncate", f.name)
}

// Sync implements platform.File.
func (f *watchedFile) Sync() error {
	return f.fs.do(f.File.Sync, "sync", f.name)
}
