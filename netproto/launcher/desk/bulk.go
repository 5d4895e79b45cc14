package desk

import (
	"collet/netproto/launcher/wire"
)

import "slices"

const (
	// smallFile is the size in bytes up to which a file is sent whole among others: one block.
	smallFile = 64 << 10
	// perFile is a generous bound for the bytes that a file adds to a PutFiles beside path and data.
	perFile = 64
	// maxOpenOwn is how many files are open at once in our own mode.
	maxOpenOwn = wire.MaxOpenFiles / 2
)

// batchEffect reads small files and sends them in one PutFiles. For each file that is left out a readEvent comes before
// the message is sent.
type batchEffect struct {
	run   int
	batch uint32
	files []wire.File
}

// bulker executes a plan with the messages of our own mode. Unlike syncer it continues after a file failed, because the
// device scans its disk again anyway. It is pure.
type bulker struct {
	run      int
	times    Times
	last     []string // deletes to send after all writes: files that serve as bases of others
	queue    []*ownJob
	asked    []*ownJob
	open     []*ownJob
	current  *ownJob
	batches  map[uint32]*ownBatch
	order    []uint32 // of batches, oldest first
	number   uint32   // of the last batch
	under    int
	failures []failure
	tally    tally
}

// ownJob is one large file in progress, or one batch of small ones that waits.
type ownJob struct {
	job
	base      string
	start     uint64 // bytes that a part on the device has
	handle    uint32
	confirmed int         // blocks
	small     []wire.File // a batch; nil otherwise
	failed    error       // of ours
	held      []int       // lengths of the blocks handed out, in order
}

// ownBatch is one batch that was sent.
type ownBatch struct {
	files   []wire.File // of a PutFiles
	deletes []string    // of a DeleteFiles
	bytes   int
}

// ownPlan is what planning for our own mode adds to a plan.
type ownPlan struct {
	plan
	bases map[string]string           // path of ours → path of theirs with the same content
	parts map[wire.Hash]wire.FilePart // what interrupted pushes left on the device
}

// newBulker makes the machine and its first effects.
func newBulker(run int, p ownPlan, times Times) (*bulker, []effect) {
	b := &bulker{run: run, times: times, batches: make(map[uint32]*ownBatch)}
	used := make(map[string]bool, len(p.bases))
	for _, base := range p.bases {
		used[base] = true
	}
	var first []string
	for _, path := range p.deletes {
		if used[path] {
			b.last = append(b.last, path)
		} else {
			first = append(first, path)
		}
	}
	out := b.deleteAll(first)
	for _, w := range p.writes {
		out = append(out, b.plan(w, p)...)
	}
	return b, append(out, b.pump()...)
}

// plan queues one file, or asks about it.
func (b *bulker) plan(w fileWrite, p ownPlan) []effect {
	b.tally.filesTotal++
	j := &ownJob{job: job{write: w}}
	switch base, part := p.bases[w.file.Path], p.parts[w.file.Hash]; {
	case base != "":
		j.base, j.write.blocks = base, []uint32{}
	case part.Size == w.file.Size && part.Have >= uint64(w.block):
		// A kept beginning of this very content is better than a comparison with older content. It can be used once.
		delete(p.parts, w.file.Hash)
		j.start = min(part.Have, w.file.Size) / uint64(w.block) * uint64(w.block)
		j.write.blocks = blocksFrom(uint32(j.start/uint64(w.block)), w.count())
	case w.ask:
		b.tally.bytesTotal += w.bytes()
		b.asked = append(b.asked, j)
		return []effect{sendEffect{&wire.RequestBlocks{Path: w.file.Path, BlockSize: w.block}, b.run},
			hashEffect{run: b.run, file: w.file, block: w.block}}
	case w.file.Size <= smallFile:
		b.tally.bytesTotal += w.bytes()
		b.addSmall(w.file)
		return nil
	}
	b.tally.bytesTotal += j.write.bytes()
	b.queue = append(b.queue, j)
	return nil
}

// blocksFrom are the numbers from first to before end.
func blocksFrom(first, end uint32) []uint32 {
	blocks := []uint32{}
	for index := first; index < end; index++ {
		blocks = append(blocks, index)
	}
	return blocks
}

