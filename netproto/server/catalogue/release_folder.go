package catalogue

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"collet/netproto"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/platform"
)

// Folder is the release folder of one catalogue: it serves C1 clients by GetObject, and any client over HTTP. It is immutable
// except for the files on disk, and safe for concurrent use.
//
// Of metadata it serves the verified documents, from memory, and older versions of them. Of the files that are named by their
// digest, those in the signed list must have the signed size; any other file is read once and must have the digest in its name. A
// half-copied file therefore counts as missing.
type Folder struct {
	path    string
	store   diskStore
	trust   *trustState
	small   map[string]Blob    // verified metadata by name
	newest  map[string]int64   // by role: the highest version that is served
	sizes   map[[32]byte]int64 // of heads and objects reachable from the signed list
	parts   map[[32]byte]parts // by head, for the next catalogue
	lists   Lists
	havings havings
}

// Blob is a served file, in memory or open. The caller closes it.
type Blob struct {
	Data      []byte
	File      *os.File // nil: in memory
	identity  platform.Identity
	Size      int64  // bytes
	ETag      string // of HTTP, quoted
	Immutable bool   // the name never gets another content
}

// Close closes the file of a blob that is not in memory.
func (b Blob) Close() {
	if b.File != nil {
		b.File.Close()
	}
}

// CheckUnchanged verifies that the open file has not changed since it was opened.
func (b Blob) CheckUnchanged(name string) error {
	info, err := b.File.Stat()
	if err != nil {
		return err
	}
	if now := platform.IdentityOf(info); !sameFile(b.identity, now) {
		return &ChangedError{path: name, was: b.identity, is: now}
	}
	return nil
}

// inMemory is a blob of bytes.
func inMemory(data []byte, immutable bool) Blob {
	sum, _ := release.ObjectOf(data).Sum.SHA256()
	return Blob{Data: data, Size: int64(len(data)), ETag: etagOf(sum), Immutable: immutable}
}

func etagOf(sum [32]byte) string { return `"` + hex.EncodeToString(sum[:]) + `"` }

// Open opens the file of a name. A name that is not served is an error for which errors.Is(err, fs.ErrNotExist) holds; other
// errors are the disk's.
func (f *Folder) Open(name string) (Blob, error) {
	if !netproto.IsObjectName(name) {
		return Blob{}, fs.ErrNotExist
	}
	if b, known := f.small[name]; known {
		return b, nil
	}
	if document, is := strings.CutPrefix(name, "metadata/"); is {
		return f.openDocument(name, document)
	}
	if strings.HasPrefix(name, "sequels/") {
		return f.openSequel(name)
	}
	return f.openNamed(name)
}

// Timestamp is the newest timestamp document.
func (f *Folder) Timestamp() []byte { return f.small["metadata/timestamp.json"].Data }

// RootVersion is the highest version of the root document.
func (f *Folder) RootVersion() uint64 { return uint64(f.newest["root.json"]) }

// openSequel opens an unsigned file that every publication replaces.
func (f *Folder) openSequel(name string) (Blob, error) {
	in, info, err := openRegular(f.store.root, name)
	if err != nil {
		return Blob{}, err
	}
	b := Blob{File: in, identity: platform.IdentityOf(info), Size: info.Size()}
	if b.Size > release.MaxSequel {
		b.Close()
		return Blob{}, fs.ErrNotExist
	}
	b.ETag = fmt.Sprintf(`"%x-%x"`, info.ModTime().UnixNano(), b.Size)
	return b, nil
}

// openDocument reads an older version of a metadata document.
func (f *Folder) openDocument(name, document string) (Blob, error) {
	number, role, _ := strings.Cut(document, ".")
	version, err := strconv.ParseInt(number, 10, 64)
	if err != nil || version > f.newest[role] {
		return Blob{}, fs.ErrNotExist
	}
	data, err := f.store.Load(name, trust.MaxTargets)
	if errors.Is(err, trust.ErrTooLong) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return Blob{}, err
	}
	return inMemory(data, true), nil
}

