package server

import (
	"context"

	"github.com/rs/zerolog"

	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
	"collet/netproto/server/operator"
)

// OpenIdle opens a server's store while no server runs, so that its settings can be looked at and changed, under the lock that a
// running server holds. The operator knows what a server with these settings would, but for the identity of packs that
// are compared by what they are: of plain files only names and sidecars are read. Nothing is reconciled with the build, which
// is for the next start; a store that no server has written to yet is refused. The caller closes the operator.
//
// The errors are those of Open and operator.Open. An *operator.StoreError for which Held is true says that a server has the store.
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
	return operator.Open(set.Compat.Store, c.Declared(), operator.Options{AsStored: true}, log)
}
