package desk

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"collet/netproto/launcher/wire"
)

// ownModel behaves as devices of our own mode, in memory.
type ownModel struct {
	files   map[string][]byte
	parts   map[wire.Hash]ownPart
	open    map[uint32]*ownWrite
	answers []wire.Message
	broken  []string
	fail    func(op, path string) bool
	got     map[uint8]int
	bytes   int // of files that came
	blocks  int
	bases   int // files that had the content of another
	starts  int // files that went on from a part
	random  *rand.Rand
	tree    int // messages of an answer to RequestTree
}

type ownPart struct {
	data []byte
	size uint64
}

type ownWrite struct {
	open    wire.OpenFile
	data    []byte
	written uint32
	prefix  int // bytes from the beginning that came
}

func newOwnModel(files map[string][]byte) *ownModel {
	m := &ownModel{files: maps.Clone(files), parts: map[wire.Hash]ownPart{}, open: map[uint32]*ownWrite{}, got: map[uint8]int{},
		random: rand.New(rand.NewPCG(1, 2)), tree: 1}
	if m.files == nil {
		m.files = map[string][]byte{}
	}
	return m
}

func (m *ownModel) wrong(format string, args ...any) {
	m.broken = append(m.broken, fmt.Sprintf(format, args...))
}
func (m *ownModel) answer(a ...wire.Message) { m.answers = append(m.answers, a...) }
func (m *ownModel) waiting() int             { return len(m.answers) }
func (m *ownModel) failed(op, path string) bool {
	return m.fail != nil && m.fail(op, path)
}

func (m *ownModel) deliver() wire.Message {
	a := m.answers[0]
	m.answers = m.answers[1:]
	return a
}

// lost is the end of a connection: what is open becomes parts.
func (m *ownModel) lost() {
	m.reset()
	m.answers = nil
}

func (m *ownModel) reset() {
	for _, w := range m.open {
		m.parts[w.open.Hash] = ownPart{data: w.data[:w.prefix], size: w.open.Size}
	}
	clear(m.open)
}

func (m *ownModel) layout() *wire.Layout {
	var files []wire.File
	for path, data := range m.files {
		files = append(files, wire.File{Path: path, Size: uint64(len(data)), Hash: sha256.Sum256(data)})
	}
	return wire.NewLayout(files)
}

func (m *ownModel) take(message wire.Message, size int) {
	if size > wire.MaxBulk {
		m.wrong("message %d has %d bytes", message.Code(), size)
	}
	m.got[message.Code()]++
	switch r := message.(type) {
	case *wire.RequestTree:
		m.takeTree(r)
	case *wire.PutFiles:
		m.takeFiles(r)
	case *wire.DeleteFiles:
		m.takeDeletes(r)
	case *wire.RequestBlocks:
		m.takeBlocks(r)
	case *wire.OpenFile:
		m.takeOpen(r)
	case *wire.FileBlock:
		m.takeBlock(r)
	case *wire.CloseFile:
		m.takeClose(r)
	case *wire.ConnectAccepted, *wire.KeepAlive, *wire.PushPlan, *wire.RequestSystemProperty, *wire.StartApplication, *wire.StopApplication:
	default:
		m.wrong("message %d is not of our own mode", message.Code())
	}
}

func (m *ownModel) takeTree(r *wire.RequestTree) {
	m.reset()
	layout := m.layout()
	last := &wire.ResponseTree{Flags: wire.TreeLast, Digest: layout.Digest()}
	for hash, p := range m.parts {
		last.Parts = append(last.Parts, wire.FilePart{Hash: hash, Size: p.size, Have: uint64(len(p.data))})
	}
	if slices.Contains(r.Known, layout.Digest()) {
		last.Base = layout.Digest()
		m.answer(last)
		return
	}
	files := layout.Files()
	for n := 1; n < m.tree && len(files) > 1; n++ {
		m.answer(&wire.ResponseTree{Digest: layout.Digest(), Files: files[:1]})
		files = files[1:]
	}
	last.Files = files
	m.answer(last)
}

// put writes a file, unless another is where its folder or its name should be: a real one removes empty folders only.
func (m *ownModel) put(path string, data []byte) wire.Result {
	for other := range m.files {
		if strings.HasPrefix(other, path+"/") || strings.HasPrefix(path, other+"/") {
			if m.fail == nil {
				m.wrong("%q is written while there is %q", path, other)
			}
			return wire.Failure
		}
	}
	m.files[path] = bytes.Clone(data)
	return wire.Success
}

