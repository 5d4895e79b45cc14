package remote

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
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

// reporter passes events to one request's listener, one at a time.
type reporter struct {
	mu   sync.Mutex
	emit func(Event)
}

func (out *reporter) report(e Event) {
	out.mu.Lock()
	defer out.mu.Unlock()
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	out.emit(e)
}

func (out *reporter) note(format string, args ...any) {
	out.report(Event{Kind: KindNote, Text: fmt.Sprintf(format, args...)})
}

// task is the execution of one request.
type task struct {
	desk    controller
	address netip.AddrPort // listen address of the desk
	own     bool           // the station lives for this request only
	request Request
	out     *reporter
}

// Do implements Doer.
func (s *Station) Do(ctx context.Context, r Request, emit func(Event)) error {
	if err := s.check(r); err != nil {
		return err
	}
	k := &task{desk: s.desk, address: s.address, own: s.options.Own, request: r, out: &reporter{emit: emit}}
	k.out.report(Event{Kind: KindDesk, Desk: &Desk{s.options.Root, s.address.String(), s.options.Own}})
	switch r.Do {
	case VerbDevices:
		return fail(k.reportAll(ctx))
	case VerbLogs:
		return fail(k.reportLogs(ctx))
	}
	if err := s.describe(&k.request); err != nil {
		return fail(err)
	}
	ids, err := k.awaitDevices(ctx)
	if err != nil {
		return fail(err)
	}
	if r.Do != VerbWatch || len(r.Devices) > 0 {
		k.request.Devices = ids // a watch without names includes devices that connect later
	}
	switch r.Do {
	case VerbPush:
		err = k.push(ctx)
	case VerbWatch:
		err = k.watch(ctx)
	case VerbStart:
		err = k.start(ctx)
	case VerbStop:
		err = k.stop(ctx)
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
func (k *task) push(ctx context.Context) error {
	work := func() error {
		begun := time.Now()
		result, err := k.desk.Push(ctx, k.request.pushOptions(k.request.Launch != nil))
		k.reportPush(result, err, time.Since(begun))
		if err == nil {
			err = unpushed(result)
		}
		if k.request.Launch == nil {
			return err
		}
		return errors.Join(err, k.follow(ctx, started(result)))
	}
	return beside(ctx, work, k.watchers(k.request.Launch != nil)...)
}

// watchers reports device changes, and logs if requested.
func (k *task) watchers(logs bool) []watcher {
	watchers := []watcher{func(ctx context.Context) func() {
		changes := k.desk.Changes(ctx)
		return func() { k.reportDevices(ctx, changes) }
	}}
	if logs {
		watchers = append(watchers, func(ctx context.Context) func() {
			lines := k.desk.Logs(ctx, k.request.Devices...)
			return func() { forwardLogs(lines, k.out) }
		})
	}
	return watchers
}

// watch pushes after every change until it is cancelled, which is its regular end.
func (k *task) watch(ctx context.Context) error {
	started := map[string]bool{}
	each := func(result desk.PushResult, err error) {
		k.reportPush(result, err, 0)
		if k.request.Launch != nil && !k.request.Restart {
			k.startOnce(ctx, result, started)
		}
	}
	work := func() error {
		options := desk.WatchOptions{Push: k.request.pushOptions(k.request.Restart && k.request.Launch != nil), Each: each}
		if err := k.desk.Watch(ctx, options); err != nil {
			return err
		}
		if err := k.stopAtEnd(ctx, k.running(k.request.Devices)); err != nil {
			return err
		}
		return ctx.Err()
	}
	return beside(ctx, work, k.watchers(true)...)
}

// running returns those of ids on which a game runs; no ids means all devices.
func (k *task) running(ids []string) (running []string) {
	for _, d := range k.desk.Devices() {
		if d.Running && (len(ids) == 0 || slices.Contains(ids, d.ID)) {
			running = append(running, d.ID)
		}
	}
	return running
}

// startOnce starts the game on devices that are complete for the first time in a watch.
func (k *task) startOnce(ctx context.Context, result desk.PushResult, started map[string]bool) {
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
	if _, err := k.launch(ctx, ids); err != nil && ctx.Err() == nil {
		k.out.note("the game is not started: %v", err)
	}
}

// start starts the game.
func (k *task) start(ctx context.Context) error {
	work := func() error {
		ids, err := k.launch(ctx, k.request.Devices)
		return errors.Join(err, k.follow(ctx, ids))
	}
	return beside(ctx, work, k.watchers(true)...)
}

// launch starts the game on devices and returns the devices on which it runs.
func (k *task) launch(ctx context.Context, devices []string) (running []string, err error) {
	options := k.request.startOptions()
	options.Devices = devices
	outcomes, err := k.desk.Start(ctx, *options)
	var failed []string
	for _, o := range outcomes {
		k.out.report(resultOf(VerbStart, o))
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
func (k *task) stop(ctx context.Context) error {
	return beside(ctx, func() error {
		outcomes, err := k.desk.Stop(ctx, desk.StopOptions{Devices: k.request.Devices, Force: k.request.Force})
		return errors.Join(err, reportStops(outcomes, k.out))
	}, k.watchers(true)...)
}

// reportStops reports the results of stops.
func reportStops(outcomes []desk.Outcome, out *reporter) error {
	var failed []string
	for _, o := range outcomes {
		out.report(resultOf(VerbStop, o))
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
func (k *task) follow(ctx context.Context, ids []string) error {
	if !k.request.Follow || len(ids) == 0 {
		return nil
	}
	for range k.desk.Changes(ctx) {
		if !k.anyRuns(ids) {
			_ = interrupt.Sleep(ctx, lastWords)
			return k.gameFailures(ids)
		}
	}
	if !k.anyRuns(ids) {
		return k.gameFailures(ids)
	}
	return k.stopAtEnd(ctx, ids)
}

// gameFailures returns an error for games that failed, where their devices report how they ended.
func (k *task) gameFailures(ids []string) error {
	var failed []string
	for _, d := range k.desk.Devices() {
		if slices.Contains(ids, d.ID) && d.End.Exit > 0 {
			failed = append(failed, d.ID+": it "+d.End.Text)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return failure(FaultGame, "the game did not end well on %s; its log is above", strings.Join(failed, "; "))
}

func (k *task) anyRuns(ids []string) bool {
	return slices.ContainsFunc(k.desk.Devices(), func(d desk.DeviceInfo) bool { return d.Running && slices.Contains(ids, d.ID) })
}

// stopAtEnd stops games, if the request says so, when the request that started them is interrupted. The error is that of stopping them.
func (k *task) stopAtEnd(ctx context.Context, ids []string) error {
	if k.request.Launch == nil || len(ids) == 0 || !k.anyRuns(ids) {
		return nil
	}
	if !k.request.StopAtEnd {
		k.out.note("the game goes on on the devices; stop it with collet remote stop, or by hand there")
		return nil
	}
	k.out.note("stopping the game")
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	outcomes, err := k.desk.Stop(late, desk.StopOptions{Devices: ids})
	return errors.Join(err, reportStops(outcomes, k.out))
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
