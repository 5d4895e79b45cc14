//go:build !nocluster

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"collet/netproto/compat"
	"collet/netproto/server/operator"
)

// Store is the store of one node. Reads come from its file.
type Store struct {
	*operator.FileStore

	config Config
	log    zerolog.Logger
	engine *engine // nil: this node is no member
	conn   *nats.Conn
	js     jetstream.JetStream

	ctx     context.Context // of the goroutines; ended by Close
	stop    context.CancelFunc
	running sync.WaitGroup

	changed  chan struct{} // has a value after the log has grown
	logs     hints
	floorsIn hints
	deliver  chan struct{} // has a value while floors are queued
	joined   chan struct{} // closed when this node has what the cluster has
	refused  chan error    // has the first *RefusedError
	trouble  atomic.Pointer[error]

	writing  sync.Mutex // one Commit at a time
	applying sync.Mutex // one record after the other
	floorsMu sync.Mutex // one batch of floors after the other

	state atomic.Pointer[state]
	phase atomic.Int32 // of a move into the cluster
	moves bool         // this is one: the operator writes its record
	force bool         // join even if another node has the store for itself
}

// state says whether the cluster can be written to.
type state struct {
	heard  time.Time // when a majority last answered
	joined bool
	fault  error // why this node does not follow the cluster
	why    error // why it has not joined yet
}

// entry is a message of the log.
type entry struct {
	Record   json.RawMessage   `json:"record"` // the line of the history
	Document []byte            `json:"document,omitempty"`
	Revision uint64            `json:"revision,omitempty"`
	Tokens   *[]operator.Token `json:"tokens,omitempty"`
	Until    uint64            `json:"until,omitempty"` // number of the last one of a history that is being brought in: until then no node joins
}

// begin starts the engine and the connection of a node; follow starts the rest.
func begin(ctx context.Context, c Config, file *operator.FileStore, changed chan struct{}, log zerolog.Logger) (*Store, error) {
	s := &Store{
		FileStore: file, config: c, log: log, changed: changed, deliver: make(chan struct{}, 1), joined: make(chan struct{}),
		refused: make(chan error, 1), logs: newHints(), floorsIn: newHints(),
	}
	s.ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.state.Store(&state{heard: time.Now()})
	if err := s.connect(); err != nil {
		s.halt()
		s.shut()
		return nil, err
	}
	return s, nil
}

// connect starts the engine and the connection.
func (s *Store) connect() (err error) {
	if s.config.member() {
		if s.engine, err = startEngine(s.config, s.problem, s.log); err != nil {
			return err
		}
	}
	if s.conn, err = connect(s.config, s.engine, s.problem, s.log); err != nil {
		return err
	}
	if s.js, err = jetstream.New(s.conn); err != nil {
		return err
	}
	for subject, h := range map[string]hints{logHint: s.logs, floorHint: s.floorsIn} {
		if _, err := s.conn.Subscribe(subject, h.take); err != nil {
			return err
		}
	}
	return nil
}

// follow starts to join the cluster, and then to follow it.
func (s *Store) follow() {
	s.running.Go(s.run)
	s.running.Go(s.listen)
}

// wait waits until the node has joined, or may serve without.
func (s *Store) wait(ctx context.Context) error {
	revision, _, err := s.Head()
	if err != nil {
		return err
	}
	limit := FoundingTime
	if revision > 0 {
		if limit = s.config.Patience; limit == 0 {
			limit = Patience
		}
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-s.joined:
		return s.state.Load().fault
	case <-ctx.Done():
		return ctx.Err()
	case err := <-s.refused:
		if revision == 0 {
			return err
		}
	case <-timer.C:
	}
	if revision == 0 {
		return fmt.Errorf("cluster: no settings came within %v: all members must run for the founding, the first of Cluster.Peers must have started, and every node needs the same token and authority", limit)
	}
	s.log.Warn().Str("within", limit.String()).Err(s.state.Load().why).Msg("The cluster has not answered yet. Clients are judged by what this node knows; nothing can be changed until a majority of the members answers")
	return nil
}

// maxTold is how many causes of waiting a start tells; each one once.
const maxTold = 20

// run joins, and then follows the cluster until the node is closed.
func (s *Store) run() {
	for told := map[string]bool{}; ; {
		err := s.join(s.ctx)
		if err == nil {
			err = s.reopen(s.ctx)
		}
		err = s.why(err)
		if err == nil || final(err) {
			s.setState(func(st *state) { st.joined, st.fault, st.heard = err == nil, err, time.Now() })
			close(s.joined)
			if err != nil {
				s.log.Error().Err(err).Msg("This node does not follow the cluster")
				return
			}
			break
		}
		if s.ctx.Err() != nil {
			return
		}
		s.setState(func(st *state) { st.why = err })
		if text := err.Error(); !told[text] && len(told) < maxTold {
			s.log.Info().Err(err).Msg("Waiting for the cluster")
			told[text] = true
		}
		var no *RefusedError
		if errors.As(err, &no) {
			select {
			case s.refused <- err:
			default: // the first one is told
			}
		}
		pause(s.ctx, 250*time.Millisecond)
	}
	s.log.Info().Str("node", s.config.Name).Bool("member", s.engine != nil).Msg("This node has joined the cluster")
	s.running.Go(func() { s.followStream(s.logs, s.followLog) })
	s.running.Go(func() { s.followStream(s.floorsIn, s.followFloors) })
	s.deliverFloors()
}

