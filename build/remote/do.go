package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"collet/netproto/launcher/desk"
	"collet/platform/interrupt"
)

const (
	// gather is how long a new station waits for more devices after the first one: the longest time in which a device notices a desk.
	gather = 1500 * time.Millisecond
	// lastWords is how long logs are still read after the last game ended, since its last lines may be in transit.
	lastWords = 400 * time.Millisecond
	// stopTime is the time limit for games to end after an interrupt: the desk's limit and a margin.
	stopTime = 20 * time.Second
)

// teller passes events to one request's listener, one at a time.
type teller struct {
	mu   sync.Mutex
	emit func(Event)
}

func (t *teller) tell(e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	t.emit(e)
}

func (t *teller) note(format string, args ...any) {
	t.tell(Event{Kind: KindNote, Text: fmt.Sprintf(format, args...)})
}

// Do implements Doer.
func (s *Station) Do(ctx context.Context, r Request, emit func(Event)) error {
	if err := s.check(r); err != nil {
		return err
	}
	t := &teller{emit: emit}
	t.tell(Event{Kind: KindDesk, Desk: &Desk{s.options.Root, s.address.String(), s.options.Own}})
	switch r.Do {
	case VerbDevices:
		return fail(s.devices(ctx, r, t))
	case VerbLogs:
		return fail(s.logs(ctx, r, t))
	}
	if err := s.describe(&r); err != nil {
		return fail(err)
	}
	ids, err := s.await(ctx, r, t)
	if err != nil {
		return fail(err)
	}
	if r.Do != VerbWatch || len(r.Devices) > 0 {
		r.Devices = ids // a watch without names includes devices that connect later
	}
	switch r.Do {
	case VerbPush:
		err = s.push(ctx, r, t)
	case VerbWatch:
		err = s.watch(ctx, r, t)
	case VerbStart:
		err = s.start(ctx, r, t)
	case VerbStop:
		err = s.stop(ctx, r, t)
	}
	return fail(err)
}

// check refuses requests that this station can't do.
func (s *Station) check(r Request) error {
	switch {
	case !slices.Contains([]Verb{VerbPush, VerbWatch, VerbStart, VerbStop, VerbLogs, VerbDevices}, r.Do):
		return failure(FaultUsage, "this desk does not know %q; start it again with this version of collet", r.Do)
	case r.Root != "" && r.Root != s.options.Root:
		return failure(FaultUsage, "the desk on %s serves %s and not %s; end it, or take another address with --listen", s.options.Address, s.options.Root, r.Root)
	case r.Do == VerbStart && r.Launch == nil:
		return failure(FaultUsage, "a start that does not say how")
	}
	return nil
}

// describe adds the working copy's description to a start without one.
func (s *Station) describe(r *Request) error {
	if r.Launch == nil || r.Launch.Config != "" {
		return nil
	}
	launch := *r.Launch
	text, _, err := GameConfig(s.options.Root, "")
	if err != nil {
		return failure(FaultUsage, "%v", err)
	}
	launch.Config, r.Launch = text, &launch
	return nil
}

// watcher subscribes and returns a function that handles events until ctx ends.
type watcher func(ctx context.Context) (run func())

// beside subscribes the watchers before work begins and runs them until it is done, also while it ends after an interrupt.
func beside(ctx context.Context, work func() error, watchers ...watcher) error {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var all sync.WaitGroup
	for _, w := range watchers {
		all.Go(w(inner))
	}
	err := work()
	cancel()
	all.Wait()
	return err
}

// push synchronizes devices with the working copy and starts the game if requested.
func (s *Station) push(ctx context.Context, r Request, t *teller) error {
	work := func() error {
		begun := time.Now()
		result, err := s.desk.Push(ctx, r.pushOptions(r.Launch != nil))
		s.pushed(result, err, time.Since(begun), t)
		if err == nil {
			err = unpushed(result)
		}
		if r.Launch == nil {
			return err
		}
		return errors.Join(err, s.follow(ctx, r, started(result), t))
	}
	return beside(ctx, work, s.watchers(r, r.Launch != nil, t)...)
}

// watchers reports device changes, and logs if requested.
func (s *Station) watchers(r Request, logs bool, t *teller) []watcher {
	watchers := []watcher{func(ctx context.Context) func() {
		changes := s.desk.Changes(ctx)
		return func() { s.tellDevices(ctx, changes, r.Devices, t) }
	}}
	if logs {
		watchers = append(watchers, func(ctx context.Context) func() {
			lines := s.desk.Logs(ctx, r.Devices...)
			return func() { tellLogs(lines, t) }
		})
	}
	return watchers
}

// watch pushes after every change until it is cancelled, which is its regular end.
func (s *Station) watch(ctx context.Context, r Request, t *teller) error {
	started := map[string]bool{}
	each := func(result desk.PushResult, err error) {
		s.pushed(result, err, 0, t)
		if r.Launch != nil && !r.Restart {
			s.startOnce(ctx, r, result, started, t)
		}
	}
	work := func() error {
		options := desk.WatchOptions{Push: r.pushOptions(r.Restart && r.Launch != nil), Each: each}
		if err := s.desk.Watch(ctx, options); err != nil {
			return err
		}
		if err := s.stopAtEnd(ctx, r, s.running(r.Devices), t); err != nil {
			return err
		}
		return ctx.Err()
	}
	return beside(ctx, work, s.watchers(r, true, t)...)
}

