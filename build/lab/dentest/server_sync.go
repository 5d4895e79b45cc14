package dentest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Phases of a synchronisation (3.5).
const (
	phaseLayout  byte = 1 // waits for message 4
	phaseIssuing byte = 2 // sends hash requests and drops their answers (4.2 #4)
	phaseHashes  byte = 3 // waits for the answers to them
	phaseWork    byte = 4 // deletes and writes
	phaseDone    byte = 5
	phaseFailed  byte = 6
)

// inFlight is how many blocks of the one file are on their way (3.5).
const inFlight = 2

// synchronisation is one synchronisation of one device. It is guarded by the endpoint.
type synchronisation struct {
	d       *Session
	phase   byte
	err     error
	theirs  map[string]File
	hashing map[string][]string // answers; nil while missing
	deletes map[string]bool     // true when answered
	writes  []*sending
	current *sending
}

// sending is one file the server writes.
type sending struct {
	File
	blocks   []uint64 // to send, in order
	next     int
	flying   map[uint64]bool
	confirm  int
	accepted bool
	finished bool
}

// SyncStats is what a synchronisation did.
type SyncStats struct {
	Hashed, Deleted, Written, Blocks int
}

// Synchronise makes the device's tree equal to the server's (3.5). Like the released one it has no watchdog: a missing
// answer hangs it until ctx ends.
func (d *Session) Synchronise(ctx context.Context) (SyncStats, error) {
	s := &synchronisation{d: d, phase: phaseLayout, hashing: map[string][]string{}, deletes: map[string]bool{}}
	d.conn.Do(func(now time.Time, core *Core) {
		d.sync = s
		core.Send(now, Build(RequestFileLayout))
	})
	ours, err := Scan(d.server.options.Root)
	if err != nil {
		return SyncStats{}, err
	}
	if err := s.until(ctx, "layout", func() bool { return s.phase != phaseLayout }); err != nil {
		return SyncStats{}, err
	}
	s.issue(ours)
	if err := s.until(ctx, "hash answers", s.allHashed); err != nil {
		return s.stats(), err
	}
	d.conn.Do(func(now time.Time, _ *Core) { s.begin(now, ours) })
	err = s.until(ctx, "deletes and writes", func() bool { return s.phase == phaseDone })
	return s.stats(), err
}

// until waits for a condition or the failure of the synchronisation.
func (s *synchronisation) until(ctx context.Context, what string, fine func() bool) error {
	err := s.d.Until(ctx, what, func() bool { return s.phase == phaseFailed || fine() })
	if err == nil {
		s.d.conn.Do(func(time.Time, *Core) { err = s.err })
	}
	return err
}

func (s *synchronisation) stats() SyncStats {
	return locked(s.d, func() SyncStats {
		st := SyncStats{Hashed: len(s.hashing), Deleted: len(s.deletes), Written: len(s.writes)}
		for _, w := range s.writes {
			st.Blocks += len(w.blocks)
		}
		return st
	})
}

// issue asks for the block hashes of files of equal size and other hash. Answers that arrive meanwhile are lost on the
// released server (4.2 #4): here that happens where asking takes time, and never because the machine is busy.
func (s *synchronisation) issue(ours []File) {
	busy := s.d.server.options.IssueTime
	var ask []string
	s.d.conn.Do(func(now time.Time, _ *Core) {
		s.phase = phaseIssuing
		for _, f := range ours {
			if their, there := s.theirs[f.Path]; there && their.Size == f.Size && their.Hash != f.Hash {
				ask = append(ask, f.Path)
				s.hashing[f.Path] = nil
			}
		}
		if busy == 0 {
			for _, path := range ask {
				s.request(now, path)
			}
			s.phase = phaseHashes
		}
	})
	if busy == 0 {
		return
	}
	for _, path := range ask {
		s.d.conn.Do(func(now time.Time, _ *Core) { s.request(now, path) })
		time.Sleep(busy)
	}
	s.d.conn.Do(func(time.Time, *Core) { s.phase = phaseHashes })
}

// request asks for the hashes of one file.
func (s *synchronisation) request(now time.Time, path string) {
	s.d.core.Send(now, Build(RequestFileHashes, path, s.d.server.options.BlockSize))
}