// openNamed opens a file whose name is its digest.
func (f *Folder) openNamed(name string) (Blob, error) {
	sum, err := sumOfName(name)
	if err != nil {
		return Blob{}, err
	}
	in, info, err := openRegular(f.store.root, name)
	if err != nil {
		return Blob{}, err
	}
	b := Blob{File: in, identity: platform.IdentityOf(info), Size: info.Size(), ETag: etagOf(sum), Immutable: true}
	size, known := f.sizes[sum]
	switch {
	case known && size != b.Size:
		err = fs.ErrNotExist
	case !known:
		err = f.trust.verifyDigest(sum, b)
	}
	if err != nil {
		b.Close()
		return Blob{}, err
	}
	return b, nil
}

// sumOfName is the digest in the name of a head or an object.
func sumOfName(name string) (sum [32]byte, err error) {
	digits := strings.TrimSuffix(path.Base(name), ".release")
	if n, err := hex.Decode(sum[:], []byte(digits)); n != len(sum) || err != nil {
		return sum, fs.ErrNotExist
	}
	return sum, nil
}

// openRegular opens a regular file. It checks the type first, because opening a pipe would block.
func openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	name = filepath.FromSlash(name)
	info, err := root.Stat(name)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fs.ErrNotExist
	}
	in, err := root.Open(name)
	if err != nil {
		return nil, nil, err
	}
	if info, err = in.Stat(); err != nil {
		in.Close()
		return nil, nil, err
	}
	return in, info, nil
}

// close closes the folder.
func (f *Folder) close() {
	if f != nil {
		f.store.root.Close()
	}
}

// diskStore reads the documents of a release folder. It implements trust.Store; Save fails, because the folder is only read.
type diskStore struct{ root *os.Root }

// Load implements trust.Store.
func (d diskStore) Load(name string, limit int64) ([]byte, error) {
	in, info, err := openRegular(d.root, name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if info.Size() > limit {
		return nil, trust.ErrTooLong
	}
	data, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = trust.ErrTooLong
	}
	return data, err
}

// Save implements trust.Store.
func (diskStore) Save(string, []byte) error { return fs.ErrPermission }

const (
	// maxVerified is how many checked digests are remembered; further files are read again. Each takes some 150 bytes.
	maxVerified = 200_000
	// maxVerifying is how many files are read at a time.
	maxVerifying = 2
)

// digestCache remembers which files have the digest in their name. It is safe for concurrent use.
type digestCache struct {
	mu      sync.Mutex
	known   map[[32]byte]verifiedFile
	reading map[[32]byte]chan struct{} // closed after the read
	slots   chan struct{}
}

func newDigestCache() *digestCache {
	return &digestCache{known: map[[32]byte]verifiedFile{}, reading: map[[32]byte]chan struct{}{}, slots: make(chan struct{}, maxVerifying)}
}

// verifyDigest returns an error unless b has the digest sum. It reads an unknown file, once for all concurrent callers.
func (p *digestCache) verifyDigest(sum [32]byte, b Blob) error {
	for {
		p.mu.Lock()
		if seen, known := p.known[sum]; known && sameFile(seen.identity, b.identity) {
			p.mu.Unlock()
			return seen.verdict
		}
		other, busy := p.reading[sum]
		if !busy {
			break
		}
		p.mu.Unlock()
		<-other
	}
	mine := make(chan struct{})
	p.reading[sum] = mine
	p.mu.Unlock()
	err := p.readDigest(sum, b)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.reading, sum)
	close(mine)
	if (err == nil || errors.Is(err, fs.ErrNotExist)) && len(p.known) < maxVerified {
		p.known[sum] = verifiedFile{b.identity, err}
	}
	return err
}

// verifiedFile is the result of reading a file.
type verifiedFile struct {
	identity platform.Identity // of the file that was read
	verdict  error             // nil: the digest matches
}

func (p *digestCache) readDigest(sum [32]byte, b Blob) error {
	p.slots <- struct{}{}
	defer func() { <-p.slots }()
	got, err := release.SHA256.DigestOf(io.NewSectionReader(b.File, 0, b.Size))
	if err == nil && got != release.SHA256Digest(sum) {
		err = fs.ErrNotExist
	}
	return err
}
