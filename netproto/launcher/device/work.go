package device

import (
	"context"
	"fmt"
	"time"

	"collet/netproto/launcher/wire"
)

// deviceWork executes the requests of one session that need the disk. It runs on one goroutine, the only one that uses
// the disk of the device; the next session begins after it has ended.
type deviceWork struct {
	*deviceSession
	disk     *disk
	released releasedRequests
	ownMode  ownRequests
}

// work is the loop of the worker: it executes requests in order, and saves the cache when idle.
func (s *deviceSession) work(ctx context.Context) error {
	w := &deviceWork{deviceSession: s, disk: s.device.disk}
	w.released = releasedRequests{w, map[string]*fileWriting{}}
	w.ownMode = ownRequests{w, map[uint32]*ownFile{}}
	defer w.reset()
	for {
		j, any, err := s.queue.next(ctx, quietBeforeSave)
		if err != nil {
			return nil
		}
		if !any {
			w.saveHashes()
			continue
		}
		err = w.execute(ctx, j.message)
		j.done()
		if err != nil {
			return err
		}
		w.showIdle()
	}
}

// showIdle sets the activity to none if nothing is in progress.
func (w *deviceWork) showIdle() {
	if w.queue.empty() && len(w.released.files)+len(w.ownMode.files) == 0 {
		w.device.board.change(func(b *Status) { b.Activity, b.File = ActivityNone, "" })
	}
}

// saveHashes saves the cache if it is due.
func (w *deviceWork) saveHashes() {
	if err := w.disk.save(false); err != nil {
		w.device.o.Log.Warn().Err(err).Msg("the cache of hashes was not saved")
	}
}

// reset abandons everything in progress, and keeps resumable parts.
func (w *deviceWork) reset() {
	for _, f := range w.released.files {
		w.disk.drop(f.part)
	}
	for _, f := range w.ownMode.files {
		w.disk.keep(f.part)
	}
	clear(w.released.files)
	clear(w.ownMode.files)
}

// execute executes one request and answers it. An error is one of the connection.
func (w *deviceWork) execute(ctx context.Context, m wire.Message) error {
	switch m := m.(type) {
	case *wire.RequestFileLayout:
		return w.released.answerLayout(ctx)
	case *wire.RequestFileBlockHashes:
		return w.released.answerHashes(ctx, m)
	case *wire.RequestDeleteFile:
		err := w.deleteFile(ctx, m.Path)
		return w.send(ctx, &wire.ResponseDeleteFile{Path: m.Path, Result: resultOf(err)})
	case *wire.RequestWriteFile:
		err := w.released.beginFile(m)
		return w.send(ctx, &wire.ResponseWriteFile{Path: m.Path, Result: resultOf(err)})
	case *wire.SendFileData:
		return w.released.writeBlock(ctx, m)
	case *wire.RequestFinishWriteFile:
		return w.released.finishFile(ctx, m)
	}
	return w.ownMode.execute(ctx, m)
}

func resultOf(err error) wire.Result {
	if err != nil {
		return wire.Failure
	}
	return wire.Success
}

// reportProblem reports a problem with a file: to the log of the host, the status and the desk's log.
func (w *deviceWork) reportProblem(op, path string, err error) {
	w.device.o.Log.Warn().Err(err).Str("file", path).Msg(op + " failed")
	text := fmt.Sprintf("%s %q: %s", op, path, inWords(err))
	w.device.board.change(func(b *Status) { b.Failed, b.Problem = b.Failed+1, text })
	w.device.Say(Line{Level: wire.LevelError, Source: SourceDevice, Text: text})
}

// scan scans the data folder. It first abandons everything in progress, because a layout request begins a synchronisation.
func (w *deviceWork) scan(ctx context.Context) (*wire.Layout, error) {
	w.reset()
	clear(w.disk.plain)
	w.device.board.change(func(b *Status) {
		b.Activity, b.File = ActivityScanning, ""
		b.Files, b.FilesTotal, b.Bytes, b.BytesTotal, b.Deleted, b.Failed = 0, 0, 0, 0, 0, 0
	})
	layout, problems, err := w.device.tree.Scan(ctx)
	if err != nil {
		return new(wire.Layout), err
	}
	for _, p := range problems {
		w.device.o.Log.Warn().Err(p.Err).Str("file", p.Path).Msg("left out of the layout")
	}
	if w.disk.written.IsZero() {
		w.disk.written = time.Now() // new hashes are worth saving
	}
	return layout, nil
}

// blockHashes hashes the blocks of a file. A path through a link is an error.
func (w *deviceWork) blockHashes(ctx context.Context, path string, size uint32) ([]wire.Hash, error) {
	if err := wire.CheckPath(path); err != nil {
		return nil, err
	}
	if err := w.disk.plainParents(path); err != nil {
		return nil, err
	}
	w.device.board.change(func(b *Status) { b.Activity, b.File = ActivityHashing, path })
	return w.device.tree.Blocks(ctx, path, size)
}

func (w *deviceWork) deleteFile(ctx context.Context, path string) error {
	err := w.disk.delete(ctx, path)
	if err != nil {
		w.reportProblem("delete", path, err)
		return err
	}
	w.device.board.change(func(b *Status) { b.Deleted++ })
	return nil
}

// showReceiving shows in the status which file arrives.
func (w *deviceWork) showReceiving(path string, n int, total uint64) {
	w.device.board.change(func(b *Status) {
		if b.Activity != ActivityReceiving || b.File != path {
			b.FileDone = 0
		}
		b.Activity, b.File, b.FileTotal = ActivityReceiving, path, total
		b.FileDone, b.Bytes = b.FileDone+uint64(n), b.Bytes+uint64(n)
	})
}
