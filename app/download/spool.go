package download

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/release"
	"collet/platform"
	"collet/platform/interrupt"
	"collet/platform/span"
)

const (
	// DefaultSpoolLimit is how many bytes the parts of a spool may take in all. It bounds what is kept for later, never what
	// an update needs: 8 GiB hold what two large releases left half-fetched.
	DefaultSpoolLimit = 8 << 30
	// CheckpointEvery is how often the record of a part is written while bytes come. It is what a stop costs, and each one
	// makes the disk write what it would have written later anyway.
	CheckpointEvery = 2 * time.Second
)

// SpoolOptions say how a spool keeps its parts. The zero value is sensible.
type SpoolOptions struct {
	Limit      int64         // bytes that parts may take in all; 0 is DefaultSpoolLimit
	Checkpoint time.Duration // how often records are written; 0 is CheckpointEvery
	Log        zerolog.Logger
}

// Spool is a folder of parts of objects by digest; the package comment says what lies in it. It is safe for concurrent use
// by one process: the install's lock has to keep others out. Errors of the disk are *update.Fault.
type Spool struct {
	fs     platform.FS
	folder string
	o      SpoolOptions

	mu   sync.Mutex
	busy map[release.Digest]chan struct{} // parts that are being written; closed when they are free again
	seen map[release.Digest]sight         // parts that this process had in its hands
}

// sight is what this process knows of a part, beside what its record says.
type sight struct {
	size     int64
	have     span.Set[int64]
	proven   bool // it was hashed, and is right
	recorded bool // the record says as much
}

// OpenSpool opens the spool in a folder of fsys, which is made if need be. fsys stays the caller's.
func OpenSpool(fsys platform.FS, folder string, o SpoolOptions) (*Spool, error) {
	if o.Limit <= 0 {
		o.Limit = DefaultSpoolLimit
	}
	if o.Checkpoint <= 0 {
		o.Checkpoint = CheckpointEvery
	}
	s := &Spool{fs: fsys, folder: folder, o: o, busy: map[release.Digest]chan struct{}{}, seen: map[release.Digest]sight{}}
	err := s.makeFolder()
	if err == nil {
		err = s.tidy()
	}
	if err != nil {
		return nil, s.fault(folder, -1, err)
	}
	return s, nil
}

// makeFolder makes the folder and those above it, durably: what is recorded in it would be lost with it. One that is there
// may be so since a moment before the last process ended.
func (s *Spool) makeFolder() error {
	err := s.fs.MkdirAll(s.folder, 0o755)
	for name := s.folder; err == nil; name = path.Dir(name) {
		if err = s.fs.SyncDir(name); name == "." {
			break
		}
	}
	return err
}

const (
	partSuffix   = release.UnverifiedSuffix
	recordSuffix = ".have"
	cameSuffix   = ".came"
	newSuffix    = ".new" // of platform.WriteFile
)

func (s *Spool) partName(d release.Digest) string   { return s.folder + "/" + d.Hex() + partSuffix }
func (s *Spool) recordName(d release.Digest) string { return s.folder + "/" + d.Hex() + recordSuffix }

func (s *Spool) cameName(d release.Digest) string { return s.folder + "/" + d.Hex() + cameSuffix }

// digestOf reads a digest out of the name of a file with this suffix.
func digestOf(name, suffix string) (release.Digest, bool) {
	digits, is := strings.CutSuffix(name, suffix)
	if !is {
		return release.Digest{}, false
	}
	d, err := release.ParseDigest(release.SHA256.String() + ":" + digits)
	return d, err == nil
}

// tidy removes what a stop left: records that were being written, and those whose part is gone. It leaves alone what has
// another form of name.
func (s *Spool) tidy() error {
	entries, err := s.fs.ReadDir(s.folder)
	if err != nil {
		return err
	}
	parts := map[release.Digest]bool{}
	for _, e := range entries {
		if d, is := digestOf(e.Name(), partSuffix); is {
			parts[d] = true
		}
	}
	for _, e := range entries {
		_, half := digestOf(e.Name(), recordSuffix+newSuffix)
		d, is := digestOf(e.Name(), recordSuffix)
		came, log := digestOf(e.Name(), cameSuffix)
		if half || is && !parts[d] || log && !parts[came] {
			err = errors.Join(err, platform.RemoveIfThere(s.fs, s.folder+"/"+e.Name()))
		}
	}
	return err
}

