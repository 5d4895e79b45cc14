package server

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

// folder is a release folder as one catalogue hands it out: to C1 clients by GetObject, to anybody over HTTP. It is
// immutable apart from what lies on the disk, and safe for concurrent use.
//
// Of metadata only what was verified is handed out, from memory, and older documents of it. Of everything else that is
// named by its digest, files that the signed list leads to must have the size that they should; any other file was read
// once and has the digest that its name says. So what a publisher has copied half is not there.
type folder struct {
	path   string
	root   *os.Root
	vouch  *vouch
	small  map[string]blob    // verified metadata by name
	newest map[string]int64   // by role: the highest version that is handed out
	sizes  map[[32]byte]int64 // of heads and objects that the signed list leads to
	parts  map[[32]byte]parts // of its heads, for the next catalogue
}

// blob is a file that is handed out. One that is not in memory is open and is the caller's to close.
type blob struct {
	data      []byte
	in        *os.File // nil: in memory
	identity  platform.Identity
	size      int64  // bytes
	etag      string // of HTTP, quoted
	immutable bool   // nothing else will ever have this name
}

func (b blob) close() {
	if b.in != nil {
		b.in.Close()
	}
}

// unchanged makes sure that the open file is as it was when it was opened.
func (b blob) unchanged(name string) error {
	info, err := b.in.Stat()
	if err != nil {
		return err
	}
	if now := platform.IdentityOf(info); !sameFile(b.identity, now) {
		return &changedError{path: name, was: b.identity, is: now}
	}
	return nil
}

// inMemory makes a blob of bytes.
func inMemory(data []byte, immutable bool) blob {
	sum, _ := release.ObjectOf(data).Sum.SHA256()
	return blob{data: data, size: int64(len(data)), etag: etagOf(sum), immutable: immutable}
}

func etagOf(sum [32]byte) string { return `"` + hex.EncodeToString(sum[:]) + `"` }

// open finds what is handed out under a name. What is not is an error for which errors.Is(err, fs.ErrNotExist) holds;
// others are the disk's.
func (f *folder) open(name string) (blob, error) {
	if !netproto.IsObjectName(name) {
		return blob{}, fs.ErrNotExist
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
func (f *folder) Timestamp() []byte { return f.small["metadata/timestamp.json"].data }

// RootVersion is the highest version of the root document.
func (f *folder) RootVersion() uint64 { return uint64(f.newest["root.json"]) }

// openSequel opens a file that is replaced with every publication, and that nobody vouches for.
func (f *folder) openSequel(name string) (blob, error) {
	in, info, err := openRegular(f.root, name)
	if err != nil {
		return blob{}, err
	}
	b := blob{in: in, identity: platform.IdentityOf(info), size: info.Size()}
	if b.size > release.MaxSequel {
		b.close()
		return blob{}, fs.ErrNotExist
	}
	b.etag = fmt.Sprintf(`"%x-%x"`, info.ModTime().UnixNano(), b.size)
	return b, nil
}

// openDocument reads a document of metadata that is older than the newest one.
func (f *folder) openDocument(name, document string) (blob, error) {
	number, role, _ := strings.Cut(document, ".")
	version, err := strconv.ParseInt(number, 10, 64)
	if err != nil || version > f.newest[role] {
		return blob{}, fs.ErrNotExist
	}
	data, err := diskStore{f.root}.Load(name, trust.MaxTargets)
	if errors.Is(err, trust.ErrTooLong) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return blob{}, err
	}
	return inMemory(data, true), nil
}

// openNamed opens a file whose name is its digest.
func (f *folder) openNamed(name string) (blob, error) {
	sum, err := sumOfName(name)
	if err != nil {
		return blob{}, err
	}
	in, info, err := openRegular(f.root, name)
	if err != nil {
		return blob{}, err
	}
	b := blob{in: in, identity: platform.IdentityOf(info), size: info.Size(), etag: etagOf(sum), immutable: true}
	size, known := f.sizes[sum]
	switch {
	case known && size != b.size:
		err = fs.ErrNotExist
	case !known:
		err = f.vouch.prove(sum, b)
	}
	if err != nil {
		b.close()
		return blob{}, err
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
func (f *folder) close() {
	if f != nil {
		f.root.Close()
	}
}

// diskStore reads a release folder. It is trust.Store without Save, which nobody calls on what is only read.
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
	maxProven = 200_000
	// maxProving is how many files are being read for it at a time.
	maxProving = 2
)

// proofs remembers of files that were read whether they had the digest that their name says. It is safe for concurrent use.
type proofs struct {
	mu      sync.Mutex
	proven  map[[32]byte]proof
	reading map[[32]byte]chan struct{} // closed when somebody has read it
	seats   chan struct{}
}

func newProofs() *proofs {
	return &proofs{proven: map[[32]byte]proof{}, reading: map[[32]byte]chan struct{}{}, seats: make(chan struct{}, maxProving)}
}

// prove is nil if b has the digest sum. It reads a file of which that is not known, once for all who ask at the time.
func (p *proofs) prove(sum [32]byte, b blob) error {
	for {
		p.mu.Lock()
		if seen, known := p.proven[sum]; known && sameFile(seen.identity, b.identity) {
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
	if (err == nil || errors.Is(err, fs.ErrNotExist)) && len(p.proven) < maxProven {
		p.proven[sum] = proof{b.identity, err}
	}
	return err
}

// proof is what reading a file showed.
type proof struct {
	identity platform.Identity // the file as it was
	verdict  error             // nil: it has its digest
}

func (p *proofs) read(sum [32]byte, b blob) error {
	p.seats <- struct{}{}
	defer func() { <-p.seats }()
	got, err := release.SHA256.DigestOf(io.NewSectionReader(b.in, 0, b.size))
	if err == nil && got != release.SHA256Digest(sum) {
		err = fs.ErrNotExist
	}
	return err
}
