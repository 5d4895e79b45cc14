package install_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"strings"
	"sync"

	"collet/platform"
)

// op is one call to the disk.
type op struct {
	number int    // from 1, in the order of the calls
	change int    // from 1, in the order of the calls that change something; other calls have the number of the previous one
	verb   string // one of the words below
	name   string
	to     string // the second name of a rename or an exchange
	data   string // the bytes of a write
	made   bool   // a create that made a new file
}

func (o op) String() string {
	return strings.TrimSpace(fmt.Sprint(o.number, " ", o.verb, " ", o.name, " ", o.to))
}

// changes reports whether a later process can see the effect of a call. For reads and syncs a stop before or after the call
// makes no difference to that process.
func (o op) changes() bool {
	switch o.verb {
	case "write", "truncate", "rename", "exchange", "remove", "chmod":
		return true
	case "create", "mkdir":
		return o.made
	default:
		return false
	}
}

var (
	errStopped = errors.New("the process is gone")
	// errHalf makes half of a write happen before it fails like a stop.
	errHalf = fmt.Errorf("%w after half of the bytes", errStopped)
)

// rule is called before each disk call: an error prevents the call and is returned to the caller.
type rule func(op) error

// watched is a folder that passes every call to rules and records it.
type watched struct {
	platform.FS
	rules []rule
	free  func() (uint64, error) // nil uses the real folder
	fast  bool                   // syncs are counted but not executed: only a power cut would need them

	mu      sync.Mutex
	ops     []op
	changed int
	missing int // number of failed opens
	held    []io.Closer
}

func watch(fsys platform.FS, rules ...rule) *watched { return &watched{FS: fsys, rules: rules} }

// ask counts a call and passes it to the rules.
func (w *watched) ask(o op) error {
	w.mu.Lock()
	if o.changes() {
		w.changed++
	}
	o.number, o.change = len(w.ops)+1, w.changed
	w.ops = append(w.ops, o)
	w.mu.Unlock()
	for _, r := range w.rules {
		if err := r(o); err != nil {
			return &fs.PathError{Op: o.verb, Path: o.name, Err: err}
		}
	}
	return nil
}

// stopped finds change number k, before which a process was stopped.
func (w *watched) stopped(k int) (at op, reached bool) {
	for _, o := range w.ops {
		if o.change == k {
			return o, true
		}
	}
	return op{}, false
}

// count is the number of calls with one of the verbs.
func (w *watched) count(verbs ...string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, o := range w.ops {
		for _, verb := range verbs {
			if o.verb == verb {
				n++
			}
		}
	}
	return n
}

// die closes everything, like the system when a process ends.
func (w *watched) die() {
	for _, c := range w.held {
		c.Close()
	}
	w.held = nil
}

func (w *watched) OpenFile(name string, flag int, perm fs.FileMode) (platform.File, error) {
	o := op{verb: "open", name: name}
	if flag&os.O_CREATE != 0 {
		_, err := w.FS.Lstat(name)
		o.verb, o.made = "create", err != nil
	}
	if err := w.ask(o); err != nil {
		return nil, err
	}
	f, err := w.FS.OpenFile(name, flag, perm)
	if err != nil {
		w.missing++
		return nil, err
	}
	w.held = append(w.held, f)
	return &watchedFile{f, w, name}, nil
}

func (w *watched) Rename(from, to string) error {
	if err := w.ask(op{verb: "rename", name: from, to: to}); err != nil {
		return err
	}
	return w.FS.Rename(from, to)
}

func (w *watched) Exchange(a, b string) error {
	if err := w.ask(op{verb: "exchange", name: a, to: b}); err != nil {
		return err
	}
	return w.FS.Exchange(a, b)
}

func (w *watched) Remove(name string) error {
	if err := w.ask(op{verb: "remove", name: name}); err != nil {
		return err
	}
	return w.FS.Remove(name)
}

// MkdirAll makes missing folders one by one, because each is a change.
func (w *watched) MkdirAll(name string, perm fs.FileMode) error {
	_, err := w.FS.Lstat(name)
	if parent := path.Dir(name); err != nil && parent != "." {
		if err := w.MkdirAll(parent, perm); err != nil {
			return err
		}
	}
	if err := w.ask(op{verb: "mkdir", name: name, made: err != nil}); err != nil {
		return err
	}
	return w.FS.MkdirAll(name, perm)
}

func (w *watched) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := w.ask(op{verb: "list", name: name}); err != nil {
		return nil, err
	}
	return w.FS.ReadDir(name)
}

func (w *watched) Stat(name string) (fs.FileInfo, error) {
	if err := w.ask(op{verb: "stat", name: name}); err != nil {
		return nil, err
	}
	return w.FS.Stat(name)
}

func (w *watched) Lstat(name string) (fs.FileInfo, error) {
	if err := w.ask(op{verb: "stat", name: name}); err != nil {
		return nil, err
	}
	return w.FS.Lstat(name)
}

func (w *watched) Chmod(name string, mode fs.FileMode) error {
	if err := w.ask(op{verb: "chmod", name: name}); err != nil {
		return err
	}
	return w.FS.Chmod(name, mode)
}

func (w *watched) SyncDir(name string) error {
	if err := w.ask(op{verb: "sync folder", name: name}); err != nil || w.fast {
		return err
	}
	return w.FS.SyncDir(name)
}

func (w *watched) Free() (uint64, error) {
	if err := w.ask(op{verb: "free", name: "."}); err != nil {
		return 0, err
	}
	if w.free != nil {
		return w.free()
	}
	return w.FS.Free()
}

