package transfer

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"collet/netproto/release"
)

// guess is a release.Fetcher that saves a round trip after a publication: the list of releases rises by one with each
// snapshot, so it is asked for together with the snapshot that will name it. A wrong guess costs one small request; what
// came is checked like everything else.
type guess struct {
	release.Fetcher
	snapshot, targets int64 // versions that are known; 0 for none

	mu    sync.Mutex
	early map[string]chan early
}

type early struct {
	u   release.Unverified
	err error
}

// ahead wraps a fetcher for one Refresh. All that it began has ended when the Refresh has: whoever asks for the snapshot
// waits for the list, too.
func ahead(f release.Fetcher, t *release.Trust) release.Fetcher {
	documents, err := t.Documents()
	if err != nil {
		return f
	}
	return &guess{Fetcher: f, snapshot: documents[1].Version, targets: documents[2].Version, early: map[string]chan early{}}
}

// Fetch implements release.Fetcher.
func (g *guess) Fetch(ctx context.Context, name string, limit int64) (release.Unverified, error) {
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
		u, err := g.Fetcher.Fetch(ctx, next, release.MaxTargets)
		came <- early{u, err}
	})
	u, err := g.Fetcher.Fetch(ctx, name, limit)
	both.Wait()
	return u, err
}
