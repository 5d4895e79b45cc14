package netproto

import (
	"context"
	"time"

	"collet/netproto/compat"
)

// exchangeWait is how long a client waits for an announced manifest, and later for a server that has judged it to read the
// client's manifest and close. A server waits for 2 s (compat reference, section 3.6); the rest is for slow connections.
const exchangeWait = 4 * time.Second

// shows reports whether the server's manifest follows the answer and ours is expected: the server announces it, and this
// client has one and announced it.
func (c *Client) shows(m *HandshakeAnswer) bool {
	return !c.Generation().Engine() && c.opt.Manifest != nil && m.Version == VersionC1 && m.Told().Manifest
}

// exchange reads the server's manifest, if one was announced, computes the differences, and sends ours. A missing
// manifest delays the session by at most exchangeWait; then the differences are unknown.
func (c *Client) exchange(ctx context.Context) error {
	c.differences = c.unexchanged()
	if !c.shows(c.answer) {
		return nil
	}
	patience := time.NewTimer(exchangeWait)
	defer patience.Stop()
	got, err := c.awaitUntil(ctx, c.manifest, patience.C)
	if err != nil || got.message == nil {
		return err
	}
	theirs := &got.message.(*ComponentManifest).Manifest
	c.differences = compat.DiffManifests(theirs, c.opt.Manifest)
	meeting := compat.Meeting{Judgement: c.judgement, Peer: c.opt.Addr, Target: c.opt.Target, Differences: c.differences}
	c.opt.Log.Warn().Msg(meeting.Line())
	ours, err := NewComponentManifest(c.opt.Manifest, theirs.Mode)
	if err != nil {
		return err // Dial has checked it: a bug
	}
	if err := c.show(ctx, ours); err != nil || c.Transfers() {
		return err
	}
	return c.seeOff(ctx)
}

// show sends our manifest directly and returns when it was written. A caller without transfers closes at once, and a message
// still queued for the session's writer would be lost. Errors of writing are also seen by the writer and the reader.
func (c *Client) show(ctx context.Context, ours *ComponentManifest) error {
	stop := context.AfterFunc(ctx, func() { c.end(ctx.Err()) })
	defer stop()
	if err := c.conn.Write(ours); err != nil {
		c.opt.Log.Info().Err(err).Str("peer", c.opt.Addr).Msg("the server can't be shown our components")
	}
	return ctx.Err()
}

// seeOff waits until the server closes, which it does after reading our manifest: closing first could lose the manifest on the way.
func (c *Client) seeOff(ctx context.Context) error {
	patience := time.NewTimer(exchangeWait)
	defer patience.Stop()
	select {
	case <-c.done:
	case <-patience.C:
	case <-ctx.Done():
		c.end(ctx.Err())
		return ctx.Err()
	}
	return nil
}

// awaitUntil is await with a time limit. At the limit it returns an empty arrival without an error.
func (c *Client) awaitUntil(ctx context.Context, ch <-chan arrival, end <-chan time.Time) (arrival, error) {
	select {
	case got := <-ch:
		return got, nil
	case <-end:
		c.opt.Log.Info().Str("peer", c.opt.Addr).Msg("the server announced its components and did not show them")
		return arrival{}, nil
	case <-c.done:
	case <-ctx.Done():
	}
	return c.await(ctx, ch)
}

// unexchanged is the difference of the two builds as known without manifests.
func (c *Client) unexchanged() compat.Differences {
	d := compat.Differences{Server: compat.Build{Logic: compat.NoLogic}, Client: compat.Build{Logic: compat.NoLogic}, Age: c.judgement.Age, Untold: true}
	if !c.Generation().Engine() {
		d.Server = c.answer.Told().Server
	}
	if c.opt.Identity != nil {
		d.Client = c.opt.Identity.Build
	}
	d.Server.Compatibility, d.Client.Compatibility = c.judgement.Compatibility, c.opt.Compatibility
	return d
}

// Differences are the differences between this build and the server's. They are Untold unless the server has shown its
// components, which it does for a developer whose options have a manifest.
func (c *Client) Differences() compat.Differences { return c.differences }

// Told is the server's description of its verdict. It is empty in an engine generation.
func (c *Client) Told() AnswerTags {
	if c.Generation().Engine() || c.answer.Version != VersionC1 {
		return (&HandshakeAnswer{}).Told()
	}
	return c.answer.Told()
}
