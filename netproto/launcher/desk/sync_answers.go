package desk

import (
	"maps"
	"slices"
	"time"

	"collet/netproto/launcher/wire"
)

// handleAnswer handles one message of the device. Unexpected answers are ignored, as the protocol demands. heard reports whether
// it was an awaited answer.
func (s *syncer) handleAnswer(m wire.Message) (out []effect, heard bool) {
	switch m := m.(type) {
	case *wire.ResponseDeleteFile:
		heard = s.takeDeleted(m)
	case *wire.ResponseFileBlockHashes:
		heard = s.takeHashes(m.Path, m.Hashes, true)
	case *wire.DraftFileBlockHash:
		heard = s.takeDraftHash(m)
	case *wire.ResponseWriteFile:
		if j := s.opened(m.Path); j != nil && !j.answered {
			heard, j.answered = true, true
			if j.refused = m.Result != wire.Success; j.refused {
				s.refused = append(s.refused, refusedBy("write", m.Path, m.Result))
			}
		}
	case *wire.FileDataReceived:
		heard = s.takeReceived(m)
	case *wire.ResponseFinishWriteFile:
		heard = s.takeFinished(m)
	}
	if !heard {
		return nil, false
	}
	return append(s.finish(), s.pump()...), true
}

func (s *syncer) takeDeleted(m *wire.ResponseDeleteFile) bool {
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

// takeHashes takes hashes of a file on the device. If there are too few, the rest counts as different. Those beyond our
// file's last block are ignored.
func (s *syncer) takeHashes(path string, hashes []wire.Hash, last bool) bool {
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

// takeDraftHash takes one hash. Blocks whose number was skipped count as different.
func (s *syncer) takeDraftHash(m *wire.DraftFileBlockHash) bool {
	j := findJob(s.asked, m.Path)
	if j == nil || m.Index >= j.write.count() && m.Flags&wire.DraftEmpty == 0 {
		return false
	}
	if gap := int(m.Index) - len(j.theirs); m.Flags&wire.DraftEmpty == 0 && gap >= 0 {
		return s.takeHashes(m.Path, append(make([]wire.Hash, gap), m.Hash), m.Flags&wire.DraftLast != 0)
	}
	return s.takeHashes(m.Path, nil, m.Flags&(wire.DraftLast|wire.DraftEmpty) != 0)
}

// hashed handles the result of hashEffect.
func (s *syncer) hashed(e hashEvent) []effect {
	j := findJob(s.asked, e.path)
	if e.run != s.run || j == nil || j.oursIn {
		return nil
	}
	if e.err != nil {
		s.fail(failure{path: e.path, err: e.err})
		return nil
	}
	j.ours, j.oursIn = e.hashes, true
	s.compare(j)
	return s.pump()
}

// compare queues a file once the hashes of both sides are known.
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

func (s *syncer) takeReceived(m *wire.FileDataReceived) bool {
	j := s.opened(m.Path)
	if j == nil {
		return false
	}
	length, under := j.under[m.Block]
	if !under {
		return false
	}
	// In Draft a batch of parts is confirmed with a number that means failure elsewhere.
	if m.Result == wire.BatchDone && s.draft {
		return true
	}
	delete(j.under, m.Block)
	s.under -= length + perBlock
	if s.check("write", m.Path, m.Result) {
		s.tally.bytes += int64(length)
	}
	return true
}

// finish requests the end of every file whose answers are complete, never earlier: a device would ignore it.
func (s *syncer) finish() (out []effect) {
	if s.failing() {
		return nil
	}
	for _, j := range s.open {
		if j.answered && !j.finishing && len(j.under) == 0 && j.next == j.blocks() {
			j.finishing = true
			out = append(out, sendEffect{&wire.RequestFinishWriteFile{Path: j.write.file.Path, Hash: j.write.file.Hash}, s.run})
		}
	}
	return out
}

func (s *syncer) takeFinished(m *wire.ResponseFinishWriteFile) bool {
	j := s.opened(m.Path)
	if j == nil || !j.finishing {
		return false
	}
	s.open = slices.DeleteFunc(s.open, func(other *job) bool { return other == j })
	if s.check("finish", m.Path, m.Result) {
		s.whole = append(s.whole, m.Path)
		s.tally.files++
	}
	return true
}

// check records a result other than success, after which the attempt drains.
func (s *syncer) check(op, path string, r wire.Result) bool {
	if r == wire.Success {
		return true
	}
	s.fail(refusedBy(op, path, r))
	return false
}

// refusedBy is a failure with the protocol's result.
func refusedBy(op, path string, r wire.Result) failure {
	text := "it said " + r.String() + ": look at its log for the reason"
	if op == "finish" && r == wire.HashMismatch {
		text = mismatchText
	}
	return failure{op: op, path: path, text: text}
}

// fail records the first failure of a file.
func (s *syncer) fail(f failure) {
	if !slices.ContainsFunc(s.failures, func(known failure) bool { return known.path == f.path }) {
		s.failures = append(s.failures, f)
	}
}

// unreadable handles a readEvent. Blocks from that one on were not sent, so their answers are not owed.
func (s *syncer) unreadable(e readEvent) []effect {
	if e.run != s.run {
		return nil
	}
	s.fail(failure{path: e.path, err: e.err})
	if j := s.opened(e.path); j != nil {
		maps.DeleteFunc(j.under, func(index uint32, _ int) bool { return index >= e.index })
	}
	return nil
}

// outcome is the counts and the failures. A device refuses every file after a failure, so refusals beside one are not
// reported. With several refusals alone the culprit is unknown: then each of these files is tried alone.
func (s *syncer) outcome() (tally, []failure) {
	if len(s.failures) > 0 {
		return s.tally, s.failures
	}
	failures := slices.Clone(s.refused)
	for i := range failures {
		failures[i].suspected = len(failures) > 1
	}
	return s.tally, failures
}

// waits is the answer with the longest limit among those that the device owes. None is owed while this side hashes.
func (s *syncer) waits() (a awaited, any bool) {
	consider := func(what, path string, limit time.Duration) {
		if limit > a.limit {
			a = awaited{what: what, path: path, limit: limit}
		}
	}
	for path := range s.deleted {
		if s.failing() {
			break // without a layout a device deletes nothing; it answers after a layout request
		}
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
		case s.failing() && !j.owes():
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

// progress fills in this attempt's part of a snapshot.
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
