package install

import (
	"errors"

	"collet/platform"
)

// loose are parts that are finished and not synced. Many small files are synced together: that takes a tenth of the time. Where
// the disk can do that, it begins while others still arrive.
//
//	items ──syncEarly──► early ──endEarly──► durable, or not believed
//	  └────────────────syncLoose────────────────┘
type loose struct {
	items []int
	early []int      // those that are being synced
	done  chan error // gives the result of that; nil while nothing is under way
}

// earlyBatch is how many finished parts make it worth while to begin syncing them beside what arrives.
const earlyBatch = 32

// syncEarly begins to sync finished parts, where the disk can do much at once, unless it is at it already. endEarly has to be
// called before the work is let go of. The error is that of the sync before.
func (d *Dir) syncEarly() error {
	l := &d.work.loose
	syncer, can := d.fs.(platform.Syncer)
	busy := l.done != nil && len(l.done) == 0
	if !can || len(l.items) < earlyBatch || busy {
		return nil
	}
	if err := d.endEarly(); err != nil {
		return err
	}
	names, done := d.work.parts(l.items), make(chan error, 1)
	l.early, l.items, l.done = l.items, nil, done
	go func() { done <- syncer.SyncFiles(names) }()
	return nil
}

// endEarly waits for a sync under way. If it fails, none of its parts is believed any more.
func (d *Dir) endEarly() error {
	if d.work == nil || d.work.loose.done == nil {
		return nil
	}
	l := &d.work.loose
	err := <-l.done
	if err != nil {
		err = errors.Join(err, d.disbelieve(l.early))
	}
	l.early, l.done = nil, nil
	return err
}

// syncLoose makes finished parts durable. If that fails none of them is believed any more: a system that failed to write bytes
// back may call them written the next time.
func (d *Dir) syncLoose() error {
	early := d.endEarly()
	l := &d.work.loose
	err := platform.SyncFiles(d.fs, d.work.parts(l.items))
	if err != nil {
		err = errors.Join(err, d.disbelieve(l.items))
	}
	l.items = nil
	return errors.Join(early, err)
}

// disbelieve throws finished parts away.
func (d *Dir) disbelieve(items []int) (err error) {
	for n, name := range d.work.parts(items) {
		err = errors.Join(err, removeIfThere(d.fs, name))
		d.work.items[items[n]].offset = 0
		delete(d.work.done, name)
	}
	return err
}

// parts are the names of items' parts.
func (w *work) parts(items []int) []string {
	names := make([]string, len(items))
	for n, i := range items {
		names[n] = w.items[i].entry.part()
	}
	return names
}
