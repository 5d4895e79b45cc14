package install

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/rs/zerolog"

	"collet/app/update"
	"collet/netproto/release"
	"collet/platform"
)

// hasher compares files with digests. It has the hash cache and the block checksums, and knows which parts this process
// hashed as they arrived. It is not safe for concurrent use.
//
//	Open, Close ──► cache     Plan ──► planning     Open, Plan, Commit ──► verify
//	transfer ──► arrived ◄── mover: a change of a name forgets it
type hasher struct {
	fs     platform.FS
	log    zerolog.Logger
	now    func() time.Time
	cache  *hashCache
	blocks *blockStore
	buffer []byte // for reading; allocated on first use

	verify   bool                      // cached digests from earlier processes do not count
	planning bool                      // a plan is in progress: digests in the cache count
	arrived  map[string]release.Digest // parts that this process hashed on arrival and verified
}

// beginPlan makes the digests in the cache count for the names that a transaction uses.
func (h *hasher) beginPlan() { h.planning, h.arrived = true, map[string]release.Digest{} }

// endPlan forgets what was known only during a plan.
func (h *hasher) endPlan() { h.planning, h.arrived = false, nil }

// finished reports whether this process completed and verified the part of this name.
func (h *hasher) finished(name string) bool {
	_, done := h.arrived[name]
	return done
}

// forget drops verified parts, because their content is about to change.
func (h *hasher) forget(names ...string) {
	for _, name := range names {
		delete(h.arrived, name)
	}
}

// digestFile hashes a whole file. progress may be nil.
func (h *hasher) digestFile(ctx context.Context, name string, a release.Algorithm, progress func(done int64)) (release.Digest, error) {
	sum := a.NewHash()
	if err := h.readFrom(ctx, h.fs, name, sum, progress); err != nil {
		return release.Digest{}, err
	}
	return a.SumOf(sum), nil
}

// readFrom writes a whole file to sum.
func (h *hasher) readFrom(ctx context.Context, from platform.FS, name string, sum io.Writer, progress func(done int64)) error {
	f, err := from.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = h.drain(ctx, sum, f, progress)
	return err
}

// readSize is the size of a read while hashing: large enough that system calls cost nothing, small compared to the memory
// budget.
const readSize = 256 << 10

// drain hashes the rest of r in constant memory and returns its size. It stops soon after ctx ends. progress may be nil.
func (h *hasher) drain(ctx context.Context, sum io.Writer, r io.Reader, progress func(done int64)) (done int64, err error) {
	if h.buffer == nil {
		h.buffer = make([]byte, readSize)
	}
	for {
		n, err := r.Read(h.buffer)
		_, _ = sum.Write(h.buffer[:n]) // Hash.Write never fails
		done += int64(n)
		if progress != nil {
			progress(done)
		}
		if err == io.EOF {
			return done, nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return done, err
		}
	}
}

// readBlocks hashes a whole file and its blocks. It saves the checksums if the file matches e.
func (h *hasher) readBlocks(ctx context.Context, from platform.FS, e entry, progress func(done int64)) (release.Digest, blockSums, error) {
	both := bothHashes{e.Digest.Algorithm.NewHash(), newBlockHash(e.Size)}
	if err := h.readFrom(ctx, from, e.Live, both, progress); err != nil {
		return release.Digest{}, nil, err
	}
	digest := e.Digest.Algorithm.SumOf(both.hash)
	if digest == e.Digest {
		h.blocks.save(digest, e.Size, both.blocks.checksums())
	}
	return digest, both.blocks.checksums(), nil
}

// digestOf returns a live file's digest, from the cache or by reading it. A read also returns the checksums of the blocks,
// up to the entry's size. info was taken before the read, so a change during the read shows at the next start.
func (h *hasher) digestOf(ctx context.Context, e entry, info fs.FileInfo, progress func(file string, done, size int64)) (release.Digest, blockSums, error) {
	full, id := h.fs.Path(e.Live), platform.IdentityOf(info)
	if digest, found := h.cache.lookup(full, e.Digest.Algorithm, id); found && !h.verify {
		return digest, nil, nil
	}
	digest, actual, err := h.readBlocks(ctx, h.fs, e, func(done int64) { progress(e.Live, done, info.Size()) })
	if err == nil && showsChanges(id, h.now()) {
		h.cache.store(full, id, digest)
	}
	return digest, actual, err
}

// isCached reports whether an examined file matches the entry, according to the hash cache.
func (h *hasher) isCached(e entry, info fs.FileInfo) bool {
	if info == nil || !info.Mode().IsRegular() || info.Size() != e.Size {
		return false
	}
	digest, found := h.cache.lookup(h.fs.Path(e.Live), e.Digest.Algorithm, platform.IdentityOf(info))
	return found && digest == e.Digest
}

