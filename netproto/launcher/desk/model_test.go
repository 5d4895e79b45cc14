package desk

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"collet/netproto/launcher/wire"
)

// modelDevice behaves like released devices, in memory and one message at a time.
// It records violations by the desk in broken.
type modelDevice struct {
	dialect wire.Dialect
	files   map[string][]byte
	folders map[string]bool
	layout  map[string]wire.File // nil: none was asked for since the last failure
	open    map[string]*modelWrite
	answers []wire.Message // not delivered yet
	broken  []string
	fail    func(op, path string) bool // faults; nil for none
	hasty   bool                       // a layout is answered before what was asked earlier
	got     map[uint8]int              // messages by code
	blocks  int                        // whole blocks that came
	parts   map[string][]byte          // of Draft blocks under way
	started []wire.StartApplication
	stopped []wire.StopMode
}

// modelWrite is a file that the desk is writing.
type modelWrite struct {
	request   wire.RequestWriteFile
	delivered bool // the answer to the request reached the desk
	owed      int  // confirmations that did not reach it yet
	blocks    int
}

func newModelDevice(dialect wire.Dialect, files map[string][]byte) *modelDevice {
	m := &modelDevice{dialect: dialect, files: maps.Clone(files), folders: map[string]bool{}, open: map[string]*modelWrite{},
		got: map[uint8]int{}, parts: map[string][]byte{}}
	if m.files == nil {
		m.files = map[string][]byte{}
	}
	for path := range m.files {
		m.addFolders(path)
	}
	return m
}

func (m *modelDevice) addFolders(path string) {
	for at, c := range path {
		if c == '/' {
			m.folders[path[:at]] = true
		}
	}
}

func (m *modelDevice) wrong(format string, args ...any) {
	m.broken = append(m.broken, fmt.Sprintf(format, args...))
}

func (m *modelDevice) answer(answers ...wire.Message) { m.answers = append(m.answers, answers...) }

// deliver takes the oldest answer, which reaches the desk now.
func (m *modelDevice) deliver() wire.Message {
	answer := m.answers[0]
	m.answers = m.answers[1:]
	switch a := answer.(type) {
	case *wire.ResponseWriteFile:
		if w := m.open[a.Path]; w != nil {
			w.delivered = true
		}
	case *wire.FileDataReceived:
		if w := m.open[a.Path]; w != nil && (m.dialect == wire.Released || a.Result != wire.BatchDone) {
			w.owed--
		}
	}
	return answer
}

// failed is a failure, after which the layout is asked for again.
func (m *modelDevice) failed(op, path string) bool {
	if m.fail != nil && m.fail(op, path) {
		m.layout = nil
		return true
	}
	return false
}

func (m *modelDevice) take(message wire.Message, size int) {
	if size > 64<<10 {
		m.wrong("message %d has %d bytes", message.Code(), size)
	}
	m.got[message.Code()]++
	switch r := message.(type) {
	case *wire.RequestFileLayout:
		m.checkDrained()
		before := m.answers
		if m.hasty {
			m.answers = nil
		}
		m.takeLayout()
		if m.hasty {
			m.answers = append(m.answers, before...)
		}
	case *wire.RequestFileBlockHashes:
		m.takeHashes(r)
	case *wire.RequestDeleteFile:
		m.takeDelete(r.Path)
	case *wire.RequestWriteFile:
		m.takeWrite(r)
	case *wire.SendFileData:
		m.takeData(r)
	case *wire.RequestFinishWriteFile:
		m.takeFinish(r)
	case *wire.StartApplication:
		m.started = append(m.started, *r)
	case *wire.StopApplication:
		m.stopped = append(m.stopped, r.Mode)
	case *wire.RequestSystemProperty:
		m.answer(&wire.ResponseSystemProperty{Property: r.Property, Value: "a\nb"})
	case *wire.ConnectAccepted, *wire.KeepAlive:
	default:
		m.wrong("message %d is not of this protocol", message.Code())
	}
}

// checkDrained: nothing is asked anew while answers about files are under way.
func (m *modelDevice) checkDrained() {
	for _, answer := range m.answers {
		switch answer.(type) {
		case *wire.ResponseWriteFile, *wire.FileDataReceived, *wire.ResponseFinishWriteFile, *wire.ResponseFileBlockHashes:
			m.wrong("the layout is asked for while %T is under way", answer)
			return
		}
	}
}

func (m *modelDevice) takeLayout() {
	if m.layout == nil {
		m.layout = map[string]wire.File{}
		for path, data := range m.files {
			m.layout[path] = wire.File{Path: path, Size: uint64(len(data)), Hash: sha256.Sum256(data)}
		}
	}
	files := slices.Collect(maps.Values(m.layout)) // in no order, as real ones
	if m.dialect == wire.Released {
		m.answer(&wire.ResponseFileLayout{Files: files})
		return
	}
	if len(files) == 0 {
		m.answer(&wire.DraftFileLayout{Flags: wire.DraftLast | wire.DraftEmpty})
	}
	for i, f := range files {
		flags := uint8(0)
		if i == len(files)-1 {
			flags = wire.DraftLast
		}
		m.answer(&wire.DraftFileLayout{Flags: flags, File: f})
	}
}

