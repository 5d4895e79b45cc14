package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"collet/netproto/compat"
)

// Kinds of a server's store.
const (
	KindBolt = "bolt" // the file of one server
	KindNATS = "nats" // a cluster, which NATS JetStream keeps
)

// Mover is a Store that can go into a cluster and out of it while it is used.
type Mover interface {
	Store
	// Kind is KindBolt or KindNATS, and Node the name of this node of the cluster.
	Kind() (kind, node string)
	// Place is where the history says that changes are made.
	Place() (Place, error)
	// Join takes the store into the cluster of the server's settings. With an error nothing has changed.
	Join(context.Context) error
	// CanLeave is an error unless the settings let the store leave the cluster, and all floors of the cluster have come here.
	CanLeave(context.Context) error
	// Leave goes on with this server's file alone.
	Leave() error
}

// Place is where changes are made. It is in the history, as a record with the key placeKey, so all nodes know it.
type Place struct {
	Kind  string    `json:"kind"`
	Node  string    `json:"node"`           // of KindBolt: the node that has the store for itself
	Since time.Time `json:"since,omitzero"` // not in a record, which has its own time
}

// taken is an error if another node than this one has the store for itself. lost is what can be done if that node is lost.
func (p Place) taken(node, lost string) error {
	if p.Kind != KindBolt || p.Node == node {
		return nil
	}
	return &InputError{Field: "from", Why: fmt.Sprintf("node %q has had the store for itself since %s: move it there. %s only if that node is lost, with the changes that it made since",
		p.Node, p.Since.UTC().Format(time.DateTime), lost)}
}

// placeKey is the key of a record of a move.
const placeKey = "store"

// IsMove reports whether a record is that of a move.
func IsMove(record compat.Audit) bool { return slices.Equal(record.Keys, []string{placeKey}) }

// MoveRecord is the record of a move, for the chain to complete.
func MoveRecord(by Actor, comment string, from, to Place) (compat.Audit, error) {
	return note(by, comment, placeKey, from, to)
}

// keyPlace is the key of the Place of the newest move.
var keyPlace = []byte("place")

// putPlace keeps what the record of a move says.
func putPlace(tx *bolt.Tx, record compat.Audit) error {
	if !IsMove(record) {
		return nil
	}
	var p Place
	if err := json.Unmarshal(record.After, &p); err != nil {
		return fmt.Errorf("audit record %d: %w", record.Seq, err)
	}
	p.Since = record.Time
	value, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return putValue(tx, bucketSettings, keyPlace, value)
}

// Place is where the history says that changes are made; zero if the store was never moved.
func (s *FileStore) Place() (p Place, err error) {
	value, err := s.readValue(bucketSettings, keyPlace)
	if err != nil || value == nil {
		return p, err
	}
	return p, json.Unmarshal(value, &p)
}

