package download

import (
	"cmp"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"sync"

	"github.com/rs/zerolog"

	"collet/netproto/release"
	"collet/platform"
	"collet/platform/span"
)

const (
	// piecesFile holds what came of small files, in the folder of a Source.
	piecesFile = "received" + release.UnverifiedSuffix
	// MaxPieces is how many bytes the file may have. It bounds the disk and what a start reads; twice what waits in memory.
	MaxPieces = 32 << 20
	// maxPieceName is the longest name in it, in bytes.
	maxPieceName = 128
	// pieceHead is the size of what stands before the name and the bytes of a piece.
	pieceHead = 4 + 1 + 8 + 8 + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Pieces keeps what has come of small files that wait in memory, so that a stop of the process at any moment costs none of
// it: the sequel, documents, lists and objects. It is one file to which pieces are appended, each with its name, its place
// and a checksum:
//
//	CRC-32C of the rest · length of the name · size of the file, -1 if unknown · offset · length · name · bytes
//
// with numbers of 4, 1, 8, 8 and 4 bytes, little-endian. It is not synced: after a power cut it ends where the checksums do.
// What it holds is unverified; it is checked like what comes over the line. A disk that fails to write or read costs the saving and
// nothing else. It is safe for concurrent use.
type Pieces struct {
	fs     platform.FS
	folder string
	log    zerolog.Logger

	mu    sync.Mutex
	ready bool // the file was read
	off   bool // the disk failed: nothing more is kept
	file  platform.File
	size  int64
	names map[string]*holding
	used  bool // something was given away since the last forget
}

// holding is what is kept of one file.
type holding struct {
	size   int64 // of the file; below 0 is unknown
	pieces []heldPiece
}

// heldPiece is where bytes of a file lie.
type heldPiece struct {
	Range
	at int64
}

// NewPieces keeps pieces in a folder of fsys, which is made if need be. Nothing is read before the first use.
func NewPieces(fsys platform.FS, folder string, log zerolog.Logger) *Pieces {
	return &Pieces{fs: fsys, folder: folder, log: log}
}

func (r *Pieces) name() string { return path.Join(r.folder, piecesFile) }

// open reads what an earlier process left, once. The caller holds mu.
func (r *Pieces) open() {
	if r.ready {
		return
	}
	r.ready, r.names, r.size = true, map[string]*holding{}, 0
	data, err := platform.ReadFile(r.fs, r.name(), MaxPieces)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil && !errors.Is(err, platform.ErrTooLong) { // of a file that is not ours the beginning is looked at
		r.fail(err)
		return
	}
	for {
		name, size, at, n := readPiece(data[r.size:])
		if n == 0 {
			break
		}
		begin := r.size + pieceHead + int64(len(name))
		r.size += n
		r.take(name, size, heldPiece{span.Of(at, at+r.size-begin), begin})
	}
	if r.fail(r.begin()); r.file != nil && r.size < int64(len(data)) {
		r.fail(r.file.Truncate(r.size))
	}
}

// readPiece reads the piece at the beginning of data. n is how long it is, and 0 if there is no sound one.
func readPiece(data []byte) (name string, size, at, n int64) {
	if len(data) < pieceHead {
		return "", 0, 0, 0
	}
	names, length := int64(data[4]), int64(binary.LittleEndian.Uint32(data[21:]))
	size, at = int64(binary.LittleEndian.Uint64(data[5:])), int64(binary.LittleEndian.Uint64(data[13:]))
	n = pieceHead + names + length
	if names > maxPieceName || at < 0 || at > maxOffset || n > int64(len(data)) || crc32.Checksum(data[4:n], castagnoli) != binary.LittleEndian.Uint32(data) {
		return "", 0, 0, 0
	}
	return string(data[pieceHead : pieceHead+names]), size, at, n
}

// begin opens the file for appending.
func (r *Pieces) begin() (err error) {
	if r.file != nil {
		return nil
	}
	if err = r.fs.MkdirAll(r.folder, 0o755); err == nil {
		flag := os.O_RDWR | os.O_CREATE
		if r.size == 0 {
			flag |= os.O_TRUNC // nothing of what lies there is of use
		}
		r.file, err = r.fs.OpenFile(r.name(), flag, 0o644)
	}
	return err
}

// fail ends the keeping. What is kept is given away still.
func (r *Pieces) fail(err error) {
	if err != nil {
		r.off = true
		r.log.Warn().Err(err).Msg("what comes of small files is not kept; a stop costs it")
	}
}

// readAt reads bytes of the file. If it can't, nothing of it is given away any more. The caller holds mu.
func (r *Pieces) readAt(p []byte, at int64) error {
	n, err := r.file.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	r.fail(err)
	r.names = map[string]*holding{}
	return errGone
}

// take notes a piece.
func (r *Pieces) take(name string, size int64, p heldPiece) {
	h := r.names[name]
	if h == nil {
		h = &holding{size: -1}
		r.names[name] = h
	}
	if size >= 0 {
		h.size = size
	}
	h.pieces = append(h.pieces, p)
}

// Add keeps bytes of a file. size is that of the file, below 0 if it is not known.
func (r *Pieces) Add(name string, size, at int64, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open()
	n := int64(pieceHead + len(name) + len(data))
	if r.off || len(name) > maxPieceName || n > MaxPieces {
		return
	}
	if r.size+n > MaxPieces {
		if r.fail(r.compact()); r.off || r.size+n > MaxPieces {
			return
		}
	}
	r.fail(r.append(name, size, at, data))
}

func (r *Pieces) append(name string, size, at int64, data []byte) error {
	if err := r.begin(); err != nil {
		return err
	}
	p := make([]byte, 4, pieceHead+len(name)+len(data))
	p = append(p, byte(len(name)))
	p = binary.LittleEndian.AppendUint64(p, uint64(max(size, -1)))
	p = binary.LittleEndian.AppendUint64(p, uint64(at))
	p = binary.LittleEndian.AppendUint32(p, uint32(len(data)))
	p = append(append(p, name...), data...)
	binary.LittleEndian.PutUint32(p, crc32.Checksum(p[4:], castagnoli))
	if _, err := r.file.Seek(r.size, io.SeekStart); err != nil {
		return err
	}
	if _, err := r.file.Write(p); err != nil {
		return err
	}
	begin := r.size + int64(pieceHead+len(name))
	r.size += int64(len(p))
	r.take(name, size, heldPiece{span.Of(at, at+int64(len(data))), begin})
	return nil
}

// compact makes room: of what is still of use the newest half of the file is written again from its beginning.
func (r *Pieces) compact() error {
	type content struct {
		name string
		size int64
		heldPiece
		data []byte
	}
	var all []content
	for name, h := range r.names {
		for _, p := range h.pieces {
			if p.at >= r.size-MaxPieces/2 {
				all = append(all, content{name, h.size, p, make([]byte, p.Len())})
			}
		}
	}
	slices.SortFunc(all, func(a, b content) int { return cmp.Compare(a.at, b.at) })
	for _, c := range all {
		if err := r.readAt(c.data, c.at); err != nil {
			return err
		}
	}
	r.names, r.size = map[string]*holding{}, 0
	if err := r.file.Truncate(0); err != nil {
		return err
	}
	for _, c := range all {
		if err := r.append(c.name, c.size, c.Start, c.data); err != nil {
			return err
		}
	}
	return nil
}

// Prefix gives what is kept of a file from its first byte on, and whether that is all of it. size below 0 is unknown.
func (r *Pieces) Prefix(name string, size int64) (data []byte, whole bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open()
	h := r.names[name]
	if h == nil || r.file == nil {
		return nil, false
	}
	if size < 0 || h.size >= 0 && h.size < size {
		size = h.size
	}
	var set span.Set[int64]
	for _, p := range h.pieces {
		set.Add(p.Range)
	}
	data = make([]byte, set.Prefix())
	if size >= 0 && int64(len(data)) > size {
		return nil, false
	}
	for _, p := range h.pieces {
		if p.End > int64(len(data)) {
			continue
		}
		if r.readAt(data[p.Start:p.End], p.at) != nil {
			return nil, false
		}
	}
	r.used = r.used || len(data) > 0
	return data, size >= 0 && int64(len(data)) == size
}

// Drop forgets a file, which is no longer of use, or turned out to be wrong. The bytes stay until the file is compacted, and a
// later process may find them again.
func (r *Pieces) Drop(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.names, name)
}