// running returns those of ids on which a game runs; no ids means all devices.
func (s *Station) running(ids []string) (running []string) {
	for _, d := range s.desk.Devices() {
		if d.Running && (len(ids) == 0 || slices.Contains(ids, d.ID)) {
			running = append(running, d.ID)
		}
	}
	return running
}

// startOnce starts the game on devices that are complete for the first time in a watch.
func (s *Station) startOnce(ctx context.Context, r Request, result desk.PushResult, started map[string]bool, t *teller) {
	var ids []string
	for _, d := range result.Devices {
		if d.Err == nil && !started[d.Device] {
			ids = append(ids, d.Device)
			started[d.Device] = true
		}
	}
	if len(ids) == 0 {
		return
	}
	r.Devices = ids
	if _, err := s.launch(ctx, r, t); err != nil && ctx.Err() == nil {
		t.note("the game is not started: %v", err)
	}
}

// start starts the game.
func (s *Station) start(ctx context.Context, r Request, t *teller) error {
	work := func() error {
		ids, err := s.launch(ctx, r, t)
		return errors.Join(err, s.follow(ctx, r, ids, t))
	}
	return beside(ctx, work, s.watchers(r, true, t)...)
}

// launch starts the game on r.Devices and returns the devices on which it runs.
func (s *Station) launch(ctx context.Context, r Request, t *teller) (running []string, err error) {
	options := r.startOptions()
	options.Devices = r.Devices
	outcomes, err := s.desk.Start(ctx, *options)
	var failed []string
	for _, o := range outcomes {
		t.tell(resultOf(VerbStart, o))
		if o.Err != nil {
			failed = append(failed, o.Device)
			continue
		}
		running = append(running, o.Device)
	}
	if err == nil && len(failed) > 0 {
		err = failure(FaultNotStarted, "the game did not start on %s", strings.Join(failed, ", "))
	}
	return running, err
}

// stop stops the game.
func (s *Station) stop(ctx context.Context, r Request, t *teller) error {
	return beside(ctx, func() error {
		outcomes, err := s.desk.Stop(ctx, desk.StopOptions{Devices: r.Devices, Force: r.Force})
		return errors.Join(err, stopped(outcomes, t))
	}, s.watchers(r, true, t)...)
}

// stopped reports the results of stops.
func stopped(outcomes []desk.Outcome, t *teller) error {
	var failed []string
	for _, o := range outcomes {
		t.tell(resultOf(VerbStop, o))
		if o.Err != nil {
			failed = append(failed, o.Device)
		}
	}
	if len(failed) > 0 {
		return failure(FaultDevice, "the game may still run on %s", strings.Join(failed, ", "))
	}
	return nil
}

// follow waits until the games on devices have ended. When ctx ends it stops them, if the request says so; the end of ctx is not a failure
// then.
func (s *Station) follow(ctx context.Context, r Request, ids []string, t *teller) error {
	if !r.Follow || len(ids) == 0 {
		return nil
	}
	for range s.desk.Changes(ctx) {
		if !s.anyRuns(ids) {
			_ = interrupt.Sleep(ctx, lastWords)
			return s.ended(ids)
		}
	}
	if !s.anyRuns(ids) {
		return s.ended(ids)
	}
	return s.stopAtEnd(ctx, r, ids, t)
}

// ended returns an error for games that failed, where their devices report how they ended.
func (s *Station) ended(ids []string) error {
	var failed []string
	for _, d := range s.desk.Devices() {
		if slices.Contains(ids, d.ID) && d.End.Exit > 0 {
			failed = append(failed, d.ID+": it "+d.End.Text)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return failure(FaultGame, "the game did not end well on %s; its log is above", strings.Join(failed, "; "))
}

func (s *Station) anyRuns(ids []string) bool {
	return slices.ContainsFunc(s.desk.Devices(), func(d desk.DeviceInfo) bool { return d.Running && slices.Contains(ids, d.ID) })
}

// stopAtEnd stops games, if the request says so, when the request that started them is interrupted. The error is that of stopping them.
func (s *Station) stopAtEnd(ctx context.Context, r Request, ids []string, t *teller) error {
	if r.Launch == nil || len(ids) == 0 || !s.anyRuns(ids) {
		return nil
	}
	if !r.StopAtEnd {
		t.note("the game goes on on the devices; stop it with collet remote stop, or by hand there")
		return nil
	}
	t.note("stopping the game")
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	outcomes, err := s.desk.Stop(late, desk.StopOptions{Devices: ids})
	return errors.Join(err, stopped(outcomes, t))
}

// pushOptions returns the push options of a request.
func (r Request) pushOptions(start bool) desk.PushOptions {
	o := desk.PushOptions{Devices: r.Devices, DeleteIgnored: r.DeleteIgnored}
	if start {
		o.Start = r.startOptions()
	}
	return o
}

func (r Request) startOptions() *desk.StartOptions {
	return &desk.StartOptions{
		GameConfig: r.Launch.Config, Profile: r.Launch.Profile, Arguments: r.Launch.Arguments, Restart: r.Restart, Force: r.Force,
	}
}
