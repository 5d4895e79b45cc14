//go:build nocluster

package cluster

import (
	"context"
	"errors"

	"github.com/rs/zerolog"

	"collet/netproto/server/operator"
)

// OpenNode opens a server's file, which can't be moved into a cluster. Settings with a cluster are an error: this program was built without the
// engine.
func OpenNode(_ context.Context, settings func() (Config, error), path string, log zerolog.Logger) (operator.Store, error) {
	c, err := settings()
	switch {
	case err != nil:
		return nil, err
	case c.Name != "":
		return nil, errors.New("this collet-server was built without clusters (the build tag nocluster): leave [Cluster] out of its settings, or use another build")
	}
	return operator.OpenStore(path, log)
}
