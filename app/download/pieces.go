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
	// piecesFile holds the received pieces of small files, in the folder of an acquire.Source.
	piecesFile = "received" + release.UnverifiedSuffix
	// MaxPieces is the largest file in bytes. It limits the disk space and what a start reads; twice the data in memory.
	MaxPieces = 32 << 20
	// maxPieceName is the longest name in the file, in bytes.
	maxPieceName = 128
	// pieceHead is the size in bytes of the header before the name and the bytes of a piece.
	pieceHead = 4 + 1 + 8 + 8 + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Pieces keeps the received pieces of small files (the sequel, documents, lists and objects) on the disk while they wait in memory, so
// that a killed process loses none. It is one file to which pieces are appended, each with its file's name, its offset and a checksum:
//
//	CRC-32C of the rest · length of the name · size of the file, -1 if unknown · offset · length · name · bytes
//
// with numbers of 4, 1, 8, 8 and 4 bytes, little-endian. It is not synced: after a power cut it ends at the first wrong checksum. Its
// content is unverified and checked like received data. An error of the disk only disables it. It is safe for concurrent use. A nil
// *Pieces keeps nothing.
type Pieces struct {
	fs     platform.FS
	folder string
	log    zerolog.Logger

	mu    sync.Mutex
	ready bool // the file was read
	off   bool // the disk failed, or Disable: no more pieces are kept
	file  platform.File
	size  int64
	names map[string]*holding
	used  bool // a piece was read since the last Clear or Disable
}

// holding is the kept pieces of one file.
type holding struct {
	size   int64 // of the file; below 0 is unknown
	pieces []heldPiece
}

// heldPiece is a range of a file, and its offset in the file of pieces.
type heldPiece struct {
	Range
	at int64
}

// NewPieces keeps pieces in a folder of fsys, which is created with the first piece. The file is read at the first use.
func NewPieces(fsys platform.FS, folder string, log zerolog.Logger) *Pieces {
	return &Pieces{fs: fsys, folder: folder, log: log}
}

func (r *Pieces) name() string { return path.Join(r.folder, piecesFile) }

// readFile reads the file of an earlier process, once. The caller holds mu.
func (r *Pieces) readFile() {
	if r.ready {
		return
	}
	r.ready, r.names, r.size = true, map[string]*holding{}, 0
	data, err := platform.ReadFile(r.fs, r.name(), MaxPieces)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil && !errors.Is(err, platform.ErrTooLong) { // of a file that is too long only the beginning is read
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
		r.index(name, size, heldPiece{span.Of(at, at+r.size-begin), begin})
	}
	if r.fail(r.openFile()); r.file != nil && r.size < int64(len(data)) {
		r.fail(r.file.Truncate(r.size))
	}
}

// readPiece parses the piece at the beginning of data. n is its length; 0 if it is incomplete or invalid.
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

// openFile opens the file for appending.
func (r *Pieces) openFile() (err error) {
	if r.file != nil {
		return nil
	}
	if err = r.fs.MkdirAll(r.folder, 0o755); err == nil {
		flag := os.O_RDWR | os.O_CREATE
		if r.size == 0 {
			flag |= os.O_TRUNC // the old content is invalid
		}
		r.file, err = r.fs.OpenFile(r.name(), flag, 0o644)
	}
	return err
}

// fail disables further keeping after an error. Kept pieces can still be read.
func (r *Pieces) fail(err error) {
	if err != nil {
		r.off = true
		r.log.Warn().Err(err).Msg("received pieces can't be saved; after a restart they are downloaded again")
	}
}

// readAt reads bytes of the file. After an error all kept pieces are dropped. The caller holds mu.
func (r *Pieces) readAt(p []byte, at int64) error {
	n, err := r.file.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	r.fail(err)
	r.names = map[string]*holding{}
	return errGone
}

// index adds a piece to the index.
func (r *Pieces) index(name string, size int64, p heldPiece) {
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

// Add keeps bytes of a file. size is the file's, below 0 if unknown.
func (r *Pieces) Add(name string, size, at int64, data []byte) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readFile()
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
	if err := r.openFile(); err != nil {
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
	r.index(name, size, heldPiece{span.Of(at, at+int64(len(data))), begin})
	return nil
}

// compact makes room: it keeps the pieces of the newer half of the file, as far as they are still needed, and rewrites the file.
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

// Prefix returns the kept bytes of a file from its first byte to the first gap, and whether they are the whole file. size below 0 is
// unknown.
func (r *Pieces) Prefix(name string, size int64) (data []byte, whole bool) {
	if r == nil {
		return nil, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readFile()
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

// Drop drops a file that is no longer needed, or wrong. Its bytes stay until the file of pieces is compacted, and a later process may
// find them again.
func (r *Pieces) Drop(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.names, name)
}

// DropBefore drops the pieces of a file that end at or before the offset end.
func (r *Pieces) DropBefore(name string, end int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.names[name]; h != nil {
		h.pieces = slices.DeleteFunc(h.pieces, func(p heldPiece) bool { return p.End <= end })
	}
}

// ranges is the kept ranges of a file.
func (r *Pieces) ranges(name string) (set span.Set[int64]) {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readFile()
	if h := r.names[name]; h != nil && r.file != nil {
		for _, p := range h.pieces {
			set.Add(p.Range)
		}
	}
	return set
}

// Missing is the number of bytes of a range that are not kept.
func (r *Pieces) Missing(name string, of Range) int64 { return span.Total(r.ranges(name).Gaps(of)) }

// read reads kept bytes of a file. n is below len(page) at the end of a piece. The error is errGone.
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

// errGone says that bytes are no longer kept: the file was compacted meanwhile, or can't be read. They are fetched again.
var errGone = errors.New("what was kept of a file is gone")

// Has reports whether a piece of a file is kept.
func (r *Pieces) Has(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readFile()
	h := r.names[name]
	return h != nil && len(h.pieces) > 0 && r.file != nil
}

// Used reports whether a piece was read since the last Clear or Disable.
func (r *Pieces) Used() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used
}

// Clear removes everything.
func (r *Pieces) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removeFile()
}

// Disable removes everything and keeps no more pieces, because the disk is full.
func (r *Pieces) Disable() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removeFile()
	r.off = true
}

// removeFile is Clear. The caller holds mu.
func (r *Pieces) removeFile() {
	r.used = false
	if r.ready && r.file == nil && !r.off {
		return
	}
	r.ready, r.names, r.size = true, map[string]*holding{}, 0
	if err := errors.Join(r.closeFile(), platform.RemoveIfThere(r.fs, r.name())); err != nil {
		r.log.Warn().Err(err).Msg("what was kept of small files can't be removed")
	}
}

// Close closes the file and leaves it for the next process. Later calls keep and return no pieces.
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

// Verified returns an object that is kept whole and has the right digest, else nil. A wrong one is dropped.
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
