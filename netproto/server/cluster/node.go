//go:build !nocluster

package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/compat"
	"collet/netproto/server/operator"
)

// Node is the store of a server: its file alone, or with a cluster. It moves from one to the other while it is used (operator.Mover).
//
// The server's settings say where it belongs, and are written before a move. So when a move into a cluster is interrupted, the next start
// completes it: the file has everything at any moment, and the history in the cluster is a part of it until the last record is there. When a
// move out of a cluster is interrupted before its record is in the file, the file is still a node's: without a cluster in the settings it can be
// read and not changed, so that its history and that of the other nodes stay one.
type Node struct {
	*operator.FileStore
	settings func() (Config, error)
	log      zerolog.Logger
	changed  chan struct{}
	ctx      context.Context // of moves; ended by Close
	stop     context.CancelFunc

	moving         sync.Mutex   // one move at a time
	committing     sync.Mutex   // held by Commit, and while shared changes
	raising        sync.RWMutex // held by Raise, and while shared changes
	shared         *Store       // nil: the file alone
	readOnlyReason error        // why the file alone can't be changed: a *operator.ReadOnlyError; nil: it can
}

// MoveTime is how long a move into a cluster waits for the other nodes.
const MoveTime = 45 * time.Second

// OpenNode opens the store of a server. settings are those of the cluster as they are written now, without a Name if there is none. The caller
// closes the store. In a cluster it waits until the node has what the cluster has; with settings in its file no longer than Config.Patience,
// because it can serve by these. The errors are those of the settings and of the file, ErrForked, *RefusedError, and what keeps the engine
// from starting.
func OpenNode(ctx context.Context, settings func() (Config, error), path string, log zerolog.Logger) (operator.Store, error) {
	c, err := settings()
	if err != nil {
		return nil, err
	}
	file, err := operator.OpenStore(path, log)
	if err != nil {
		return nil, err
	}
	return openNode(ctx, c, &Node{FileStore: file, settings: settings, log: log})
}

// ReopenNode opens a store again that OpenNode had opened and that was closed: where the last move had brought it, whatever the
// settings say. It waits for the cluster no longer than patience.
func ReopenNode(ctx context.Context, before operator.Store, patience time.Duration) (operator.Store, error) {
	was := before.(*Node)
	c := Config{}
	if s, _ := was.now(); s != nil {
		c = s.config
		c.Patience = patience
	}
	file, err := was.Reopen()
	if err != nil {
		return nil, err
	}
	return openNode(ctx, c, &Node{FileStore: file, settings: was.settings, log: was.log})
}

