package desk

import (
	"slices"
	"time"

	"collet/netproto/launcher/wire"
)

// handleAnswer handles one message of the device; heard reports whether it was an awaited answer.
func (b *bulker) handleAnswer(m wire.Message) (out []effect, heard bool) {
	switch m := m.(type) {
	case *wire.BatchReport:
		heard = b.takeReport(m)
	case *wire.ResponseBlocks:
		heard = b.takeBlocks(m)
	case *wire.BlocksWritten:
		heard = b.takeWritten(m)
	case *wire.FileClosed:
		heard = b.takeClosed(m)
	}
	if !heard {
		return nil, false
	}
	return b.pump(), true
}

func (b *bulker) takeReport(m *wire.BatchReport) bool {
	batch := b.batches[m.Batch]
	if batch == nil {
		return false
	}
	delete(b.batches, m.Batch)
	b.order = slices.DeleteFunc(b.order, func(n uint32) bool { return n == m.Batch })
	b.under -= batch.bytes
	failed := make(map[uint32]bool, len(m.Failures))
	for _, f := range m.Failures {
		op, path := batch.entry(f.Index)
		if path == "" || failed[f.Index] {
			continue
		}
		failed[f.Index] = true
		b.failures = append(b.failures, failure{op: op, path: path, text: refusal(f.Result, f.Text)})
	}
	for i, f := range batch.files {
		if !failed[uint32(i)] {
			b.tally.files++
			b.tally.bytes += int64(f.Size)
		}
	}
	b.tally.deleted += len(batch.deletes)
	if batch.deletes != nil {
		b.tally.deleted -= len(failed)
	}
	return true
}

// entry is the operation and path that a report's index stands for.
func (b *ownBatch) entry(index uint32) (op, path string) {
	switch {
	case int64(index) < int64(len(b.files)):
		return "write", b.files[index].Path
	case int64(index) < int64(len(b.deletes)):
		return "delete", b.deletes[index]
	}
	return "", ""
}

// refusal is the text for a device's failure on one file.
func refusal(r wire.Result, text string) string {
	switch {
	case text != "":
		return text
	case r == wire.HashMismatch:
		return mismatchText
	default:
		return "it said " + r.String() + ": look at its log for the reason"
	}
}

func findOwn(jobs []*ownJob, is func(*ownJob) bool) *ownJob {
	if i := slices.IndexFunc(jobs, is); i >= 0 {
		return jobs[i]
	}
	return nil
}

func (b *bulker) takeBlocks(m *wire.ResponseBlocks) bool {
	j := findOwn(b.asked, func(j *ownJob) bool { return j.write.file.Path == m.Path })
	if j == nil || j.theirsIn || m.BlockSize != j.write.block {
		return false
	}
	switch room := int(j.write.count()) - len(j.theirs); {
	case m.Flags&wire.BlocksFailed != 0 || int64(m.First) != int64(len(j.theirs)):
		j.theirs, j.theirsIn = nil, true
	default:
		j.theirs = append(j.theirs, m.Hashes[:min(len(m.Hashes), max(room, 0))]...)
		j.theirsIn = m.Flags&wire.BlocksLast != 0
	}
	b.compare(j)
	return true
}

// hashed handles the result of a hashEffect.
func (b *bulker) hashed(e hashEvent) []effect {
	j := findOwn(b.asked, func(j *ownJob) bool { return j.write.file.Path == e.path })
	if e.run != b.run || j == nil || j.oursIn {
		return nil
	}
	j.ours, j.oursIn = e.hashes, true
	if e.err != nil {
		j.failed, j.theirsIn = e.err, true
		b.failures = append(b.failures, failure{path: e.path, err: e.err})
	}
	b.compare(j)
	return b.pump()
}

