package server

import (
	"context"
	"errors"

	"github.com/rs/zerolog"

	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
	"collet/netproto/server/operator"
)

// OpenIdle opens a server's store while no server runs, to view and change its settings, under the lock that a running server
// holds. The operator has what a server with these settings would have, except the content identity of packs: of plain files only
// names and sidecars are read. The settings are not reconciled with the build; the next start does that. A store that no server
// has written to yet is refused. The file of a node of a cluster can only be read. The caller closes the operator.
//
// The errors are those of catalogue.Open and operator.Open. An *operator.StoreError for which Held is true means that a running
// server holds the store.
func OpenIdle(ctx context.Context, set config.Settings, log zerolog.Logger) (*operator.Operator, error) {
	if set.Compat.Store == "" {
		return nil, &config.Error{Key: "Compat.Store", Text: "is not set: these settings have no store"}
	}
	if err := set.Validate(); err != nil {
		return nil, err
	}
	if err := operator.Exists(set.Compat.Store); err != nil {
		return nil, err
	}
	c, err := catalogue.OpenIdle(ctx, set, log)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	opt := operator.Options{AsStored: true}
	if set.Cluster.Name == "" {
		return operator.Open(set.Compat.Store, c.Declared(), opt, log)
	}
	file, err := operator.OpenStore(set.Compat.Store, log)
	if err != nil {
		return nil, err
	}
	o, err := operator.New(idleNode{file}, c.Declared(), opt, log)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return o, nil
}

// idleNode is the file of a node of a cluster that does not run: it can be read.
type idleNode struct{ *operator.FileStore }

// errIdleNode says why nothing is written.
var errIdleNode = errors.New("this server is a node of a cluster and does not run: ask a running node, or start this one")

// Writable implements operator.Store.
func (idleNode) Writable() error { return errIdleNode }

// Commit implements operator.Store.
func (idleNode) Commit(operator.Commit) error { return errIdleNode }

// Raise implements operator.Store.
func (idleNode) Raise(string, int32) error { return errIdleNode }