// openNode opens a node in a cluster, or without one if the configuration has no Name. On failure it closes the file.
func openNode(ctx context.Context, c Config, n *Node) (_ operator.Store, err error) {
	n.changed = make(chan struct{}, 1)
	n.ctx, n.stop = context.WithCancel(context.WithoutCancel(ctx))
	if c.Name == "" {
		if err := n.single(); err != nil {
			return nil, errors.Join(err, n.FileStore.Close())
		}
		return n, nil
	}
	if n.shared, err = begin(ctx, c, n.FileStore, n.changed, n.log); err != nil {
		return nil, errors.Join(err, n.FileStore.Close())
	}
	n.shared.follow()
	if err := n.shared.wait(ctx); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// now is the cluster's store, or nil; then readOnlyReason is why the file can't be changed, or nil.
func (n *Node) now() (s *Store, readOnlyReason error) {
	n.raising.RLock()
	defer n.raising.RUnlock()
	return n.shared, n.readOnlyReason
}

// swap changes where the store is, between two changes.
func (n *Node) swap(to *Store) {
	n.committing.Lock()
	defer n.committing.Unlock()
	n.raising.Lock()
	defer n.raising.Unlock()
	n.shared, n.readOnlyReason = to, nil
}

// single opens the file without a cluster, and looks whether it is a node's.
func (n *Node) single() error {
	node, left, err := n.Left()
	if err != nil {
		return err
	}
	if left {
		return n.Detach()
	}
	n.readOnlyReason = &operator.ReadOnlyError{Since: time.Now(), Why: fmt.Sprintf("this store is that of node %q of a cluster, and the settings have no [Cluster]: by itself it would go on with another history than the other nodes. "+
		"Write [Cluster] back, start this server again, and move the store with collet compat store move --from nats --to bolt. If all other nodes are lost, call that now, with --yes", node)}
	n.log.Error().Err(n.readOnlyReason).Msg("Clients are judged by what this store knows")
	return nil
}

// Commit implements operator.Store.
func (n *Node) Commit(c operator.Commit) error {
	n.committing.Lock()
	defer n.committing.Unlock()
	if s := n.shared; s != nil {
		return s.Commit(c)
	}
	if n.readOnlyReason != nil && !operator.IsMove(c.Record) { // which ends that
		return n.readOnlyReason
	}
	return n.FileStore.Commit(c)
}

// Raise implements operator.Store.
func (n *Node) Raise(account string, floor int32) error {
	n.raising.RLock()
	defer n.raising.RUnlock()
	if s := n.shared; s != nil {
		return s.Raise(account, floor)
	}
	if n.readOnlyReason != nil { // the cluster gets it when the settings have it again
		_, err := n.QueueFloor(account, floor)
		return err
	}
	return n.FileStore.Raise(account, floor)
}

// Changed implements operator.Store.
func (n *Node) Changed() <-chan struct{} { return n.changed }

// Writable implements operator.Store.
func (n *Node) Writable() error {
	s, reason := n.now()
	if s != nil {
		return s.Writable()
	}
	return reason
}

// Kind implements operator.Mover.
func (n *Node) Kind() (kind, node string) {
	s, reason := n.now()
	switch {
	case s != nil:
		return operator.KindNATS, s.config.Name
	case reason != nil:
		p, _ := n.Progress() // Left has read it
		return operator.KindNATS, p.Node
	}
	place, _ := n.Place() // the name is for people
	return operator.KindBolt, place.Node
}

// Close implements operator.Store.
func (n *Node) Close() error {
	n.stop()
	n.moving.Lock()
	defer n.moving.Unlock()
	if n.shared != nil {
		n.shared.halt()
		n.shared.shut()
	}
	return n.FileStore.Close()
}

// Join implements operator.Mover. Settings can't be changed meanwhile; players are served.
func (n *Node) Join(ctx context.Context, force bool) error {
	n.moving.Lock()
	defer n.moving.Unlock()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(n.ctx, stop)()
	c, err := n.settings()
	switch {
	case err != nil:
		return err
	case n.shared != nil:
		return nil
	case c.Name == "":
		return &operator.InputError{Field: "Cluster.Name", Why: "the settings have no [Cluster]: write it into them first, so that the next start of the server finds it, too"}
	}
	n.log.Info().Str("node", c.Name).Msg("The store is being moved into the cluster")
	s, err := begin(ctx, c, n.FileStore, n.changed, n.log)
	if err != nil {
		return err
	}
	s.moves, s.force = true, force
	n.swap(s)
	s.follow()
	err = s.arrive(ctx)
	if err == nil || !final(err) && !s.abortMove() {
		return nil // the cluster has all of it: it is where changes are made, as soon as a majority answers
	}
	n.log.Warn().Err(err).Msg("The store is not moved into the cluster")
	return errors.Join(err, n.alone(s))
}

// arrive waits until a moving node has joined.
func (s *Store) arrive(ctx context.Context) error {
	limit := time.NewTimer(MoveTime)
	defer limit.Stop()
	select {
	case <-s.joined:
		return s.state.Load().fault
	case err := <-s.refused:
		return err
	case <-ctx.Done():
		return fmt.Errorf("interrupted: %w", ctx.Err())
	case <-limit.C:
		return fmt.Errorf("the cluster did not answer within %v (%w): start the other nodes with their [Cluster], and try again", MoveTime, s.reachable())
	}
}

// alone goes on with the file alone.
func (n *Node) alone(s *Store) error {
	s.halt()
	n.swap(nil)
	defer s.shut()
	return n.Detach()
}

// CanLeave implements operator.Mover.
func (n *Node) CanLeave(ctx context.Context, force bool) error {
	c, err := n.settings()
	if err != nil {
		return err
	}
	if c.Name != "" {
		return &operator.InputError{Field: "Cluster.Name", Why: "the settings have [Cluster]: take it out of them first, so that the next start of the server does without it, too"}
	}
	s, reason := n.now()
	switch {
	case s == nil && force:
		return nil
	case s == nil:
		return reason
	}
	if err := s.reachable(); err != nil {
		return fmt.Errorf("%w. If the other nodes are lost, start this server again, without [Cluster], and repeat this with --yes", err)
	}
	ctx, stop := context.WithTimeout(ctx, WriteTime)
	defer stop()
	return s.allFloors(ctx)
}

// allFloors waits for the floors that other nodes have delivered so far. Those of this node are in its file already.
func (s *Store) allFloors(ctx context.Context) error {
	floors, err := info(ctx, s.js, floorStream)
	if err != nil {
		return fmt.Errorf("floors of other nodes: %w", err)
	}
	if err := s.reachFloors(ctx, floors.State.LastSeq); err != nil {
		return fmt.Errorf("floors of other nodes: %w", err)
	}
	return nil
}

// Leave implements operator.Mover. The history of all nodes says that it has happened.
func (n *Node) Leave() error {
	n.moving.Lock()
	defer n.moving.Unlock()
	s, reason := n.now()
	switch {
	case s == nil && reason == nil:
		return nil
	case s == nil:
		if err := n.Detach(); err != nil {
			return err
		}
		n.swap(nil)
		return nil
	}
	ctx, stop := context.WithTimeout(s.ctx, WriteTime)
	defer stop()
	if err := s.leave(ctx); err != nil {
		return fmt.Errorf("the store is closed for the other nodes and has not left the cluster yet; try again: %w", err)
	}
	n.log.Info().Msg("The store leaves the cluster")
	return n.alone(s)
}

// leave returns an error unless the newest record of a move gives the store to this node. It waits until all floors of the cluster are here.
func (s *Store) leave(ctx context.Context) error {
	log, err := info(ctx, s.js, logStream)
	if err == nil {
		err = s.reach(ctx, log.State.LastSeq)
	}
	if err != nil {
		return err
	}
	place, err := s.Place()
	switch {
	case err != nil:
		return err
	case place.Kind != operator.KindBolt || place.Node != s.config.Name:
		return &operator.InputError{Field: "store", Why: fmt.Sprintf("node %q has moved it to %s meanwhile", place.Node, place.Kind)}
	}
	return s.allFloors(ctx)
}

// The phases of a move into a cluster. Until the last record of the history is published no other node joins, and the move can be aborted.
const (
	phaseOpen      = 0
	phaseCommitted = 1
	phaseAborted   = 2
)

var errAborted = errors.New("the move was given up")

// commitMove marks the file as that of a node, before the cluster has all of its history. A start in a cluster commits, too. committed: this call
// made the change of phase. The error is errAborted if the move was aborted before.
func (s *Store) commitMove() (committed bool, err error) {
	committed = s.phase.CompareAndSwap(phaseOpen, phaseCommitted)
	if !committed && s.phase.Load() != phaseCommitted {
		return false, errAborted
	}
	p, err := s.Progress()
	if err == nil && (p.New || p.Node != s.config.Name) {
		p.Node, p.New = s.config.Name, false
		err = s.SetProgress(p)
	}
	if err != nil && committed {
		s.uncommitMove()
	}
	return committed, err
}

// uncommitMove is called if the last record was not published, or was refused: the cluster does not have it, and the move can be aborted again.
func (s *Store) uncommitMove() { s.phase.CompareAndSwap(phaseCommitted, phaseOpen) }

// abortMove reports whether the move is aborted. A committed one can't be.
func (s *Store) abortMove() bool { return s.phase.CompareAndSwap(phaseOpen, phaseAborted) }

// reopen opens a cluster again that this node had left: it comes back with its history, because its settings say so.
func (s *Store) reopen(ctx context.Context) error {
	place, err := s.Place()
	if err != nil || s.moves || place.Kind != operator.KindBolt || place.Node != s.config.Name {
		return err
	}
	_, head, err := s.Head()
	if err != nil {
		return err
	}
	last, err := s.last(head)
	if err != nil {
		return err
	}
	place.Since = time.Time{}
	record, err := operator.MoveRecord(operator.Actor{Name: compat.ActorBoot, Source: compat.SourceBoot}, "", place, operator.Place{Kind: operator.KindNATS, Node: s.config.Name})
	if err != nil {
		return err
	}
	record.Time = time.Now()
	ctx, stop := context.WithTimeout(ctx, WriteTime)
	defer stop()
	return s.append(ctx, operator.Commit{Record: compat.Chain(last, record)})
}

var _ operator.Mover = (*Node)(nil)
