package server

import (
	"context"
	"errors"
	"slices"

	"github.com/rs/zerolog"

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
	c, err := openIdle(ctx, set, log)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return operator.Open(set.Compat.Store, c.Declared(), operator.Options{AsStored: true}, log)
}

// openIdle is a catalogue of which nothing is handed out. A release folder is opened as by a server, because its signed lists say what is in it.
func openIdle(ctx context.Context, set config.Settings, log zerolog.Logger) (*Catalogue, error) {
	var c *Catalogue
	var err error
	if set.Release.Folder != "" {
		c, err = openRelease(ctx, set, nil, log)
	} else {
		c, err = listPlain(set)
	}
	if err != nil {
		return nil, err
	}
	if set.Release.Folder == "" && set.Compat.Content == ContentOfPacks {
		set.Compat.Content = ""
	}
	c.idle = set.Release.Folder == ""
	if err := c.declare(ctx, set); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// listPlain lists the files of Baking's folders and reads none.
func listPlain(set config.Settings) (*Catalogue, error) {
	packs, packsFault := findPacks(set.Baking, zerolog.Nop())
	binaries, binariesFault := findBinaries(set.Baking.PlatformBinaries)
	if err := errors.Join(packsFault, binariesFault); err != nil {
		return nil, err
	}
	if set.Compat.Versioned() {
		binaries = withoutSidecars(binaries)
	}
	return assemble(set, slices.Concat(packs, binaries))
}