// Detach forgets how far this store has come with a cluster, so that all its floors are delivered when it joins one again.
func (s *FileStore) Detach() error {
	p, err := s.Progress()
	if err != nil {
		return err
	}
	queued, err := s.Queued(1)
	if err != nil || len(queued) == 0 && p == (Progress{}) {
		return err
	}
	return s.db.Update(func(tx *bolt.Tx) error {
		for _, name := range []string{bucketQueue, bucketShared} {
			if tx.Bucket([]byte(name)) == nil {
				continue
			}
			if err := tx.DeleteBucket([]byte(name)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Move asks to move the store.
type Move struct {
	From, To string // KindBolt and KindNATS
	Comment  string
	Confirm  bool // also from another node that has the store for itself, and can no longer give it back
}

// Moved is what was moved.
type Moved struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Node     string `json:"node"`
	Revision uint64 `json:"revision"`
	Records  int    `json:"records"` // of the history, whose chain was verified before and after
	Floors   int    `json:"floors"`  // accounts with a floor
}

// MoveStore moves the store into the cluster of the server's settings, or out of it, while players are served. The chain is verified before
// and after. The errors are *ForbiddenError, *InputError, *ReadOnlyError, what keeps the node from joining, and the store's.
func (o *Operator) MoveStore(ctx context.Context, by Actor, m Move) (Moved, error) {
	if err := by.CheckRights(RoleAdmin, m.Comment); err != nil {
		return Moved{}, err
	}
	release, err := o.HoldStore()
	if err != nil {
		return Moved{}, err
	}
	defer release()
	store, can := o.store.(Mover)
	if !can {
		return Moved{}, &InputError{Field: "store", Why: "only a running server moves its store, and only one that was built with clusters"}
	}
	if _, err := o.Audit.Verify(); err != nil {
		return Moved{}, fmt.Errorf("nothing was moved: %w", err)
	}
	kind, _ := store.Kind()
	place, err := store.Place()
	if err != nil {
		return Moved{}, err
	}
	switch {
	case m.From == m.To || m.From != KindBolt && m.From != KindNATS || m.To != KindBolt && m.To != KindNATS:
		return Moved{}, &InputError{Field: "to", Why: fmt.Sprintf("a store moves from %q to %q or back", KindBolt, KindNATS)}
	case m.To == KindBolt && kind == KindBolt, m.To == KindNATS && kind == KindNATS && place.Kind != KindBolt:
		return Moved{}, &InputError{Field: "from", Why: fmt.Sprintf("the store of this server is %q already", m.To)}
	}
	if m.To == KindNATS {
		err = o.joinCluster(ctx, by, m, store)
	} else {
		err = o.leaveCluster(ctx, by, m, store)
	}
	if err != nil {
		return Moved{}, err
	}
	return o.moved(m, store)
}

// HoldStore keeps the store where it is until release is called. The error is an *InputError while it is being moved, or held already.
func (o *Operator) HoldStore() (release func(), err error) {
	if !o.holding.TryLock() {
		return nil, &InputError{Field: "store", Why: "it is being moved, or the server hands over to a new program: wait for that"}
	}
	return o.holding.Unlock, nil
}

// moved verifies and counts what there is after a move.
func (o *Operator) moved(m Move, store Mover) (Moved, error) {
	out := Moved{From: m.From, To: m.To}
	_, out.Node = store.Kind()
	if err := o.reloadStore(); err != nil { // what came with the cluster
		return out, err
	}
	records, err := o.Audit.Verify()
	if err != nil {
		return out, fmt.Errorf("the store was moved, and its history is not whole: %w", err)
	}
	out.Records, out.Revision = records, o.Settings().Revision
	for _, n := range store.Floors() {
		out.Floors += n
	}
	o.log.Info().Str("from", m.From).Str("to", m.To).Int("records", out.Records).Int("floors", out.Floors).Msg("The store was moved")
	return out, nil
}

// joinCluster moves the store into the cluster.
func (o *Operator) joinCluster(ctx context.Context, by Actor, m Move, store Mover) error {
	joined, _ := store.Kind()
	if joined == KindBolt {
		if err := store.Join(ctx); err != nil {
			return fmt.Errorf("nothing was moved: %w", err)
		}
	}
	_, node := store.Kind()
	place, err := store.Place()
	if err != nil {
		return err
	}
	if why := place.taken(node, "Repeat this with confirm"); why != nil && !m.Confirm {
		if joined == KindBolt {
			return errors.Join(why, store.Leave())
		}
		return why
	}
	if err := o.recordMove(by, m, Place{Kind: KindBolt, Node: node}, Place{Kind: KindNATS, Node: node}); err != nil {
		return fmt.Errorf("the store is in the cluster, and the history could not say so: %w", err)
	}
	return nil
}

// leaveCluster moves the store out of the cluster. The record closes it for all nodes: nothing can follow there, until this node comes back.
func (o *Operator) leaveCluster(ctx context.Context, by Actor, m Move, store Mover) error {
	_, node := store.Kind()
	place, err := store.Place()
	if err != nil {
		return err
	}
	if err := place.taken(node, "Move it to nats here with confirm"); err != nil { // two nodes by themselves would go different ways
		return err
	}
	if err := store.CanLeave(ctx); err != nil {
		return fmt.Errorf("nothing was moved: %w", err)
	}
	if place.Kind != KindBolt { // otherwise an earlier try has come so far
		if err := o.recordMove(by, m, Place{Kind: KindNATS, Node: node}, Place{Kind: KindBolt, Node: node}); err != nil {
			return fmt.Errorf("the store stays in the cluster: %w", err)
		}
	}
	return store.Leave()
}

func (o *Operator) recordMove(by Actor, m Move, from, to Place) error {
	record, err := MoveRecord(by, m.Comment, from, to)
	if err != nil {
		return err
	}
	return o.Audit.change(func() error { return o.Audit.commit(Commit{Record: record}) })
}