// claim makes the caller the only one who changes the part, and waits until that is possible.
func (s *Spool) claim(ctx context.Context, d release.Digest) error {
	for {
		s.mu.Lock()
		taken := s.busy[d]
		if taken == nil {
			s.busy[d] = make(chan struct{})
		}
		s.mu.Unlock()
		if taken == nil {
			return nil
		}
		select {
		case <-taken:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// free undoes claim.
func (s *Spool) free(d release.Digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.busy[d])
	delete(s.busy, d)
}

// Spooled is a complete and verified object. ReadAt is safe for concurrent use. Close it.
type Spooled struct {
	file interface {
		io.ReaderAt
		io.Closer
	}
	size int64
}

// InMemory is a verified object that is kept in memory.
func InMemory(data []byte) *Spooled { return &Spooled{fixed{bytes.NewReader(data)}, int64(len(data))} }

type fixed struct{ io.ReaderAt }

func (fixed) Close() error { return nil }

// ReadAt implements io.ReaderAt.
func (c *Spooled) ReadAt(p []byte, off int64) (int, error) { return c.file.ReadAt(p, off) }

// Size is the number of bytes.
func (c *Spooled) Size() int64 { return c.size }

// Close lets go of the file.
func (c *Spooled) Close() error { return c.file.Close() }

// Open gives a complete object. What this process has not hashed yet is hashed first; if it is not what its name says it is
// removed. For what is not there, not complete or not right errors.Is with fs.ErrNotExist holds.
func (s *Spool) Open(ctx context.Context, d release.Digest) (*Spooled, error) {
	if err := s.claim(ctx, d); err != nil {
		return nil, err
	}
	defer s.free(d)
	f, err := s.fs.OpenFile(s.partName(d), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &MissingError{Mirror: "spool", Name: d.Hex()}
	}
	if err != nil {
		return nil, s.fault(s.partName(d), -1, err)
	}
	size, err := s.prove(ctx, d, f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Spooled{file: f, size: size}, nil
}

// prove makes sure that a part is complete and right.
func (s *Spool) prove(ctx context.Context, d release.Digest, f platform.File) (int64, error) {
	known := s.known(d)
	if known.proven {
		return known.size, nil
	}
	if known.size < 0 || known.have.Prefix() != known.size {
		return 0, &MissingError{Mirror: "spool", Name: d.Hex()}
	}
	h := release.SHA256.NewHash()
	if _, err := io.CopyBuffer(h, interrupt.Reader(ctx, io.NewSectionReader(f, 0, known.size)), make([]byte, hashPage)); err != nil {
		return 0, s.fault(s.partName(d), -1, err)
	}
	if release.SHA256.SumOf(h) != d {
		s.o.Log.Warn().Stringer("object", d).Msg("a part in the spool is damaged; removed")
		return 0, errors.Join(&MissingError{Mirror: "spool", Name: d.Hex()}, s.discard(d))
	}
	known.proven = true
	s.see(d, known)
	return known.size, nil
}

// see remembers what is known of a part.
func (s *Spool) see(d release.Digest, what sight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[d] = what
}

// known tells what has come of a part, from memory or from its record. A record that can't be read says that nothing has.
func (s *Spool) known(d release.Digest) sight {
	s.mu.Lock()
	what, seen := s.seen[d]
	s.mu.Unlock()
	if seen {
		return what
	}
	what = sight{size: -1}
	if data, err := platform.ReadFile(s.fs, s.recordName(d), maxRecord); err == nil {
		what.recorded = true
		if what.size, what.have, err = decodeRecord(data); err != nil {
			s.o.Log.Warn().Err(err).Str("file", s.recordName(d)).Msg("a record of the spool makes no sense; its part is fetched again")
		}
	}
	if log, err := platform.ReadFile(s.fs, s.cameName(d), maxCame); err == nil && len(log) > 0 {
		s.replay(d, log, &what)
	}
	return what
}

// Have is how many bytes of an object of this size are in the spool.
func (s *Spool) Have(d release.Digest, size int64) int64 {
	known := s.known(d)
	if known.size != size {
		return 0
	}
	return span.Total(known.have)
}

// Seed gives an object its first bytes, if its part has fewer of them. They are proven with the rest.
func (s *Spool) Seed(ctx context.Context, d release.Digest, size int64, data []byte) error {
	p, err := s.begin(ctx, d, size)
	if err != nil {
		return err
	}
	if at := p.prefix(); at < int64(len(data)) {
		err = p.write(at, data[at:])
	}
	return both(err, p.end(p.proved))
}

// Remove deletes a part, complete or not, once it is not being written. A missing part is no error.
func (s *Spool) Remove(ctx context.Context, d release.Digest) error {
	if err := s.claim(ctx, d); err != nil {
		return err
	}
	defer s.free(d)
	return s.discard(d)
}

// discard deletes a claimed part. The record goes first, so that it never speaks of another part of this name.
func (s *Spool) discard(d release.Digest) error {
	s.mu.Lock()
	delete(s.seen, d)
	s.mu.Unlock()
	err := platform.RemoveIfThere(s.fs, s.recordName(d))
	if err == nil {
		err = platform.RemoveIfThere(s.fs, s.cameName(d))
	}
	if err == nil {
		err = platform.RemoveIfThere(s.fs, s.partName(d))
	}
	return s.fault(s.partName(d), -1, err)
}

// leftover is a part that is not needed now.
type leftover struct {
	digest release.Digest
	size   int64 // length of its file, holes included
	used   time.Time
}

// leftovers lists the parts that are not being written, those first that were written to longest ago, and the bytes of all parts.
func (s *Spool) leftovers() (list []leftover, total int64, err error) {
	entries, err := s.fs.ReadDir(s.folder)
	if err != nil {
		return nil, 0, err
	}
	for _, e := range entries {
		d, is := digestOf(e.Name(), partSuffix)
		if !is {
			continue
		}
		info, err := s.fs.Stat(s.folder + "/" + e.Name())
		if err != nil {
			continue // it went away meanwhile
		}
		total += info.Size()
		list = append(list, leftover{d, info.Size(), info.ModTime()})
	}
	slices.SortStableFunc(list, func(a, b leftover) int { return a.used.Compare(b.used) })
	return list, total, nil
}

// Collect removes the parts that were not written to for longest, until no more than limit bytes are left; 0 removes all.
// What keep names, what is being written, and what this process verified stays. It returns how many bytes went.
func (s *Spool) Collect(keep []release.Digest, limit int64) (freed int64, err error) {
	list, total, err := s.leftovers()
	for _, l := range list {
		if total-freed <= limit || err != nil {
			break
		}
		if slices.Contains(keep, l.digest) || !s.claimLeftover(l.digest) {
			continue
		}
		if err = s.discard(l.digest); err == nil {
			freed += l.size
		}
		s.free(l.digest)
	}
	if freed > 0 {
		s.o.Log.Info().Int64("bytes", freed).Msg("the spool let go of old parts")
	}
	return freed, s.fault(s.folder, -1, err)
}

// claimLeftover claims a part unless it is being written, or about to be read.
func (s *Spool) claimLeftover(d release.Digest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[d].proven || s.busy[d] != nil {
		return false
	}
	s.busy[d] = make(chan struct{})
	return true
}

// Close records what no record knows, so that the next process has it: complete parts, mostly, which are hardly ever kept
// for long. No other call is under way then, and none follows. What was opened stays open.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for d, what := range s.seen {
		if !what.recorded {
			err = errors.Join(err, s.fault(s.recordName(d), -1, s.keep(d, what.size, what.have)), platform.RemoveIfThere(s.fs, s.cameName(d)))
		}
	}
	clear(s.seen)
	return err
}

// keep makes the bytes of a part durable, then its record, which says that have has come.
func (s *Spool) keep(d release.Digest, size int64, have span.Set[int64]) error {
	f, err := s.fs.OpenFile(s.partName(d), os.O_RDWR, 0) // one of its own: the writer's is in use
	if err != nil {
		return fmt.Errorf("record of a part: %w", err)
	}
	if err = errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	data, err := encodeRecord(size, have)
	if err != nil {
		return err
	}
	return platform.WriteFile(s.fs, s.recordName(d), data)
}
