package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"collet/netproto"
)

// link is the connection of a session, with its two goroutines: a reader, which passes messages to their receivers, and a
// writer, which sends what the outbox has. Its first error ends it.
type link struct {
	opt      Options
	stream   *idleConn
	conn     *netproto.Conn
	out      *outbox
	ledger   ledger
	requests *requests // of C1; set before the first request, for the reader
	excess   allowance // of unsolicited messages; for the reader only

	answers   chan arrival // HandshakeAnswer
	manifests chan arrival
	lists     chan arrival
	portions  chan arrival // an engine's file data

	once sync.Once
	err  error         // what ended the session; read after done
	done chan struct{} // closed when the session has ended
	work sync.WaitGroup
}

// arrival is a requested message, with the buffer that holds its bytes.
type arrival struct {
	message netproto.Message
	frame   []byte
}

// newLink makes a link on nc. Close of nc is the link's.
func newLink(opt Options, nc net.Conn) (*link, error) {
	l := &link{
		opt: opt, stream: &idleConn{Conn: nc, idle: opt.IdleTimeout}, out: newOutbox(), done: make(chan struct{}),
		answers: make(chan arrival, 1), manifests: make(chan arrival, 1), lists: make(chan arrival, 1), portions: make(chan arrival, 1),
	}
	options := []netproto.Option{netproto.WithReuse(opt.Window)}
	if opt.Auto && opt.Generation.Engine() {
		options = append(options, netproto.WithOffer())
	}
	l.conn = netproto.NewConn(l.stream, netproto.ClientSide, opt.Limits, options...)
	return l, l.conn.SetGeneration(opt.Generation)
}

// start runs the two goroutines.
func (l *link) start() {
	l.work.Go(l.receive)
	l.work.Go(l.send)
}

// end stops the session once, with the given reason.
func (l *link) end(reason error) {
	l.once.Do(func() {
		l.err = l.explain(reason)
		close(l.done)
		if err := l.conn.Close(); err != nil {
			l.opt.Log.Debug().Err(err).Str("peer", l.opt.Addr).Msg("close connection")
		}
	})
}

// explain converts an error of the stream to its type. A reason or fault of the peer has precedence over an error of sending.
func (l *link) explain(err error) error {
	var format *netproto.FormatError
	var refused *RefusedError
	if errors.As(err, &format) || errors.As(err, &refused) {
		return err
	}
	if sending := l.out.failure(); sending != nil && !errors.Is(err, net.ErrClosed) {
		err = sending
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("nothing moved for %v: %w", l.opt.IdleTimeout, err)
	}
	return &ClosedError{Answered: l.ledger.isAnswered(), Err: err}
}

// await returns the next arrival from ch. Messages that arrived before the session's end are still returned. After an end
// of ctx the session ends.
func (l *link) await(ctx context.Context, ch <-chan arrival) (arrival, error) {
	if ctx.Err() != nil {
		l.end(ctx.Err())
		return arrival{}, ctx.Err()
	}
	select {
	case got := <-ch:
		return got, nil
	case <-ctx.Done():
		l.end(ctx.Err())
		return arrival{}, ctx.Err()
	case <-l.done:
	}
	select {
	case got := <-ch:
		return got, nil
	default:
		return arrival{}, l.err
	}
}

// receive reads until the session ends. It never blocks on the caller: only requested messages go into the channels,
// which have room for all of them.
func (l *link) receive() {
	for {
		m, frame, err := l.conn.ReadFrame()
		if err == nil {
			err = l.handle(m, frame)
		}
		if err != nil {
			l.end(err)
			return
		}
	}
}

var (
	errGoodbye = errors.New("the server said goodbye")
	errStalled = errors.New("the server answers pings and nothing else")
)

// handle handles one message.
func (l *link) handle(m netproto.Message, frame []byte) error {
	size := len(frame)
	switch m := m.(type) {
	case *netproto.Ping:
		l.out.recordPing(m.Answer)
	case *netproto.Refuse:
		return &RefusedError{Reason: m.Reason, Request: m.Request, Text: m.Text}
	case *netproto.Disconnect:
		return errGoodbye
	case *netproto.AskHello:
		return l.sendOwnHello(m, frame)
	case *netproto.TimeSync:
	case *netproto.InfoMessage:
		l.opt.Log.Info().Str("peer", l.opt.Addr).Uint16("code", m.Code).Str("text", m.Text).Msg("message from the server")
	case *netproto.Unknown:
		size = m.Size
		l.opt.Log.Debug().Str("peer", l.opt.Addr).Stringer("message", m.Number).Int("size", m.Size).Msg("unknown message skipped")
	default:
		return l.deliver(m, frame)
	}
	if !l.excess.spend(size, time.Now()) {
		return &netproto.FormatError{Message: m.ID(), Field: "message", Offset: l.conn.Received(), Err: errIdle}
	}
	if l.ledger.isStalled(l.opt.AnswerTimeout) {
		return fmt.Errorf("%w for %v", errStalled, l.opt.AnswerTimeout)
	}
	return nil
}

