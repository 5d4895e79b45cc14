package desk

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"collet/netproto/launcher/wire"
)

// maxReturns is how many connections one push uses at most.
const maxReturns = 50

// Push makes the trees of devices equal to the working copy. Each device proceeds at its own speed. When a device
// disconnects, Push waits up to Times.Return for it and resumes with what is missing. The result lists every device and every
// file that failed. The error concerns the push as a whole: *OptionError, ErrNoDevice, an unreadable working copy, or ctx's.
func (d *Desk) Push(ctx context.Context, o PushOptions) (PushResult, error) {
	if o.Start != nil {
		if err := o.Start.check(); err != nil {
			return PushResult{}, err
		}
	}
	ids, err := d.registry.find(o.Devices)
	if err != nil {
		return PushResult{}, err
	}
	began := time.Now()
	tasks := make([]*pushTask, len(ids))
	var group sync.WaitGroup
	for i, id := range ids {
		tasks[i] = newPushTask(o, began)
		d.registry.await(id, 1)
		group.Go(func() {
			defer d.registry.await(id, -1)
			d.pushTo(ctx, id, tasks[i])
		})
	}
	group.Wait()
	if err := d.tree.Save(); err != nil {
		d.options.Log.Warn().Err(err).Msg("hashes are not kept")
	}
	return collect(ctx, tasks)
}

// collect combines the results of all tasks.
func collect(ctx context.Context, tasks []*pushTask) (PushResult, error) {
	var result PushResult
	var err error
	for _, t := range tasks {
		result.Devices = append(result.Devices, t.result)
		err = errors.Join(err, t.scanErr)
		if t.ours != nil && t.ours.layout != nil {
			result.Problems, result.digest = t.ours.problems, t.ours.layout.Digest()
			result.Files, result.Bytes = len(t.ours.layout.Files()), int64(t.ours.layout.Bytes())
		}
	}
	if ctx.Err() != nil && slices.ContainsFunc(result.Devices, func(d DeviceResult) bool { return d.Err != nil }) {
		err = ctx.Err()
	}
	return result, err
}

// pushTo runs one task to its end, over as many connections as that needs.
func (d *Desk) pushTo(ctx context.Context, id string, t *pushTask) {
	t.result.Device = id
	t.result.Err = d.resumePush(ctx, id, t)
	t.result.Attempts = t.attempt
	t.result.Took = time.Since(t.began)
	if t.result.Err != nil {
		d.registry.setPush(id, func(p *PushProgress) { p.Phase, p.Problem = PushFailed, firstLine(t.result.Err) })
	}
}

// resumePush runs the task, and continues it on the next connection when one ends. The session ends a connection that hung;
// resumePush tolerates that once.
func (d *Desk) resumePush(ctx context.Context, id string, t *pushTask) error {
	limit := d.settings.times.Return
	if t.options.leave {
		limit = 0
	}
	var hung *WaitError
	for range maxReturns {
		r, err := d.registry.claim(ctx, id, limit)
		switch {
		case hung != nil && errors.Is(err, ErrDeviceGone):
			return hung
		case err != nil:
			return err
		}
		err = d.pushOver(ctx, r, t)
		r.pushing <- struct{}{}
		again := hung == nil && errors.As(err, &hung)
		if !again && !errors.Is(err, ErrDeviceGone) {
			return err
		}
		t.stuck = 0
		d.registry.setPush(id, func(p *PushProgress) { p.Phase, p.Problem = PushWaiting, "waiting for the device to come back" })
	}
	return ErrDeviceGone
}

// pushOver does a task over one connection: stop, push, start.
func (d *Desk) pushOver(ctx context.Context, r *runner, t *pushTask) error {
	start := t.options.Start
	if start != nil {
		if err := r.operate(ctx, &runOp{force: start.Force}); err != nil {
			return err
		}
	}
	err := r.call(ctx, func(ticket int) any { return pushCommand{ticket: ticket, task: t} })
	if err != nil || start == nil {
		return err
	}
	err = d.startOn(ctx, r, *start)
	t.result.Started = err == nil
	return err
}

// check rejects what the protocol can't carry.
func (o StartOptions) check() error {
	for _, f := range []struct {
		name, value string
		limit       int
	}{{"GameConfig", o.GameConfig, wire.MaxText}, {"Profile", o.Profile, wire.MaxName}, {"Arguments", o.Arguments, wire.MaxText}} {
		if len(f.value) > f.limit {
			return &OptionError{Option: f.name, Reason: "is longer than the protocol carries: shorten it"}
		}
	}
	return nil
}

// Start starts the game on devices. It returns when each device has reported the running state, failed, or exceeded
// Times.Start: then its Outcome is a *StartTimeoutError with the log lines received. The error is as that of Push.
func (d *Desk) Start(ctx context.Context, o StartOptions) ([]Outcome, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	return d.each(ctx, o.Devices, func(r *runner) error { return d.startOn(ctx, r, o) })
}

// Stop asks the game on devices to end, and kills it after Times.Stop. It returns when the devices have reported its
// end. A device without a running game is done at once. The error is as that of Push.
func (d *Desk) Stop(ctx context.Context, o StopOptions) ([]Outcome, error) {
	return d.each(ctx, o.Devices, func(r *runner) error { return r.operate(ctx, &runOp{force: o.Force}) })
}

// each does something on several devices at once.
func (d *Desk) each(ctx context.Context, devices []string, do func(*runner) error) ([]Outcome, error) {
	ids, err := d.registry.find(devices)
	if err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, len(ids))
	var group sync.WaitGroup
	for i, id := range ids {
		outcomes[i] = Outcome{Device: id, Err: ErrDeviceGone}
		if r := d.registry.connected(id); r != nil {
			group.Go(func() { outcomes[i].Err = do(r) })
		}
	}
	group.Wait()
	if !slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.Err != nil }) {
		return outcomes, nil // all was done, whether or not ctx ended meanwhile
	}
	return outcomes, ctx.Err()
}

func (d *Desk) startOn(ctx context.Context, r *runner, o StartOptions) error {
	return r.operate(ctx, &runOp{start: &o, force: o.Force})
}

// operate starts or stops the game, after any other operation on this device has ended.
func (r *runner) operate(ctx context.Context, op *runOp) error {
	select {
	case <-r.running:
	case <-r.ended:
		return ErrDeviceGone
	case <-ctx.Done():
		return ctx.Err()
	}
	err := r.call(ctx, func(ticket int) any { return runCommand{ticket: ticket, op: op} })
	r.running <- struct{}{}
	return err
}
