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

	"collet/app/diskfault"
	"collet/netproto/release"
	"collet/platform"
	"collet/platform/interrupt"
	"collet/platform/span"
)

const (
	// DefaultSpoolLimit is how many bytes the parts of a spool may use in all. It limits leftovers, never what an update needs:
	// 8 GiB hold the leftovers of two large releases.
	DefaultSpoolLimit = 8 << 30
	// CheckpointEvery is the interval between records of a part while bytes are received. A power cut loses at most that much.
	// Each record only makes the disk write earlier what it would write anyway.
	CheckpointEvery = 2 * time.Second
)

// SpoolOptions configure a Spool. The zero value is valid.
type SpoolOptions struct {
	Limit      int64         // bytes that parts may use in all; 0 is DefaultSpoolLimit
	Checkpoint time.Duration // interval between records; 0 is CheckpointEvery
	Log        zerolog.Logger
}

// Spool is a folder of parts of objects by digest; the package comment describes its files. It is safe for concurrent use by one
// process: the install's lock must exclude other processes. Errors of the disk are *update.Fault.
type Spool struct {
	fs     platform.FS
	folder string
	o      SpoolOptions

	mu   sync.Mutex
	busy map[release.Digest]chan struct{} // parts that are being written; closed when they are free again
	seen map[release.Digest]partState     // parts that this process has used
}

// partState is the state of a part as this process knows it, which may be newer than its record.
type partState struct {
	size     int64
	have     span.Set[int64]
	proven   bool // it was hashed, and is right
	recorded bool // the record has the same state
}

// OpenSpool opens the spool in a folder of fsys, and creates the folder if needed. The caller keeps fsys.
func OpenSpool(fsys platform.FS, folder string, o SpoolOptions) (*Spool, error) {
	if o.Limit <= 0 {
		o.Limit = DefaultSpoolLimit
	}
	if o.Checkpoint <= 0 {
		o.Checkpoint = CheckpointEvery
	}
	s := &Spool{fs: fsys, folder: folder, o: o, busy: map[release.Digest]chan struct{}{}, seen: map[release.Digest]partState{}}
	err := s.makeFolder()
	if err == nil {
		err = s.tidy()
	}
	if err != nil {
		return nil, s.fault(folder, -1, err)
	}
	return s, nil
}

// fault is diskfault.Of for this spool.
func (s *Spool) fault(name string, need int64, err error) error {
	return diskfault.Of(s.fs, name, need, err)
}

// makeFolder creates the folder and its parents and makes them durable, because records would be lost with them. Existing folders are
// synced, too: the last process may have ended right after creating them.
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

// digestOf parses the digest in the name of a file with this suffix.
func digestOf(name, suffix string) (release.Digest, bool) {
	digits, is := strings.CutSuffix(name, suffix)
	if !is {
		return release.Digest{}, false
	}
	d, err := release.ParseDigest(release.SHA256.String() + ":" + digits)
	return d, err == nil
}

// tidy removes leftovers of a crash: unfinished records, and records and logs without a part. It ignores files with other names.
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

// claim gives the caller exclusive write access to a part, and waits for it.
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

// Spooled is a complete and verified object. ReadAt is safe for concurrent use. The caller closes it.
type Spooled struct {
	file interface {
		io.ReaderAt
		io.Closer
	}
	size int64
}

// InMemory is a verified object in memory.
func InMemory(data []byte) *Spooled { return &Spooled{fixed{bytes.NewReader(data)}, int64(len(data))} }

type fixed struct{ io.ReaderAt }

func (fixed) Close() error { return nil }

// ReadAt implements io.ReaderAt.
func (c *Spooled) ReadAt(p []byte, off int64) (int, error) { return c.file.ReadAt(p, off) }

// Size is the number of bytes.
func (c *Spooled) Size() int64 { return c.size }

// Close closes the file.
func (c *Spooled) Close() error { return c.file.Close() }