// sendOwnHello answers AskHello with a hello of C1.
func (l *link) sendOwnHello(m *netproto.AskHello, frame []byte) error {
	if fault := l.ledger.settle(m); fault != nil {
		fault.Message, fault.Field, fault.Offset = m.ID(), "message", l.conn.Received()-int64(len(frame))
		return fault
	}
	hello, err := l.opt.hello(netproto.C1)
	if err != nil {
		return fmt.Errorf("make the hello: %w", err)
	}
	l.out.add(hello)
	return nil
}

// deliver checks that m was requested and passes it to its receiver.
func (l *link) deliver(m netproto.Message, frame []byte) error {
	if fault := l.ledger.settle(m); fault != nil {
		fault.Message, fault.Offset = m.ID(), fault.Offset+l.conn.Received()-int64(len(frame))
		return fault
	}
	ch := l.portions
	switch m := m.(type) {
	case *netproto.HandshakeAnswer:
		if err := l.expectFollowers(m); err != nil {
			return err
		}
		ch = l.answers
	case *netproto.ComponentManifest:
		ch = l.manifests
	case *netproto.InitData, *netproto.FileList:
		ch = l.lists
	case *netproto.RangeData:
		l.requests.arrive(m.Request, m.Data, frame)
		return nil
	case *netproto.NoObject:
		l.requests.miss(m.Request)
		return nil
	}
	ch <- arrival{m, frame}
	return nil
}

// maxPortionAt is the offset of the field in the body of a C1 answer, for error texts.
const maxPortionAt = 4 + 4 + 1 + 1

// expectFollowers expects what follows an answer, and checks the fields of one that allows a transfer.
func (l *link) expectFollowers(m *netproto.HandshakeAnswer) error {
	g := l.conn.Generation()
	l.ledger.cancel(replyKey{id: netproto.IDAskHello})
	if l.announcesManifest(m) {
		l.ledger.expect(replyKey{id: netproto.IDComponentManifest}, reply{})
	}
	if !m.Transfers(g) {
		return nil
	}
	if g.Engine() {
		l.ledger.expect(replyKey{id: netproto.IDInitData}, reply{})
		return nil
	}
	if !l.omitsList(m) {
		l.ledger.expect(replyKey{id: netproto.IDFileList}, reply{})
	}
	if m.MaxPortion == 0 || m.MaxInFlight == 0 {
		err := fmt.Errorf("%d bytes in %d requests move nothing", m.MaxPortion, m.MaxInFlight)
		return &netproto.FormatError{Message: m.ID(), Field: "max portion", Offset: netproto.HeaderSize + maxPortionAt, Err: err}
	}
	return nil
}

// announcesManifest reports whether the server's manifest follows the answer and ours is expected: the server announces
// it, and this client has one and announced it.
func (l *link) announcesManifest(m *netproto.HandshakeAnswer) bool {
	return !l.conn.Generation().Engine() && l.opt.Manifest != nil && m.Version == netproto.VersionC1 && m.Told().Manifest
}

// omitsList reports whether no list follows the answer: this client requested that, and the server agreed.
func (l *link) omitsList(m *netproto.HandshakeAnswer) bool {
	return !l.conn.Generation().Engine() && m.Capabilities&l.opt.capabilities()&netproto.CapUnlisted != 0
}

// send writes the messages of the outbox, and a ping every PingPeriod, until the session ends.
func (l *link) send() {
	ticker := time.NewTicker(l.opt.PingPeriod)
	defer ticker.Stop()
	for {
		for batch := l.out.nextBatch(); len(batch) > 0; batch = l.out.nextBatch() {
			if err := l.conn.Write(batch...); err != nil {
				l.out.fail(err)
				l.stream.limitReading(writeGrace)
				return
			}
		}
		select {
		case <-l.done:
			return
		case <-l.out.ready:
		case <-ticker.C:
			if !l.opt.Auto || l.ledger.isAnswered() {
				l.out.addPing()
			}
		}
	}
}

const (
	// maxExcess is how many bytes of unsolicited messages a client accepts at once, and excessRate how many more each
	// second. A compressed stream can expand a thousandfold, and would otherwise only cost time.
	maxExcess  = 16 << 20
	excessRate = 64 << 10
	// leastExcess is the smallest count for one of them: a small message costs the time of so many bytes.
	leastExcess = 256
)

// allowance limits unsolicited messages.
type allowance struct {
	used float64   // bytes
	at   time.Time // when used was computed
}

// spend counts a message, of which size bytes were kept, and reports whether it is within the limit.
func (a *allowance) spend(size int, now time.Time) bool {
	a.used = max(a.used-now.Sub(a.at).Seconds()*excessRate, 0) + float64(max(size+netproto.HeaderSize, leastExcess))
	a.at = now
	return a.used <= maxExcess
}
