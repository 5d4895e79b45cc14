package device

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"collet/netproto/launcher/wire"
)

// ownRequests executes the requests of our own mode.
type ownRequests struct {
	*deviceWork
	files map[uint32]*ownFile // open ones, by handle
}

// ownFile is one file that a desk writes in our own mode.
type ownFile struct {
	part      *part
	hash      wire.Hash
	blockSize uint64
	written   uint32 // blocks since it was opened
	reported  uint32 // blocks reported in BlocksWritten
	pending   int    // bytes not yet reported
}

var (
	errHandle = errors.New("its handle is taken: the desk is broken")
	errOpen   = fmt.Errorf("more than %d files are open: the desk is broken", wire.MaxOpenFiles)
)

// worthKeeping is the size in bytes from which a file that is sent from its beginning is resumable after a disconnect.
const worthKeeping = 4 << 20

// execute handles one request. Without the feature such requests are unknown.
func (o *ownRequests) execute(ctx context.Context, m wire.Message) error {
	if !o.own {
		return nil
	}
	switch m := m.(type) {
	case *wire.RequestTree:
		return o.answerTree(ctx, m)
	case *wire.RequestBlocks:
		return o.answerBlocks(ctx, m)
	case *wire.PutFiles:
		return o.putFiles(ctx, m)
	case *wire.DeleteFiles:
		return o.deleteFiles(ctx, m)
	case *wire.OpenFile:
		return o.openFile(ctx, m)
	case *wire.FileBlock:
		return o.writeBlock(ctx, m)
	case *wire.CloseFile:
		return o.closeFile(ctx, m)
	case *wire.PushPlan:
		o.recordPlan(m)
	}
	return nil
}

// recordPlan records the plan of a push. At the end of a push the leftovers of earlier ones are useless: this push would have used them.
func (o *ownRequests) recordPlan(m *wire.PushPlan) {
	o.device.board.change(func(b *Status) { b.FilesTotal, b.BytesTotal = int(m.Files), m.Bytes })
	if *m != (wire.PushPlan{}) {
		return
	}
	if err := o.disk.discardKept(); err != nil {
		o.device.o.Log.Warn().Err(err).Msg("files that were interrupted stay")
	}
}

// answerTree answers RequestTree with the smallest difference to a layout that the desk knows.
func (o *ownRequests) answerTree(ctx context.Context, m *wire.RequestTree) error {
	layout, err := o.scan(ctx)
	if err != nil {
		o.reportProblem("look at", ".", err)
	}
	base := new(wire.Layout)
	last := o.device.sentLayout
	switch {
	case slices.Contains(m.Known, layout.Digest()):
		base = layout
	case last != nil && slices.Contains(m.Known, last.Digest()):
		base = last
	}
	o.device.sentLayout = layout
	removed, changed := layout.Since(base)
	answer := &wire.ResponseTree{Digest: layout.Digest(), Flags: wire.TreeLast}
	if len(base.Files()) > 0 || layout == base {
		answer.Base = base.Digest()
	}
	if answer.Parts, _, err = o.disk.kept(); err != nil {
		answer.Parts = nil // then everything is sent
	}
	return o.sendTree(ctx, answer, removed, changed)
}

// sendTree sends the lists in pieces of at most wire.MaxBulk bytes; the other fields of answer go with the last one.
func (o *ownRequests) sendTree(ctx context.Context, answer *wire.ResponseTree, removed []string, changed []wire.File) error {
	piece := &wire.ResponseTree{Base: answer.Base, Digest: answer.Digest}
	size := 0
	next := func(n int) error {
		if size += n; size < wire.MaxBulk/2 {
			return nil
		}
		size = 0
		err := o.send(ctx, piece)
		piece = &wire.ResponseTree{Base: answer.Base, Digest: answer.Digest}
		return err
	}
	for _, path := range removed {
		piece.Removed = append(piece.Removed, path)
		if err := next(2 + len(path)); err != nil {
			return err
		}
	}
	for _, f := range changed {
		piece.Files = append(piece.Files, f)
		if err := next(42 + len(f.Path)); err != nil {
			return err
		}
	}
	piece.Flags, piece.Parts = answer.Flags, answer.Parts
	return o.send(ctx, piece)
}

// hashesPerPiece is how many block hashes go into one message.
const hashesPerPiece = wire.MaxBulk / 2 / len(wire.Hash{})

// answerBlocks answers RequestBlocks.
func (o *ownRequests) answerBlocks(ctx context.Context, m *wire.RequestBlocks) error {
	hashes, err := o.blockHashes(ctx, m.Path, m.BlockSize)
	if ctx.Err() != nil {
		return nil
	}
	answer := &wire.ResponseBlocks{Path: m.Path, BlockSize: m.BlockSize, Flags: wire.BlocksLast}
	if err == nil {
		info, statErr := o.device.fsys.Stat(m.Path)
		if err = statErr; err == nil {
			answer.Size = uint64(info.Size())
		}
	}
	if err != nil {
		o.device.o.Log.Info().Err(err).Str("file", m.Path).Msg("no block hashes")
		answer.Flags |= wire.BlocksFailed
		return o.send(ctx, answer)
	}
	for len(hashes) > hashesPerPiece {
		piece := *answer
		piece.Flags, piece.Hashes = 0, hashes[:hashesPerPiece]
		if err := o.send(ctx, &piece); err != nil {
			return err
		}
		answer.First += uint32(hashesPerPiece)
		hashes = hashes[hashesPerPiece:]
	}
	answer.Hashes = hashes
	return o.send(ctx, answer)
}

