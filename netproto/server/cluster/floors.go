//go:build !nocluster

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"collet/netproto/server/operator"
)

const (
	// maxDeliveries is how many sets are changed at the same time.
	maxDeliveries = 16
	// maxQueued is how many floors are delivered together.
	maxQueued = 2000
	// maxCollisions is how often a change of a set is tried again that another node was faster than.
	maxCollisions = 50
)

func inParallel(numbers []uint16, do func(n uint16) error) error {
	var group errgroup.Group
	group.SetLimit(maxDeliveries)
	for _, n := range numbers {
		group.Go(func() error { return do(n) })
	}
	return group.Wait()
}

// Raise implements operator.Store: the floor counts here at once, and elsewhere once it is delivered.
func (s *Store) Raise(account string, floor int32) error {
	raised, err := s.QueueFloor(account, floor)
	if raised {
		s.wakeDelivery()
	}
	return err
}

func (s *Store) wakeDelivery() {
	select {
	case s.deliver <- struct{}{}:
	default:
	}
}

// deliverFloors delivers what is queued until the node is closed.
func (s *Store) deliverFloors() {
	for {
		err := s.deliverQueue(s.ctx)
		if err != nil && !isSilence(err) {
			s.log.Warn().Err(err).Msg("Floors could not be delivered to the cluster; they stay queued here")
		}
		again := time.NewTimer(lookTime)
		select {
		case <-s.ctx.Done():
			again.Stop()
			return
		case <-s.deliver:
			again.Stop()
		case <-again.C:
		}
	}
}

