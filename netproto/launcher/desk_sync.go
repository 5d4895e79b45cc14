package launcher

import (
	"slices"
	"time"
)

// maxOpenReleased is how many files are written at once on a released device. It takes any number; twenty were tried
// (Remote launcher protocol, section 3.6), and more than a round trip of small files brings nothing.
const maxOpenReleased = 32

// perBlock is what a block counts beside its bytes while it is under way, so that empty ones count, too.
const perBlock = 64

// mismatchText is what a wrong hash at the end of a file means.
const mismatchText = "what arrived is not what the file was: it changed under way, or the storage of the device is damaged"

// effect is what a machine wants done; the order of effects is the order on the wire.
type effect any

type (
	// sendEffect sends a message. That of a run is dropped with it; 0 is none.
	sendEffect struct {
		message Message
		run     int
	}
	// blockEffect reads one block of our file and sends it. readEvent follows if it can't be read, or if the file is
	// not the one that was scanned any more.
	blockEffect struct {
		run    int // of the machine that wants it; those of earlier runs are dropped
		write  fileWrite
		index  uint32
		last   bool // of this file
		own    bool // in a FileBlock for handle, else in a SendFileData
		handle uint32
	}
	// hashEffect hashes the blocks of our file; hashEvent follows.
	hashEffect struct {
		run   int
		file  File
		block uint32
	}
)

type (
	// readEvent says that a file of ours could not be read as it was scanned.
	readEvent struct {
		run   int
		path  string
		batch uint32 // it was to be in; 0 for none
		err   error
	}
	// hashEvent carries the hashes of the blocks of our file.
	hashEvent struct {
		run    int
		path   string
		hashes []Hash
		err    error
	}
)

// awaited is an answer that the device owes.
type awaited struct {
	what  string
	path  string
	limit time.Duration // since the last answer
}

// failure is why a file, or the whole attempt, did not end well.
type failure struct {
	op   string // "write", "delete", …; empty if it is our own fault
	path string
	err  error // of ours, or nil
	text string
}

// job is one file under way.
type job struct {
	write     fileWrite
	theirs    []Hash // as far as known
	ours      []Hash
	theirsIn  bool
	oursIn    bool
	next      int            // how many blocks were handed out
	under     map[uint32]int // unconfirmed blocks and what they count
	answered  bool           // responseWriteFile came
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

// syncer does a plan with the messages of the protocol: deletes, questions for hashes, and then writes, of which several
// are under way at once. It is pure: messages and what was read go in, effects come out. A failure ends it, because a
// device wants to be asked for its layout again then (Remote launcher protocol, section 3.6).
//
//	asked ─hashes of both→ queued → opened ─all blocks confirmed, and the opening answered→ finishing → done
type syncer struct {
	run     int
	draft   bool
	times   DeskTimes
	deleted map[string]bool
	queue   []*job // to open, in order
	asked   []*job // in order of the questions
	open    []*job // in order of opening
	current *job   // the last of open, while it has blocks to send
	under   int    // what is unconfirmed of all
	failed  *failure
	tally   tally
}

// tally counts what a push says of itself.
type tally struct {
	files, filesTotal int
	bytes, bytesTotal int64
	deleted           int
	blocks            int
	sent              int64
}

// newSyncer makes the machine and its first effects.
func newSyncer(run int, draft bool, p plan, times DeskTimes) (*syncer, []effect) {
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
		out = append(out, sendEffect{&RequestFileBlockHashes{Path: w.file.Path, BlockSize: w.block}, run},
			hashEffect{run: run, file: w.file, block: w.block})
	}
	for _, path := range p.deletes {
		s.deleted[path] = false
		out = append(out, sendEffect{&RequestDeleteFile{Path: path}, run})
	}
	return s, append(out, s.pump()...)
}

// done reports whether all answers are in, or the attempt has failed.
func (s *syncer) done() bool {
	return s.failed != nil || len(s.deleted)+len(s.queue)+len(s.asked)+len(s.open) == 0
}

