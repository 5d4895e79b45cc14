//go:build nocluster

package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/server/operator"
)

var errWithout = errors.New("this collet-server was built without clusters (the build tag nocluster)")

// Drill needs the engine.
func Drill(context.Context, string, string, func(string), zerolog.Logger) (operator.Summary, error) {
	return operator.Summary{}, errWithout
}

// ReopenNode opens a server's file again.
func ReopenNode(_ context.Context, before operator.Store, _ time.Duration) (operator.Store, error) {
	return before.(*operator.FileStore).Reopen()
}

// OpenNode opens a server's file, which can't be moved into a cluster. Settings with a cluster are an error: this program was built without the
// engine.
func OpenNode(_ context.Context, settings func() (Config, error), path string, log zerolog.Logger) (operator.Store, error) {
	c, err := settings()
	switch {
	case err != nil:
		return nil, err
	case c.Name != "":
		return nil, fmt.Errorf("%w: leave [Cluster] out of its settings, or use another build", errWithout)
	}
	s, err := operator.OpenStore(path, log)
	if err != nil {
		return nil, err
	}
	node, left, err := s.Left()
	if err == nil && !left {
		err = fmt.Errorf("this store is that of node %q of a cluster, and this collet-server was built without clusters: use another build to move the store out with collet compat store move", node)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}
