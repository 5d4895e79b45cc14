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

// op is one call that reaches the disk.
type op struct {
	number int    // from 1, in the order of the calls
	change int    // from 1, in the order of the calls that change something; the number of the one before for the others
	verb   string // one of the words below
	name   string
	to     string // the second name of a rename or an exchange
	data   string // what a write writes
	made   bool   // a create that made the file
}

func (o op) String() string {
	return strings.TrimSpace(fmt.Sprint(o.number, " ", o.verb, " ", o.name, " ", o.to))
}

// changes reports whether a call leaves something behind that a process meets which comes after it. Whether a stop comes
// before or after a call that only looks, or one that only syncs, makes no difference to that process.
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
	// errHalf lets a write happen by half, and then fail as if stopped.
	errHalf = fmt.Errorf("%w after half of the bytes", errStopped)
)

// rule decides about a call before it happens: an error keeps it from happening and is what the caller gets.
type rule func(op) error

// watched is a folder that tells every call to rules and remembers it.
type watched struct {
	platform.FS
	rules []rule
	free  func() (uint64, error) // nil asks the real folder
	fast  bool                   // syncs are counted and not done: only a power cut would need them

	mu      sync.Mutex
	ops     []op
	changed int
	missing int // opens that failed
	held    []io.Closer
}

func watch(fsys platform.FS, rules ...rule) *watched { return &watched{FS: fsys, rules: rules} }

// ask counts a call and asks the rules about it.
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

// count is how many calls had one of the verbs.
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

// die does what the system does when a process ends: it closes everything.
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

// MkdirAll makes the missing folders one by one, because each is a change.
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

// watchedFile tells its calls to the folder it came from.
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

// Close always closes: a file that is not closed would outlive the process that is meant to be gone.
func (f *watchedFile) Close() error {
	return errors.Join(f.from.ask(op{verb: "close", name: f.name}), f.File.Close())
}

// stopAt ends the process before change number k. If half is set and that change is a write, half of it still happens.
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

// refuse fails every call with this verb whose name, or names with a space between, match a pattern in which a star
// stands for anything.
func refuse(verb, pattern string, err error) rule {
	like := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$")
	return func(o op) error {
		if o.verb == verb && like.MatchString(strings.TrimSpace(o.name+" "+o.to)) {
			return err
		}
		return nil
	}
}

// noExchange is a system that can't exchange two names.
func noExchange() rule { return refuse("exchange", "*", errors.ErrUnsupported) }

// readOnly is a folder that this user may not change.
func readOnly() rule {
	return func(o op) error {
		if o.changes() || o.verb == "create" {
			return fs.ErrPermission
		}
		return nil
	}
}

// durability holds every call against the order that a power cut needs. It models which bytes and which names may still
// be only in memory.
//
// A name that changed may not change again before its folder is synced: whichever of several changes a power cut takes,
// each of them then stands on what is certain.
type durability struct {
	files   map[string]bool // written and not synced
	folders map[string]bool // names made, changed or removed and not synced
	names   map[string]bool // renamed or removed and not synced
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
		return nil // a mark that only a kill has to outlive, empty folders, and bytes that nobody wants
	}
	switch o.verb {
	case "create", "mkdir":
		if o.made {
			d.folders[path.Dir(o.name)] = true
		}
	case "write", "truncate":
		if o.verb == "write" && strings.HasPrefix(o.name, journalPrefix) && !strings.Contains(o.data, `"state":"staging"`) {
			d.settledBefore(o)
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

// change checks that what is renamed is complete, and that the journal entry it follows from is on the disk.
func (d *durability) change(o op) {
	if o.verb == "remove" {
		delete(d.folders, o.name) // a folder that is gone has no names
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

// settledBefore wants everything on the disk before the journal relies on it.
func (d *durability) settledBefore(o op) {
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
