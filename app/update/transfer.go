package update

import (
	"context"
	"fmt"
)

// transfer is the path of the bytes of one Fetch: from the Source into the part of a want, and when the want is
// complete, through its check to the next one. It lives as long as the call of Fetch.
type transfer struct {
	wants  []Want
	stage  Stage
	meter  *meter
	events chan<- Event

	want     int   // under way
	begun    bool  // something of it was delivered
	next     int   // of its missing ranges, the one under way
	filled   int64 // bytes of that range that were delivered
	written  int64 // of the want, by this transfer
	finished int64 // bytes that this transfer wrote to wants before it
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
		t.begun = true
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
	if r := t.wants[i].Missing[t.next]; r.From+t.filled == r.To {
		t.next, t.filled = t.next+1, 0
	}
	return nil
}

// finish has the complete part checked and goes on to the next want.
func (t *transfer) finish(ctx context.Context, i int) *Fault {
	t.events <- Received{i}
	if err := t.stage.Finish(ctx, i); err != nil {
		return about(t.wants[i], asFault(err, DiskFault))
	}
	t.events <- Verified{i}
	t.finished += t.written
	t.want, t.begun, t.written, t.next, t.filled = i+1, false, 0, 0, 0
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

// misplaced refuses bytes that were not asked for: those of another want than the one under way, and those beyond the
// end of its range. Sizes come from a peer, so this is looked at again here, whatever a Source checks itself.
func (t *transfer) misplaced(i, n int) *Fault {
	if i != t.want || i >= len(t.wants) {
		return &Fault{Cause: ServerFault, Err: fmt.Errorf("bytes of file %d arrived while file %d of %d was due", i, t.want, len(t.wants))}
	}
	if n == 0 {
		return nil
	}
	want, due := t.wants[i], Range{}
	if t.next < len(want.Missing) {
		due = want.Missing[t.next]
	}
	if end := due.From + t.filled + int64(n); end > due.To {
		return &Fault{Cause: ServerFault, Subject: want.File.Path,
			Err: fmt.Errorf("bytes up to %d arrived of %d to %d, of a file of %d", end, due.From, due.To, want.File.Size)}
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
