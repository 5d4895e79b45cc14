package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/limits"
)

// greet waits for the hello and answers it. It returns nil if the conversation continues.
func (c *session) greet(ctx context.Context) *ending {
	timer := time.NewTimer(c.server.set.Limits.HandshakeTime)
	defer timer.Stop()
	select {
	case m, more := <-c.inbox:
		if !more {
			return c.endWithoutHello()
		}
		return c.answerHello(ctx, m.(*netproto.Handshake)) // Conn rejects any other first message
	case <-timer.C:
		return c.disconnect(limits.CauseHandshake, netproto.RefuseTimeout, 0, "Login timeout from host '%s'", c.host)
	case <-ctx.Done():
		return c.endStopping()
	}
}

// endWithoutHello is the ending of a connection whose first message is not a valid hello.
func (c *session) endWithoutHello() *ending {
	var format *netproto.FormatError
	switch {
	case !errors.As(c.readErr, &format):
		return c.endUnheard()
	case isFaultOf(format, "key"):
		return c.disconnect(limits.CauseZeroKey, netproto.RefuseMalformed, 0, "Invalid handshake data from host '%s': zero encrypt key", c.host)
	default:
		return c.disconnect(limits.CauseBadHello, netproto.RefuseMalformed, 0, "Invalid handshake data from host '%s': %v", c.host, format)
	}
}

// endUnheard is the ending of a connection that closed before its first message: a port scan, a load balancer's check, or a
// network failure. They can't be told apart, because scanners reset their connections.
func (c *session) endUnheard() *ending {
	if isForeignProtocol(c.conn, c.readErr) || violatesTransport(c.conn, c.readErr) {
		return &ending{cause: limits.CauseBadHello, level: zerolog.WarnLevel, err: c.readErr, text: fmt.Sprintf("Invalid handshake data from host '%s'", c.host)}
	}
	e := &ending{cause: limits.CauseNoHello, level: zerolog.WarnLevel, text: fmt.Sprintf("Connection from host '%s' ended without a handshake", c.host)}
	if !isAny(c.readErr, io.EOF, io.ErrUnexpectedEOF) {
		e.err = c.readErr
	}
	return e
}

// isFaultOf reports whether the fault lies in a field of the hello. The error for a hello that fits no generation wraps the error of
// the last one that was tried.
func isFaultOf(err error, field string) bool {
	var format *netproto.FormatError
	for errors.As(err, &format) {
		if format.Message == netproto.IDHandshake && format.Field == field {
			return true
		}
		err = format.Err
	}
	return false
}

// answerHello judges the hello and answers it, in one flush.
func (c *session) answerHello(ctx context.Context, hello *netproto.Handshake) *ending {
	c.generation, c.catalogue = c.wire.Generation(), c.server.HoldCatalogue()
	c.ping, c.activity = time.NewTimer(c.server.set.Limits.PingTime), time.NewTimer(c.server.set.Limits.IdleTime)
	m := c.judgeHello(hello)
	c.logHello(hello, m.verdict)
	c.server.metrics.CountHandshake(c.generation, m.verdict.Verdict)
	messages, last := c.buildAnswer(hello, &m)
	if c.exchange == nil {
		c.reportVerdict(m, compat.Differences{Server: m.snapshot.Build, Client: m.hello.Build, Age: m.verdict.Age, Untold: true})
	}
	if err := c.write(messages...); err != nil {
		return c.endBroken(err)
	}
	switch {
	case last && m.verdict.Verdict == compat.ComponentsMismatch:
		return c.awaitManifest(ctx)
	case last:
		return &ending{cause: limits.CauseVerdict, level: zerolog.DebugLevel, text: "Client was told that it can't update here", linger: true}
	default:
		return nil
	}
}

// buildAnswer is the answer and the messages that go with it; last means that only components may follow.
func (c *session) buildAnswer(hello *netproto.Handshake, m *handshake) (messages []netproto.Message, last bool) {
	answer, offer := netproto.NewAnswer(m.verdict), c.catalogue.OfferTo(m.snapshot, m.hello, m.verdict)
	if c.generation.Engine() {
		return c.buildEngineAnswer(hello, answer, m, offer)
	}
	shown := c.addReasons(answer, m)
	answer.Capabilities = hello.Capabilities&netproto.CapPipeline | c.spreadCapability(hello) | c.objectCapabilities(hello)
	c.addReleaseTags(answer)
	answer.MaxPortion = uint32(max(c.server.portion, 0))
	if answer.Capabilities&netproto.CapPipeline == 0 {
		c.allowed.Store(1)
	}
	answer.MaxInFlight = uint16(c.allowed.Load())
	messages = append(messages, answer)
	if shown != nil {
		messages = append(messages, shown)
	}
	if !answer.Transfers(c.generation) {
		return messages, true
	}
	if answer.Capabilities&netproto.CapUnlisted == 0 {
		messages = append(messages, offer.FileList())
	}
	return append(messages, c.newPing()), false
}

// buildEngineAnswer is the answer to an engine's client; its fields have room for only a part of the verdict. Such a client compares
// compatibility versions itself, but only where they are the game's own.
func (c *session) buildEngineAnswer(hello *netproto.Handshake, answer *netproto.HandshakeAnswer, m *handshake, o *catalogue.Offer) (messages []netproto.Message, last bool) {
	answer.Key = netproto.NewKey()
	version := c.catalogue.Compatibility()
	if m.snapshot.Versioned {
		version = hello.Compatibility
	}
	answer.Compare(hello, version, c.catalogue.Metadata())
	if m.verdict.UpdaterOutdated() {
		return []netproto.Message{answer, &netproto.Disconnect{}}, true
	}
	return []netproto.Message{answer, o.InitData(c.server.clock()), c.newPing()}, false
}

// addReasons adds the reason of the verdict to the answer, and returns the components that are to follow it, if any. A server
// without an operator, without logic versions and without an identity of its packs adds nothing.
func (c *session) addReasons(answer *netproto.HandshakeAnswer, m *handshake) (follows *netproto.ComponentManifest) {
	if c.server.operator.Load() == nil && !m.snapshot.Versioned && m.snapshot.Content == "" {
		return nil
	}
	tags := netproto.TagsFor(m.snapshot, &m.hello, m.verdict)
	follows = c.prepareManifest(m, &tags)
	if err := answer.Tell(tags); err != nil {
		c.log.Error().Err(err).Msg("The settings have something that can't be told to a client")
	}
	return follows
}

// logHello logs the client and the verdict.
func (c *session) logHello(hello *netproto.Handshake, j compat.Judgement) {
	what := ""
	switch {
	case j.UpdaterOutdated():
		what = fmt.Sprintf(" has outdated updater version %d", hello.Version)
	case j.CompatibilityOutdated():
		what = fmt.Sprintf(" has outdated compatibility version %s", quote(hello.Compatibility))
	}
	c.log.Info().Str("target", clip(hello.Target)).Stringer("generation", c.generation).Stringer("verdict", j.Verdict).Uint8("rule", uint8(j.Rule)).
		Msgf("Connected client %s%s for binary target %s", c.host, what, quote(hello.Target))
}
