package update

import (
	"context"
	"fmt"
)

// delivery is the Source's view of a transfer, with the context of that call of Fetch.
type delivery struct {
	ctx context.Context
	t   *transfer
}

// Deliver implements Delivery.
func (d delivery) Deliver(i int, data []byte) error { return d.t.deliver(d.ctx, i, data) }

// Restart implements Delivery.
func (d delivery) Restart(i int) error { return d.t.restart(d.ctx, i) }

// transfer carries the bytes of one Fetch from the Source to the parts. It writes the bytes of a want, has the complete
// part checked, and continues with the next want. It lives as long as the call of Fetch.
type transfer struct {
	wants       []Want // a copy, because a restarted want misses more
	destination Destination
	meter       *meter
	events      chan<- Event

	want     int // the current want, if begun
	begun    bool
	done     map[int]bool // wants that are complete and verified
	next     int          // index of the current range in the missing ranges of the current want
	filled   int64        // bytes delivered of that range
	written  int64        // bytes of the current want written by this transfer
	finished int64        // bytes that this transfer wrote to finished wants
	fault    *Fault
}

// deliver accepts the next bytes of want i. After the first error it accepts nothing more.
func (t *transfer) deliver(ctx context.Context, i int, data []byte) error {
	if t.fault == nil {
		t.fault = t.accept(ctx, i, data)
	}
	if t.fault != nil {
		return t.fault
	}
	return nil
}

func (t *transfer) accept(ctx context.Context, i int, data []byte) *Fault {
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

// restart discards all bytes of want i, those of earlier attempts included.
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
	if err := t.destination.Restart(ctx, i); err != nil {
		return about(*want, asFault(err, DiskFault))
	}
	t.meter.restart(want.Have() + t.written)
	*want = WantFrom(want.File, 0)
	t.begun, t.next, t.filled, t.written = false, 0, 0, 0
	return nil
}

// write passes bytes of the current range to the Destination.
func (t *transfer) write(ctx context.Context, i int, data []byte) error {
	if t.filled == 0 {
		if err := t.destination.Advance(ctx, i); err != nil {
			return err
		}
	}
	if err := t.destination.Write(i, data); err != nil {
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

// finish has the Destination check the complete part and ends the current want.
func (t *transfer) finish(ctx context.Context, i int) *Fault {
	t.events <- Received{len(t.done)}
	if err := t.destination.Finish(ctx, i); err != nil {
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

// about sets the want as the subject of a fault without one, so that damage is counted per file.
func about(want Want, fault *Fault) *Fault {
	if fault.Subject != "" {
		return fault
	}
	named := *fault
	named.Subject = want.File.Path
	return &named
}

// misplaced rejects unrequested bytes: those of a want other than the current one, of a complete want, and beyond the end
// of a range. Sizes come from a peer, so they are checked here in addition to the checks of a Source.
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

// gained is the number of bytes that stay on disk after fault. A damaged part is deleted.
func (t *transfer) gained(fault *Fault) int64 {
	if fault.Cause == DamagedDownload {
		return t.finished
	}
	return t.finished + t.written
}