// deliverQueue delivers all queued floors.
func (s *Store) deliverQueue(ctx context.Context) error {
	for ctx.Err() == nil {
		queued, err := s.Queued(maxQueued)
		if err != nil || len(queued) == 0 {
			return err
		}
		var mu sync.Mutex
		newest := uint64(0)
		bySet := map[uint16][]operator.AccountFloor{}
		for _, a := range queued {
			n := operator.SetOf(a.Account)
			bySet[n] = append(bySet[n], a)
		}
		numbers := make([]uint16, 0, len(bySet))
		for n := range bySet {
			numbers = append(numbers, n)
		}
		slices.Sort(numbers)
		if err := inParallel(numbers, func(n uint16) error {
			ours := operator.FloorSet{Number: n}
			for _, a := range bySet[n] {
				ours = ours.With(a)
			}
			seq, err := s.mergeSet(ctx, ours)
			mu.Lock()
			defer mu.Unlock()
			newest = max(newest, seq)
			return err
		}); err != nil {
			return err
		}
		if err := s.reachFloors(ctx, newest); err != nil { // before that, an older message could take the place of what is no longer queued
			return err
		}
		if err := s.Unqueue(queued); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// setFloor sets the floor of an account in the cluster and here.
func (s *Store) setFloor(ctx context.Context, a operator.AccountFloor) error {
	if err := s.Forget(a.Account); err != nil { // a queued floor would win
		return err
	}
	for {
		seq, err := s.changeSet(ctx, operator.SetOf(a.Account), func(theirs operator.FloorSet) (operator.FloorSet, error) { return theirs.With(a), nil })
		switch {
		case err == nil:
			return s.reachFloors(ctx, seq)
		case !isSilence(err) || !pause(ctx, 100*time.Millisecond):
			return err
		}
	}
}

// mergeSet adds the floors of a set to those in the cluster, and returns the number of the message; 0 if it stays. What has no room there,
// because other nodes filled the set meanwhile, is dropped: it must not hold up other sets.
func (s *Store) mergeSet(ctx context.Context, ours operator.FloorSet) (uint64, error) {
	seq, err := s.changeSet(ctx, ours.Number, func(theirs operator.FloorSet) (operator.FloorSet, error) { return ours.Merge(theirs) })
	if errors.Is(err, operator.ErrStoreFull) {
		s.log.Error().Uint16("set", ours.Number).Msg("The cluster has no room for more floors in a set; those of this node are dropped")
		return 0, nil
	}
	return seq, err
}

// changeSet replaces a set in the cluster by what change makes of it, and returns the number of the message; 0 if it stays.
func (s *Store) changeSet(ctx context.Context, n uint16, change func(operator.FloorSet) (operator.FloorSet, error)) (uint64, error) {
	subject := fmt.Sprintf(floorSubject, n)
	for range maxCollisions {
		now, seq, err := s.newestSet(ctx, n, subject)
		if err != nil {
			return 0, err
		}
		next, err := change(now)
		if err != nil || bytes.Equal(next.Data, now.Data) {
			return 0, err
		}
		if len(next.Data) > operator.MaxFloorSet {
			return 0, operator.ErrStoreFull
		}
		seq, err = publish(ctx, s.js, subject, next.Data, jetstream.WithExpectLastSequencePerSubject(seq))
		if !wrongLast(err) {
			return seq, err
		}
		if !pause(ctx, time.Duration(1+rand.IntN(20))*time.Millisecond) {
			return 0, ctx.Err()
		}
	}
	return 0, fmt.Errorf("set %d of the floors was changed elsewhere %d times in a row", n, maxCollisions)
}

// newestSet is the set in the cluster, with the number of its message; empty with 0 if there is none.
func (s *Store) newestSet(ctx context.Context, n uint16, subject string) (operator.FloorSet, uint64, error) {
	set := operator.FloorSet{Number: n}
	messages, err := fetch(ctx, s.conn, floorStream, subject, 1)
	if err != nil || len(messages) == 0 {
		return set, 0, err
	}
	m := messages[len(messages)-1]
	set.Data = m.data
	if err := set.Check(); err != nil { // it is no set: it is replaced
		s.log.Error().Err(err).Uint16("set", n).Msg("The cluster has a damaged set of floors")
		set.Data = nil
	}
	return set, m.seq, nil
}

// followFloors takes over all sets that a replica has.
func (s *Store) followFloors(ctx context.Context) (uint64, error) {
	s.floorsMu.Lock()
	defer s.floorsMu.Unlock()
	p, err := s.Progress()
	for err == nil {
		var messages []message
		messages, err = fetch(ctx, s.conn, floorStream, floorSubjects, p.Seq+1)
		if len(messages) == 0 {
			break
		}
		if err2 := s.takeFloors(messages, &p); err2 != nil {
			return p.Seq, errors.Join(err, err2)
		}
	}
	return p.Seq, err
}

// takeFloors takes messages over. A message that is no set is left out, and said so.
func (s *Store) takeFloors(messages []message, p *operator.Progress) error {
	newest := map[uint16]operator.FloorSet{}
	for _, m := range messages {
		var n uint16
		if _, err := fmt.Sscanf(m.subject, floorSubject, &n); err != nil {
			s.log.Error().Uint64("message", m.seq).Msg("The cluster has floors under an unknown name")
			continue
		}
		set := operator.FloorSet{Number: n, Data: m.data}
		if err := set.Check(); err != nil {
			s.log.Error().Err(err).Uint64("message", m.seq).Msg("The cluster has a damaged set of floors, which is left out")
			continue
		}
		newest[n] = set
	}
	sets := make([]operator.FloorSet, 0, len(newest))
	for _, set := range newest {
		sets = append(sets, set)
	}
	next := *p
	next.Seq = messages[len(messages)-1].seq
	if err := s.PutFloorSets(sets, next); err != nil {
		return err
	}
	*p = next
	return nil
}

// reachFloors takes floors over until there is the message with a number.
func (s *Store) reachFloors(ctx context.Context, seq uint64) error {
	for {
		switch at, err := s.followFloors(ctx); {
		case at >= seq:
			return nil
		case err != nil && !isSilence(err):
			return err
		case !pause(ctx, lagTime):
			return ctx.Err()
		}
	}
}
