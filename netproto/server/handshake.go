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
	"collet/netproto/server/operator"
)

// handshake is a client's hello with its judgement. It makes the answer.
type handshake struct {
	session  *session
	message  *netproto.Handshake
	snapshot *compat.Snapshot // that judged it
	hello    compat.Hello
	account  string
	verdict  compat.Judgement
}

// greet waits for the hello and answers it. It returns nil if the conversation continues.
func (c *session) greet(ctx context.Context) *ending {
	timer := time.NewTimer(c.server.set.Limits.HandshakeTime)
	defer timer.Stop()
	defer c.judged()
	select {
	case m, more := <-c.inbox.messages:
		if !more {
			return c.endWithoutHello()
		}
		return c.answerHello(ctx, m.(*netproto.Handshake)) // Conn rejects any other first message
	case <-timer.C:
		return c.disconnect(limits.CauseHandshake, netproto.RefuseTimeout, 0, "Login timeout from host '%s'", c.host)
	case <-*c.server.hurry.Load():
		return c.endStopping()
	case <-ctx.Done():
		return c.endStopping()
	}
}

// endWithoutHello is the ending of a connection whose first message is not a valid hello. One that closed before its first message
// is a port scan, a load balancer's check, or a network failure. They can't be told apart, because scanners reset their connections.
func (c *session) endWithoutHello() *ending {
	err := c.inbox.err
	var format *netproto.FormatError
	switch {
	case errors.As(err, &format) && isFaultOf(format, "key"):
		return c.disconnect(limits.CauseZeroKey, netproto.RefuseMalformed, 0, "Invalid handshake data from host '%s': zero encrypt key", c.host)
	case format != nil:
		return c.disconnect(limits.CauseBadHello, netproto.RefuseMalformed, 0, "Invalid handshake data from host '%s': %v", c.host, format)
	case isForeignProtocol(c.conn, err) || violatesTransport(c.conn, err):
		return &ending{cause: limits.CauseBadHello, level: zerolog.WarnLevel, err: err, text: fmt.Sprintf("Invalid handshake data from host '%s'", c.host)}
	}
	e := &ending{cause: limits.CauseNoHello, level: zerolog.WarnLevel, text: fmt.Sprintf("Connection from host '%s' ended without a handshake", c.host)}
	if !isAny(err, io.EOF, io.ErrUnexpectedEOF) {
		e.err = err
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
	c.generation, c.catalogue = c.inbox.wire.Generation(), c.server.HoldCatalogue()
	c.activity = time.NewTimer(c.server.set.Limits.IdleTime)
	h := c.judgeHello(hello)
	c.judged()
	h.log()
	c.server.metrics.CountHandshake(c.generation, h.verdict.Verdict)
	c.server.metrics.CountVerdict(c.catalogue.Folder(), h.hello, h.verdict.Verdict)
	messages, last := h.buildAnswer()
	if c.exchange == nil {
		h.report(h.unansweredBy(h.snapshot.Build))
	}
	if err := c.out.write(messages...); err != nil {
		return c.endBroken(err)
	}
	switch {
	case last && h.verdict.Verdict == compat.ComponentsMismatch:
		return c.awaitManifest(ctx)
	case last:
		return &ending{cause: limits.CauseVerdict, level: zerolog.DebugLevel, text: "Client was told that it can't update here", linger: true}
	default:
		return nil
	}
}

// snapshotFor is the snapshot for hellos that are greeted with a catalogue: the operator's settings, or the configuration. A
// change of either applies to later hellos.
func (s *Server) snapshotFor(c *catalogue.Catalogue) *compat.Snapshot {
	if o := s.operator.Load(); o != nil {
		return o.SnapshotFor(c.Declared())
	}
	return c.Snapshot()
}

// judgeHello judges a hello, and registers the session with the operator.
func (c *session) judgeHello(hello *netproto.Handshake) *handshake {
	h := &handshake{session: c, message: hello, snapshot: c.server.snapshotFor(c.catalogue), hello: hello.Hello(c.generation)}
	readsList := objectCapabilities(c.catalogue.Folder(), hello.Capabilities) != 0
	h.snapshot = c.catalogue.SnapshotFor(h.snapshot, h.hello, readsList)
	if !c.generation.Engine() {
		h.account = hello.Said().Account
	}
	o := c.server.operator.Load()
	if o == nil {
		h.verdict = compat.Evaluate(h.snapshot, &h.hello)
		return h
	}
	if err := o.Complete(h.snapshot, &h.hello, h.account); err != nil {
		c.log.Error().Err(err).Str("account", clip(h.account)).Msg("The floor of an account can't be read; it counts as having none")
	}
	h.verdict = compat.Evaluate(h.snapshot, &h.hello)
	if !c.server.set.Compat.FloorsByAPI {
		if err := o.Floors.Pin(h.account, h.hello, h.verdict); err != nil {
			c.log.Error().Err(err).Str("account", clip(h.account)).Msg("An account can't be pinned to the logic version that it plays with")
		}
	}
	c.unregister = o.Sessions.Connect(h.snapshot, operator.Session{
		Hello: h.hello, Account: h.account, Judgement: h.verdict, End: c.kick,
		Adapt: func(s *compat.Snapshot) *compat.Snapshot {
			return c.server.Catalogue().SnapshotFor(s, h.hello, readsList)
		},
	})
	return h
}

// log logs the client and the verdict.
func (h *handshake) log() {
	c, what := h.session, ""
	switch {
	case h.verdict.UpdaterOutdated():
		what = fmt.Sprintf(" has outdated updater version %d", h.message.Version)
	case h.verdict.CompatibilityOutdated():
		what = fmt.Sprintf(" has outdated compatibility version %s", quote(h.message.Compatibility))
	}
	c.log.Info().Str("target", clip(h.message.Target)).Stringer("generation", c.generation).Stringer("verdict", h.verdict.Verdict).Uint8("rule", uint8(h.verdict.Rule)).
		Msgf("Connected client %s%s for binary target %s", c.host, what, quote(h.message.Target))
}

// buildAnswer is the answer and the messages that go with it; last means that only components may follow.
func (h *handshake) buildAnswer() (messages []netproto.Message, last bool) {
	c := h.session
	answer, offer := netproto.NewAnswer(h.verdict), c.catalogue.OfferTo(h.snapshot, h.hello, h.verdict)
	if c.generation.Engine() {
		return h.buildEngineAnswer(answer, offer)
	}
	manifest := h.addReasons(answer)
	folder, requested := c.catalogue.Folder(), h.message.Capabilities
	answer.Capabilities = requested&netproto.CapPipeline | objectCapabilities(folder, requested)
	addReleaseTags(answer, folder)
	answer.MaxPortion = uint32(max(c.server.portion, 0))
	if answer.Capabilities&netproto.CapPipeline == 0 {
		c.inbox.allowed.Store(1)
	}
	answer.MaxInFlight = uint16(c.inbox.allowed.Load())
	messages = append(messages, answer)
	if manifest != nil {
		messages = append(messages, manifest)
	}
	if !answer.Transfers(c.generation) {
		return messages, true
	}
	if answer.Capabilities&netproto.CapUnlisted == 0 {
		messages = append(messages, offer.FileList())
	}
	return append(messages, c.pings.newQuestion()), false
}

// buildEngineAnswer is the answer to an engine's client; its fields have room for only a part of the verdict. Such a client compares
// compatibility versions itself, but only where they are the game's own.
func (h *handshake) buildEngineAnswer(answer *netproto.HandshakeAnswer, offer *catalogue.Offer) (messages []netproto.Message, last bool) {
	c := h.session
	answer.Key = netproto.NewKey()
	version := c.catalogue.Compatibility()
	if h.snapshot.Versioned {
		version = h.message.Compatibility
	}
	answer.Compare(h.message, version, c.catalogue.Metadata())
	answer.CompatibilityOutdated = answer.CompatibilityOutdated || c.catalogue.Withholds(h.hello.Target)
	if h.verdict.UpdaterOutdated() {
		return []netproto.Message{answer, &netproto.Disconnect{}}, true
	}
	return []netproto.Message{answer, offer.InitData(c.server.clock()), c.pings.newQuestion()}, false
}

// addReasons adds the reason of the verdict to the answer, and returns the components that are to follow it, if any. A server
// without an operator, without logic versions and without an identity of its packs adds nothing.
func (h *handshake) addReasons(answer *netproto.HandshakeAnswer) (follows *netproto.ComponentManifest) {
	if h.session.server.operator.Load() == nil && !h.snapshot.Versioned && h.snapshot.Content == "" {
		return nil
	}
	tags := netproto.TagsFor(h.snapshot, &h.hello, h.verdict)
	follows = h.beginExchange(&tags)
	if err := answer.Tell(tags); err != nil {
		h.session.log.Error().Err(err).Msg("The settings have something that can't be told to a client")
	}
	return follows
}

// unansweredBy are the differences of a client that has not shown its components.
func (h *handshake) unansweredBy(build compat.Build) compat.Differences {
	return compat.Differences{Server: build, Client: h.hello.Build, Age: h.verdict.Age, Untold: true}
}

// report passes the judgement to the callback of OnVerdict.
func (h *handshake) report(d compat.Differences) compat.Meeting {
	told := compat.Meeting{Judgement: h.verdict, Peer: h.session.host, Target: clip(h.hello.Target), Differences: d}
	if f := h.session.server.onVerdict; f != nil {
		f(told)
	}
	return told
}