// listen notes when a majority answers.
func (s *Store) listen() {
	for quiet := false; pause(s.ctx, time.Second); {
		if _, err := info(s.ctx, s.js, logStream); err == nil {
			s.setState(func(st *state) { st.heard = time.Now() })
			s.problem(nil)
		}
		st := s.state.Load()
		if now := st.joined && time.Since(st.heard) > QuietTime; now != quiet {
			quiet = now
			if quiet {
				s.log.Error().Time("since", st.heard).Msg("No majority of the cluster's members answers this node: its settings are read-only, floors are queued, and clients are judged by what this node knows")
			} else {
				s.log.Info().Msg("A majority of the cluster's members answers again")
			}
		}
	}
}

func (s *Store) setState(change func(*state)) {
	for {
		old := s.state.Load()
		next := *old
		change(&next)
		if s.state.CompareAndSwap(old, &next) {
			return
		}
	}
}

// Writable implements operator.Store.
func (s *Store) Writable() error {
	if err := s.reachable(); err != nil {
		return err
	}
	place, err := s.Place()
	if err == nil && place.Kind == operator.KindBolt {
		err = s.closed(place)
	}
	return err
}

// reachable is why the cluster can't be written to.
func (s *Store) reachable() error {
	st := s.state.Load()
	switch {
	case st.fault != nil:
		return &operator.ReadOnlyError{Since: st.heard, Why: st.fault.Error()}
	case !st.joined && st.why != nil:
		return &operator.ReadOnlyError{Since: st.heard, Why: "this node has not joined the cluster since its start: " + st.why.Error()}
	case !st.joined:
		return &operator.ReadOnlyError{Since: st.heard, Why: "this node has not reached a majority of the cluster's members since its start"}
	case time.Since(st.heard) > QuietTime:
		return &operator.ReadOnlyError{Since: st.heard, Why: s.why(errSilent).Error()}
	default:
		return nil
	}
}

// Changed implements operator.Store.
func (s *Store) Changed() <-chan struct{} { return s.changed }

// Commit implements operator.Store. It waits at most WriteTime for a majority.
func (s *Store) Commit(c operator.Commit) error {
	writable := s.Writable
	if operator.IsMove(c.Record) {
		writable = s.reachable // this is what opens the cluster again
	}
	if err := writable(); err != nil {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	revision, record, err := s.Head()
	switch {
	case err != nil:
		return err
	case c.Document != nil && c.Revision != revision+1:
		return &operator.StaleError{Asked: c.Revision - 1, Current: revision}
	case c.Record.Seq != record+1:
		return operator.ErrMoved
	}
	ctx, stop := context.WithTimeout(s.ctx, WriteTime)
	defer stop()
	if err := s.append(ctx, c); err != nil {
		return err
	}
	if c.Floor == nil {
		return nil
	}
	err = s.setFloor(ctx, *c.Floor)
	if err == nil {
		err = s.checkNotMovedOut(ctx)
	}
	if err != nil {
		return fmt.Errorf("the history has the change of the floor, and it was not made: %w; try again", err)
	}
	return nil
}

// checkNotMovedOut returns an error if another node has moved the store out of the cluster. That node first appends its record to the log, and
// then reads all floors. So if its record is not in the log after a floor was written, that node will read the floor.
func (s *Store) checkNotMovedOut(ctx context.Context) error {
	log, err := info(ctx, s.js, logStream)
	if err == nil {
		err = s.reach(ctx, log.State.LastSeq)
	}
	if err != nil {
		return err
	}
	return s.Writable()
}

// refusedRecord is what can be done if a record of the log is refused; nil if that is not certain.
func (s *Store) refusedRecord(err error, size int) error {
	var fault *jetstream.APIError
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		return refused("a record has %d bytes, and its servers take %d: raise their max_payload to %d: %w", size, s.conn.MaxPayload(), maxMessage, err)
	case errors.As(err, &fault) && s.config.external():
		return refused("stream %s does not take a record of %d bytes: %s (%d)", logStream, size, fault.Description, fault.ErrorCode)
	case fault != nil:
		return fmt.Errorf("the cluster does not take a record of %d bytes: %w", size, err)
	}
	return nil
}

// final reports whether a node that can't join does not try again.
func final(err error) bool {
	var taken *operator.InputError
	return errors.Is(err, ErrForked) || errors.As(err, &taken)
}

