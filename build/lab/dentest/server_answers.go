package dentest

import "time"

// answer takes one answer of the device.
func (s *synchronisation) answer(now time.Time, m Message, stale bool) {
	switch m.Code {
	case ResponseFileLayout:
		s.layout(m, stale)
	case ResponseFileHashes:
		s.hashed(m, stale)
	default:
		s.worked(now, m, stale)
	}
	s.step(now)
}

func (s *synchronisation) layout(m Message, stale bool) {
	if s.phase != phaseLayout {
		s.d.odd(stale, "a layout that was not asked for")
		return
	}
	s.theirs = map[string]File{}
	for _, f := range m.Values[0].([]File) {
		if _, twice := s.theirs[f.Path]; twice {
			s.d.server.violate("3.1", "layout lists %q twice", f.Path)
		}
		if unsafePath(f.Path) {
			s.d.server.violate("3.3", "layout lists %q: paths are relative, clean, with slashes", f.Path)
		}
		if !plainHash(f.Hash) {
			s.d.server.violate("3.3", "hash %q of %q is not 64 lowercase digits", f.Hash, f.Path)
		}
		s.theirs[f.Path] = f
	}
	s.phase = phaseIssuing
}

func (s *synchronisation) hashed(m Message, stale bool) {
	path, answer := m.Text(0), m.Values[1].([]string)
	before, asked := s.hashing[path]
	switch {
	case !asked || before != nil:
		s.d.odd(stale, "block hashes of %q, which was not asked for", path)
		return
	case s.phase == phaseIssuing:
		s.d.server.note(NoteDropped, "%q", path)
		return
	case s.phase != phaseHashes:
		s.d.odd(stale, "block hashes of %q too late", path)
		return
	}
	if blocks := Blocks(s.theirs[path].Size, s.d.server.options.BlockSize); uint64(len(answer)) > blocks {
		s.d.server.violate("3.5", "%d hashes of %q, which has %d blocks: synchronisation fails", len(answer), path, blocks)
		s.fail("%q has more hashes than blocks", path)
		return
	}
	for _, h := range answer {
		if !plainHash(h) {
			s.d.server.violate("3.3", "hash %q of a block of %q is not 64 lowercase digits", h, path)
		}
	}
	if answer == nil {
		answer = []string{}
	}
	s.hashing[path] = answer
}

// worked takes answers to deletes and writes. Any result but success aborts (3.5).
func (s *synchronisation) worked(now time.Time, m Message, stale bool) {
	path, result := m.Text(0), m.Number(len(m.Values)-1)
	w := s.current
	if s.phase == phaseFailed {
		s.d.server.note(NoteIgnored, "%s after the synchronisation failed", m)
		return
	}
	if m.Code == ResponseDeleteFile {
		if answered, asked := s.deletes[path]; !asked || answered {
			s.d.odd(stale, "%s, which was not asked for", m)
			return
		}
		s.deletes[path] = true
	} else if w == nil || w.Path != path || !s.expected(w, m) {
		s.d.odd(stale, "%s, which was not asked for", m)
		return
	}
	if result != 0 {
		s.fail("%s", m)
		return
	}
	s.progress(now, w, m)
}

// expected tells whether the current file waits for this answer.
func (s *synchronisation) expected(w *sending, m Message) bool {
	switch m.Code {
	case ResponseWriteFile:
		return !w.accepted
	case FileDataReceived:
		return w.flying[m.Number(1)]
	default:
		return w.accepted && w.confirm == len(w.blocks)
	}
}

func (s *synchronisation) progress(now time.Time, w *sending, m Message) {
	switch m.Code {
	case ResponseWriteFile:
		w.accepted = true
		s.pump(now, w)
	case FileDataReceived:
		delete(w.flying, m.Number(1))
		w.confirm++
		s.pump(now, w)
	case ResponseFinishFile:
		w.finished, s.current = true, nil
		s.d.inProgress--
	}
}
