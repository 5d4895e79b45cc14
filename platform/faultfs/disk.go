package faultfs

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"sync"
	"time"
)

// defaultCapacity is the volume's size in bytes if nothing else is said: 1 TiB, which no test fills.
const defaultCapacity = 1 << 40

// Config has the properties of a volume. The zero value is an ordinary volume of Linux.
type Config struct {
	Path       string           // absolute path of the folder, which exists nowhere; empty means a made-up one
	Capacity   int64            // room for file content in bytes; 0 means 1 TiB. Names and empty files take none
	NoExchange bool             // Exchange answers errors.ErrUnsupported
	NoInodes   bool             // identities have neither inode nor time of change, as on Windows
	FoldCase   bool             // names that differ only in case are one, as on Windows and macOS
	Now        func() time.Time // stamps; nil means a clock that starts in 2020 and goes 1 ms a look. It must not call the disk
}

// Disk is a volume with the system's unsynced state of it. It is safe for concurrent use. Use New to make one.
type Disk struct {
	mu sync.RWMutex // protects what follows
	volume
	locks lockTable
}

// New makes an empty volume.
func New(cfg Config) *Disk {
	if cfg.Path == "" {
		cfg.Path = home
	}
	if cfg.Capacity == 0 {
		cfg.Capacity = defaultCapacity
	}
	d := &Disk{volume: volume{cfg: cfg, namespace: namespace{foldCase: cfg.FoldCase}, clock: clock{now: cfg.Now}}}
	d.root = d.newNode(fs.ModeDir, 0o755)
	return d
}

// SetFree sets the capacity to the used bytes plus n, as if other programs had filled the volume or made room.
func (d *Disk) SetFree(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cfg.Capacity = d.used + n
}

// ClaimFree makes Free return n from now on.
func (d *Disk) ClaimFree(n uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.claimed = &n
}

// Used is the number of bytes that the volume's files take.
func (d *Disk) Used() int64 {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.used
}

// Settle makes all changes durable, as after a long pause.
func (d *Disk) Settle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writeBack(len(d.pending))
	for _, n := range d.everything() {
		n.history = history{base: n.content.share()}
		n.durable = n.now
	}
}

// Plant creates a durable file and its parent folders. An existing file is replaced. Earlier changes of names in those folders become
// durable, too.
func (d *Disk) Plant(name, content string) error {
	return d.planted("plant", name, func() error {
		if err := d.mkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		if err := d.remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		n, err := d.openFile(name, os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		_, err = d.writeData(n, 0, []byte(content))
		d.sync(n)
		return err
	})
}

// Symlink creates a durable symbolic link. A target outside of the folder is allowed: it is never followed.
func (d *Disk) Symlink(target, name string) error {
	return d.planted("symlink", name, func() error {
		p, err := d.walk(name, false)
		if err == nil && p.node != nil {
			err = fs.ErrExist
		}
		if err != nil {
			return err
		}
		n := d.newNode(fs.ModeSymlink, 0o777)
		n.target = target
		return d.placeNode(p, n)
	})
}

// planted makes something and then syncs the folders on the way to it.
func (d *Disk) planted(what, name string, make func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := make()
	p, found := d.walk(name, false)
	if err = cmp.Or(err, found); err != nil {
		return &fs.PathError{Op: what, Path: name, Err: err}
	}
	for f := p.folder; f != nil; f = f.parent {
		d.syncFolder(f)
	}
	return nil
}

// Chtimes sets a file's modification time, as a program does that hides a change; the inode's change time is set to now.
func (d *Disk) Chtimes(name string, modified time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	p, err := d.findExisting(name, true)
	if err != nil {
		return &fs.PathError{Op: "chtimes", Path: name, Err: err}
	}
	p.node.now.modified, p.node.now.changed = modified, d.time()
	return nil
}