func (m *modelDevice) takeHashes(r *wire.RequestFileBlockHashes) {
	if r.BlockSize == 0 {
		m.wrong("blocks of %q have no size", r.Path)
		return
	}
	var hashes []wire.Hash
	if data, there := m.files[r.Path]; there && m.layout != nil {
		for block := range slices.Chunk(data, int(r.BlockSize)) {
			hashes = append(hashes, sha256.Sum256(block))
		}
	}
	if m.dialect == wire.Released {
		m.answer(&wire.ResponseFileBlockHashes{Path: r.Path, Hashes: hashes})
		return
	}
	if len(hashes) == 0 {
		m.answer(&wire.DraftFileBlockHash{Path: r.Path, Flags: wire.DraftLast | wire.DraftEmpty})
	}
	for i, hash := range hashes {
		flags := uint8(0)
		if i == len(hashes)-1 {
			flags = wire.DraftLast
		}
		m.answer(&wire.DraftFileBlockHash{Path: r.Path, Flags: flags, Index: uint32(i), Hash: hash})
	}
}

func (m *modelDevice) takeDelete(path string) {
	result := wire.Success
	switch _, file := m.files[path]; {
	case m.failed("delete", path):
		result = wire.Failure
	case file:
		delete(m.files, path)
		delete(m.layout, path)
	case m.folders[path]:
		for other := range m.files {
			if strings.HasPrefix(other, path+"/") {
				result, m.layout = wire.Failure, nil
			}
		}
		if result == wire.Success {
			delete(m.folders, path)
		}
	}
	m.answer(&wire.ResponseDeleteFile{Path: path, Result: result})
}

func (m *modelDevice) takeWrite(r *wire.RequestWriteFile) {
	switch {
	case m.open[r.Path] != nil && m.open[r.Path].blocks == 0:
		m.wrong("%q is opened twice", r.Path)
	case r.BlockSize == 0 || r.BlockCount != uint32(wire.BlockCount(r.FileSize, r.BlockSize)):
		m.wrong("%q has %d blocks of %d for %d bytes", r.Path, r.BlockCount, r.BlockSize, r.FileSize)
	}
	result := wire.Success
	if m.layout == nil || m.failed("write", r.Path) || m.inTheWay(r.Path) {
		result, m.layout = wire.Failure, nil
	} else {
		if known, there := m.layout[r.Path]; there && known.Size != r.FileSize {
			m.files[r.Path] = nil
		}
		m.open[r.Path] = &modelWrite{request: *r}
	}
	m.answer(&wire.ResponseWriteFile{Path: r.Path, Result: result})
}

func (m *modelDevice) inTheWay(path string) bool {
	for at, c := range path {
		if _, file := m.files[path[:at]]; c == '/' && file {
			return true
		}
	}
	return m.folders[path]
}

func (m *modelDevice) takeData(r *wire.SendFileData) {
	w := m.open[r.Path]
	if w == nil {
		return
	}
	data := r.Data
	if m.dialect == wire.Draft {
		key := fmt.Sprint(r.Path, "/", r.Block)
		m.parts[key] = append(m.parts[key], r.Data...)
		if len(m.parts[key]) > int(r.Part+1)*wire.PartSize || len(r.Data) > wire.PartSize {
			m.wrong("parts of %q overlap", r.Path)
		}
		if r.Flags&wire.PartBatch != 0 {
			m.answer(&wire.FileDataReceived{Path: r.Path, Block: r.Block, Result: wire.BatchDone})
		}
		if r.Flags&wire.PartFinish == 0 {
			return
		}
		data = m.parts[key]
		delete(m.parts, key)
	}
	begin := uint64(r.Block) * w.request.BlockSize
	want := min(w.request.BlockSize, w.request.FileSize-min(begin, w.request.FileSize))
	if r.Block >= w.request.BlockCount || uint64(len(data)) != want {
		m.wrong("block %d of %q has %d bytes, not %d", r.Block, r.Path, len(data), want)
		return
	}
	if len(m.files[r.Path]) < int(begin) {
		m.files[r.Path] = append(m.files[r.Path], make([]byte, int(begin)-len(m.files[r.Path]))...)
	}
	m.addFolders(r.Path)
	old := m.files[r.Path]
	m.files[r.Path] = append(append(bytes.Clone(old[:begin]), data...), old[min(len(old), int(begin)+len(data)):]...)
	m.blocks++
	w.blocks++
	w.owed++
	result := wire.Success
	if m.failed("data", r.Path) {
		result = wire.Failure
	}
	m.answer(&wire.FileDataReceived{Path: r.Path, Block: r.Block, Result: result})
}

func (m *modelDevice) takeFinish(r *wire.RequestFinishWriteFile) {
	w := m.open[r.Path]
	if w == nil {
		return
	}
	if !w.delivered || w.owed > 0 || w.blocks == 0 {
		m.wrong("end of %q before its answers (opened %v, %d owed, %d blocks)", r.Path, w.delivered, w.owed, w.blocks)
	}
	delete(m.open, r.Path)
	result := wire.Success
	content := m.files[r.Path]
	if uint64(len(content)) > w.request.FileSize {
		content = content[:w.request.FileSize]
	}
	switch {
	case m.failed("finish", r.Path):
		result = wire.Failure
	case sha256.Sum256(content) != r.Hash:
		result, m.layout = wire.HashMismatch, nil
	case m.layout != nil:
		m.layout[r.Path] = wire.File{Path: r.Path, Size: w.request.FileSize, Hash: r.Hash}
	}
	m.answer(&wire.ResponseFinishWriteFile{Path: r.Path, Result: result})
}
