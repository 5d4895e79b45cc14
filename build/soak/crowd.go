package soak

import (
	"context"
	"fmt"
	"math/rand/v2"

	"golang.org/x/sync/errgroup"

	"collet/netproto/session"
)

// callers is how many members of the crowd connect at a time.
const callers = 4

// member is one idle client.
type member struct {
	pair   pair
	stays  bool // with the catalogue that it was told of first
	client *session.Client
	offers []session.Offer
	files  []*version
	number int // of its publication
}

// crowd are clients that do nothing but answer and ask pings. Its methods are for one goroutine at a time.
type crowd struct {
	h       *host
	shelf   *shelf
	tally   *tally
	members []*member
}

func newCrowd(h *host, s *shelf, t *tally, size int) *crowd {
	c := &crowd{h: h, shelf: s, tally: t}
	pairs := h.pairs()
	for i := range size {
		c.members = append(c.members, &member{pair: pairs[i%len(pairs)], stays: i%2 == 0})
	}
	return c
}

// call connects those who are not connected, and anew those who move and know an old catalogue. Nothing is published
// meanwhile.
func (c *crowd) call(ctx context.Context) error {
	var wanted []*member
	for _, m := range c.members {
		if m.client == nil || !m.stays && m.number != c.shelf.newest() {
			wanted = append(wanted, m)
		}
	}
	var group errgroup.Group
	group.SetLimit(callers)
	for _, m := range wanted {
		group.Go(func() error { return m.join(ctx, c.shelf) })
	}
	return group.Wait()
}

// join connects, after a goodbye if there was a connection.
func (m *member) join(ctx context.Context, s *shelf) error {
	m.disconnect()
	since := s.currentView()
	client, err := session.Dial(ctx, m.pair.options(linux))
	if err != nil {
		return fmt.Errorf("one of the crowd, %v: connect: %w", m.pair, err)
	}
	m.client = client
	if m.offers, err = client.List(ctx); err != nil {
		return fmt.Errorf("one of the crowd, %v: list: %w", m.pair, err)
	}
	p, files, err := s.findPublication(since, linux, m.offers)
	if err != nil {
		return fmt.Errorf("one of the crowd, %v: %w", m.pair, err)
	}
	m.files, m.number = files, p.number
	return nil
}

func (m *member) disconnect() {
	if m.client != nil {
		m.client.Close()
	}
	m.client = nil
}

// rouse lets one of those who stay take a file of the first catalogue, which has been replaced on disk since.
func (c *crowd) rouse(ctx context.Context, r *rand.Rand) {
	if len(c.members) > 0 {
		c.downloadFile(ctx, c.members[r.IntN((len(c.members)+1)/2)*2], r.IntN(large))
	}
}

// downloadFile lets a member take one file and checks it.
func (c *crowd) downloadFile(ctx context.Context, m *member, file int) {
	got := &checked{files: m.files[file : file+1], at: make([]int, 1)}
	err := m.client.Fetch(ctx, wholes(m.offers[file:file+1]), got.checkPart)
	if err == nil {
		err = got.whole()
	}
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		c.tally.fault("one of the crowd, %v, publication %d, takes %s: %v", m.pair, m.number, m.files[file].name, err)
		return
	}
	c.tally.did("took a file after long silence")
}

// dissolve lets every client download a file, to prove that its session works, and leave.
func (c *crowd) dissolve(ctx context.Context) {
	for _, m := range c.members {
		if m.client != nil && ctx.Err() == nil {
			c.downloadFile(ctx, m, 0)
		}
		m.disconnect()
	}
}
