package install

import (
	"errors"

	"collet/platform"
)

// loose are finished parts that are not synced. Syncing many small files together takes a tenth of the time. On a disk that
// can sync in parallel, this begins while other parts still arrive.
//
//	items ──syncEarly──► early ──endEarly──► durable, or not believed
//	  └────────────────syncLoose────────────────┘
type loose struct {
	items []int
	early []int      // items of the sync in progress
	done  chan error // receives its result; nil without a sync in progress
}

// earlyBatch is the number of finished parts from which an early sync pays off.
const earlyBatch = 32

// syncEarly starts to sync finished parts on a disk that can sync in parallel, unless a sync is in progress. The caller
// must call endEarly before it drops the work. The error is that of the previous sync.
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

// endEarly waits for a sync in progress. If the sync fails, its parts are discarded.
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

// syncLoose makes finished parts durable. If that fails, all of them are discarded: after a failed write-back a system may
// report the same bytes as written the next time.
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

// disbelieve deletes finished parts.
func (d *Dir) disbelieve(items []int) (err error) {
	for n, name := range d.work.parts(items) {
		err = errors.Join(err, removeIfThere(d.fs, name))
		d.work.items[items[n]].offset = 0
		delete(d.work.done, name)
	}
	return err
}

// parts are the names of the parts of items.
func (w *work) parts(items []int) []string {
	names := make([]string, len(items))
	for n, i := range items {
		names[n] = w.items[i].entry.part()
	}
	return names
}
