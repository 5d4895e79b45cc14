package netproto

import (
	"context"
	"time"

	"collet/netproto/compat"
)

// exchangeWait is how long a client waits for a manifest that was announced, and afterwards for a server that has judged it to
// take the answer and close. A server waits for 2 s (compat reference, section 3.6); the rest is for slow lines.
const exchangeWait = 4 * time.Second

// shows reports whether a manifest follows the answer and ours is awaited: the server says so, and we have one and said so.
func (c *Client) shows(m *HandshakeAnswer) bool {
	return !c.Generation().Engine() && c.opt.Manifest != nil && m.Version == VersionC1 && m.Told().Manifest
}

// exchange takes the server's manifest, where one was announced, finds the differences, and shows ours in return. A manifest
// that does not come in time holds up nobody: then the differences are not known.
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
		return err // Dial has checked it, so a bug
	}
	if err := c.show(ctx, ours); err != nil || c.Transfers() {
		return err
	}
	return c.seeOff(ctx)
}

// show sends our manifest and returns when it is on its way: a caller with nothing to fetch closes at once, and what still waits
// for the session's writer then would never be sent. What keeps it from being sent the writer and the reader run into as well.
func (c *Client) show(ctx context.Context, ours *ComponentManifest) error {
	stop := context.AfterFunc(ctx, func() { c.end(ctx.Err()) })
	defer stop()
	if err := c.conn.Write(ours); err != nil {
		c.opt.Log.Info().Err(err).Str("peer", c.opt.Addr).Msg("the server can't be shown our components")
	}
	return ctx.Err()
}

// seeOff waits until the server closes, which it does when it has our manifest: who closes first may lose it on the way.
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

// awaitUntil is await with an end that is no fault: then nothing is returned.
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

// unexchanged is what is known of the two builds without manifests.
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

// Differences are what this build and the server's differ in. They are Untold unless the server has shown its components,
// which it does to a developer whose options have a manifest.
func (c *Client) Differences() compat.Differences { return c.differences }

// Told is what the server said with its verdict. In an engine generation that is nothing.
func (c *Client) Told() AnswerTags {
	if c.Generation().Engine() || c.answer.Version != VersionC1 {
		return (&HandshakeAnswer{}).Told()
	}
	return c.answer.Told()
}
