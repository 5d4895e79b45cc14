package remote

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"collet/netproto/launcher/desk"
	"collet/platform/interrupt"
)

// reportEvery is the interval of progress events.
const reportEvery = 100 * time.Millisecond

// awaitDevices waits for the devices of a request and returns their ids.
func (k *task) awaitDevices(ctx context.Context) ([]string, error) {
	if ids, enough := k.connected(); enough && !k.own {
		return ids, nil
	}
	k.out.note("waiting for devices on %s; on a device: collet-client --remote-launcher ADDRESS --name NAME", k.address)
	late, cancel := context.WithTimeout(ctx, max(k.request.Wait, 0))
	defer cancel()
	var since time.Time // when enough devices were connected for the first time
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	for {
		ids, enough := k.connected()
		if enough && since.IsZero() {
			since = time.Now()
		}
		exact := len(k.request.Devices) > 0 || k.request.AtLeast > 0
		if enough && (exact || !k.own || time.Since(since) >= gather) {
			return ids, nil
		}
		select {
		case <-tick.C:
		case <-late.Done():
			if ids, enough := k.connected(); enough {
				return ids, nil
			}
			return nil, k.missingDevices(ctx)
		}
	}
}

// connected returns the ids of the connected devices that a request selects, and whether they are enough.
func (k *task) connected() (ids []string, enough bool) {
	found := map[string]bool{}
	for _, d := range k.desk.Devices() {
		if !d.Connected {
			continue
		}
		for _, wanted := range k.request.Devices {
			found[wanted] = found[wanted] || d.ID == wanted || d.Name == wanted
		}
		if len(k.request.Devices) == 0 || slices.Contains(k.request.Devices, d.ID) || slices.Contains(k.request.Devices, d.Name) {
			ids = append(ids, d.ID)
		}
	}
	for _, wanted := range k.request.Devices {
		if !found[wanted] {
			return ids, false
		}
	}
	return ids, len(ids) >= max(k.request.AtLeast, 1)
}

// missingDevices returns the failure of a request whose devices did not connect.
func (k *task) missingDevices(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	ids, _ := k.connected()
	there := "none is there"
	if len(ids) > 0 {
		there = "there are only " + strings.Join(ids, ", ")
	}
	what := "no device came"
	if len(k.request.Devices) > 0 {
		what = "not every device came of " + strings.Join(k.request.Devices, ", ")
	} else if k.request.AtLeast > 1 {
		what = "not enough devices came"
	}
	return failure(FaultNoDevice, "%s to %s within %v, %s; start them with collet-client --remote-launcher ADDRESS --name NAME, or wait longer with --wait",
		what, k.address, k.request.Wait, there)
}

// reportAll reports the connected devices; with Follow, also changes.
func (k *task) reportAll(ctx context.Context) error {
	if k.request.Wait > 0 {
		if _, err := k.awaitDevices(ctx); err != nil {
			return err
		}
	}
	if k.request.Follow {
		k.reportDevices(ctx, k.desk.Changes(ctx))
		return ctx.Err()
	}
	for _, d := range k.desk.Devices() {
		k.out.device(d)
	}
	return nil
}

// reportLogs reports log lines, and with Follow also device changes.
func (k *task) reportLogs(ctx context.Context) error {
	for _, d := range k.desk.Devices() {
		if len(k.request.Devices) > 0 && !slices.Contains(k.request.Devices, d.ID) && !slices.Contains(k.request.Devices, d.Name) {
			continue
		}
		tail := k.desk.LogTail(d.ID)
		for _, line := range tail[max(len(tail)-k.request.Tail, 0):] {
			k.out.line(line)
		}
	}
	if !k.request.Follow {
		return nil
	}
	work := func() error { <-ctx.Done(); return ctx.Err() }
	return beside(ctx, work, k.watchers(true)...)
}

// reportDevices reports device changes until ctx ends. Without names in the request it includes all devices, also later ones.
func (k *task) reportDevices(ctx context.Context, changes <-chan struct{}) {
	last := map[string]desk.DeviceInfo{}
	for range changes {
		k.reportChanges(last)
		_ = interrupt.Sleep(ctx, reportEvery) // the loop checks ctx
	}
	k.reportChanges(last)
}

