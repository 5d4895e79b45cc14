package device

import (
	"context"
	"errors"
	"fmt"
	"time"

	"collet/netproto/den"
	"collet/netproto/launcher/wire"
)

// deviceWork executes the requests of one session that need the disk. It runs on one goroutine, the only one that uses
// the disk of the device; the next session begins after it has ended.
type deviceWork struct {
	*deviceSession
	disk   *disk
	writes map[string]*fileWriting // by path
	open   map[uint32]*ownFile     // of our own mode, by handle
}

// fileWriting is one file that a desk of protocol 0 writes.
type fileWriting struct {
	part      *part
	blockSize uint64
	count     uint32
	parts     map[uint32]*draftBlock // Draft: blocks whose last part has not arrived yet
}

// work is the loop of the worker: it executes requests in order, and saves the cache when idle.
func (s *deviceSession) work(ctx context.Context) error {
	w := &deviceWork{deviceSession: s, disk: s.device.disk, writes: map[string]*fileWriting{}, open: map[uint32]*ownFile{}}
	defer w.reset()
	for {
		j, any, err := s.queue.take(ctx, quietBeforeSave)
		if err != nil {
			return nil
		}
		if !any {
			w.idle()
			continue
		}
		err = w.do(ctx, j.message)
		j.done()
		if err != nil {
			return err
		}
		w.rest()
	}
}

// rest sets the activity to none if nothing is in progress.
func (w *deviceWork) rest() {
	if w.queue.empty() && len(w.writes)+len(w.open) == 0 {
		w.device.board.change(func(b *Status) { b.Activity, b.File = ActivityNone, "" })
	}
}

// idle saves the cache if it is due.
func (w *deviceWork) idle() {
	if err := w.disk.save(false); err != nil {
		w.device.o.Log.Warn().Err(err).Msg("the cache of hashes was not saved")
	}
}

// reset abandons everything in progress, and keeps resumable parts.
func (w *deviceWork) reset() {
	for _, f := range w.writes {
		w.disk.drop(f.part)
	}
	for _, f := range w.open {
		w.disk.keep(f.part)
	}
	clear(w.writes)
	clear(w.open)
}

// do executes one request and answers it. An error is one of the connection.
func (w *deviceWork) do(ctx context.Context, m wire.Message) error {
	switch m := m.(type) {
	case *wire.RequestFileLayout:
		return w.layout(ctx)
	case *wire.RequestFileBlockHashes:
		return w.hashes(ctx, m)
	case *wire.RequestDeleteFile:
		err := w.deleteFile(ctx, m.Path)
		return w.send(ctx, &wire.ResponseDeleteFile{Path: m.Path, Result: resultOf(err)})
	case *wire.RequestWriteFile:
		err := w.beginFile(m)
		return w.send(ctx, &wire.ResponseWriteFile{Path: m.Path, Result: resultOf(err)})
	case *wire.SendFileData:
		return w.fileData(ctx, m)
	case *wire.RequestFinishWriteFile:
		return w.finishFile(ctx, m)
	}
	return w.doOwn(ctx, m)
}

func resultOf(err error) wire.Result {
	if err != nil {
		return wire.Failure
	}
	return wire.Success
}

