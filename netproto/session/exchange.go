package session

import (
	"context"
	"time"

	"collet/netproto"
	"collet/netproto/compat"
)

// exchangeWait is how long a client waits for an announced manifest, and later for a server that has judged it to read the
// client's manifest and close. A server waits for 2 s (docs/COMPATIBILITY.md); the rest is for slow connections.
const exchangeWait = 4 * time.Second

// exchange reads the server's manifest, if one was announced, computes the differences, and sends ours. A missing
// manifest delays the session by at most exchangeWait; then the differences are unknown, as after a lost connection: the
// verdict counts, and later calls return the error.
func (c *Client) exchange(ctx context.Context) error {
	c.differences = c.opt.differencesUnseen(c.Generation(), c.answer)
	if !c.link.announcesManifest(c.answer) {
		return nil
	}
	patience := time.NewTimer(exchangeWait)
	defer patience.Stop()
	got, err := c.awaitManifest(ctx, patience.C)
	if err != nil || got.message == nil {
		return err
	}
	theirs := &got.message.(*netproto.ComponentManifest).Manifest
	c.differences = compat.DiffManifests(theirs, c.opt.Manifest)
	meeting := compat.Meeting{Judgement: c.judgement, Peer: c.opt.Addr, Target: c.opt.Target, Differences: c.differences}
	c.opt.Log.Warn().Msg(meeting.Line())
	ours, err := netproto.NewComponentManifest(c.opt.Manifest, theirs.Mode)
	if err != nil {
		return err // Dial has checked it: a bug
	}
	if err := c.sendManifest(ctx, ours); err != nil || c.Transfers() {
		return err
	}
	return c.awaitClose(ctx)
}

// sendManifest sends our manifest directly and returns when it was written. A caller without transfers closes at once, and a message
// still queued for the session's writer would be lost. Errors of writing are also seen by the writer and the reader.
func (c *Client) sendManifest(ctx context.Context, ours *netproto.ComponentManifest) error {
	stop := context.AfterFunc(ctx, func() { c.link.end(ctx.Err()) })
	defer stop()
	if err := c.link.conn.Write(ours); err != nil {
		c.opt.Log.Info().Err(err).Str("peer", c.opt.Addr).Msg("the server can't be shown our components")
	}
	return ctx.Err()
}

// awaitClose waits until the server closes, which it does after reading our manifest: closing first could lose the manifest on the way.
func (c *Client) awaitClose(ctx context.Context) error {
	patience := time.NewTimer(exchangeWait)
	defer patience.Stop()
	select {
	case <-c.link.done:
	case <-patience.C:
	case <-ctx.Done():
		c.link.end(ctx.Err())
		return ctx.Err()
	}
	return nil
}

// awaitManifest returns the server's manifest. At the end of the time it or of the session it returns an empty arrival without an error.
func (c *Client) awaitManifest(ctx context.Context, end <-chan time.Time) (arrival, error) {
	select {
	case got := <-c.link.manifests:
		return got, nil
	case <-end:
		c.opt.Log.Info().Str("peer", c.opt.Addr).Msg("the server announced its components and did not show them")
		return arrival{}, nil
	case <-c.link.done:
	case <-ctx.Done():
	}
	got, err := c.link.await(ctx, c.link.manifests)
	if err != nil && ctx.Err() == nil {
		c.opt.Log.Info().Err(err).Str("peer", c.opt.Addr).Msg("the connection was lost before the server showed its components")
		err = nil
	}
	return got, err
}

// differencesUnseen are the differences of the two builds, as far as known without manifests.
func (o Options) differencesUnseen(g netproto.Generation, answer *netproto.HandshakeAnswer) compat.Differences {
	j := answer.Judgement(g)
	d := compat.Differences{Server: compat.Build{Logic: compat.NoLogic}, Client: compat.Build{Logic: compat.NoLogic}, Age: j.Age, Untold: true}
	if !g.Engine() {
		d.Server = answer.Told().Server
	}
	if o.Identity != nil {
		d.Client = o.Identity.Build
	}
	d.Server.Compatibility, d.Client.Compatibility = j.Compatibility, o.Compatibility
	return d
}

// Differences are the differences between this build and the server's. They are Untold unless the server has shown its
// components, which it does for a developer whose options have a manifest.
func (c *Client) Differences() compat.Differences { return c.differences }

// Told is the server's description of its verdict. It is empty in an engine generation.
func (c *Client) Told() netproto.AnswerTags { return toldBy(c.Generation(), c.answer) }

// toldBy is Told of an answer.
func toldBy(g netproto.Generation, answer *netproto.HandshakeAnswer) netproto.AnswerTags {
	if g.Engine() || answer.Version != netproto.VersionC1 {
		return (&netproto.HandshakeAnswer{}).Told()
	}
	return answer.Told()
}
