package server

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/rs/zerolog"

	"collet/netproto/server/config"
)

// OpenIdle opens a server's store while no server runs, so that its settings can be looked at and changed, under the lock that a
// running server holds. The operator knows what a server with these settings would, but for the identity of packs that
// are compared by what they are: of plain files only names and sidecars are read. Nothing is reconciled with the build, which
// is for the next start; a store that no server has written to yet is refused. The caller closes the operator, and nothing that it
// returned is used after that.
//
// The errors are those of Open and OpenOperator. A *StoreError for which Held is true says that a server has the store.
func OpenIdle(ctx context.Context, set config.Settings, log zerolog.Logger) (*Operator, error) {
	if set.Compat.Store == "" {
		return nil, &config.Error{Key: "Compat.Store", Text: "is not set: these settings have no store"}
	}
	if err := set.Validate(); err != nil {
		return nil, err
	}
	if !storedAt(set.Compat.Store) {
		return nil, &StoreError{Path: set.Compat.Store, Err: errNeverStarted, Hint: "start collet-server with these settings once"}
	}
	c, err := openIdle(ctx, set, log)
	if err != nil {
		return nil, err
	}
	o, err := OpenOperator(set, c, OperatorOptions{asStored: true}, log)
	if err != nil {
		c.Close()
		return nil, err
	}
	o.idle = c
	return o, nil
}

var errNeverStarted = errors.New("is not there")

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

// LocalHandler answers what the admin API answers, to by, who is whoever may call it.
func (o *Operator) LocalHandler(by Actor) http.Handler {
	routes := o.routes()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		routes.ServeHTTP(w, withActor(r, by))
	})
}