func (s *synchronisation) allHashed() bool {
	for _, answer := range s.hashing {
		if answer == nil {
			return false
		}
	}
	return true
}

// begin sends all deletes at once and starts the first file.
func (s *synchronisation) begin(now time.Time, ours []File) {
	s.phase = phaseWork
	wanted := map[string]bool{}
	for _, f := range ours {
		wanted[f.Path] = true
		if s.theirs[f.Path] == f {
			continue
		}
		s.writes = append(s.writes, &sending{File: f, blocks: s.differing(f), flying: map[uint64]bool{}})
	}
	s.inOrder()
	for _, f := range s.theirs {
		if !wanted[f.Path] {
			s.deletes[f.Path] = false
		}
	}
	for _, path := range sorted(s.deletes) {
		s.d.core.Send(now, Build(RequestDeleteFile, path))
	}
	s.step(now)
}

func sorted(set map[string]bool) []string {
	var all []string
	for name := range set {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

func (s *synchronisation) inOrder() {
	rank := func(w *sending) int {
		if i := slices.Index(s.d.server.options.Order, w.Path); i >= 0 {
			return i
		}
		return len(s.d.server.options.Order)
	}
	slices.SortStableFunc(s.writes, func(a, b *sending) int {
		return cmp.Or(rank(a)-rank(b), strings.Compare(a.Path, b.Path))
	})
}

// differing are the blocks to send: all, or those whose hash differs or is missing.
func (s *synchronisation) differing(f File) (all []uint64) {
	size := s.d.server.options.BlockSize
	theirs := s.hashing[f.Path]
	var own []string
	if len(theirs) > 0 {
		own, _ = BlockHashes(s.full(f.Path), size)
	}
	for i := range Blocks(f.Size, size) {
		if i < uint64(len(theirs)) && i < uint64(len(own)) && theirs[i] == own[i] {
			continue
		}
		all = append(all, i)
	}
	return all
}

func (s *synchronisation) full(path string) string {
	return filepath.Join(s.d.server.options.Root, filepath.FromSlash(path))
}

// fail ends the synchronisation. What is in progress stays counted (4.2 #5).
func (s *synchronisation) fail(format string, args ...any) {
	s.phase, s.err = phaseFailed, fmt.Errorf(format, args...)
}

// step starts the next file, sends blocks, or finds that everything is done.
func (s *synchronisation) step(now time.Time) {
	if s.phase != phaseWork {
		return
	}
	if s.current == nil && s.d.inProgress == 0 {
		for _, w := range s.writes {
			if !w.finished {
				s.current = w
				s.d.inProgress++
				size := s.d.server.options.BlockSize
				s.d.core.Send(now, Build(RequestWriteFile, w.Path, w.Size, size, Blocks(w.Size, size)))
				return
			}
		}
	}
	if s.current != nil || slices.ContainsFunc(s.writes, func(w *sending) bool { return !w.finished }) {
		return
	}
	for _, answered := range s.deletes {
		if !answered {
			return
		}
	}
	s.phase = phaseDone
}

// pump keeps two blocks on their way and asks to finish when all are confirmed.
func (s *synchronisation) pump(now time.Time, w *sending) {
	for len(w.flying) < inFlight && w.next < len(w.blocks) {
		i := w.blocks[w.next]
		w.next++
		data, err := s.block(w, i)
		if err != nil {
			s.fail("read %q: %w", w.Path, err)
			return
		}
		w.flying[i] = true
		s.d.core.Send(now, Build(SendFileData, w.Path, i, data))
	}
	if w.confirm == len(w.blocks) {
		s.d.core.Send(now, Build(RequestFinishWriteFile, w.Path, w.Hash))
	}
}

func (s *synchronisation) block(w *sending, i uint64) ([]byte, error) {
	f, err := os.Open(s.full(w.Path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := s.d.server.options.BlockSize
	data := make([]byte, min(size, w.Size-min(w.Size, i*size)))
	if len(data) == 0 {
		return data, nil
	}
	_, err = f.ReadAt(data, int64(i*size))
	return data, err
}
