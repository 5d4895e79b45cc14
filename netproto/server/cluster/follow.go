//go:build !nocluster

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"collet/netproto/compat"
	"collet/netproto/server/operator"
)

// hints say up to which message a stream has grown. The engine sends one for each message to all nodes; a lost one costs a second.
type hints struct {
	newest *atomic.Uint64
	come   chan struct{}
}

func newHints() hints { return hints{new(atomic.Uint64), make(chan struct{}, 1)} }

// take takes the engine's hint.
func (h hints) take(m *nats.Msg) {
	seq, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
	if err != nil {
		return
	}
	for old := h.newest.Load(); seq > old && !h.newest.CompareAndSwap(old, seq); old = h.newest.Load() {
	}
	select {
	case h.come <- struct{}{}:
	default:
	}
}

const (
	// lookTime is the time between looks for what no hint told of.
	lookTime = time.Second
	// lagTime is the time until a replica is asked again that does not have a message yet.
	lagTime = 10 * time.Millisecond
	// maxLags is how often it is asked before the next hint or look: together a second.
	maxLags = 100
)

// followStream calls catchUp whenever a stream may have grown. It returns up to which message the node has come.
func (s *Store) followStream(h hints, catchUp func(context.Context) (uint64, error)) {
	var told error
	for s.ctx.Err() == nil {
		at, err := catchUp(s.ctx)
		for lags := 0; err == nil && at < h.newest.Load() && lags < maxLags && pause(s.ctx, lagTime); lags++ {
			at, err = catchUp(s.ctx)
		}
		switch {
		case errors.Is(err, ErrForked):
			s.setState(func(st *state) { st.fault = err })
			s.log.Error().Err(err).Msg("This node does not follow the cluster any longer")
			return
		case err != nil && !isSilence(err) && (told == nil || told.Error() != err.Error()):
			s.log.Error().Err(err).Msg("This node can't follow the cluster; it tries again")
			told = err
		}
		look := time.NewTimer(lookTime)
		select {
		case <-s.ctx.Done():
		case <-h.come:
		case <-look.C:
		}
		look.Stop()
	}
}

// isSilence reports whether an error only says that no node answered, which listen reports.
func isSilence(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, nats.ErrNoResponders) ||
		errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrDisconnected) || errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, errSilent)
}

// followLog takes over all records that a replica has.
func (s *Store) followLog(ctx context.Context) (uint64, error) {
	for {
		_, head, err := s.Head()
		if err != nil {
			return head, err
		}
		messages, err := fetch(ctx, s.conn, logStream, logSubject, head+1)
		for _, m := range messages {
			if err := s.apply(m); err != nil {
				return head, err
			}
		}
		if err != nil || len(messages) == 0 {
			_, head, _ := s.Head()
			return head, err
		}
	}
}

// reach takes records over until there is one with a number.
func (s *Store) reach(ctx context.Context, seq uint64) error {
	for {
		switch head, err := s.followLog(ctx); {
		case head >= seq:
			return nil
		case err != nil && !isSilence(err):
			return err
		case !pause(ctx, lagTime):
			return ctx.Err()
		}
	}
}

// join brings node and cluster to the same state. Any error but ErrForked is a reason to try again.
func (s *Store) join(ctx context.Context) error {
	if s.config.external() {
		if err := s.checkServers(ctx); err != nil {
			return err
		}
	}
	if s.engine != nil || s.config.external() {
		if err := s.createStreams(ctx); err != nil {
			return err
		}
	}
	log, err := info(ctx, s.js, logStream)
	if err != nil {
		return err
	}
	if err := s.joinLog(ctx, log.State.LastSeq); err != nil {
		return err
	}
	floors, err := info(ctx, s.js, floorStream)
	if err != nil {
		return err
	}
	if err := s.joinFloors(ctx, floors.Created); err != nil {
		return err
	}
	p, err := s.Progress()
	if err != nil || p.Seq >= floors.State.LastSeq {
		return err
	}
	return s.reachFloors(ctx, floors.State.LastSeq)
}

