package device

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"collet/netproto/den"
	"collet/netproto/launcher/wire"
	"collet/platform/interrupt"
)

// deviceSession is one connection of a device. serve owns these goroutines and waits for them:
//
//	serve     receives, and sorts requests to the two below
//	work      does what needs the disk, in order
//	control   starts, stops, tells properties
//	hold      sends hash answers once the desk is quiet
//	pump      sends log lines and reports
//	announce  sends the run state again and again
//	alive     sends keep-alives
type deviceSession struct {
	device  *Device
	conn    Conn
	dialect wire.Dialect
	own     bool // our own mode is enabled
	queue   *diskQueue
	control chan wire.Message
	held    *holder
	heard   atomic.Int64 // when the last message came, nanoseconds since 1970
	broken  int

	mu       sync.Mutex
	runState *den.State // of the last link, nil before the first
	linked   chan struct{}
}

// maxBrokenDevice is how many malformed messages of a desk close the connection: a later version may send one, and a
// desk of the other dialect sends many.
const maxBrokenDevice = 100

var (
	errNotAccepted = errors.New("the desk did not accept this device in time: say yes there, or choose another name")
	errNotDesk     = errors.New("this is no remote launcher desk: look at the address")
	errTooBroken   = fmt.Errorf("the desk sent %d messages that make no sense: choose the other dialect", maxBrokenDevice)
)

func newDeviceSession(d *Device, conn Conn) *deviceSession {
	return &deviceSession{device: d, conn: conn, dialect: d.o.Dialect, queue: newDiskQueue(maxQueued),
		control: make(chan wire.Message, maxControls), held: newHolder(), linked: make(chan struct{}, 1)}
}

// serve serves the connection from the greeting to its end; err is the cause.
func (s *deviceSession) serve(ctx context.Context) (accepted bool, err error) {
	s.conn.HandleLinks(s.acceptLink)
	s.device.board.change(func(b *Status) { b.Desk = s.conn.RemoteAddr().String() })
	s.device.board.enter(ConnectionGreeting, "")
	if err = s.greet(ctx); err == nil {
		accepted = true
		err = s.converse(ctx)
	}
	if ctx.Err() != nil {
		return accepted, errors.Join(ctx.Err(), s.conn.Close())
	}
	s.conn.Abort()
	return accepted, errors.Join(err, s.conn.Close())
}

// offered is the set of features that this device offers on this connection.
func (s *deviceSession) offered() wire.Features {
	if s.conn.Protocol() == den.ProtocolCollet && s.dialect == wire.Released && !s.device.o.ReleasedOnly {
		return wire.FeatureCollet
	}
	return 0
}

