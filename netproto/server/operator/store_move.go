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
	// Join takes the store into the cluster of the server's settings. With an error nothing has changed. force joins even if another node
	// has the store for itself: the changes that it made since are given up.
	Join(ctx context.Context, force bool) error
	// CanLeave returns an error unless the settings let the store leave the cluster, and all floors of the cluster have come here. force
	// lets a server that was started without its cluster leave it: floors that only the other nodes have are given up.
	CanLeave(ctx context.Context, force bool) error
	// Leave goes on with this server's file alone, if the history says so.
	Leave() error
}

// Place is where changes are made. It is in the history, as a record with the key placeKey, so all nodes know it.
type Place struct {
	Kind  string    `json:"kind"`
	Node  string    `json:"node"`           // of KindBolt: the node that has the store for itself
	Since time.Time `json:"since,omitzero"` // not in a record, which has its own time
}

// Taken returns an *InputError if another node than this one has the store for itself. remedy is what can be done if that node is lost.
func (p Place) Taken(node, remedy string) error {
	if p.Kind != KindBolt || p.Node == node {
		return nil
	}
	return &InputError{Field: "from", Why: fmt.Sprintf("node %q has had the store for itself since %s: move it there. %s only if that node is lost, with the changes that it made since",
		p.Node, p.Since.UTC().Format(time.DateTime), remedy)}
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

// placeOf is what the record of a move says.
func placeOf(record compat.Audit) (p Place, err error) {
	if err := json.Unmarshal(record.After, &p); err != nil {
		return p, fmt.Errorf("audit record %d: %w", record.Seq, err)
	}
	p.Since = record.Time
	return p, nil
}

// putPlace keeps what the record of a move says.
func putPlace(tx *bolt.Tx, record compat.Audit) error {
	if !IsMove(record) {
		return nil
	}
	p, err := placeOf(record)
	if err != nil {
		return err
	}
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

// PlaceAt is where the history said that changes are made when it had a number of records.
func (s *FileStore) PlaceAt(seq uint64) (Place, error) {
	for before := seq + 1; before > 1; {
		records, err := s.Records(before, MaxRecords)
		if err != nil || len(records) == 0 {
			return Place{}, err
		}
		for _, record := range records {
			if IsMove(record) {
				return placeOf(record)
			}
		}
		before = records[len(records)-1].Seq
	}
	return Place{}, nil
}

// Left reports whether this store is one by itself: it never was that of a node of a cluster, or the history says that the node has it for
// itself. node is that node, as far as the store knows.
func (s *FileStore) Left() (node string, left bool, err error) {
	p, err := s.Progress()
	if err != nil {
		return "", false, err
	}
	place, err := s.Place()
	if err != nil {
		return "", false, err
	}
	_, records, err := s.Head()
	member := p.Node != "" || !p.Made.IsZero()
	return p.Node, !member || records == 0 || place.Kind == KindBolt && place.Node == p.Node, err
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
	Confirm  bool // also from another node that has the store for itself, or from a cluster whose other nodes are, and are lost
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

// WriteCopy writes the copy of the store's file, as the next start will.
func (o *Operator) WriteCopy() error {
	if s, has := o.store.(interface{ WriteCopy() error }); has {
		return s.WriteCopy()
	}
	return nil
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
	if err := store.Join(ctx, m.Confirm); err != nil {
		return fmt.Errorf("nothing was moved: %w", err)
	}
	_, node := store.Kind()
	err := o.recordMove(by, m, store, Place{Kind: KindNATS, Node: node})
	var taken *InputError
	switch {
	case errors.As(err, &taken): // another node has it: this one had never left the cluster
		return fmt.Errorf("nothing was moved: %w", err)
	case err != nil:
		return fmt.Errorf("the store is in the cluster, and the history could not say so: %w", err)
	}
	return nil
}

// leaveCluster moves the store out of the cluster. The record closes it for all nodes: nothing can follow there, until this node comes back.
func (o *Operator) leaveCluster(ctx context.Context, by Actor, m Move, store Mover) error {
	if err := store.CanLeave(ctx, m.Confirm); err != nil {
		return fmt.Errorf("nothing was moved: %w", err)
	}
	_, node := store.Kind()
	if err := o.recordMove(by, m, store, Place{Kind: KindBolt, Node: node}); err != nil {
		return fmt.Errorf("the store stays in the cluster: %w", err)
	}
	return store.Leave()
}

// recordMove makes the record of a move, unless the history says so already, from an earlier try. Of two nodes that do so at the same moment the
// second one sees the record of the first.
func (o *Operator) recordMove(by Actor, m Move, store Mover, to Place) error {
	return o.Audit.change(func() error {
		from, err := store.Place()
		if err != nil || from.Kind == to.Kind && from.Node == to.Node {
			return err
		}
		if err := from.Taken(to.Node, fmt.Sprintf("Repeat this with --yes (confirm, over the API) at %q", to.Node)); err != nil && !m.Confirm { // two nodes by themselves would go different ways
			return err
		}
		if from.Since = (time.Time{}); from.Kind != KindBolt {
			from = Place{Kind: m.From, Node: to.Node}
		}
		record, err := MoveRecord(by, m.Comment, from, to)
		if err != nil {
			return err
		}
		return o.Audit.commit(Commit{Record: record})
	})
}