// createStreams makes what is not there yet. It needs all members.
func (s *Store) createStreams(ctx context.Context) error {
	for _, c := range streams(max(len(s.config.Members), s.config.Replicas)) {
		if s.config.external() {
			if err := s.externalStream(ctx, c); err != nil {
				return err
			}
			continue
		}
		ctx, stop := context.WithTimeout(ctx, 2*answerTime)
		defer stop()
		_, err := s.js.Stream(ctx, c.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			_, err = s.js.CreateStream(ctx, c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkFounding returns an error if an empty log is not to begin with this node's history, which has so many records.
func (c Config) checkFounding(records uint64) error {
	switch {
	case c.external() && (c.Found || records > 0), !c.external() && len(c.Members) > 0 && c.Members[0] == c.Name:
		return nil
	case c.external():
		return errNoHistory
	default:
		return errUnfounded
	}
}

// forget says how all nodes forget the cluster's history.
func (c Config) forget() string {
	if c.external() {
		return fmt.Sprintf("Stop all nodes, and remove the streams %s and %s there", logStream, floorStream)
	}
	return "Stop all nodes, and move the stores and Cluster.Folder of the others and Cluster.Folder of this one away"
}

var (
	// errUnfounded says that the log is still empty.
	errUnfounded = errors.New("the first of Cluster.Peers has not founded the cluster yet")
	// errNoHistory is errUnfounded in an existing NATS cluster.
	errNoHistory = errors.New("neither the NATS cluster nor this node's store has settings yet: start the node with the store that you have; for a new game set Cluster.Found = true at one node")
)

// joinLog compares histories, and appends what the log lacks.
func (s *Store) joinLog(ctx context.Context, newest uint64) error {
	_, head, err := s.Head()
	if err != nil {
		return err
	}
	if newest == 0 {
		if err := s.config.checkFounding(head); err != nil {
			return err
		}
	} else if err := s.checkJoin(ctx, head, newest); err != nil {
		return err
	}
	if head > newest {
		return s.restore(ctx, newest+1, head)
	}
	if _, err := s.commitMove(); err != nil {
		return err
	}
	return s.reach(ctx, newest)
}

// refound says that a backup can't found the cluster anew yet.
func (c Config) refound(head, newest uint64) error {
	return &operator.InputError{Field: "store", Why: fmt.Sprintf("is a backup that founds the cluster anew, and the cluster still has a history of its own, of %d records, and not these %d. %s, and start this node again", newest, head, c.forget())}
}

// checkJoin returns an error if the histories of node and log differ, or if the log says that another node now has the store for itself, so that
// records of this node must not be appended.
func (s *Store) checkJoin(ctx context.Context, head, newest uint64) error {
	p, err := s.Progress()
	switch {
	case err != nil:
		return err
	case p.New && newest > head:
		return s.config.refound(head, newest)
	}
	err = s.compare(ctx, head, newest)
	if p.New && errors.Is(err, ErrForked) {
		return s.config.refound(head, newest)
	}
	if err != nil || head < newest || head == newest && !s.moves || s.force {
		return err
	}
	place, err := s.PlaceAt(newest)
	if err != nil {
		return err
	}
	return place.Taken(s.config.Name, fmt.Sprintf("Start node %q without [Cluster], and move its store to nats with --yes,", s.config.Name))
}

// compare compares the last record that both have, and waits if the log does not have all of a history that another node brings in.
func (s *Store) compare(ctx context.Context, head, newest uint64) error {
	theirs, until, err := s.logged(ctx, newest)
	if err == nil && until > max(head, newest) {
		return errUnfounded
	}
	if err == nil && 0 < head && head < newest {
		theirs, _, err = s.logged(ctx, head)
	}
	if err != nil || head == 0 {
		return err
	}
	ours, err := s.last(theirs.Seq)
	if err == nil && ours.Sum != theirs.Sum {
		err = ErrForked
	}
	return err
}

// logged is a record of the log.
func (s *Store) logged(ctx context.Context, seq uint64) (record compat.Audit, until uint64, err error) {
	messages, err := fetch(ctx, s.conn, logStream, logSubject, seq)
	if err != nil || len(messages) == 0 || messages[0].seq != seq {
		return record, 0, errors.Join(fmt.Errorf("record %d of the log: %w", seq, errSilent), err)
	}
	c, until, err := parseEntry(messages[0])
	return c.Record, until, err
}

// restore appends records of the file to a log that does not have them: at the founding, and if the engine's files were lost. The
// last one has the tokens.
func (s *Store) restore(ctx context.Context, from, to uint64) error {
	if from > to {
		return nil
	}
	revision := uint64(0)
	for seq := uint64(1); seq <= to; seq++ {
		record, err := s.last(seq)
		if err != nil {
			return err
		}
		e := entry{Record: record.Line(), Until: to}
		if document, err := s.Revision(revision + 1); err == nil && sameJSON(document, record.After) {
			revision++
			e.Document, e.Revision = document, revision
		}
		if seq < from {
			continue
		}
		if seq == to {
			tokens, err := s.Tokens()
			if err != nil {
				return err
			}
			e.Tokens = &tokens
			if all, _, err := s.Head(); err != nil || all != revision {
				return errors.Join(fmt.Errorf("the history has %d of %d revisions", revision, all), err)
			}
		}
		data, err := json.Marshal(e)
		if err != nil {
			return err
		}
		committed := false // by this call
		if seq == to {
			if committed, err = s.commitMove(); err != nil {
				return err
			}
		}
		if _, err := publish(ctx, s.js, logSubject, data, jetstream.WithExpectLastSequence(seq-1)); err != nil {
			no := s.refusedRecord(err, len(data))
			if committed && no != nil {
				s.uncommitMove()
			}
			if no != nil && !wrongLast(err) {
				err = no
			}
			return err
		}
	}
	if to >= from {
		s.log.Info().Uint64("records", to-from+1).Msg("The history of this node's store went into the cluster")
	}
	return nil
}

// sameJSON reports whether two documents are the same but for white space and for how HTML's signs are written.
func sameJSON(a, b []byte) bool {
	var x, y, xx, yy bytes.Buffer
	if json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
		return false
	}
	json.HTMLEscape(&xx, x.Bytes())
	json.HTMLEscape(&yy, y.Bytes())
	return bytes.Equal(xx.Bytes(), yy.Bytes())
}

// joinFloors delivers all floors of this node, unless these very floors of the cluster have them.
func (s *Store) joinFloors(ctx context.Context, made time.Time) error {
	p, err := s.Progress()
	if err != nil || p.Made.Equal(made) {
		return err
	}
	numbers, err := s.FloorSetNumbers()
	if err != nil {
		return err
	}
	if err := inParallel(numbers, func(n uint16) error {
		ours, err := s.FloorSet(n)
		if err != nil {
			return err
		}
		_, err = s.mergeSet(ctx, ours)
		return err
	}); err != nil {
		return err
	}
	if len(numbers) > 0 {
		s.log.Info().Int("sets", len(numbers)).Msg("The floors of this node's store went into the cluster")
	}
	return s.SetProgress(operator.Progress{Node: s.config.Name, Made: made})
}