// addSmall puts a file into the last batch that waits, or a new one if that is full.
func (b *bulker) addSmall(f wire.File) {
	if n := len(b.queue); n > 0 && b.queue[n-1].small != nil {
		j := b.queue[n-1]
		if j.weigh(f) {
			return
		}
	}
	j := &ownJob{small: []wire.File{}}
	j.weigh(f)
	b.queue = append(b.queue, j)
}

// weigh takes a file into a batch if it has room, counting its bytes in next.
func (j *ownJob) weigh(f wire.File) bool {
	size := int(f.Size) + len(f.Path) + perFile
	if len(j.small) > 0 && j.next+size > wire.MaxBulk-(4<<10) {
		return false
	}
	j.small, j.next = append(j.small, f), j.next+size
	return true
}

// deleteAll sends deletes in as few messages as they fit.
func (b *bulker) deleteAll(paths []string) (out []effect) {
	for len(paths) > 0 {
		n, size := 0, 0
		for n < len(paths) && n < wire.MaxList && size < wire.MaxBulk-wire.MaxText {
			size += 2 + len(paths[n])
			n++
		}
		b.number++
		b.batches[b.number] = &ownBatch{deletes: paths[:n]}
		b.order = append(b.order, b.number)
		out = append(out, sendEffect{&wire.DeleteFiles{Batch: b.number, Paths: paths[:n]}, b.run})
		paths = paths[n:]
	}
	return out
}

// done reports whether all answers are in.
func (b *bulker) done() bool {
	return len(b.last)+len(b.queue)+len(b.asked)+len(b.open)+len(b.batches) == 0
}

// pump hands out batches, files and blocks up to the limit of unconfirmed bytes, and the deletes of bases at the end.
func (b *bulker) pump() (out []effect) {
	for b.under < MaxUnconfirmed {
		switch {
		case b.current != nil:
			out = append(out, b.nextBlock(b.current)...)
		case len(b.queue) > 0 && b.queue[0].small != nil:
			out = append(out, b.sendBatch())
		case len(b.queue) > 0 && len(b.open) < maxOpenOwn:
			out = append(out, b.openNext())
		case len(b.queue)+len(b.asked)+len(b.open) == 0 && len(b.last) > 0:
			last := b.last
			b.last = nil
			return append(out, b.deleteAll(last)...)
		default:
			return out
		}
	}
	return out
}

func (b *bulker) sendBatch() effect {
	j := b.queue[0]
	b.queue = b.queue[1:]
	b.number++
	b.batches[b.number] = &ownBatch{files: j.small, bytes: j.next}
	b.order = append(b.order, b.number)
	b.under += j.next
	for _, f := range j.small {
		b.tally.blocks++
		b.tally.sent += int64(f.Size)
	}
	return batchEffect{run: b.run, batch: b.number, files: slices.Clone(j.small)}
}

func (b *bulker) openNext() effect {
	j := b.queue[0]
	b.queue = b.queue[1:]
	for j.handle = 0; slices.ContainsFunc(b.open, func(o *ownJob) bool { return o.handle == j.handle }); j.handle++ {
	}
	b.open = append(b.open, j)
	b.current = j
	w := j.write
	return sendEffect{&wire.OpenFile{File: j.handle, Path: w.file.Path, Size: w.file.Size, BlockSize: w.block,
		Hash: w.file.Hash, Base: j.base, Start: j.start}, b.run}
}

// nextBlock is the next block of a file, or its end.
func (b *bulker) nextBlock(j *ownJob) []effect {
	if j.next >= j.blocks() || j.failed != nil {
		b.current, j.finishing = nil, true
		return []effect{sendEffect{&wire.CloseFile{File: j.handle}, b.run}}
	}
	index := j.nextBlock()
	j.next++
	length := j.write.length(index)
	j.held = append(j.held, length)
	b.under += length + perBlock
	b.tally.blocks++
	b.tally.sent += int64(length)
	return []effect{blockEffect{run: b.run, write: j.write, index: index, last: j.next == j.blocks(), own: true, handle: j.handle}}
}
