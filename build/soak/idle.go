package soak

import (
	"context"
	"fmt"
	"math/rand/v2"

	"golang.org/x/sync/errgroup"

	"collet/netproto/session"
)

// maxDials is how many idle clients connect at a time.
const maxDials = 4

// idleClient is one of idleClients.
type idleClient struct {
	pair   pair
	stays  bool // keeps its first catalogue
	client *session.Client
	offers []session.Offer
	files  []*version
	number int // of its publication
}

// idleClients are the clients that only send and answer pings. Its methods are for one goroutine at a time.
type idleClients struct {
	h      *host
	folder *packageFolder
	counts *counter
	all    []*idleClient
}

func newIdleClients(h *host, s *packageFolder, t *counter, size int) *idleClients {
	c := &idleClients{h: h, folder: s, counts: t}
	pairs := h.pairs()
	for i := range size {
		c.all = append(c.all, &idleClient{pair: pairs[i%len(pairs)], stays: i%2 == 0})
	}
	return c
}

// connect connects the clients without a connection, and reconnects those that follow the catalogue and have an old one. Nothing is
// published meanwhile.
func (c *idleClients) connect(ctx context.Context) error {
	var wanted []*idleClient
	for _, m := range c.all {
		if m.client == nil || !m.stays && m.number != c.folder.newest() {
			wanted = append(wanted, m)
		}
	}
	var group errgroup.Group
	group.SetLimit(maxDials)
	for _, m := range wanted {
		group.Go(func() error { return m.join(ctx, c.folder) })
	}
	return group.Wait()
}

// join connects, and closes an earlier connection first.
func (m *idleClient) join(ctx context.Context, s *packageFolder) error {
	m.disconnect()
	since := s.currentView()
	client, err := session.Dial(ctx, m.pair.options(linux))
	if err != nil {
		return fmt.Errorf("idle client, %v: connect: %w", m.pair, err)
	}
	m.client = client
	if m.offers, err = client.List(ctx); err != nil {
		return fmt.Errorf("idle client, %v: list: %w", m.pair, err)
	}
	p, files, err := s.findPublication(since, linux, m.offers)
	if err != nil {
		return fmt.Errorf("idle client, %v: %w", m.pair, err)
	}
	m.files, m.number = files, p.number
	return nil
}

func (m *idleClient) disconnect() {
	if m.client != nil {
		m.client.Close()
	}
	m.client = nil
}

// downloadFirst downloads a file of the first catalogue by a client that stays with it. The file has been replaced on disk since.
func (c *idleClients) downloadFirst(ctx context.Context, r *rand.Rand) {
	if len(c.all) > 0 {
		c.downloadFile(ctx, c.all[r.IntN((len(c.all)+1)/2)*2], r.IntN(large))
	}
}

// downloadFile downloads one file by a client and checks it.
func (c *idleClients) downloadFile(ctx context.Context, m *idleClient, file int) {
	got := &checked{files: m.files[file : file+1], at: make([]int, 1)}
	err := m.client.Fetch(ctx, wholes(m.offers[file:file+1]), got.checkPart)
	if err == nil {
		err = got.whole()
	}
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		c.counts.fault("idle client, %v, publication %d, downloads %s: %v", m.pair, m.number, m.files[file].name, err)
		return
	}
	c.counts.did("downloaded a file after a long idle time")
}

// leave downloads a file by every client, to prove that its session works, and disconnects it.
func (c *idleClients) leave(ctx context.Context) {
	for _, m := range c.all {
		if m.client != nil && ctx.Err() == nil {
			c.downloadFile(ctx, m, 0)
		}
		m.disconnect()
	}
}
