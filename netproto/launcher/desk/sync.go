package desk

import (
	"slices"
	"time"

	"collet/netproto/launcher/wire"
)

// maxOpenReleased is how many files are written at once on a released device. Devices have no limit; twenty were tried
// with released ones, and more small files than fill a round trip gain nothing.
const maxOpenReleased = 32

// perBlock is added to a block's bytes while it is unconfirmed, so that empty blocks count, too.
const perBlock = 64

// mismatchText explains a wrong hash at the end of a file.
const mismatchText = "what arrived is not what the file was: it changed under way, or the storage of the device is damaged"

// effect is an action that a state machine requests. The order of effects is the order on the wire.
type effect any

type (
	// sendEffect sends a message. The message of a run is dropped with it; run 0 is never dropped.
	sendEffect struct {
		message wire.Message
		run     int
	}
	// blockEffect reads one block of our file and sends it. readEvent follows if the file is unreadable or no longer the scanned one.
	blockEffect struct {
		run    int // of the machine that requested it; effects of earlier runs are dropped
		write  fileWrite
		index  uint32
		last   bool // of this file
		own    bool // in a FileBlock for handle, else in a SendFileData
		handle uint32
	}
	// hashEffect hashes the blocks of our file; hashEvent follows.
	hashEffect struct {
		run   int
		file  wire.File
		block uint32
	}
)

type (
	// readEvent says that a file of ours could not be read as scanned.
	readEvent struct {
		run   int
		path  string
		index uint32 // of the block; no later one was sent
		batch uint32 // it was to be in; 0 for none
		err   error
	}
	// hashEvent carries the hashes of the blocks of our file.
	hashEvent struct {
		run    int
		path   string
		hashes []wire.Hash
		err    error
	}
)

// awaited is an answer that the device owes.
type awaited struct {
	what  string
	path  string
	limit time.Duration // since the last answer
}

// failure is why a file, or the whole attempt, failed.
type failure struct {
	op   string // "write", "delete", …; empty for a fault on our side
	path string
	err  error // of ours, or nil
	text string
	// suspected: the failure may be a consequence of another file's failure.
	suspected bool
}

// job is one file in progress.
type job struct {
	write     fileWrite
	theirs    []wire.Hash // as far as known
	ours      []wire.Hash
	theirsIn  bool
	oursIn    bool
	next      int            // how many blocks were handed out
	under     map[uint32]int // unconfirmed blocks and their count towards the limit
	answered  bool           // responseWriteFile came
	refused   bool           // it was a failure: blocks are not answered then
	finishing bool           // requestFinishWriteFile was sent
}

// blocks is how many blocks are sent.
func (j *job) blocks() int {
	if j.write.blocks == nil {
		return int(j.write.count())
	}
	return len(j.write.blocks)
}

// nextBlock is the index of the next block to send.
func (j *job) nextBlock() uint32 {
	if j.write.blocks == nil {
		return uint32(j.next)
	}
	return j.write.blocks[j.next]
}

// syncer executes a plan with the messages of the protocol: deletes, requests for hashes, and then writes, several at
// once. It is pure: messages and read data go in, effects come out. A failure ends it, because a device expects a layout
// request then (docs/PROTOCOL.md, "What a desk of ours does after a failure"). Before, all owed answers must have come: a
// later one would be taken for an answer of the next attempt.
//
//	asked ─hashes of both→ queued → opened ─all blocks confirmed, and the opening answered→ finishing → done
//	any ─a failure→ draining ─nothing owed→ done
type syncer struct {
	run      int
	draft    bool
	times    Times
	deleted  map[string]bool
	queue    []*job    // to open, in order
	asked    []*job    // in order of the questions
	open     []*job    // in order of opening
	current  *job      // the last of open, while it has blocks to send
	under    int       // sum of under over all jobs
	whole    []string  // paths of files that ended well
	failures []failure // of files that certainly can't be written, or read here, in order of arrival
	refused  []failure // of files that were refused, as a device does with every file after another one's failure
	tally    tally
}

// tally is the counts of an attempt.
type tally struct {
	files, filesTotal int
	bytes, bytesTotal int64
	deleted           int
	blocks            int
	sent              int64
}

// newSyncer makes the machine and its first effects.
func newSyncer(run int, draft bool, p plan, times Times) (*syncer, []effect) {
	s := &syncer{run: run, draft: draft, times: times, deleted: make(map[string]bool)}
	var out []effect
	for _, w := range p.writes {
		j := &job{write: w, under: make(map[uint32]int)}
		s.tally.filesTotal++
		s.tally.bytesTotal += w.bytes()
		if !w.ask {
			s.queue = append(s.queue, j)
			continue
		}
		s.asked = append(s.asked, j)
		out = append(out, sendEffect{&wire.RequestFileBlockHashes{Path: w.file.Path, BlockSize: w.block}, run},
			hashEffect{run: run, file: w.file, block: w.block})
	}
	for _, path := range p.deletes {
		s.deleted[path] = false
		out = append(out, sendEffect{&wire.RequestDeleteFile{Path: path}, run})
	}
	return s, append(out, s.pump()...)
}

// failing reports whether the attempt drains: it opens and requests no further files.
func (s *syncer) failing() bool { return len(s.failures)+len(s.refused) > 0 }

// done reports whether all answers are in, or, after a failure, all that are certain to come.
func (s *syncer) done() bool {
	if s.failing() {
		return !slices.ContainsFunc(s.asked, (*job).owesHashes) && !slices.ContainsFunc(s.open, (*job).owes)
	}
	return len(s.deleted)+len(s.queue)+len(s.asked)+len(s.open) == 0
}

// owesHashes reports whether the device still has to answer a question for hashes.
func (j *job) owesHashes() bool { return !j.theirsIn }

// owes reports whether the device still has to answer about an opened file.
func (j *job) owes() bool { return !j.answered || !j.refused && (j.finishing || len(j.under) > 0) }

// pump opens files and hands out blocks up to the limit of unconfirmed bytes.
func (s *syncer) pump() (out []effect) {
	for !s.failing() && s.under < MaxUnconfirmedReleased {
		if s.current == nil {
			if s.current = s.next(); s.current == nil {
				return out
			}
			s.queue = slices.DeleteFunc(s.queue, func(other *job) bool { return other == s.current })
			s.open = append(s.open, s.current)
			w := s.current.write
			out = append(out, sendEffect{&wire.RequestWriteFile{Path: w.file.Path, FileSize: w.file.Size, BlockSize: uint64(w.block), BlockCount: w.count()}, s.run})
		}
		out = append(out, s.nextBlock(s.current))
	}
	return out
}

// next is the file to open next, nil for none. Files that failed before come last and alone, so that they can't spoil others,
// and a further failure is certainly theirs.
func (s *syncer) next() *job {
	if len(s.open) >= maxOpenReleased || len(s.queue) == 0 {
		return nil
	}
	if i := slices.IndexFunc(s.queue, func(j *job) bool { return !j.write.alone }); i >= 0 {
		return s.queue[i]
	}
	if len(s.open)+len(s.asked) > 0 {
		return nil
	}
	return s.queue[0]
}

// nextBlock is the next block of a job.
func (s *syncer) nextBlock(j *job) effect {
	index := j.nextBlock()
	j.next++
	last := j.next == j.blocks()
	if last {
		s.current = nil
	}
	length := j.write.length(index)
	j.under[index] = length
	s.under += length + perBlock
	s.tally.blocks++
	s.tally.sent += int64(length)
	return blockEffect{run: s.run, write: j.write, index: index, last: last}
}