// Open opens a complete object. A part that this process has not hashed yet is hashed first; if its digest is wrong it is removed. If
// the object is missing, incomplete or wrong, errors.Is with fs.ErrNotExist holds.
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

// prove verifies that a part is complete and right, and returns its size.
func (s *Spool) prove(ctx context.Context, d release.Digest, f platform.File) (int64, error) {
	known := s.stateOf(d)
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
	s.remember(d, known)
	return known.size, nil
}

// remember remembers the state of a part.
func (s *Spool) remember(d release.Digest, what partState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[d] = what
}

// stateOf is the state of a part, from memory or from its record and its log. A record that can't be read counts as empty.
func (s *Spool) stateOf(d release.Digest) partState {
	s.mu.Lock()
	what, seen := s.seen[d]
	s.mu.Unlock()
	if seen {
		return what
	}
	what = partState{size: -1}
	if data, err := platform.ReadFile(s.fs, s.recordName(d), maxRecord); err == nil {
		what.recorded = true
		if what.size, what.have, err = decodeRecord(data); err != nil {
			s.o.Log.Warn().Err(err).Str("file", s.recordName(d)).Msg("record of the spool malformed; its part is fetched again")
		}
	}
	if log, err := platform.ReadFile(s.fs, s.cameName(d), maxCame); err == nil && len(log) > 0 {
		s.replayLog(d, log, &what)
	}
	return what
}

// Have is the number of bytes of an object in the spool; 0 if it is known with another size.
func (s *Spool) Have(d release.Digest, size int64) int64 {
	known := s.stateOf(d)
	if known.size != size {
		return 0
	}
	return span.Total(known.have)
}

// Seed writes the first bytes of an object, if its part has fewer. They are verified with the rest.
func (s *Spool) Seed(ctx context.Context, d release.Digest, size int64, data []byte) error {
	p, err := s.openPart(ctx, d, size)
	if err != nil {
		return err
	}
	if at := p.prefix(); at < int64(len(data)) {
		err = p.write(at, data[at:])
	}
	return both(err, p.close(p.proved))
}

// Remove deletes a part, complete or not, and waits while it is being written. A missing part is not an error.
func (s *Spool) Remove(ctx context.Context, d release.Digest) error {
	if err := s.claim(ctx, d); err != nil {
		return err
	}
	defer s.free(d)
	return s.discard(d)
}

// discard deletes a claimed part. The record is deleted first, so that it never describes a later part of this name.
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

// leftovers lists all parts, the one with the oldest write first, and their size in all.
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
			continue // it was removed meanwhile
		}
		total += info.Size()
		list = append(list, leftover{d, info.Size(), info.ModTime()})
	}
	slices.SortStableFunc(list, func(a, b leftover) int { return a.used.Compare(b.used) })
	return list, total, nil
}

// Collect removes the parts that were not written to for longest, until at most limit bytes are left; 0 removes all. Parts in keep,
// parts that are being written, and parts that this process verified stay. It returns the number of bytes removed.
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

// claimLeftover claims a part unless it is being written or was verified, and so is about to be read.
func (s *Spool) claimLeftover(d release.Digest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[d].proven || s.busy[d] != nil {
		return false
	}
	s.busy[d] = make(chan struct{})
	return true
}

// Close writes the records that are out of date, for the next process: mostly of complete parts, which are rarely kept for long. It
// must be the last call, without concurrent ones. Opened objects stay open.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for d, what := range s.seen {
		if !what.recorded {
			err = errors.Join(err, s.fault(s.recordName(d), -1, s.writeRecord(d, what.size, what.have)), platform.RemoveIfThere(s.fs, s.cameName(d)))
		}
	}
	clear(s.seen)
	return err
}

// writeRecord syncs the bytes of a part, and then writes its record with the ranges have.
func (s *Spool) writeRecord(d release.Digest, size int64, have span.Set[int64]) error {
	f, err := s.fs.OpenFile(s.partName(d), os.O_RDWR, 0) // a separate handle: the writer's is in use
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
