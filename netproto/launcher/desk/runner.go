package desk

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"collet/netproto/launcher/wire"
)

// runner connects one session to a connection, a clock and a disk. run waits for all its goroutines.
type runner struct {
	desk    *Desk
	conn    connection
	session *session
	events  chan any
	box     *outbox
	sender  *sender
	record  atomic.Pointer[deviceRecord] // nil until admitted
	oldest  atomic.Int64                 // run of a push; effects of earlier runs are not sent
	ended   chan struct{}
	pushing chan struct{} // holds one token while no push to this device runs
	running chan struct{} // the same for starts and stops

	mu      sync.Mutex
	tickets map[int]chan error // of commands in progress
	number  int                // of the last ticket

	group sync.WaitGroup // goroutines of effects
}

// eventRoom is how many events may wait for a session: enough that receiving and stepping overlap.
const eventRoom = 256

func newRunner(d *Desk, w connection) *runner {
	r := &runner{desk: d, conn: w, events: make(chan any, eventRoom), box: newOutbox(), ended: make(chan struct{}),
		pushing: make(chan struct{}, 1), running: make(chan struct{}, 1), tickets: make(map[int]chan error)}
	r.pushing <- struct{}{}
	r.running <- struct{}{}
	r.session = newSession(d.settings, w.Own() && !d.options.ReleasedOnly, time.Now())
	r.session.info.Address = w.Address()
	r.sender = &sender{conn: w, dialect: d.options.Dialect, tree: d.tree, post: r.post, run: &r.oldest}
	return r
}

// run runs the session to its end. Its end is never an error of the desk; the cause goes to the log.
func (r *runner) run(ctx context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	r.sender.linked = func(state uint8) { r.post(ctx, runEvent{state}) }
	r.group.Go(func() { cancel(r.receive(ctx)) })
	r.group.Go(func() { cancel(r.sender.loop(ctx, r.box)) })
	r.loop(ctx, cancel)
	r.session.abandon()
	close(r.ended) // pending commands see that the device is gone
	if context.Cause(ctx) == errClose {
		_ = r.conn.Close() // the device is gone either way
	}
	r.conn.Abort()
	r.group.Wait()
	r.desk.sessions.Add(-1)
	r.desk.unregister(r, context.Cause(ctx))
}

// errClose is the cause of an end that the desk requested.
var errClose = errors.New("closed by the desk")

// loop steps the session until ctx ends.
func (r *runner) loop(ctx context.Context, cancel context.CancelCauseFunc) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var event any
		select {
		case <-ctx.Done():
			return
		case event = <-r.events:
		case <-timer.C:
			event = tickEvent{}
		}
		now := time.Now()
		r.perform(ctx, cancel, r.session.step(now, event))
		for range len(r.events) { // step pending events before publishing
			r.perform(ctx, cancel, r.session.step(now, <-r.events))
		}
		if ctx.Err() != nil {
			return
		}
		r.desk.update(r)
		if wake := r.session.wake(); wake.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(max(0, wake.Sub(now)))
		}
	}
}

// post hands an event to the session, unless that has ended.
func (r *runner) post(ctx context.Context, event any) {
	select {
	case r.events <- event:
	case <-ctx.Done():
	}
}

// receive decodes until the connection ends.
func (r *runner) receive(ctx context.Context) error {
	for {
		payload, release, err := r.conn.Receive(ctx)
		if err != nil {
			return err
		}
		m, err := wire.Decode(r.desk.options.Dialect, wire.FromDevice, payload)
		release()
		if err != nil {
			r.post(ctx, brokenEvent{err})
			continue
		}
		r.post(ctx, messageEvent{m})
	}
}

// perform executes effects; slow ones run on goroutines of their own.
func (r *runner) perform(ctx context.Context, cancel context.CancelCauseFunc, effects []effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case dropEffect:
			r.oldest.Store(int64(e.run))
			r.box.drop(e.run)
		case doubtEffect:
			r.desk.saveDoubts()
		case scanEffect:
			r.group.Go(func() { r.post(ctx, r.scan(ctx, e)) })
		case hashEffect:
			r.desk.hashing.add(ctx, &r.group, func() { r.hash(ctx, e) })
		case admitEffect:
			r.group.Go(func() { r.admit(ctx, e.name) })
		case logEffect:
			r.desk.logs.add(e.line)
		case doneEffect:
			r.answer(e.ticket, e.err)
		case closeEffect:
			r.desk.options.Log.Info().Str("peer", r.conn.Address().String()).Err(e.err).Msg("device rejected")
			cancel(errClose)
		default:
			r.box.add(e)
		}
	}
}

func (r *runner) scan(ctx context.Context, e scanEffect) scanEvent {
	s, err := r.desk.scans.after(ctx, e.after, r.desk.scan)
	return scanEvent{run: e.run, scanned: s, err: err}
}

func (r *runner) hash(ctx context.Context, e hashEffect) {
	if int64(e.run) < r.oldest.Load() {
		return
	}
	hashes, err := r.desk.tree.Blocks(ctx, e.file.Path, e.block)
	r.post(ctx, hashEvent{run: e.run, path: e.file.Path, hashes: hashes, err: err})
}

// admit calls Options.Admit, and gives the device its record.
func (r *runner) admit(ctx context.Context, name string) {
	event := admittedEvent{decision: Admit}
	if ask := r.desk.options.Admit; ask != nil {
		ctx, cancel := context.WithTimeout(ctx, r.session.times.Admission)
		event.decision = ask(ctx, name, r.conn.Address())
		cancel()
	}
	if event.decision == Admit {
		event.id, event.doubts = r.desk.register(r, name)
	}
	r.post(ctx, event)
}

// call passes the session a command and waits for its end. The error is the command's, ErrDeviceGone, or ctx's; in each
// case the command has ended.
func (r *runner) call(ctx context.Context, command func(ticket int) any) error {
	answer := make(chan error, 1)
	r.mu.Lock()
	r.number++
	ticket := r.number
	r.tickets[ticket] = answer
	r.mu.Unlock()
	var todo chan<- any = r.events
	event := command(ticket)
	done := ctx.Done()
	for {
		select {
		case todo <- event:
			todo = nil
		case err := <-answer:
			return err
		case <-r.ended:
			return ErrDeviceGone
		case <-done:
			if todo != nil && ticket > 0 { // the command was never passed on
				return ctx.Err()
			}
			todo, event, done = r.events, cancelCommand{ticket}, nil
		}
	}
}

// answer ends a command.
func (r *runner) answer(ticket int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if answer := r.tickets[ticket]; answer != nil {
		answer <- err
		delete(r.tickets, ticket)
	}
}

// isOver reports whether the session has ended.
func (r *runner) isOver() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}
