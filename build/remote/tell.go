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

// tellEvery is the interval of progress events.
const tellEvery = 100 * time.Millisecond

// await waits for the devices of a request and returns their ids.
func (s *Station) await(ctx context.Context, r Request, t *teller) ([]string, error) {
	if ids, enough := s.present(r); enough && !s.options.Own {
		return ids, nil
	}
	t.note("waiting for devices on %s; on a device: collet-client --remote-launcher ADDRESS --name NAME", s.address)
	late, cancel := context.WithTimeout(ctx, max(r.Wait, 0))
	defer cancel()
	var since time.Time // when enough devices were connected for the first time
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	for {
		ids, enough := s.present(r)
		if enough && since.IsZero() {
			since = time.Now()
		}
		exact := len(r.Devices) > 0 || r.AtLeast > 0
		if enough && (exact || !s.options.Own || time.Since(since) >= gather) {
			return ids, nil
		}
		select {
		case <-tick.C:
		case <-late.Done():
			if ids, enough := s.present(r); enough {
				return ids, nil
			}
			return nil, s.missing(ctx, r)
		}
	}
}

// present returns the ids of the connected devices that a request selects, and whether they are enough.
func (s *Station) present(r Request) (ids []string, enough bool) {
	found := map[string]bool{}
	for _, d := range s.desk.Devices() {
		if !d.Connected {
			continue
		}
		for _, wanted := range r.Devices {
			found[wanted] = found[wanted] || d.ID == wanted || d.Name == wanted
		}
		if len(r.Devices) == 0 || slices.Contains(r.Devices, d.ID) || slices.Contains(r.Devices, d.Name) {
			ids = append(ids, d.ID)
		}
	}
	for _, wanted := range r.Devices {
		if !found[wanted] {
			return ids, false
		}
	}
	return ids, len(ids) >= max(r.AtLeast, 1)
}

// missing returns the failure of a request whose devices did not connect.
func (s *Station) missing(ctx context.Context, r Request) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	ids, _ := s.present(r)
	there := "none is there"
	if len(ids) > 0 {
		there = "there are only " + strings.Join(ids, ", ")
	}
	what := "no device came"
	if len(r.Devices) > 0 {
		what = "not every device came of " + strings.Join(r.Devices, ", ")
	} else if r.AtLeast > 1 {
		what = "not enough devices came"
	}
	return failure(FaultNoDevice, "%s to %s within %v, %s; start them with collet-client --remote-launcher ADDRESS --name NAME, or wait longer with --wait",
		what, s.address, r.Wait, there)
}

// devices reports the connected devices; with Follow, also changes.
func (s *Station) devices(ctx context.Context, r Request, t *teller) error {
	if r.Wait > 0 {
		if _, err := s.await(ctx, r, t); err != nil {
			return err
		}
	}
	if r.Follow {
		s.tellDevices(ctx, s.desk.Changes(ctx), r.Devices, t)
		return ctx.Err()
	}
	for _, d := range s.desk.Devices() {
		t.device(d)
	}
	return nil
}

// logs reports log lines, and with Follow also device changes.
func (s *Station) logs(ctx context.Context, r Request, t *teller) error {
	for _, d := range s.desk.Devices() {
		if len(r.Devices) > 0 && !slices.Contains(r.Devices, d.ID) && !slices.Contains(r.Devices, d.Name) {
			continue
		}
		tail := s.desk.LogTail(d.ID)
		for _, line := range tail[max(len(tail)-r.Tail, 0):] {
			t.line(line)
		}
	}
	if !r.Follow {
		return nil
	}
	work := func() error { <-ctx.Done(); return ctx.Err() }
	return beside(ctx, work, s.watchers(r, true, t)...)
}

// tellDevices reports device changes until ctx ends. Without ids it includes all devices, also later ones.
func (s *Station) tellDevices(ctx context.Context, changes <-chan struct{}, ids []string, t *teller) {
	last := map[string]desk.DeviceInfo{}
	for range changes {
		s.tellChanged(last, ids, t)
		_ = interrupt.Sleep(ctx, tellEvery) // the loop checks ctx
	}
	s.tellChanged(last, ids, t)
}

func (s *Station) tellChanged(last map[string]desk.DeviceInfo, ids []string, t *teller) {
	seen := map[string]bool{}
	for _, d := range s.desk.Devices() {
		if len(ids) > 0 && !slices.Contains(ids, d.ID) && !slices.Contains(ids, d.Name) {
			continue
		}
		before, known := last[d.ID]
		seen[d.ID], last[d.ID] = true, d
		if !known || before.Connected != d.Connected || before.Running != d.Running {
			t.device(d)
		}
		if before.Push != d.Push && d.Push.Phase != desk.PushIdle && d.Push.Phase != "" {
			p := progressOf(d.Push)
			t.tell(Event{Kind: KindProgress, Device: d.ID, Progress: &p})
		}
	}
	for id, d := range last {
		if !seen[id] {
			delete(last, id)
			d.Connected, d.Running = false, false
			t.device(d)
		}
	}
}

func (t *teller) device(d desk.DeviceInfo) {
	info := deviceOf(d)
	t.tell(Event{Kind: KindDevice, Device: d.ID, Info: &info})
}

func tellLogs(lines <-chan desk.LogLine, t *teller) {
	for line := range lines {
		t.line(line)
	}
}

func (t *teller) line(l desk.LogLine) {
	t.tell(Event{Kind: KindLog, Time: l.Time, Device: l.Device, Log: &Line{l.Level.String(), l.Source, l.Text, l.Lost}})
}

// pushed reports the end of a push.
func (s *Station) pushed(result desk.PushResult, err error, took time.Duration, t *teller) {
	for _, p := range result.Problems {
		t.tell(Event{Kind: KindProblem, Path: p.Path, Error: p.Err.Error()})
	}
	for _, d := range result.Devices {
		e := Event{Kind: KindResult, Device: d.Device, Result: &Result{
			Do: VerbPush, OK: d.Err == nil, Written: d.Written, Deleted: d.Deleted, Blocks: d.Blocks, BytesSent: d.BytesSent,
			Attempts: d.Attempts, Took: d.Took, Started: d.Started,
		}}
		if d.Err != nil {
			e.Error, e.Fault = inWords(d.Err), faultOf(d.Err)
		}
		t.tell(e)
	}
	end := Event{Kind: KindPushed, Result: &Result{Do: VerbPush, OK: err == nil && unpushed(result) == nil, Took: took}}
	if err != nil && !errors.Is(err, context.Canceled) {
		end.Error = err.Error()
	}
	t.tell(end)
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