// putFiles writes a batch of small files.
func (o *ownRequests) putFiles(ctx context.Context, m *wire.PutFiles) error {
	answer := &wire.BatchReport{Batch: m.Batch}
	done, bytes, last := 0, uint64(0), ""
	for i, f := range m.Files {
		if ctx.Err() != nil {
			return nil
		}
		result, err := o.disk.put(ctx, f.Path, f.Hash, f.Data)
		if err != nil {
			o.reportProblem("write", f.Path, err)
			addFailure(answer, i, result, err)
			continue
		}
		done, bytes, last = done+1, bytes+uint64(len(f.Data)), f.Path
	}
	o.device.board.change(func(b *Status) {
		b.Activity, b.File, b.Files, b.Bytes = ActivityReceiving, last, b.Files+done, b.Bytes+bytes
	})
	return o.send(ctx, answer)
}

// addFailure adds a failure to a report.
func addFailure(m *wire.BatchReport, index int, result wire.Result, err error) {
	text := ""
	if len(m.Failures) < maxFailureTexts {
		text = cutText(inWords(err), maxFailureText)
	}
	m.Failures = append(m.Failures, wire.BatchFailure{Index: uint32(index), Result: result, Text: text})
}

// maxFailureText bounds the bytes of one failure's reason, and maxFailureTexts the number of failures with a reason in a
// batch, so that a full report stays below wire.MaxBulk.
const (
	maxFailureText  = 200
	maxFailureTexts = 500
)

func (o *ownRequests) deleteFiles(ctx context.Context, m *wire.DeleteFiles) error {
	answer := &wire.BatchReport{Batch: m.Batch}
	for i, path := range m.Paths {
		if ctx.Err() != nil {
			return nil
		}
		if err := o.deleteFile(ctx, path); err != nil {
			addFailure(answer, i, wire.Failure, err)
		}
	}
	return o.send(ctx, answer)
}

// openFile handles OpenFile. Only a failure is answered.
func (o *ownRequests) openFile(ctx context.Context, m *wire.OpenFile) error {
	if o.files[m.File] != nil {
		return o.reportEnd(ctx, m.File, m.Path, wire.Failure, errHandle)
	}
	f := &ownFile{part: o.disk.begin(m.Path, m.Size, m.Base), hash: m.Hash, blockSize: uint64(m.BlockSize)}
	if err := o.tryOpen(ctx, f, m); err != nil {
		o.disk.drop(f.part)
		return o.reportEnd(ctx, m.File, m.Path, wire.Failure, err)
	}
	o.files[m.File] = f
	o.showReceiving(m.Path, 0, m.Size)
	return nil
}

func (o *ownRequests) tryOpen(ctx context.Context, f *ownFile, m *wire.OpenFile) error {
	if err := wire.CheckPath(m.Path); err != nil {
		return err
	}
	if m.Base != "" {
		if err := wire.CheckPath(m.Base); err != nil {
			return err
		}
	}
	switch {
	case m.BlockSize == 0 || m.BlockSize > wire.MaxBlock || m.Start%uint64(m.BlockSize) != 0:
		return errBlocks
	case len(o.files) >= wire.MaxOpenFiles:
		return errOpen
	}
	if err := o.disk.plainParents(m.Path); err != nil {
		return err
	}
	if m.Start > 0 || m.Base == "" && m.Size >= worthKeeping {
		return f.part.resume(ctx, m.Hash, m.Start)
	}
	return nil
}

// writeBlock handles FileBlock.
func (o *ownRequests) writeBlock(ctx context.Context, m *wire.FileBlock) error {
	f := o.files[m.File]
	if f == nil {
		return nil
	}
	off := uint64(m.Index) * f.blockSize
	err := error(errBlocks)
	if off < f.part.size && uint64(len(m.Data)) == min(f.blockSize, f.part.size-off) {
		err = f.part.write(off, m.Data, uint64(len(m.Data)))
	} else if f.part.size == 0 && m.Index == 0 && len(m.Data) == 0 {
		err = nil
	}
	if err != nil {
		_ = f.part.fail(err) // reported below
		delete(o.files, m.File)
		return o.reportEnd(ctx, m.File, f.part.path, wire.Failure, err)
	}
	o.showReceiving(f.part.path, len(m.Data), f.part.size)
	f.written++
	f.pending += len(m.Data)
	if f.written-f.reported < creditBlocks && f.pending < creditBytes {
		return nil
	}
	f.reported, f.pending = f.written, 0
	return o.send(ctx, &wire.BlocksWritten{File: m.File, Count: f.written})
}

// closeFile handles CloseFile.
func (o *ownRequests) closeFile(ctx context.Context, m *wire.CloseFile) error {
	f := o.files[m.File]
	if f == nil {
		return nil
	}
	o.device.board.change(func(b *Status) { b.Activity, b.File = ActivityVerifying, f.part.path })
	result, err := f.part.finish(ctx, f.hash)
	if ctx.Err() != nil {
		return nil
	}
	delete(o.files, m.File)
	return o.reportEnd(ctx, m.File, f.part.path, result, err)
}

// reportEnd reports how a file ended.
func (o *ownRequests) reportEnd(ctx context.Context, handle uint32, path string, result wire.Result, err error) error {
	answer := &wire.FileClosed{File: handle, Result: result}
	if err != nil {
		o.reportProblem("write", path, err)
		answer.Text = cutText(inWords(err), maxFailureText)
	} else {
		o.device.board.change(func(b *Status) { b.Files++ })
	}
	return o.send(ctx, answer)
}