// complain reports a problem with a file: to the log of the host, the status and the desk's log.
func (w *deviceWork) complain(op, path string, err error) {
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

// layout answers requestFileLayout. An unreadable folder counts as empty: the later writes fail with the reason.
func (w *deviceWork) layout(ctx context.Context) error {
	layout, err := w.scan(ctx)
	if err != nil {
		w.complain("look at", ".", err)
	}
	if w.dialect != wire.Draft {
		return w.send(ctx, &wire.ResponseFileLayout{Files: layout.Files()})
	}
	files := layout.Files()
	if len(files) == 0 {
		return w.send(ctx, &wire.DraftFileLayout{Flags: wire.DraftLast | wire.DraftEmpty})
	}
	for i, f := range files {
		m := &wire.DraftFileLayout{File: f}
		if i == len(files)-1 {
			m.Flags = wire.DraftLast
		}
		if err := w.send(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// blocks hashes the blocks of a file. A path through a link is an error.
func (w *deviceWork) blocks(ctx context.Context, path string, size uint32) ([]wire.Hash, error) {
	if err := wire.CheckPath(path); err != nil {
		return nil, err
	}
	if err := w.disk.plainParents(path); err != nil {
		return nil, err
	}
	w.device.board.change(func(b *Status) { b.Activity, b.File = ActivityHashing, path })
	return w.device.tree.Blocks(ctx, path, size)
}

// hashes answers requestFileBlockHashes; in protocol 0 only once the desk is quiet.
func (w *deviceWork) hashes(ctx context.Context, m *wire.RequestFileBlockHashes) error {
	hashes, err := w.blocks(ctx, m.Path, m.BlockSize)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		w.device.o.Log.Info().Err(err).Str("file", m.Path).Msg("no block hashes")
	}
	for _, answer := range w.hashAnswer(m.Path, hashes) {
		data, err := wire.Encode(w.dialect, answer)
		if err != nil {
			return err
		}
		if w.conn.Protocol() == den.ProtocolRelease && w.held.add(data) {
			continue
		}
		if err := w.conn.Send(ctx, data); err != nil {
			return err
		}
	}
	return nil
}

func (w *deviceWork) hashAnswer(path string, hashes []wire.Hash) []wire.Message {
	if w.dialect != wire.Draft {
		return []wire.Message{&wire.ResponseFileBlockHashes{Path: path, Hashes: hashes}}
	}
	if len(hashes) == 0 {
		return []wire.Message{&wire.DraftFileBlockHash{Path: path, Flags: wire.DraftLast | wire.DraftEmpty}}
	}
	answers := make([]wire.Message, len(hashes))
	for i, h := range hashes {
		m := &wire.DraftFileBlockHash{Path: path, Index: uint32(i), Hash: h}
		if i == len(hashes)-1 {
			m.Flags = wire.DraftLast
		}
		answers[i] = m
	}
	return answers
}

func (w *deviceWork) deleteFile(ctx context.Context, path string) error {
	err := w.disk.delete(ctx, path)
	if err != nil {
		w.complain("delete", path, err)
		return err
	}
	w.device.board.change(func(b *Status) { b.Deleted++ })
	return nil
}

var (
	errBlocks   = errors.New("the desk counts its blocks wrongly: look at the desk")
	errTooMany  = fmt.Errorf("more than %d files are written at once: push again", maxWrites)
	errNotBegun = errors.New("was not begun: push again")
)

// beginFile handles requestWriteFile. A disk failure is reported later, with the first block: a released desk that gets
// a failure here never writes again on this connection (Remote launcher protocol, section 4.2 no. 5).
func (w *deviceWork) beginFile(m *wire.RequestWriteFile) error {
	err := w.tryBegin(m)
	if err != nil {
		w.complain("write", m.Path, err)
	}
	return err
}

func (w *deviceWork) tryBegin(m *wire.RequestWriteFile) error {
	if err := wire.CheckPath(m.Path); err != nil {
		return err
	}
	if m.FileSize > 0 && (m.BlockSize == 0 || m.BlockSize > wire.MaxBlock || wire.BlockCount(m.FileSize, m.BlockSize) != uint64(m.BlockCount)) {
		return errBlocks
	}
	if err := w.disk.plainParents(m.Path); err != nil {
		return err
	}
	if old := w.writes[m.Path]; old != nil {
		w.disk.drop(old.part)
		delete(w.writes, m.Path)
	}
	if len(w.writes) >= maxWrites {
		return errTooMany
	}
	w.writes[m.Path] = &fileWriting{part: w.disk.begin(m.Path, m.FileSize, m.Path), blockSize: m.BlockSize, count: m.BlockCount}
	w.receiving(m.Path, 0, m.FileSize)
	return nil
}

// receiving shows in the status which file arrives.
func (w *deviceWork) receiving(path string, n int, total uint64) {
	w.device.board.change(func(b *Status) {
		if b.Activity != ActivityReceiving || b.File != path {
			b.FileDone = 0
		}
		b.Activity, b.File, b.FileTotal = ActivityReceiving, path, total
		b.FileDone, b.Bytes = b.FileDone+uint64(n), b.Bytes+uint64(n)
	})
}

// length is the size of a block in bytes.
func (f *fileWriting) length(block uint32) uint64 {
	return min(f.blockSize, f.part.size-uint64(block)*f.blockSize)
}

// fileData handles sendFileData. Every fault is answered.
func (w *deviceWork) fileData(ctx context.Context, m *wire.SendFileData) error {
	f := w.writes[m.Path]
	if f == nil && w.dialect == wire.Draft && m.Flags == 0 {
		return nil
	}
	if f == nil {
		return w.send(ctx, &wire.FileDataReceived{Path: m.Path, Block: m.Block, Result: wire.Failure})
	}
	failed := f.part.failed
	answer, err := f.take(m, w.dialect)
	if err != nil && failed == nil {
		w.complain("write", m.Path, err)
	}
	w.receiving(m.Path, len(m.Data), f.part.size)
	if !answer {
		return nil
	}
	result := resultOf(err)
	if err == nil && w.dialect == wire.Draft && m.Flags&wire.PartFinish == 0 {
		result = wire.BatchDone
	}
	return w.send(ctx, &wire.FileDataReceived{Path: m.Path, Block: m.Block, Result: result})
}

// take writes the data of a message, and reports whether it needs an answer.
func (f *fileWriting) take(m *wire.SendFileData, d wire.Dialect) (answer bool, err error) {
	switch {
	case m.Block >= f.count && !(m.Block == 0 && len(m.Data) == 0):
		return true, f.part.fail(errBlocks)
	case d == wire.Draft:
		return f.takePart(m)
	}
	if f.part.size == 0 && len(m.Data) == 0 {
		return true, f.part.failed
	}
	return true, f.part.write(uint64(m.Block)*f.blockSize, m.Data, f.length(m.Block))
}

// finishFile handles requestFinishWriteFile.
func (w *deviceWork) finishFile(ctx context.Context, m *wire.RequestFinishWriteFile) error {
	f := w.writes[m.Path]
	if f == nil {
		w.complain("finish", m.Path, errNotBegun)
		return w.send(ctx, &wire.ResponseFinishWriteFile{Path: m.Path, Result: wire.Failure})
	}
	w.device.board.change(func(b *Status) { b.Activity, b.File = ActivityVerifying, m.Path })
	failed := f.part.failed
	result, err := f.part.finish(ctx, m.Hash)
	if ctx.Err() != nil {
		return nil
	}
	delete(w.writes, m.Path)
	switch {
	case err == nil:
		w.device.board.change(func(b *Status) { b.Files++ })
	case failed == nil:
		w.complain("write", m.Path, err)
	}
	if w.dialect == wire.Draft && result != wire.Success {
		result = wire.Failure
	}
	return w.send(ctx, &wire.ResponseFinishWriteFile{Path: m.Path, Result: result})
}