func (k *task) reportChanges(last map[string]desk.DeviceInfo) {
	seen, ids := map[string]bool{}, k.request.Devices
	for _, d := range k.desk.Devices() {
		if len(ids) > 0 && !slices.Contains(ids, d.ID) && !slices.Contains(ids, d.Name) {
			continue
		}
		before, known := last[d.ID]
		seen[d.ID], last[d.ID] = true, d
		if !known || before.Connected != d.Connected || before.Running != d.Running {
			k.out.device(d)
		}
		if before.Push != d.Push && d.Push.Phase != desk.PushIdle && d.Push.Phase != "" {
			p := progressOf(d.Push)
			k.out.report(Event{Kind: KindProgress, Device: d.ID, Progress: &p})
		}
	}
	for id, d := range last {
		if !seen[id] {
			delete(last, id)
			d.Connected, d.Running = false, false
			k.out.device(d)
		}
	}
}

func (out *reporter) device(d desk.DeviceInfo) {
	info := deviceOf(d)
	out.report(Event{Kind: KindDevice, Device: d.ID, Info: &info})
}

func forwardLogs(lines <-chan desk.LogLine, out *reporter) {
	for line := range lines {
		out.line(line)
	}
}

func (out *reporter) line(l desk.LogLine) {
	out.report(Event{Kind: KindLog, Time: l.Time, Device: l.Device, Log: &Line{l.Level.String(), l.Source, l.Text, l.Lost}})
}

// reportPush reports the end of a push.
func (k *task) reportPush(result desk.PushResult, err error, took time.Duration) {
	for _, p := range result.Problems {
		k.out.report(Event{Kind: KindProblem, Path: p.Path, Error: p.Err.Error()})
	}
	for _, d := range result.Devices {
		e := Event{Kind: KindResult, Device: d.Device, Result: &Result{
			Do: VerbPush, OK: d.Err == nil, Written: d.Written, Deleted: d.Deleted, Blocks: d.Blocks, BytesSent: d.BytesSent,
			Attempts: d.Attempts, Took: d.Took, Started: d.Started,
		}}
		if d.Err != nil {
			e.Error, e.Fault = inWords(d.Err), faultOf(d.Err)
		}
		k.out.report(e)
	}
	end := Event{Kind: KindPushed, Result: &Result{Do: VerbPush, OK: err == nil && unpushed(result) == nil, Took: took}}
	if err != nil && !errors.Is(err, context.Canceled) {
		end.Error = err.Error()
	}
	k.out.report(end)
}

// unpushed returns the failure of a push that failed on some devices.
func unpushed(result desk.PushResult) error {
	var failed []string
	fault := FaultDevice
	for _, d := range result.Devices {
		if d.Err != nil {
			failed = append(failed, d.Device)
			fault = faultOf(d.Err)
		}
	}
	switch {
	case len(failed) == 0:
		return nil
	case fault == FaultNotStarted:
		return failure(fault, "everything is there, and the game did not start on %s", strings.Join(failed, ", "))
	}
	return failure(fault, "the push did not reach %s; what arrived stays, and the next push goes on from there", strings.Join(failed, ", "))
}

// started returns the devices on which a push has started the game.
func started(result desk.PushResult) (ids []string) {
	for _, d := range result.Devices {
		if d.Started {
			ids = append(ids, d.Device)
		}
	}
	return ids
}

// inWords formats an error for a person.
func inWords(err error) string {
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	return err.Error()
}

// opStart is desk.DeviceError.Op of a start.
const opStart = "start"

func faultOf(err error) Fault {
	var late *desk.StartTimeoutError
	var told *desk.DeviceError
	if errors.Is(err, context.Canceled) {
		return FaultCancelled
	}
	if errors.As(err, &late) || errors.Is(err, desk.ErrRunning) || errors.As(err, &told) && told.Op == opStart {
		return FaultNotStarted
	}
	return FaultDevice
}

func resultOf(do Verb, o desk.Outcome) Event {
	e := Event{Kind: KindResult, Device: o.Device, Result: &Result{Do: do, OK: o.Err == nil}}
	if o.Err != nil {
		e.Error, e.Fault = inWords(o.Err), faultOf(o.Err)
	}
	return e
}
