package desk

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"collet/netproto/launcher/tree"
	"collet/netproto/launcher/wire"
	"collet/platform"
)

// sender executes the effects that end on the wire, in order, on one goroutine: it encodes, reads files and sends.
type sender struct {
	conn    connection
	dialect wire.Dialect
	tree    *tree.Tree
	post    func(ctx context.Context, event any) // to the session
	linked  func(state uint8)
	run     *atomic.Int64 // the oldest run that is still valid
	file    *openFile
	buf     []byte // of one message
	data    []byte // of one block
}

// openFile is the file that blocks are read from.
type openFile struct {
	path  string
	run   int
	file  platform.File
	id    platform.Identity
	wrong error // why no more of its blocks are sent
}

// errChanged says that a file differs from its scan; another attempt scans again.
var errChanged = tree.ErrKeepsChanging

// loop sends until ctx ends or the connection does.
func (s *sender) loop(ctx context.Context, box *outbox) error {
	defer s.closeFile()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-box.ready:
		}
		for _, e := range box.removeAll() {
			if stale(e, int(s.run.Load())) {
				continue
			}
			if err := s.execute(ctx, e); err != nil {
				return err
			}
		}
	}
}

func (s *sender) execute(ctx context.Context, e effect) error {
	switch e := e.(type) {
	case sendEffect:
		return s.send(ctx, e.message)
	case linkEffect:
		return s.conn.Link(s.linked)
	case blockEffect:
		return s.block(ctx, e)
	case batchEffect:
		return s.batch(ctx, e)
	}
	return nil
}

// send encodes into the sender's buffer, which the connection copies.
func (s *sender) send(ctx context.Context, m wire.Message) error {
	data, err := wire.Append(s.buf[:0], s.dialect, m)
	s.buf = data
	if err != nil {
		return err
	}
	return s.conn.Send(ctx, s.buf)
}

// block reads one block and sends it. An unreadable or changed file is reported once.
func (s *sender) block(ctx context.Context, e blockEffect) error {
	f := s.open(e)
	if f.wrong == nil {
		f.wrong = s.read(f, e)
		if f.wrong != nil {
			s.post(ctx, readEvent{run: e.run, path: f.path, index: e.index, err: f.wrong})
		}
	}
	if f.wrong != nil {
		return nil
	}
	if e.last {
		s.closeFile()
	}
	if s.dialect == wire.Draft {
		return s.parts(ctx, e)
	}
	if e.own {
		return s.send(ctx, &wire.FileBlock{File: e.handle, Index: e.index, Data: s.data})
	}
	return s.send(ctx, &wire.SendFileData{Path: e.write.file.Path, Block: e.index, Data: s.data})
}

// parts sends a block in the Draft dialect: in parts, some of which request a confirmation.
func (s *sender) parts(ctx context.Context, e blockEffect) error {
	rest := s.data
	for part := uint32(0); ; part++ {
		n := min(len(rest), wire.PartSize)
		m := &wire.SendFileData{Path: e.write.file.Path, Block: e.index, Part: part, Data: rest[:n]}
		switch rest = rest[n:]; {
		case len(rest) == 0:
			m.Flags = wire.PartFinish
		case part%wire.PartsPerBatch == wire.PartsPerBatch-1:
			m.Flags = wire.PartBatch
		}
		if err := s.send(ctx, m); err != nil || m.Flags == wire.PartFinish {
			return err
		}
	}
}

// open returns the file of a block; blocks of one file are consecutive.
func (s *sender) open(e blockEffect) *openFile {
	path := e.write.file.Path
	if s.file != nil && s.file.path == path && s.file.run == e.run {
		return s.file
	}
	s.closeFile()
	s.file = &openFile{path: path, run: e.run}
	return s.file
}

// read reads a block into the sender's buffer. The first block opens the file; after the last one the file is checked for changes.
func (s *sender) read(f *openFile, e blockEffect) error {
	if f.file == nil {
		if err := s.begin(f, e.write.file); err != nil {
			return err
		}
	}
	length := e.write.length(e.index)
	if cap(s.data) < length {
		s.data = make([]byte, length)
	}
	s.data = s.data[:length]
	n, err := f.file.ReadAt(s.data, int64(e.index)*int64(e.write.block))
	switch {
	case n == length:
	case errors.Is(err, io.EOF):
		return errChanged
	default:
		return err
	}
	if e.last {
		return same(f.file, f.id)
	}
	return nil
}

// begin opens a file and compares it with what was scanned.
func (s *sender) begin(f *openFile, want wire.File) (err error) {
	if f.file, err = s.tree.Open(want.Path); err != nil {
		return err
	}
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	f.id = platform.IdentityOf(info)
	if known, is := s.tree.Known(want.Path); uint64(f.id.Size) != want.Size || is && known.Hash != want.Hash {
		return errChanged
	}
	return nil
}

func same(f platform.File, id platform.Identity) error {
	info, err := f.Stat()
	if err == nil && !platform.IdentityOf(info).Same(id) {
		err = errChanged
	}
	return err
}

func (s *sender) closeFile() {
	if s.file != nil && s.file.file != nil {
		_ = s.file.file.Close() // it was only read
	}
	s.file = nil
}

// batch reads small files and sends them in one message. Unreadable files are reported before, and left out.
func (s *sender) batch(ctx context.Context, e batchEffect) error {
	m := &wire.PutFiles{Batch: e.batch}
	s.data = s.data[:0]
	for _, file := range e.files {
		begin := len(s.data)
		if err := s.whole(file); err != nil {
			s.data = s.data[:begin]
			s.post(ctx, readEvent{run: e.run, path: file.Path, batch: e.batch, err: err})
			continue
		}
		m.Files = append(m.Files, wire.PutFile{Path: file.Path, Hash: file.Hash, Data: s.data[begin:len(s.data):len(s.data)]})
	}
	return s.send(ctx, m)
}

// whole appends a small file to the sender's buffer. If the buffer moves while growing, earlier slices of it stay valid.
func (s *sender) whole(file wire.File) error {
	f := &openFile{path: file.Path}
	defer func() {
		if f.file != nil {
			_ = f.file.Close() // it was only read
		}
	}()
	if err := s.begin(f, file); err != nil {
		return err
	}
	begin := len(s.data)
	s.data = append(s.data, make([]byte, file.Size)...)
	if n, err := f.file.ReadAt(s.data[begin:], 0); n < int(file.Size) {
		if errors.Is(err, io.EOF) {
			return errChanged
		}
		return err
	}
	return same(f.file, f.id)
}
