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
	bytes int64      // of items
	early []int      // items of the sync in progress
	done  chan error // receives its result; nil without a sync in progress
}

const (
	// earlyBatch is the number of finished parts from which an early sync pays off.
	earlyBatch = 32
	// earlyBytes is the same in bytes, where all files are synced together: so less is left for the end, when nothing else is to do.
	earlyBytes = 24 << 20
)

// parts are the names of the parts of items.
func (w *transfer) parts(items []int) []string {
	names := make([]string, len(items))
	for n, i := range items {
		names[n] = w.items[i].entry.part()
	}
	return names
}

// syncEarly starts to sync finished parts on a disk that can sync in parallel, unless a sync is in progress. The caller must call endEarly before it drops the work. The error is that of the previous sync.
func (w *transfer) syncEarly() error {
	l := &w.loose
	syncer, can := w.fs.(platform.Syncer)
	busy := l.done != nil && len(l.done) == 0
	if !can || busy || len(l.items) < earlyBatch || syncer.SyncsTogether() && l.bytes < earlyBytes {
		return nil
	}
	if err := w.endEarly(); err != nil {
		return err
	}
	names, done := w.parts(l.items), make(chan error, 1)
	l.early, l.items, l.bytes, l.done = l.items, nil, 0, done
	go func() { done <- syncer.SyncFiles(names) }()
	return nil
}

// endEarly waits for a sync in progress. If the sync fails, its parts are discarded.
func (w *transfer) endEarly() error {
	if w == nil || w.loose.done == nil {
		return nil
	}
	l := &w.loose
	err := <-l.done
	if err != nil {
		err = errors.Join(err, w.discardParts(l.early))
	}
	l.early, l.done = nil, nil
	return err
}

// syncLoose makes finished parts durable. If that fails, all of them are discarded: after a failed write-back a system may
// report the same bytes as written the next time.
func (w *transfer) syncLoose() error {
	early := w.endEarly()
	l := &w.loose
	err := platform.SyncFiles(w.fs, w.parts(l.items))
	if err != nil {
		err = errors.Join(err, w.discardParts(l.items))
	}
	l.items, l.bytes = nil, 0
	return errors.Join(early, err)
}

// discardParts deletes finished parts.
func (w *transfer) discardParts(items []int) (err error) {
	for n, name := range w.parts(items) {
		err = errors.Join(err, platform.RemoveIfThere(w.fs, name))
		w.items[items[n]].offset = 0
		w.hash.forget(name)
	}
	return err
}