// DropBefore forgets what lies before a byte of a file.
func (r *Pieces) DropBefore(name string, end int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.names[name]; h != nil {
		h.pieces = slices.DeleteFunc(h.pieces, func(p heldPiece) bool { return p.End <= end })
	}
}

// ranges is what is kept of a file.
func (r *Pieces) ranges(name string) (set span.Set[int64]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open()
	if h := r.names[name]; h != nil && r.file != nil {
		for _, p := range h.pieces {
			set.Add(p.Range)
		}
	}
	return set
}

// Missing is how many bytes of a range of a file are not kept.
func (r *Pieces) Missing(name string, of Range) int64 { return span.Total(r.ranges(name).Gaps(of)) }

// read reads bytes of a file that are kept. n is below len(page) where the next ones lie elsewhere. The error is errGone.
func (r *Pieces) read(name string, at int64, page []byte) (n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.names[name]; h != nil && r.file != nil {
		for _, p := range h.pieces {
			if p.Start <= at && at < p.End {
				page = page[:min(int64(len(page)), p.End-at)]
				if err := r.readAt(page, p.at+at-p.Start); err != nil {
					return 0, err
				}
				r.used = true
				return len(page), nil
			}
		}
	}
	return 0, errGone
}

// errGone says that bytes are not kept any more: the file was compacted meanwhile, or can't be read. They are asked for again.
var errGone = errors.New("what was kept of a file is gone")