// compare queues a file once the hashes of both sides are known.
func (b *bulker) compare(j *ownJob) {
	if !j.oursIn || !j.theirsIn {
		return
	}
	b.asked = slices.DeleteFunc(b.asked, func(o *ownJob) bool { return o == j })
	b.tally.bytesTotal -= j.write.bytes()
	if j.failed != nil {
		return
	}
	j.base = j.write.file.Path
	j.write.blocks = differing(j.ours, j.theirs)
	b.tally.bytesTotal += j.write.bytes()
	j.ours, j.theirs = nil, nil
	b.queue = append(b.queue, j)
}

func (b *bulker) takeWritten(m *wire.BlocksWritten) bool {
	j := findOwn(b.open, func(j *ownJob) bool { return j.handle == m.File })
	if j == nil || int64(m.Count) > int64(len(j.held)) || int(m.Count) <= j.confirmed {
		return false
	}
	b.confirm(j, int(m.Count))
	return true
}

// confirm releases the accounting of blocks up to count.
func (b *bulker) confirm(j *ownJob, count int) {
	for _, length := range j.held[j.confirmed:count] {
		b.under -= length + perBlock
		b.tally.bytes += int64(length)
	}
	j.confirmed = count
}

func (b *bulker) takeClosed(m *wire.FileClosed) bool {
	j := findOwn(b.open, func(j *ownJob) bool { return j.handle == m.File })
	if j == nil {
		return false
	}
	b.confirm(j, len(j.held))
	b.open = slices.DeleteFunc(b.open, func(o *ownJob) bool { return o == j })
	if b.current == j {
		b.current = nil
	}
	switch {
	case j.failed != nil: // already reported
	case m.Result == wire.Success && j.finishing:
		b.tally.files++
	default:
		b.failures = append(b.failures, failure{op: "write", path: j.write.file.Path, text: refusal(m.Result, m.Text)})
	}
	return true
}

// unreadable handles a readEvent: the file is left out of its batch. A file that is already being sent is closed; its hash will not match.
func (b *bulker) unreadable(e readEvent) []effect {
	if e.run != b.run {
		return nil
	}
	b.failures = append(b.failures, failure{path: e.path, err: e.err})
	if batch := b.batches[e.batch]; e.batch != 0 && batch != nil {
		batch.files = slices.DeleteFunc(batch.files, func(f wire.File) bool { return f.Path == e.path })
		return nil
	}
	j := findOwn(b.open, func(j *ownJob) bool { return j.write.file.Path == e.path })
	if j == nil || j.failed != nil {
		return nil
	}
	j.failed = e.err
	return b.pump()
}

// waits is the answer with the longest limit among those that the device owes.
func (b *bulker) waits() (a awaited, any bool) {
	consider := func(what, path string, limit time.Duration) {
		if limit > a.limit {
			a = awaited{what: what, path: path, limit: limit}
		}
	}
	if len(b.order) > 0 {
		consider("report about a batch", "", b.times.Answer+b.times.Finish)
	}
	for _, j := range b.asked {
		if !j.theirsIn {
			consider("block hashes", j.write.file.Path, b.times.Hashes+b.times.toHash(j.write.file.Size))
			break
		}
	}
	for _, j := range b.open {
		consider("end of a file", j.write.file.Path, b.times.Finish+b.times.toHash(j.write.file.Size))
	}
	return a, a.limit > 0
}

// progress fills in this attempt's part of a snapshot.
func (b *bulker) progress(p *PushProgress) {
	p.Phase = PushWriting
	switch {
	case len(b.open) > 0:
		p.Current = b.open[0].write.file.Path
	case len(b.order) > 0 && len(b.batches[b.order[0]].files) > 0:
		p.Current = b.batches[b.order[0]].files[0].Path
	case len(b.asked) > 0:
		p.Phase, p.Current = PushHashing, b.asked[0].write.file.Path
	}
	b.tally.progress(p)
}

// announce is the plan that the device displays.
func (b *bulker) announce(deletes int) *wire.PushPlan {
	return &wire.PushPlan{Files: uint32(b.tally.filesTotal), Bytes: uint64(b.tally.bytesTotal), Deletes: uint32(deletes)}
}

// outcome is the counts and the failures.
func (b *bulker) outcome() (tally, []failure) { return b.tally, b.failures }