// greet requests access and waits until the desk grants it. Other messages are ignored meanwhile.
func (s *deviceSession) greet(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, greetingTime, errNotAccepted)
	defer cancel()
	err := s.send(ctx, &wire.ConnectRequest{SupportedFeatures: s.offered(), Name: s.device.o.Name})
	for err == nil {
		var m den.Message
		if m, err = s.conn.Receive(ctx); err != nil {
			break
		}
		decoded, wrong := wire.Decode(s.dialect, wire.FromDesk, m.Payload)
		m.Release()
		var fault *wire.FormatError
		if errors.As(wrong, &fault) && fault.Code == wire.CodeConnectAccepted {
			return errors.Join(errNotDesk, wrong)
		}
		if accepted, is := decoded.(*wire.ConnectAccepted); is {
			s.own = accepted.EnabledFeatures&s.offered()&wire.FeatureCollet != 0
			return nil
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// converse serves an accepted connection until it ends.
func (s *deviceSession) converse(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.device.board.change(func(b *Status) { b.Own = s.own })
	s.device.board.enter(ConnectionUp, "")
	s.heard.Store(time.Now().UnixNano())
	var serving sync.WaitGroup
	for _, part := range []func(context.Context) error{s.work, s.executeControls, s.sendHeldAnswers, s.sendLogs, s.sendRunStates, s.sendKeepAlives} {
		serving.Go(func() {
			if err := part(ctx); err != nil {
				cancel(err)
			}
		})
	}
	cancel(s.receive(ctx))
	serving.Wait()
	return context.Cause(ctx)
}

// receive dispatches messages until the connection ends.
func (s *deviceSession) receive(ctx context.Context) error {
	for {
		m, err := s.conn.Receive(ctx)
		if err != nil {
			return err
		}
		s.heard.Store(time.Now().UnixNano())
		decoded, err := wire.Decode(s.dialect, wire.FromDesk, m.Payload)
		if err != nil {
			if s.broken++; s.broken >= maxBrokenDevice {
				return errTooBroken
			}
			s.device.o.Log.Warn().Err(err).Msg("malformed message of the desk")
			continue
		}
		if err := s.dispatch(ctx, decoded, m); err != nil {
			return err
		}
	}
}

// dispatch passes a message to its goroutine. It blocks while too much waits for the disk.
func (s *deviceSession) dispatch(ctx context.Context, m wire.Message, raw den.Message) error {
	switch m := m.(type) {
	case *wire.Unknown, *wire.ConnectAccepted, *wire.KeepAlive:
		return nil
	case *wire.StartApplication, *wire.StopApplication, *wire.RequestSystemProperty:
		select {
		case s.control <- m:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	case *wire.RequestFileBlockHashes:
		s.held.requestArrived()
	}
	return s.queue.put(ctx, diskJob{message: m, size: len(raw.Payload), done: raw.Release})
}

// send sends a message.
func (s *deviceSession) send(ctx context.Context, m wire.Message) error {
	data, err := wire.Encode(s.dialect, m)
	if err != nil {
		return err
	}
	return s.conn.Send(ctx, data)
}

// executeControls handles requests about the application.
func (s *deviceSession) executeControls(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case m := <-s.control:
			if err := s.executeControl(ctx, m); err != nil {
				return err
			}
		}
	}
}

func (s *deviceSession) executeControl(ctx context.Context, m wire.Message) error {
	switch m := m.(type) {
	case *wire.StartApplication:
		s.device.o.Log.Info().Str("profile", m.ProfileName).Msg("the desk starts the application")
		_ = s.device.app.start(StartRequest{GameConfig: m.GameConfig, Profile: m.ProfileName, Arguments: m.Arguments}) // reported in the log
	case *wire.StopApplication:
		s.device.app.stop(m.Mode)
	case *wire.RequestSystemProperty:
		return s.send(ctx, &wire.ResponseSystemProperty{Property: m.Property, Value: s.device.property(m.Property)})
	}
	return nil
}

// sendKeepAlives sends a keep-alive whenever nothing came for a while. A desk of the Draft dialect ignores it as unknown; without
// it neither side would notice that the other is gone.
func (s *deviceSession) sendKeepAlives(ctx context.Context) error {
	last := time.Now()
	for {
		if heard := time.Unix(0, s.heard.Load()); heard.After(last) {
			last = heard
		}
		wait := aliveAfter - time.Since(last)
		if wait <= 0 {
			if err := s.send(ctx, &wire.KeepAlive{}); err != nil {
				return err
			}
			last = time.Now()
			continue
		}
		if interrupt.Sleep(ctx, wait) != nil {
			return nil
		}
	}
}

// acceptLink answers a link of the desk. The connection calls it.
func (s *deviceSession) acceptLink(message []byte) *den.State {
	if len(message) == 0 || message[0] != wire.LinkRunState {
		return nil
	}
	state := den.NewState(den.Uint8(wire.RunStopped))
	state.OnChange(func(int) { signal(s.linked) })
	s.mu.Lock()
	s.runState = state
	s.mu.Unlock()
	signal(s.linked)
	return state
}

// sendRunStates sends the run state several times after each change of the state or of the link, after each write by the
// desk, and periodically. The desk's initial value overwrites ours, and a value equal to the last one would not be sent
// (docs/PROTOCOL.md, "Two dialects").
func (s *deviceSession) sendRunStates(ctx context.Context) error {
	for {
		for i, after := range announceAfter() {
			if s.waitChange(ctx, after) {
				break
			}
			s.sendRunState()
			if i == len(announceAfter())-1 {
				s.waitChange(ctx, aliveAfter)
			}
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// waitChange waits for a change of the run state or its link, or the end of ctx. It returns false after d.
func (s *deviceSession) waitChange(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-s.linked:
	case <-s.device.state:
	case <-timer.C:
		return false
	}
	return true
}

func (s *deviceSession) sendRunState() {
	s.mu.Lock()
	state := s.runState
	s.mu.Unlock()
	if state == nil {
		return
	}
	value := wire.RunStopped
	if phase := s.device.app.now(); phase == PhaseRunning || phase == PhaseStopping {
		value = wire.RunRunning
	}
	if err := state.Set(0, den.Uint8(value)); err != nil {
		s.device.o.Log.Error().Err(err).Msg("the run state is not told")
	}
	state.Resend(0)
}
