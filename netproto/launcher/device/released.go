package device

import (
	"context"
	"errors"
	"fmt"

	"collet/netproto/den"
	"collet/netproto/launcher/wire"
)

// releasedRequests executes the requests of the released protocol, in both dialects.
type releasedRequests struct {
	*deviceWork
	files map[string]*fileWriting // that the desk writes, by path
}

// fileWriting is one file that the desk writes.
type fileWriting struct {
	part      *part
	blockSize uint64
	count     uint32
	parts     map[uint32]*draftBlock // Draft: blocks whose last part has not arrived yet
}

var (
	errBlocks   = errors.New("the desk counts its blocks wrongly: look at the desk")
	errTooMany  = fmt.Errorf("more than %d files are written at once: push again", maxWrites)
	errNotBegun = errors.New("was not begun: push again")
)

// answerLayout answers requestFileLayout. An unreadable folder counts as empty: the later writes fail with the reason.
func (r *releasedRequests) answerLayout(ctx context.Context) error {
	layout, err := r.scan(ctx)
	if err != nil {
		r.reportProblem("look at", ".", err)
	}
	if r.dialect != wire.Draft {
		return r.send(ctx, &wire.ResponseFileLayout{Files: layout.Files()})
	}
	files := layout.Files()
	if len(files) == 0 {
		return r.send(ctx, &wire.DraftFileLayout{Flags: wire.DraftLast | wire.DraftEmpty})
	}
	for i, f := range files {
		m := &wire.DraftFileLayout{File: f}
		if i == len(files)-1 {
			m.Flags = wire.DraftLast
		}
		if err := r.send(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// answerHashes answers requestFileBlockHashes; in protocol 0 only once the desk is quiet.
func (r *releasedRequests) answerHashes(ctx context.Context, m *wire.RequestFileBlockHashes) error {
	hashes, err := r.blockHashes(ctx, m.Path, m.BlockSize)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		r.device.o.Log.Info().Err(err).Str("file", m.Path).Msg("no block hashes")
	}
	for _, answer := range r.hashAnswers(m.Path, hashes) {
		data, err := wire.Encode(r.dialect, answer)
		if err != nil {
			return err
		}
		if r.conn.Protocol() == den.ProtocolRelease && r.held.add(data) {
			continue
		}
		if err := r.conn.Send(ctx, data); err != nil {
			return err
		}
	}
	return nil
}

func (r *releasedRequests) hashAnswers(path string, hashes []wire.Hash) []wire.Message {
	if r.dialect != wire.Draft {
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

// beginFile handles requestWriteFile. A disk failure is reported later, with the first block: a released desk that gets
// a failure here never writes again on this connection (docs/PROTOCOL.md, "What a device of ours does").
func (r *releasedRequests) beginFile(m *wire.RequestWriteFile) error {
	err := r.tryBegin(m)
	if err != nil {
		r.reportProblem("write", m.Path, err)
	}
	return err
}

func (r *releasedRequests) tryBegin(m *wire.RequestWriteFile) error {
	if err := wire.CheckPath(m.Path); err != nil {
		return err
	}
	if m.FileSize > 0 && (m.BlockSize == 0 || m.BlockSize > wire.MaxBlock || wire.BlockCount(m.FileSize, m.BlockSize) != uint64(m.BlockCount)) {
		return errBlocks
	}
	if err := r.disk.plainParents(m.Path); err != nil {
		return err
	}
	if old := r.files[m.Path]; old != nil {
		r.disk.drop(old.part)
		delete(r.files, m.Path)
	}
	if len(r.files) >= maxWrites {
		return errTooMany
	}
	r.files[m.Path] = &fileWriting{part: r.disk.begin(m.Path, m.FileSize, m.Path), blockSize: m.BlockSize, count: m.BlockCount}
	r.showReceiving(m.Path, 0, m.FileSize)
	return nil
}

// length is the size of a block in bytes.
func (f *fileWriting) length(block uint32) uint64 {
	return min(f.blockSize, f.part.size-uint64(block)*f.blockSize)
}

// writeBlock handles sendFileData. Every fault is answered.
func (r *releasedRequests) writeBlock(ctx context.Context, m *wire.SendFileData) error {
	f := r.files[m.Path]
	if f == nil && r.dialect == wire.Draft && m.Flags == 0 {
		return nil
	}
	if f == nil {
		return r.send(ctx, &wire.FileDataReceived{Path: m.Path, Block: m.Block, Result: wire.Failure})
	}
	failed := f.part.failed
	answer, err := f.writeData(m, r.dialect)
	if err != nil && failed == nil {
		r.reportProblem("write", m.Path, err)
	}
	r.showReceiving(m.Path, len(m.Data), f.part.size)
	if !answer {
		return nil
	}
	result := resultOf(err)
	if err == nil && r.dialect == wire.Draft && m.Flags&wire.PartFinish == 0 {
		result = wire.BatchDone
	}
	return r.send(ctx, &wire.FileDataReceived{Path: m.Path, Block: m.Block, Result: result})
}

// writeData writes the data of a message, and reports whether it needs an answer.
func (f *fileWriting) writeData(m *wire.SendFileData, d wire.Dialect) (answer bool, err error) {
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
func (r *releasedRequests) finishFile(ctx context.Context, m *wire.RequestFinishWriteFile) error {
	f := r.files[m.Path]
	if f == nil {
		r.reportProblem("finish", m.Path, errNotBegun)
		return r.send(ctx, &wire.ResponseFinishWriteFile{Path: m.Path, Result: wire.Failure})
	}
	r.device.board.change(func(b *Status) { b.Activity, b.File = ActivityVerifying, m.Path })
	failed := f.part.failed
	result, err := f.part.finish(ctx, m.Hash)
	if ctx.Err() != nil {
		return nil
	}
	delete(r.files, m.Path)
	switch {
	case err == nil:
		r.device.board.change(func(b *Status) { b.Files++ })
	case failed == nil:
		r.reportProblem("write", m.Path, err)
	}
	if r.dialect == wire.Draft && result != wire.Success {
		result = wire.Failure
	}
	return r.send(ctx, &wire.ResponseFinishWriteFile{Path: m.Path, Result: result})
}
