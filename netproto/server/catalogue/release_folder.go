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

// Folder is a release folder as one catalogue hands it out: to C1 clients by GetObject, to any client over HTTP. It is
// immutable apart from what lies on the disk, and safe for concurrent use.
//
// Of metadata only what was verified is handed out, from memory, and older documents of it. Of everything else that is
// named by its digest, files that the signed list leads to must have the size that they should; any other file was read
// once and has the digest that its name says. So what a publisher has copied half is not there.
type Folder struct {
	path   string
	root   *os.Root
	trust  *trustState
	small  map[string]Blob    // verified metadata by name
	newest map[string]int64   // by role: the highest version that is handed out
	sizes  map[[32]byte]int64 // of heads and objects that the signed list leads to
	parts  map[[32]byte]parts // of its heads, for the next catalogue
}

// Blob is a file that is handed out. One that is not in memory is open and is the caller's to close.
type Blob struct {
	Data      []byte
	File      *os.File // nil: in memory
	identity  platform.Identity
	Size      int64  // bytes
	ETag      string // of HTTP, quoted
	Immutable bool   // nothing else will ever have this name
}

// Close closes the file of a blob that is not in memory.
func (b Blob) Close() {
	if b.File != nil {
		b.File.Close()
	}
}

// CheckUnchanged makes sure that the open file is as it was when it was opened.
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

// inMemory makes a blob of bytes.
func inMemory(data []byte, immutable bool) Blob {
	sum, _ := release.ObjectOf(data).Sum.SHA256()
	return Blob{Data: data, Size: int64(len(data)), ETag: etagOf(sum), Immutable: immutable}
}

func etagOf(sum [32]byte) string { return `"` + hex.EncodeToString(sum[:]) + `"` }

// Reopen finds what is handed out under a name. What is not is an error for which errors.Is(err, fs.ErrNotExist) holds;
// others are the disk's.
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

// openSequel opens a file that is replaced with every publication, and that is not signed.
func (f *Folder) openSequel(name string) (Blob, error) {
	in, info, err := openRegular(f.root, name)
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

// openDocument reads a document of metadata that is older than the newest one.
func (f *Folder) openDocument(name, document string) (Blob, error) {
	number, role, _ := strings.Cut(document, ".")
	version, err := strconv.ParseInt(number, 10, 64)
	if err != nil || version > f.newest[role] {
		return Blob{}, fs.ErrNotExist
	}
	data, err := diskStore{f.root}.Load(name, trust.MaxTargets)
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
	in, info, err := openRegular(f.root, name)
	if err != nil {
		return Blob{}, err
	}
	b := Blob{File: in, identity: platform.IdentityOf(info), Size: info.Size(), ETag: etagOf(sum), Immutable: true}
	size, known := f.sizes[sum]
	switch {
	case known && size != b.Size:
		err = fs.ErrNotExist
	case !known:
		err = f.trust.verify(sum, b)
	}
	if err != nil {
		b.Close()
		return Blob{}, err
	}
	return b, nil
}

// sumOfName is the digest that a name of a head or an object says.
func sumOfName(name string) (sum [32]byte, err error) {
	digits := strings.TrimSuffix(path.Base(name), ".release")
	if n, err := hex.Decode(sum[:], []byte(digits)); n != len(sum) || err != nil {
		return sum, fs.ErrNotExist
	}
	return sum, nil
}

// openRegular opens a file and looks before: opening a pipe would wait for its other end.
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

// close lets go of the folder.
func (f *Folder) close() {
	if f != nil {
		f.root.Close()
	}
}

// diskStore reads a release folder. It is trust.Store without Save, which has no use on a folder that is only read.
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
	// maxProven is how many files are remembered whose digest was checked; beyond it they are read again. Each takes some
	// 150 bytes.
	maxVerified = 200_000
	// maxProving is how many files are being read for it at a time.
	maxVerifying = 2
)

// digestCache remembers of files that were read whether they had the digest that their name says. It is safe for concurrent use.
type digestCache struct {
	mu      sync.Mutex
	known   map[[32]byte]verifiedFile
	reading map[[32]byte]chan struct{} // closed when it has been read
	slots   chan struct{}
}

func newDigestCache() *digestCache {
	return &digestCache{known: map[[32]byte]verifiedFile{}, reading: map[[32]byte]chan struct{}{}, slots: make(chan struct{}, maxVerifying)}
}

// verify is nil if b has the digest sum. It reads a file of which that is not known, once for all who ask at the time.
func (p *digestCache) verify(sum [32]byte, b Blob) error {
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
	err := p.read(sum, b)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.reading, sum)
	close(mine)
	if (err == nil || errors.Is(err, fs.ErrNotExist)) && len(p.known) < maxVerified {
		p.known[sum] = verifiedFile{b.identity, err}
	}
	return err
}

// verifiedFile is what reading a file showed.
type verifiedFile struct {
	identity platform.Identity // the file as it was
	verdict  error             // nil: it has its digest
}

func (p *digestCache) read(sum [32]byte, b Blob) error {
	p.slots <- struct{}{}
	defer func() { <-p.slots }()
	got, err := release.SHA256.DigestOf(io.NewSectionReader(b.File, 0, b.Size))
	if err == nil && got != release.SHA256Digest(sum) {
		err = fs.ErrNotExist
	}
	return err
}