// Has reports whether anything is kept under a name.
func (r *Pieces) Has(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open()
	h := r.names[name]
	return h != nil && len(h.pieces) > 0 && r.file != nil
}

// Used reports whether anything was given away since the last forget.
func (r *Pieces) Used() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used
}

// Clear removes everything.
func (r *Pieces) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove()
}

// Disable removes everything and keeps nothing more: there is no room for it.
func (r *Pieces) Disable() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove()
	r.off = true
}

// remove is forget. The caller holds mu.
func (r *Pieces) remove() {
	r.used = false
	if r.ready && r.file == nil && !r.off {
		return
	}
	r.ready, r.names, r.size = true, map[string]*holding{}, 0
	if err := errors.Join(r.closeFile(), platform.RemoveIfThere(r.fs, r.name())); err != nil {
		r.log.Warn().Err(err).Msg("what was kept of small files can't be removed")
	}
}

// Close lets go of the file, and leaves it for the next process. Nothing is kept or given away from now on.
func (r *Pieces) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready, r.off, r.names = true, true, nil
	return r.closeFile()
}

func (r *Pieces) closeFile() (err error) {
	if r.file != nil {
		err = r.file.Close()
		r.file = nil
	}
	return err
}

// Verified gives an object that is kept whole, once it has proven right. A wrong one is dropped.
func (r *Pieces) Verified(o release.Object) []byte {
	data, whole := r.Prefix(o.Path(), o.Size)
	if !whole {
		return nil
	}
	if err := o.Verify(data); err != nil {
		r.log.Warn().Err(err).Msg("what was kept of an object is wrong; it is fetched again")
		r.Drop(o.Path())
		return nil
	}
	return data
}
