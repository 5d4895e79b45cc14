package trust_test

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/theupdateframework/go-tuf/v2/metadata"

	"collet/netproto/release/trust"
)

// state forges a timestamp that states a newest root, or nothing if root is nil. It is signed with the keys of the ring, and has the same
// version, so that only the statement is another.
func (s *stage) state(keys keyring, root any) {
	s.t.Helper()
	forge(s, "metadata/timestamp.json", keys[trust.RoleTimestamp], func(m *metadata.TimestampType) {
		m.UnrecognizedFields = map[string]any{"x-root": root}
		if root == nil {
			m.UnrecognizedFields = nil
		}
	})
}

// asks refreshes after a restart, expects the release, and reports whether the client asked for the second root.
func (s *stage) asks(number uint64) bool {
	s.t.Helper()
	s.net.requests = nil
	if c, err := s.start().Refresh(context.Background(), s.net, query(0)); err != nil || c.Number != number {
		s.t.Fatalf("release %d, %v", c.Number, err)
	}
	return slices.Contains(s.net.requests, "metadata/2.root.json")
}

// TestWhenTheNextRootIsAskedFor: a client believes only the statement that its root is the newest, and only for a day.
func TestWhenTheNextRootIsAskedFor(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(s *stage)
		want   bool
	}{
		{"nothing", func(*stage) {}, false},
		{"nearly a day", func(s *stage) { s.clock = s.clock.Add(trust.RootInterval - time.Second) }, false},
		{"a day", func(s *stage) { s.clock = s.clock.Add(trust.RootInterval) }, true},
		{"a clock that went back", func(s *stage) { s.clock = s.clock.Add(-time.Second) }, true},
		{"expired", func(s *stage) { s.clock = s.clock.Add(15 * day); s.askedNow() }, true},
		{"no statement", func(s *stage) { s.state(s.keys, nil) }, true},
		{"an older root", func(s *stage) { s.state(s.keys, 0) }, true},
		{"a newer root", func(s *stage) { s.state(s.keys, 2) }, true},
		{"a text", func(s *stage) { s.state(s.keys, "1") }, true},
		{"a list", func(s *stage) { s.state(s.keys, []any{1}) }, true},
		{"the same once more", func(s *stage) { s.state(s.keys, 1) }, false},
		{"never asked", (*stage).forgetAsked, true},
		{"a damaged file", func(s *stage) { s.must(s.store.Save(trust.AskedFile, []byte("yesterday"))) }, true},
		{"a long file", func(s *stage) { s.must(s.store.Save(trust.AskedFile, []byte(strings.Repeat("2", 1000)))) }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.publish(7)
			if !s.asks(7) {
				t.Fatal("a new client did not ask")
			}
			test.change(s)
			if got := s.asks(7); got != test.want {
				t.Errorf("asked: %v", got)
			}
		})
	}
}

// forgetAsked lets the client ask for the next root at its next start.
func (s *stage) forgetAsked() { s.store.Remove(trust.AskedFile) }

// askedNow stores that the client asked just now.
func (s *stage) askedNow() {
	s.must(s.store.Save(trust.AskedFile, []byte(s.clock.Format(time.RFC3339))))
}

// TestNewRootIsFollowedAtOnce: every way to publish a root is noticed at the next start, whatever was asked before.
func TestNewRootIsFollowedAtOnce(t *testing.T) {
	t.Parallel()
	for _, roles := range [][]trust.KeyRole{{trust.RoleRoot}, {trust.RoleTargets}, {trust.RoleSnapshot}, {trust.RoleTimestamp}, trust.KeyRoles()} {
		s := newStage(t)
		s.publish(7)
		s.wants(7)
		fresh := s.keys.with(t, roles...)
		s.rotate(append(s.keys.all(), fresh[trust.RoleRoot]...), fresh, roles...)
		if !s.asks(7) {
			t.Errorf("%v: it did not ask", roles)
		}
		client := s.start()
		if client.Root().Version != 2 {
			t.Errorf("%v: root %d", roles, client.Root().Version)
		}
	}
}