// pump opens files and hands out blocks as long as little is under way.
func (s *syncer) pump() (out []effect) {
	for s.failed == nil && s.under < MaxUnconfirmedReleased {
		if s.current == nil {
			if len(s.queue) == 0 || len(s.open) >= maxOpenReleased {
				return out
			}
			s.current, s.queue = s.queue[0], s.queue[1:]
			s.open = append(s.open, s.current)
			w := s.current.write
			out = append(out, sendEffect{&RequestWriteFile{Path: w.file.Path, FileSize: w.file.Size, BlockSize: uint64(w.block), BlockCount: w.count()}, s.run})
		}
		out = append(out, s.handOut(s.current))
	}
	return out
}

// handOut is the next block of a job.
func (s *syncer) handOut(j *job) effect {
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

// take is one message of the device. Answers that nobody waits for are ignored, as the protocol has it; late ones of an
// attempt that failed are among them. heard says that something awaited came.
func (s *syncer) take(m Message) (out []effect, heard bool) {
	if s.failed != nil {
		return nil, false
	}
	switch m := m.(type) {
	case *ResponseDeleteFile:
		heard = s.takeDeleted(m)
	case *ResponseFileBlockHashes:
		heard = s.takeHashes(m.Path, m.Hashes, true)
	case *DraftFileBlockHash:
		heard = s.takeDraftHash(m)
	case *ResponseWriteFile:
		if j := s.opened(m.Path); j != nil && !j.answered {
			heard, j.answered = true, true
			s.check("write", m.Path, m.Result)
		}
	case *FileDataReceived:
		heard = s.takeReceived(m)
	case *ResponseFinishWriteFile:
		heard = s.takeFinished(m)
	}
	if !heard {
		return nil, false
	}
	return append(s.finish(), s.pump()...), true
}

func (s *syncer) takeDeleted(m *ResponseDeleteFile) bool {
	if _, waiting := s.deleted[m.Path]; !waiting {
		return false
	}
	delete(s.deleted, m.Path)
	if s.check("delete", m.Path, m.Result) {
		s.tally.deleted++
	}
	return true
}

// opened is the job of a path that was opened, or nil.
func (s *syncer) opened(path string) *job { return findJob(s.open, path) }

func findJob(jobs []*job, path string) *job {
	if i := slices.IndexFunc(jobs, func(j *job) bool { return j.write.file.Path == path }); i >= 0 {
		return jobs[i]
	}
	return nil
}

// takeHashes takes hashes of a file on the device. Too few mean that the rest differs; more than our file has blocks
// say nothing about it.
func (s *syncer) takeHashes(path string, hashes []Hash, last bool) bool {
	j := findJob(s.asked, path)
	if j == nil || j.theirsIn {
		return false
	}
	if room := int(j.write.count()) - len(j.theirs); len(hashes) > room {
		hashes = hashes[:room]
	}
	j.theirs = append(j.theirs, hashes...)
	j.theirsIn = last
	s.compare(j)
	return true
}

// takeDraftHash takes one hash. Those that skip a number leave the blocks between them different.
func (s *syncer) takeDraftHash(m *DraftFileBlockHash) bool {
	j := findJob(s.asked, m.Path)
	if j == nil || m.Index >= j.write.count() && m.Flags&DraftEmpty == 0 {
		return false
	}
	if gap := int(m.Index) - len(j.theirs); m.Flags&DraftEmpty == 0 && gap >= 0 {
		return s.takeHashes(m.Path, append(make([]Hash, gap), m.Hash), m.Flags&DraftLast != 0)
	}
	return s.takeHashes(m.Path, nil, m.Flags&(DraftLast|DraftEmpty) != 0)
}

// hashed is what hashEffect led to.
func (s *syncer) hashed(e hashEvent) []effect {
	j := findJob(s.asked, e.path)
	if s.failed != nil || e.run != s.run || j == nil || j.oursIn {
		return nil
	}
	if e.err != nil {
		s.failed = &failure{path: e.path, err: e.err}
		return nil
	}
	j.ours, j.oursIn = e.hashes, true
	s.compare(j)
	return s.pump()
}

// compare queues a file once the hashes of both are there.
func (s *syncer) compare(j *job) {
	if !j.oursIn || !j.theirsIn {
		return
	}
	s.tally.bytesTotal -= j.write.bytes()
	j.write.blocks = differing(j.ours, j.theirs)
	s.tally.bytesTotal += j.write.bytes()
	j.ours, j.theirs = nil, nil
	s.asked = slices.DeleteFunc(s.asked, func(other *job) bool { return other == j })
	s.queue = append(s.queue, j)
}

func (s *syncer) takeReceived(m *FileDataReceived) bool {
	j := s.opened(m.Path)
	if j == nil {
		return false
	}
	length, under := j.under[m.Block]
	if !under {
		return false
	}
	// A batch of parts is confirmed in Draft with a number that is no failure there.
	if m.Result == BatchDone && s.draft {
		return true
	}
	delete(j.under, m.Block)
	s.under -= length + perBlock
	if s.check("write", m.Path, m.Result) {
		s.tally.bytes += int64(length)
	}
	return true
}

// finish asks for the end of every file whose answers are all in, never sooner: a device ignores it then (Remote
// launcher protocol, section 4.1 no. 5).
func (s *syncer) finish() (out []effect) {
	if s.failed != nil {
		return nil
	}
	for _, j := range s.open {
		if j.answered && !j.finishing && len(j.under) == 0 && j.next == j.blocks() {
			j.finishing = true
			out = append(out, sendEffect{&RequestFinishWriteFile{Path: j.write.file.Path, Hash: j.write.file.Hash}, s.run})
		}
	}
	return out
}

func (s *syncer) takeFinished(m *ResponseFinishWriteFile) bool {
	j := s.opened(m.Path)
	if j == nil || !j.finishing {
		return false
	}
	if s.check("finish", m.Path, m.Result) {
		s.open = slices.DeleteFunc(s.open, func(other *job) bool { return other == j })
		s.tally.files++
	}
	return true
}

// check ends the attempt if a result is not success.
func (s *syncer) check(op, path string, r Result) bool {
	if r == Success {
		return true
	}
	text := "it said " + r.String() + ": look at its log for the reason"
	if op == "finish" && r == HashMismatch {
		text = mismatchText
	}
	s.failed = &failure{op: op, path: path, text: text}
	return false
}

// unreadable is what a readEvent says.
func (s *syncer) unreadable(e readEvent) []effect {
	if e.run == s.run && s.failed == nil {
		s.failed = &failure{path: e.path, err: e.err}
	}
	return nil
}

// outcome is what was done, and what failed.
func (s *syncer) outcome() (tally, []failure) {
	if s.failed == nil {
		return s.tally, nil
	}
	return s.tally, []failure{*s.failed}
}

// waits is the answer that takes longest of those that the device owes. None is owed while we hash ourselves.
func (s *syncer) waits() (a awaited, any bool) {
	consider := func(what, path string, limit time.Duration) {
		if limit > a.limit {
			a = awaited{what: what, path: path, limit: limit}
		}
	}
	for path := range s.deleted {
		consider("answer to a deletion", path, s.times.Answer)
		break
	}
	for _, j := range s.asked {
		if !j.theirsIn {
			consider("block hashes", j.write.file.Path, s.times.Hashes+s.times.toHash(j.write.file.Size))
			break
		}
	}
	for _, j := range s.open {
		switch path := j.write.file.Path; {
		case j.finishing:
			consider("answer to the end of a file", path, s.times.Finish+s.times.toHash(j.write.file.Size))
		case !j.answered:
			consider("answer to a write", path, s.times.Answer)
		case len(j.under) > 0:
			consider("confirmation of a block", path, s.times.Answer)
		}
	}
	return a, a.limit > 0
}

// began are the paths of writes that began and have not ended, with the size they would have got.
func (s *syncer) began() map[string]uint64 {
	paths := make(map[string]uint64)
	for _, j := range s.open {
		paths[j.write.file.Path] = j.write.file.Size
	}
	return paths
}

// progress fills in what a snapshot says of the attempt.
func (s *syncer) progress(p *PushProgress) {
	p.Phase = PushWriting
	if len(s.open) > 0 {
		p.Current = s.open[0].write.file.Path
	} else if len(s.asked) > 0 {
		p.Phase, p.Current = PushHashing, s.asked[0].write.file.Path
	}
	s.tally.progress(p)
}

func (t tally) progress(p *PushProgress) {
	p.Files, p.FilesTotal, p.Bytes, p.BytesTotal, p.Deleted = t.files, t.filesTotal, t.bytes, t.bytesTotal, t.deleted
}