func (w *watched) Lock(name string) (io.Closer, error) {
	if err := w.ask(op{verb: "lock", name: name}); err != nil {
		return nil, err
	}
	lock, err := w.FS.Lock(name)
	if err == nil {
		w.held = append(w.held, lock)
	}
	return lock, err
}

func (w *watched) LockShared(name string) (io.Closer, error) {
	if err := w.ask(op{verb: "lock", name: name}); err != nil {
		return nil, err
	}
	lock, err := w.FS.LockShared(name)
	if err == nil {
		w.held = append(w.held, lock)
	}
	return lock, err
}

// watchedFile passes its calls to its folder.
type watchedFile struct {
	platform.File
	from *watched
	name string
}

func (f *watchedFile) Read(data []byte) (int, error) {
	if err := f.from.ask(op{verb: "read", name: f.name}); err != nil {
		return 0, err
	}
	return f.File.Read(data)
}

func (f *watchedFile) Write(data []byte) (int, error) {
	err := f.from.ask(op{verb: "write", name: f.name, data: string(data)})
	if errors.Is(err, errHalf) {
		n, _ := f.File.Write(data[:len(data)/2])
		return n, err
	}
	if err != nil {
		return 0, err
	}
	return f.File.Write(data)
}

func (f *watchedFile) Truncate(size int64) error {
	if err := f.from.ask(op{verb: "truncate", name: f.name}); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f *watchedFile) Sync() error {
	if err := f.from.ask(op{verb: "sync", name: f.name}); err != nil || f.from.fast {
		return err
	}
	return f.File.Sync()
}

// Close always closes: an open file would outlive the simulated process.
func (f *watchedFile) Close() error {
	return errors.Join(f.from.ask(op{verb: "close", name: f.name}), f.File.Close())
}

// stopAt ends the process before change number k. If half is set, half of a write still happens.
func stopAt(k int, half bool) rule {
	return func(o op) error {
		switch {
		case o.change < k:
			return nil
		case o.change == k && half && o.verb == "write":
			return errHalf
		default:
			return errStopped
		}
	}
}

// refuse fails every call with this verb whose name matches a pattern, or whose names do, joined by a space. A star matches
// any text.
func refuse(verb, pattern string, err error) rule {
	like := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$")
	return func(o op) error {
		if o.verb == verb && like.MatchString(strings.TrimSpace(o.name+" "+o.to)) {
			return err
		}
		return nil
	}
}

// noExchange simulates a system without an exchange of names.
func noExchange() rule { return refuse("exchange", "*", errors.ErrUnsupported) }

// readOnly simulates a folder without write permission.
func readOnly() rule {
	return func(o op) error {
		if o.changes() || o.verb == "create" {
			return fs.ErrPermission
		}
		return nil
	}
}

// durability checks the order of calls against the requirements of a power cut. It models which bytes and names may be
// unsynced.
//
// A changed name may not change again before its folder is synced. Every change then builds on a synced state, whichever
// changes a power cut loses.
type durability struct {
	files   map[string]bool // written but not synced
	folders map[string]bool // with created, changed or removed names that are not synced
	names   map[string]bool // renamed or removed but not synced
	faults  []string
}

func newDurability() *durability {
	return &durability{files: map[string]bool{}, folders: map[string]bool{}, names: map[string]bool{}}
}

const journalPrefix = ".collet/journal."

func (d *durability) rule(o op) error {
	emptied := o.verb == "remove" && strings.HasPrefix(o.name, ".collet/p") && path.Ext(o.name) == ""
	useless := o.verb == "remove" && strings.HasPrefix(o.name, ".collet/parts/")
	if o.name == ".collet/open" || emptied || useless {
		return nil // a mark that only has to survive a kill, empty folders, and unused bytes
	}
	switch o.verb {
	case "create", "mkdir":
		if o.made {
			d.folders[path.Dir(o.name)] = true
		}
	case "write", "truncate":
		if o.verb == "write" && strings.HasPrefix(o.name, journalPrefix) && !strings.Contains(o.data, `"state":"staging"`) {
			d.syncedBefore(o)
		}
		d.files[o.name] = true
	case "sync":
		delete(d.files, o.name)
	case "sync folder":
		delete(d.folders, o.name)
		maps.DeleteFunc(d.names, func(name string, _ bool) bool { return path.Dir(name) == o.name })
	case "rename", "exchange", "remove":
		d.change(o)
	}
	return nil
}

// change checks that renamed files are synced, and that the journal record behind the rename is synced.
func (d *durability) change(o op) {
	if o.verb == "remove" {
		delete(d.folders, o.name) // a removed folder has no names
	}
	for _, name := range []string{o.name, o.to} {
		if name == "" {
			continue
		}
		if d.files[name] && o.verb != "remove" {
			d.fault("%s before its bytes are synced", o)
		}
		if d.names[name] {
			d.fault("%s while an earlier change of %s is not synced", o, name)
		}
		delete(d.files, name)
		d.folders[path.Dir(name)], d.names[name] = true, true
	}
	for name := range d.files {
		if strings.HasPrefix(name, journalPrefix) {
			d.fault("%s before %s is synced", o, name)
		}
	}
}

// syncedBefore checks that everything is synced before the journal relies on it.
func (d *durability) syncedBefore(o op) {
	for name := range d.files {
		if name != o.name {
			d.fault("journal says %.60q while the bytes of %s are not synced", o.data, name)
		}
	}
	for name := range d.folders {
		d.fault("journal says %.60q while the names in %s are not synced", o.data, name)
	}
}

func (d *durability) fault(format string, args ...any) {
	d.faults = append(d.faults, fmt.Sprintf(format, args...))
}