// append publishes a change as the next one of the log, and takes it over here. A lost answer is cleared up by what the log has.
func (s *Store) append(ctx context.Context, c operator.Commit) error {
	data, err := json.Marshal(entry{Record: c.Record.Line(), Document: c.Document, Revision: c.Revision, Tokens: c.Tokens})
	if err != nil {
		return err
	}
	for {
		seq, err := publish(ctx, s.js, logSubject, data, jetstream.WithExpectLastSequence(c.Record.Seq-1))
		switch {
		case err == nil && seq != c.Record.Seq:
			return fmt.Errorf("cluster: the log stored record %d as message %d", c.Record.Seq, seq)
		case err == nil:
			return s.apply(message{logSubject, seq, data})
		case wrongLast(err):
			if err := s.reach(ctx, c.Record.Seq); err != nil {
				return s.undecided(err)
			}
			return s.settled(c)
		case errors.Is(err, nats.ErrMaxPayload):
			return s.refusedRecord(err, len(data))
		case !pause(ctx, 100*time.Millisecond):
			return s.undecided(err)
		}
	}
}

// settled says whether the log has a change or another one in its place.
func (s *Store) settled(c operator.Commit) error {
	there, err := s.Records(c.Record.Seq+1, 1)
	if err != nil {
		return err
	}
	if len(there) == 1 && there[0].Sum == c.Record.Sum {
		return nil
	}
	revision, _, err := s.Head()
	if err == nil && c.Document != nil && revision >= c.Revision {
		return &operator.StaleError{Asked: c.Revision - 1, Current: revision}
	}
	return errors.Join(operator.ErrMoved, err)
}

// undecided is the error of a change to which no majority answered.
func (s *Store) undecided(err error) error {
	s.log.Warn().Err(err).Msg("A change was not confirmed by the cluster")
	return &operator.ReadOnlyError{Since: s.state.Load().heard, Why: fmt.Sprintf("no majority of the cluster's members answered within %v; whether the change was made shows when one answers again", WriteTime)}
}

// apply takes a message of the log over into the node's file, if it is the next one.
func (s *Store) apply(m message) error {
	s.applying.Lock()
	defer s.applying.Unlock()
	_, head, err := s.Head()
	switch {
	case err != nil:
		return err
	case m.seq <= head:
		return nil
	case m.seq != head+1:
		return fmt.Errorf("cluster: message %d of the log can't follow record %d", m.seq, head)
	}
	c, _, err := parseEntry(m)
	if err != nil {
		return err
	}
	last, err := s.last(head)
	if err != nil {
		return err
	}
	if err := c.Record.Follows(last); err != nil {
		return fmt.Errorf("cluster: message %d of the log: %w: %w", m.seq, err, ErrForked)
	}
	if err := s.FileStore.Commit(c); err != nil {
		return err
	}
	select {
	case s.changed <- struct{}{}:
	default: // the operator has not yet looked
	}
	if operator.IsMove(c.Record) && s.state.Load().joined {
		s.tellMove()
	}
	return nil
}

// tellMove tells that another node has taken the store out of the cluster, or brought it back.
func (s *Store) tellMove() {
	place, err := s.Place()
	switch {
	case err != nil || place.Node == s.config.Name: // the move itself tells
	case place.Kind == operator.KindBolt:
		s.log.Error().Err(s.closed(place)).Msg("The settings are read-only, and clients are judged by what this node knows")
	default:
		s.log.Info().Str("node", place.Node).Msg("The store is in the cluster again: settings can be changed")
	}
}

// closed says that a node has taken the store out of the cluster.
func (s *Store) closed(place operator.Place) error {
	return &operator.ReadOnlyError{Since: place.Since, Why: fmt.Sprintf("the store was moved out of the cluster, to node %q by itself. Stop this node, or move the store back with collet compat store move --from bolt --to nats at that node", place.Node)}
}

// last is the record with a number; nil for 0.
func (s *Store) last(seq uint64) (*compat.Audit, error) {
	if seq == 0 {
		return nil, nil
	}
	records, err := s.Records(seq+1, 1)
	if err != nil || len(records) == 0 {
		return nil, errors.Join(fmt.Errorf("record %d", seq), err, operator.ErrUnknown)
	}
	return &records[0], nil
}

// parseEntry reads a message of the log within the limits of a store. until is the end of the history that it is a part of.
func parseEntry(m message) (c operator.Commit, until uint64, err error) {
	var e entry
	fault := func(err error) (operator.Commit, uint64, error) {
		return operator.Commit{}, 0, fmt.Errorf("cluster: message %d of the log: %w", m.seq, err)
	}
	if len(m.data) > maxMessage {
		return fault(errors.New("is too large"))
	}
	if err := json.Unmarshal(m.data, &e); err != nil {
		return fault(err)
	}
	record, err := compat.ParseAudit(append(e.Record, '\n'))
	switch {
	case err != nil:
		return fault(err)
	case len(e.Document) > compat.MaxSettings, e.Tokens != nil && len(*e.Tokens) > operator.MaxTokens:
		return fault(errors.New("has more than a store takes"))
	}
	return operator.Commit{Record: record, Document: e.Document, Revision: e.Revision, Tokens: e.Tokens}, e.Until, nil
}

// halt ends the goroutines.
func (s *Store) halt() {
	s.stop()
	s.running.Wait()
}

// shut ends the connection and the engine.
func (s *Store) shut() {
	if s.conn != nil {
		s.conn.Close()
	}
	if s.engine != nil {
		s.engine.close()
	}
}
