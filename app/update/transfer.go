package update

import (
	"context"
	"fmt"
)

// delivery is a transfer as the Source sees it, for the one call of Fetch whose context it has.
type delivery struct {
	ctx context.Context
	t   *transfer
}

// Deliver implements Delivery.
func (d delivery) Deliver(i int, data []byte) error { return d.t.deliver(d.ctx, i, data) }

// Restart implements Delivery.
func (d delivery) Restart(i int) error { return d.t.restart(d.ctx, i) }

// transfer is the path of the bytes of one Fetch: from the Source into the part of a want, and when the want is
// complete, through its check to the next one. It lives as long as the call of Fetch.
type transfer struct {
	wants  []Want // its own, because a restarted one lacks more
	stage  Stage
	meter  *meter
	events chan<- Event

	want     int // under way, if begun
	begun    bool
	done     map[int]bool // those that are complete and checked
	next     int          // of the missing ranges of the one under way, the one under way
	filled   int64        // bytes of that range that were delivered
	written  int64        // of the want, by this transfer
	finished int64        // bytes that this transfer wrote to wants before it
	fault    *Fault
}

// deliver takes the next bytes of want i. After the first error it takes nothing more.
func (t *transfer) deliver(ctx context.Context, i int, data []byte) error {
	if t.fault == nil {
		t.fault = t.take(ctx, i, data)
	}
	if t.fault != nil {
		return t.fault
	}
	return nil
}

func (t *transfer) take(ctx context.Context, i int, data []byte) *Fault {
	if fault := t.misplaced(i, len(data)); fault != nil {
		return fault
	}
	want := t.wants[i]
	if !t.begun {
		t.want, t.begun = i, true
		t.meter.file(want.File.Path, want.Have(), want.File.Size)
	}
	if len(data) > 0 {
		if err := t.write(ctx, i, data); err != nil {
			return about(want, asFault(err, DiskFault))
		}
	}
	if t.next < len(want.Missing) {
		return nil
	}
	return t.finish(ctx, i)
}

// restart forgets what was delivered of want i, with all that was there before.
func (t *transfer) restart(ctx context.Context, i int) error {
	if t.fault == nil {
		t.fault = t.takeBack(ctx, i)
	}
	if t.fault != nil {
		return t.fault
	}
	return nil
}

func (t *transfer) takeBack(ctx context.Context, i int) *Fault {
	if !t.begun || i != t.want {
		return &Fault{Cause: ServerFault, Err: fmt.Errorf("file %d begins anew, and is not under way", i)}
	}
	want := &t.wants[i]
	if err := t.stage.Restart(ctx, i); err != nil {
		return about(*want, asFault(err, DiskFault))
	}
	t.meter.restart(want.Have() + t.written)
	*want = WantFrom(want.File, 0)
	t.begun, t.next, t.filled, t.written = false, 0, 0, 0
	return nil
}

// write passes bytes of the range under way on.
func (t *transfer) write(ctx context.Context, i int, data []byte) error {
	if t.filled == 0 {
		if err := t.stage.Advance(ctx, i); err != nil {
			return err
		}
	}
	if err := t.stage.Write(i, data); err != nil {
		return err
	}
	n := int64(len(data))
	t.filled, t.written = t.filled+n, t.written+n
	t.meter.wrote(n)
	if r := t.wants[i].Missing[t.next]; r.Start+t.filled == r.End {
		t.next, t.filled = t.next+1, 0
	}
	return nil
}

// finish has the complete part checked and goes on to the next want.
func (t *transfer) finish(ctx context.Context, i int) *Fault {
	t.events <- Received{len(t.done)}
	if err := t.stage.Finish(ctx, i); err != nil {
		return about(t.wants[i], asFault(err, DiskFault))
	}
	t.events <- Verified{len(t.done)}
	if t.done == nil {
		t.done = map[int]bool{}
	}
	t.done[i] = true
	t.finished += t.written
	t.begun, t.written, t.next, t.filled = false, 0, 0, 0
	return nil
}

// about names the want in a fault that names nothing, so that damage is counted file by file.
func about(want Want, fault *Fault) *Fault {
	if fault.Subject != "" {
		return fault
	}
	named := *fault
	named.Subject = want.File.Path
	return &named
}

// misplaced refuses bytes that were not asked for: those of another want than the one under way, of one that is complete,
// and those beyond the end of a range. Sizes come from a peer, so this is looked at again here, whatever a Source checks
// itself.
func (t *transfer) misplaced(i, n int) *Fault {
	switch {
	case i < 0 || i >= len(t.wants) || t.done[i]:
		return &Fault{Cause: ServerFault, Err: fmt.Errorf("bytes of file %d of %d arrived, which is not missing", i, len(t.wants))}
	case t.begun && i != t.want:
		return &Fault{Cause: ServerFault, Err: fmt.Errorf("bytes of file %d arrived while file %d of %d was due", i, t.want, len(t.wants))}
	}
	if n == 0 {
		return nil
	}
	want, due := t.wants[i], Range{}
	next := t.next
	if !t.begun {
		next = 0
	}
	if next < len(want.Missing) {
		due = want.Missing[next]
	}
	if end := due.Start + t.filled + int64(n); end > due.End {
		return &Fault{Cause: ServerFault, Subject: want.File.Path,
			Err: fmt.Errorf("bytes up to %d arrived of %d to %d, of a file of %d", end, due.Start, due.End, want.File.Size)}
	}
	return nil
}

// gained is how many bytes stay on disk although the transfer ended with fault. A damaged part does not stay.
func (t *transfer) gained(fault *Fault) int64 {
	if fault.Cause == DamagedDownload {
		return t.finished
	}
	return t.finished + t.written
}
