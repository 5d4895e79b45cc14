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

const (
	// defaultCapacity is the volume's size in bytes if nothing else is said: 1 TiB, which no test fills.
	defaultCapacity = 1 << 40
	// step is how far the disk's own clock goes with each look at it: the finest step in which systems stamp is smaller,
	// the coarsest that has inodes is ten times that.
	step = time.Millisecond
)

// birth is where the disk's own clock begins.
var birth = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// Config is what a volume is like. The zero value is like an ordinary volume of Linux.
type Config struct {
	Path       string           // absolute path of the folder, which exists nowhere; empty means a made-up one
	Capacity   int64            // room for file content in bytes; 0 means 1 TiB. Names and empty files take none
	NoExchange bool             // Exchange answers errors.ErrUnsupported
	NoInodes   bool             // identities have neither inode nor time of change, as on Windows
	FoldCase   bool             // names that differ only in case are one, as on Windows and macOS
	Now        func() time.Time // stamps; nil means a clock that starts in 2020 and goes 1 ms a look. It must not call the disk
}

// Disk is a volume with what the system keeps in memory of it. It is safe for concurrent use. Use New to make one.
type Disk struct {
	cfg Config

	mu      sync.RWMutex
	root    *node
	number  uint64        // of the newest node
	ticks   time.Duration // of the disk's own clock
	used    int64         // bytes that take room
	claimed *uint64       // what Free answers whatever is true; nil: the truth
	namings []*naming     // changes of names that are not durable, in order
	locks   []*lock       // those that are held
}

// New makes an empty volume.
func New(cfg Config) *Disk {
	if cfg.Path == "" {
		cfg.Path = home
	}
	if cfg.Capacity == 0 {
		cfg.Capacity = defaultCapacity
	}
	d := &Disk{cfg: cfg}
	d.root = d.newNode(fs.ModeDir, 0o755)
	return d
}

// now is the time of a stamp; d.mu is held for writing.
func (d *Disk) now() time.Time {
	if d.cfg.Now != nil {
		return d.cfg.Now()
	}
	d.ticks += step
	return birth.Add(d.ticks)
}

// SetFree makes the volume as large as what is on it and n bytes more: somebody else filled it, or made room.
func (d *Disk) SetFree(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cfg.Capacity = d.used + n
}

// ClaimFree lets Free answer n from now on, whatever is true.
func (d *Disk) ClaimFree(n uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.claimed = &n
}

// Used is how many bytes the volume's files take.
func (d *Disk) Used() int64 {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.used
}

// Settle makes everything durable, as a long pause does.
func (d *Disk) Settle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writeBack(len(d.namings))
	for _, n := range d.everything() {
		n.history = history{base: n.content.share()}
		n.durable = n.now
	}
}

// Plant makes a durable file, and the folders above it, as if it had been there for long. A file that is there is
// replaced. What was done to names in those folders before becomes durable, too.
func (d *Disk) Plant(name, content string) error {
	return d.planted("plant", name, func() error {
		if err := d.mkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		if err := d.remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		n, err := d.open(name, os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		_, err = d.write(n, 0, []byte(content))
		d.sync(n)
		return err
	})
}

// Symlink plants a durable symbolic link. A target that leads out is allowed: nothing follows it.
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
		return d.make(p, n)
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

// Chtimes sets the time of the last change of a file's content, as somebody does who hides a change; the inode's own time
// goes on.
func (d *Disk) Chtimes(name string, modified time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	p, err := d.find(name, true)
	if err != nil {
		return &fs.PathError{Op: "chtimes", Path: name, Err: err}
	}
	p.node.now.modified, p.node.now.changed = modified, d.now()
	return nil
}
