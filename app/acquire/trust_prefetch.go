package acquire

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"collet/netproto/release/trust"
)

// targetsPrefetch is a trust.Fetcher that saves a round trip after a publication. The version of the list of releases rises by one with each
// snapshot, so the list is requested together with the snapshot that will name it. A wrong guess costs one small request. The list is
// verified as usual.
type targetsPrefetch struct {
	trust.Fetcher
	snapshot, targets int64 // known versions; 0 is unknown

	mu    sync.Mutex
	early map[string]chan early
}

type early struct {
	u   trust.Unverified
	err error
}

// prefetchTargets wraps a fetcher for one Refresh. Its requests have ended when the Refresh has: the Fetch of the snapshot waits for the list.
func prefetchTargets(f trust.Fetcher, t *trust.Client) trust.Fetcher {
	documents, err := t.Documents()
	if err != nil {
		return f
	}
	return &targetsPrefetch{Fetcher: f, snapshot: documents[1].Version, targets: documents[2].Version, early: map[string]chan early{}}
}

// Fetch implements trust.Fetcher.
func (g *targetsPrefetch) Fetch(ctx context.Context, name string, limit int64) (trust.Unverified, error) {
	g.mu.Lock()
	waiting := g.early[name]
	delete(g.early, name)
	g.mu.Unlock()
	if waiting != nil {
		if e := <-waiting; e.err == nil && int64(e.u.Len()) <= limit {
			return e.u, nil
		}
		return g.Fetcher.Fetch(ctx, name, limit)
	}
	var version int64
	if _, err := fmt.Sscanf(name, "metadata/%d.snapshot.json", &version); err != nil || !strings.HasSuffix(name, ".snapshot.json") ||
		g.snapshot == 0 || version <= g.snapshot {
		return g.Fetcher.Fetch(ctx, name, limit)
	}
	next := fmt.Sprintf("metadata/%d.targets.json", g.targets+version-g.snapshot)
	came := make(chan early, 1)
	g.mu.Lock()
	g.early[next] = came
	g.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() {
		u, err := g.Fetcher.Fetch(ctx, next, trust.MaxTargets)
		came <- early{u, err}
	})
	u, err := g.Fetcher.Fetch(ctx, name, limit)
	both.Wait()
	return u, err
}