// content classifies one name by its hash. It skips the hashing if this process hashed the same bytes on arrival, or if its
// Plan accepted the digest from the hash cache. It runs only while a transaction is open. Either digest may be zero.
func (h *hasher) content(ctx context.Context, name string, wanted, previous release.Digest) (Content, error) {
	if h.finished(name) {
		return Wanted, nil
	}
	info, err := h.fs.Lstat(name)
	switch {
	case IsAbsent(err):
		return Absent, nil
	case err != nil:
		return Absent, err
	case info.IsDir():
		return Folder, nil
	case !info.Mode().IsRegular():
		return Other, nil
	}
	got := h.plannedDigest(name, info, cmp.Or(previous.Algorithm, wanted.Algorithm))
	for _, known := range []struct {
		digest  release.Digest
		content Content
	}{{previous, Previous}, {wanted, Wanted}} {
		if known.digest.IsZero() {
			continue
		}
		if got.Algorithm != known.digest.Algorithm {
			if got, err = h.digestFile(ctx, name, known.digest.Algorithm, nil); err != nil {
				return Other, err
			}
		}
		if got == known.digest {
			return known.content, nil
		}
	}
	return Other, nil
}

// plannedDigest is the digest in the hash cache, while a plan is in progress; zero if the file must be hashed.
func (h *hasher) plannedDigest(name string, info fs.FileInfo, a release.Algorithm) release.Digest {
	if !h.planning || a == release.NoDigest {
		return release.Digest{}
	}
	full := h.fs.Path(name)
	digest, found := h.cache.lookup(full, a, platform.IdentityOf(info))
	if !found || h.verify && !h.cache.fresh(full, a) {
		return release.Digest{}
	}
	return digest
}

// remember adds the verified files of a finished transaction to the hash cache, so that the next start hashes nothing. It
// skips companions, which may not have been replaced.
//
// The files were just renamed, so their identities may not show a change. With an inode that is accepted: to hide a change, a
// program would have to write within one tick of the rename and restore the time of our last write.
func (h *hasher) remember(files []entry) {
	for _, e := range files {
		info, err := h.fs.Lstat(e.Live)
		if err != nil || e.Kind == Companion || e.gone() || info.Size() != e.Size {
			continue
		}
		if id := platform.IdentityOf(info); id.Inode != 0 || showsChanges(id, h.now()) {
			h.cache.store(h.fs.Path(e.Live), id, e.Digest)
		}
	}
}

// liveFiles lists the files among these that are live with their exact content, at most maxNamed. Unlisted ones are then missing
// from the recorded set.
func (h *hasher) liveFiles(ctx context.Context, files []entry) (names []string, err error) {
	for _, e := range fetched(files) {
		seen, err := h.content(ctx, e.Live, e.Digest, release.Digest{})
		if err != nil && !platform.IsUnreadable(err) {
			return nil, err
		}
		if seen == Wanted && len(names) < maxNamed {
			names = append(names, e.Live)
		}
	}
	return names, nil
}

// wrongFiles lists the files among these that differ from the previous set because they could not be restored, at most
// maxNamed. Companions are best effort and not listed.
func (h *hasher) wrongFiles(ctx context.Context, files []entry) (names []string, err error) {
	for _, e := range files {
		if e.Kind == Companion || len(names) == maxNamed {
			continue
		}
		seen, err := h.content(ctx, e.Live, e.Digest, e.Old)
		if platform.IsUnreadable(err) {
			seen, err = Other, nil
		}
		if err != nil {
			return nil, err
		}
		if seen != Previous && !(e.Repair && seen == Wanted) && !(e.Old.IsZero() && seen == Absent) {
			names = append(names, e.Live)
		}
	}
	return names, nil
}

// salvage compares the content of a file with the known checksums of its blocks. size is the file's size. actual are its
// checksums if it was just read, otherwise nil. The result is nil if no block can be reused.
func (h *hasher) salvage(ctx context.Context, from platform.FS, e entry, size int64, actual blockSums, progress func(done int64)) (*salvage, error) {
	known := h.blocks.load(e.Digest, e.Size)
	if known == nil {
		return nil, nil
	}
	if actual == nil {
		b := newBlockHash(e.Size)
		if err := h.readFrom(ctx, from, e.Live, b, progress); err != nil {
			return nil, err
		}
		actual = b.checksums()
	}
	bad := damaged(known, actual, e.Size)
	if len(bad) == 0 && size == e.Size {
		h.log.Warn().Str("file", e.Live).Msg("the sums of its blocks are wrong; the file is fetched as a whole")
		h.blocks.drop(e.Digest)
		return nil, nil
	}
	if len(bad) == 1 && bad[0] == (update.Range{End: e.Size}) {
		return nil, nil
	}
	return &salvage{from: from, sums: known, bad: bad}, nil
}