func (m *ownModel) takeFiles(r *wire.PutFiles) {
	report := &wire.BatchReport{Batch: r.Batch}
	for i, f := range r.Files {
		m.bytes += len(f.Data)
		switch {
		case m.failed("put", f.Path):
			report.Failures = append(report.Failures, wire.BatchFailure{Index: uint32(i), Result: wire.Failure, Text: "no room: make some"})
		case sha256.Sum256(f.Data) != f.Hash:
			report.Failures = append(report.Failures, wire.BatchFailure{Index: uint32(i), Result: wire.HashMismatch})
		case m.put(f.Path, f.Data) != wire.Success:
			report.Failures = append(report.Failures, wire.BatchFailure{Index: uint32(i), Result: wire.Failure, Text: "something is in the way"})
		}
	}
	m.answer(report)
}

func (m *ownModel) takeDeletes(r *wire.DeleteFiles) {
	report := &wire.BatchReport{Batch: r.Batch}
	for i, path := range r.Paths {
		if m.failed("delete", path) {
			report.Failures = append(report.Failures, wire.BatchFailure{Index: uint32(i), Result: wire.Failure})
			continue
		}
		delete(m.files, path)
	}
	m.answer(report)
}

func (m *ownModel) takeBlocks(r *wire.RequestBlocks) {
	data, there := m.files[r.Path]
	if !there || m.failed("hash", r.Path) {
		m.answer(&wire.ResponseBlocks{Path: r.Path, BlockSize: r.BlockSize, Flags: wire.BlocksLast | wire.BlocksFailed})
		return
	}
	var hashes []wire.Hash
	for block := range slices.Chunk(data, int(r.BlockSize)) {
		hashes = append(hashes, sha256.Sum256(block))
	}
	half := len(hashes) / 2
	answer := wire.ResponseBlocks{Path: r.Path, BlockSize: r.BlockSize, Size: uint64(len(data)), Hashes: hashes[:half]}
	m.answer(&answer)
	rest := answer
	rest.First, rest.Flags, rest.Hashes = uint32(half), wire.BlocksLast, hashes[half:]
	m.answer(&rest)
}

func (m *ownModel) takeOpen(r *wire.OpenFile) {
	if m.open[r.File] != nil || len(m.open) >= wire.MaxOpenFiles {
		m.wrong("handle %d is open, or too many are", r.File)
	}
	w := &ownWrite{open: *r, data: make([]byte, r.Size)}
	if r.Base != "" {
		base, there := m.files[r.Base]
		if !there {
			m.wrong("base %q is not there", r.Base)
		}
		copy(w.data, base)
		if r.Base != r.Path {
			m.bases++
		}
	}
	if r.Start > 0 {
		p := m.parts[r.Hash]
		if uint64(len(p.data)) < r.Start || r.Start%uint64(r.BlockSize) != 0 {
			m.wrong("%q starts at %d of %d", r.Path, r.Start, len(p.data))
		}
		copy(w.data, p.data[:min(len(p.data), int(r.Start))])
		m.starts++
		w.prefix = int(r.Start)
	}
	delete(m.parts, r.Hash)
	m.open[r.File] = w
	if m.failed("open", r.Path) {
		delete(m.open, r.File)
		m.answer(&wire.FileClosed{File: r.File, Result: wire.Failure, Text: "it is held: end what holds it"})
	}
}

func (m *ownModel) takeBlock(r *wire.FileBlock) {
	w := m.open[r.File]
	m.bytes += len(r.Data)
	if w == nil {
		return
	}
	begin := int(r.Index) * int(w.open.BlockSize)
	if begin > len(w.data) || len(r.Data) != min(int(w.open.BlockSize), len(w.data)-begin) {
		m.wrong("block %d of %q has %d bytes", r.Index, w.open.Path, len(r.Data))
		return
	}
	copy(w.data[begin:], r.Data)
	if begin == w.prefix {
		w.prefix += len(r.Data)
	}
	m.blocks++
	if w.written++; m.random.IntN(3) == 0 {
		m.answer(&wire.BlocksWritten{File: r.File, Count: w.written})
	}
}

func (m *ownModel) takeClose(r *wire.CloseFile) {
	w := m.open[r.File]
	if w == nil {
		return
	}
	delete(m.open, r.File)
	closed := &wire.FileClosed{File: r.File}
	switch {
	case m.failed("close", w.open.Path):
		closed.Result = wire.Failure
	case sha256.Sum256(w.data) != w.open.Hash:
		closed.Result = wire.HashMismatch
	default:
		closed.Result = m.put(w.open.Path, w.data)
	}
	m.answer(closed)
}