// TestTimestampThatHidesARoot: a stolen timestamp key states that there is no newer root, after a rotation made it worthless. Who decides
// what a client gets as timestamp.json, and does not reach 2.root.json, hides it for a day at most. The true timestamp ends it at once.
func TestTimestampThatHidesARoot(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	s.wants(7)
	stolen := s.keys
	s.rotate(s.keys[trust.RoleRoot], s.keys.with(t, trust.RoleTimestamp, trust.RoleSnapshot), trust.RoleTimestamp, trust.RoleSnapshot)
	s.publish(8)
	good := s.read("metadata/timestamp.json")
	before := copied(t, s.store)
	lie := func() {
		old, err := before.Load("timestamp.json", trust.MaxTimestamp)
		s.must(err)
		s.must(s.folder.Save("metadata/timestamp.json", old))
		forge(s, "metadata/timestamp.json", stolen[trust.RoleTimestamp], func(m *metadata.TimestampType) {
			m.Version, m.Expires = m.Version+1000, s.clock.Add(30*day)
			m.UnrecognizedFields = map[string]any{"x-root": 1}
		})
	}
	for _, wait := range []time.Duration{0, time.Hour, trust.RootInterval - 2*time.Hour, trust.RootInterval - time.Second} {
		s.clock = epoch.Add(wait)
		lie()
		if s.asks(7) {
			t.Fatalf("after %v it asked", wait)
		}
	}
	hidden := copied(t, s.store)

	s.must(s.folder.Save("metadata/timestamp.json", good))
	s.wants(8) // the truth, within the day

	s.store, s.clock = hidden, epoch.Add(trust.RootInterval)
	lie()
	s.refuses(trust.FaultUnsigned, 7) // it has the new root, and with that the lie is worthless
	s.must(s.folder.Save("metadata/timestamp.json", good))
	s.wants(8)
}

// TestRejectedListAsksForTheRoot: a stolen timestamp key leads to a list that is not signed; the client asks whether a new root has the answer.
func TestRejectedListAsksForTheRoot(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"a new root", "none", "no answer"} {
		s := newStage(t)
		s.publish(7)
		s.wants(7)
		old := s.keys
		s.rotate(s.keys[trust.RoleRoot], s.keys.with(t, trust.RoleSnapshot), trust.RoleSnapshot)
		s.publish(8)
		s.state(old, 1) // of the old root, with a snapshot of the new one
		s.net.swap = func(name string, data []byte, err error) ([]byte, error) {
			if name == "metadata/2.root.json" && answer != "a new root" {
				return nil, map[string]error{"none": fs.ErrNotExist, "no answer": errors.New("no route to host")}[answer]
			}
			return data, err
		}
		if answer == "a new root" {
			s.wants(8)
			continue
		}
		_, err := s.start().Refresh(context.Background(), s.net, query(7))
		var rejected *trust.Error
		if errors.As(err, &rejected) != (answer == "none") || err == nil || !slices.Contains(s.net.requests, "metadata/2.root.json") {
			t.Errorf("%s: %v, %q", answer, err, s.net.requests)
		}
	}
}

// TestEarlierPublisher: a publisher that does not know the statement copies it from the timestamp before, also after a new root. Clients that
// follow the root at once go on asking; others follow it after a day at most.
func TestEarlierPublisher(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	s.wants(7)
	s.rotate(s.keys[trust.RoleRoot], s.keys, trust.RoleRoot) // the same keys, so nothing is rejected
	s.publish(8)
	s.state(s.keys, 1)
	if s.asks(8) {
		t.Error("it asked within the day")
	}
	s.clock = s.clock.Add(trust.RootInterval)
	if !s.asks(8) || s.start().Root().Version != 2 {
		t.Error("the root was not followed")
	}
	for range 2 {
		s.net.requests = nil
		s.wants(8)
		if !slices.Contains(s.net.requests, "metadata/3.root.json") {
			t.Errorf("it relied on a statement about an older root: %q", s.net.requests)
		}
	}
}

// TestUnansweredRoot: an overdue question without an answer does no harm where the timestamp states that there is no newer root: a cache whose
// origin is away has the timestamp, and not the answer that a file is missing. The question stays overdue.
func TestUnansweredRoot(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	gone := errors.New("status 503")
	s.net.swap = func(name string, data []byte, err error) ([]byte, error) {
		if strings.HasSuffix(name, "2.root.json") {
			return nil, gone
		}
		return data, err
	}
	for range 2 {
		if !s.asks(7) {
			t.Error("it did not ask again")
		}
	}
	s.state(s.keys, nil)
	if _, err := s.start().Refresh(context.Background(), s.net, query(7)); !errors.Is(err, gone) {
		t.Errorf("without a statement: %v", err)
	}
}
