package desk

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
)

// settle adds the counts of an attempt to the result, and clears the doubts about complete files.
func (p *pusher) settle() []failure {
	if p.doing == nil {
		return nil
	}
	t, failures := p.doing.outcome()
	r := &p.task.result
	r.Written += t.files
	r.Deleted += t.deleted
	r.Blocks += t.blocks
	r.BytesSent += t.sent
	if t.files > 0 || t.deleted > p.plan.room {
		p.task.stuck = 0
	}
	if s, is := p.doing.(*syncer); is {
		p.doubts.end(s.whole)
	}
	return failures
}

// remember records what a successful attempt proves about the device's tree.
func (p *pusher) remember() {
	switch {
	case !p.own:
		p.doubts.end(p.plan.swept)
	case len(p.task.without) == 0:
		p.known.set(p.id, p.ours.layout.With(nil, p.plan.kept))
	}
}

// retry begins another attempt, unless further attempts are pointless.
func (p *pusher) retry(now time.Time, failures ...failure) []effect {
	p.task.stuck++
	for _, f := range failures {
		if f.path == "" {
			continue
		}
		p.task.blocked[f.path] = f.err == nil
		if f.suspected {
			continue
		}
		p.task.strikes[f.path]++
		if p.task.strikes[f.path] >= MaxAttempts {
			p.task.without[f.path] = f
		}
	}
	if p.task.stuck > MaxAttempts || p.task.attempt >= maxTries {
		return p.end(p.errorOf(failures[0]))
	}
	return p.begin(now)
}

// verdict is nil if no file was given up.
func (p *pusher) verdict() error {
	var all []error
	for _, path := range slices.Sorted(maps.Keys(p.task.without)) {
		all = append(all, p.errorOf(p.task.without[path]))
	}
	return errors.Join(all...)
}

func (p *pusher) errorOf(f failure) error {
	if f.err != nil {
		return &FileError{Path: f.path, Err: f.err}
	}
	return &DeviceError{Device: p.id, Op: f.op, Path: f.path, Reason: f.text}
}

// progress is a snapshot.
func (p *pusher) progress() PushProgress {
	s := PushProgress{Phase: PushScanning, Attempt: p.task.attempt, Began: p.task.began}
	if p.doing != nil {
		p.doing.progress(&s)
	}
	if p.ended {
		s.Phase, s.Current = PushDone, ""
		if p.err != nil {
			s.Phase, s.Problem = PushFailed, firstLine(p.err)
		}
	}
	return s
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func given(without map[string]failure) map[string]bool {
	paths := make(map[string]bool, len(without))
	for path := range without {
		paths[path] = true
	}
	return paths
}
