package update_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"collet/app/update"
	"collet/netproto/release"

	"pgregory.net/rapid"
)

func TestWant(t *testing.T) {
	file := release.File{Path: "A.zip", Size: 10}
	tests := []struct {
		want         update.Want
		offset, have int64
	}{
		{update.WantFrom(file, 0), 0, 0},
		{update.WantFrom(file, 4), 4, 4},
		{update.WantFrom(file, 10), 10, 10},
		{update.WantFrom(file, 11), 10, 10},
		{update.WantFrom(release.File{}, 0), 0, 0},
		{update.Want{File: file, Missing: []update.Range{{Start: 2, End: 3}, {Start: 5, End: 9}}}, 2, 5},
	}
	for _, test := range tests {
		if test.want.Offset() != test.offset || test.want.Have() != test.have {
			t.Errorf("%+v: offset %d, have %d", test.want, test.want.Offset(), test.want.Have())
		}
	}
}

// hurt damages these ranges of the live file of e.
func (w *world) hurt(e entry, ranges ...update.Range) {
	data := bytes.Clone(e.data)
	for _, r := range ranges {
		for i := r.Start; i < r.End; i++ {
			data[i] ^= 0xff
		}
	}
	w.live[e.path] = data
	if w.damaged == nil {
		w.damaged = map[string][]update.Range{}
	}
	w.damaged[e.path] = ranges
}

// TestOnlyDamageIsFetched checks that intact bytes are not transferred, and that the Status lists the damage.
func TestOnlyDamageIsFetched(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := pack("A.zip", 100), pack("B.zip", 30)
		w := newWorld(t, a, b)
		w.hurt(a, update.Range{Start: 0, End: 5}, update.Range{Start: 40, End: 65}, update.Range{Start: 99, End: 100})
		w.hurt(b, update.Range{Start: 10, End: 20})
		status := w.run(t.Context())
		w.installed(w.live, release.Resource)
		if asks(w.asked[0]) != "A.zip@0-5,40-65,99 B.zip@10-20" || w.sent != 31+10 {
			t.Errorf("asked %s, %d bytes travelled", asks(w.asked[0]), w.sent)
		}
		if status.Bytes != 130 || status.BytesDone != 130 || status.Damage == nil || len(status.Damage.Files) != 1 {
			t.Errorf("%+v", status)
		}
	})
}

// TestRepairIsResumed checks that a connection that breaks within a range loses no earlier bytes.
func TestRepairIsResumed(t *testing.T) {
	for at := int64(0); at <= 40; at += 5 {
		bubble(t, func(t *testing.T) {
			a := pack("A.zip", 100)
			w := newWorld(t, a)
			w.portion = 5
			w.hurt(a, update.Range{Start: 20, End: 40}, update.Range{Start: 60, End: 80})
			w.cut = func(fetch int, sent int64) error {
				if fetch == 1 && sent == at {
					return lost()
				}
				return nil
			}
			status := w.run(t.Context())
			w.installed(w.live, release.Resource)
			if w.sent != 40 || status.Outcome != update.ResourcesReady {
				t.Errorf("cut after %d: %d bytes travelled, %s", at, w.sent, status.Outcome)
			}
		})
	}
}

// TestDiskThatLosesWhatPlanSaw checks that damage between plan and copy leads to another attempt, but not forever.
func TestDiskThatLosesWhatPlanSaw(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := pack("A.zip", 100)
		w := newWorld(t, a)
		w.hurt(a, update.Range{Start: 20, End: 40})
		w.hold = func(_ context.Context, method string) error {
			if method == "Advance" {
				return &update.Fault{Cause: update.DamagedDownload, Err: errors.New("changed")}
			}
			return nil
		}
		status := w.run(t.Context())
		if status.Outcome != update.Failed || status.Fault.Cause != update.DamagedDownload || status.Fault.Subject != "A.zip" ||
			len(w.asked) != 1+update.DamagedRetries {
			t.Errorf("%s, %v, %d fetches", status.Outcome, status.Fault, len(w.asked))
		}
	})
}

// TestSourceThatIgnoresRanges checks that no byte after the end of a range is written.
func TestSourceThatIgnoresRanges(t *testing.T) {
	for what, sizes := range map[string][]int{
		"across the end": {6}, "across it later": {3, 3}, "behind the last": {5, 10, 1}, "across the last": {5, 11}, "the whole file": {100},
	} {
		bubble(t, func(t *testing.T) {
			a := pack("A.zip", 100)
			w := newWorld(t, a, pack("B.zip", 5))
			w.hurt(a, update.Range{Start: 20, End: 25}, update.Range{Start: 60, End: 70})
			w.fetch = func(deliver func(int, []byte) error) error {
				for _, n := range sizes {
					if err := deliver(0, make([]byte, n)); err != nil {
						return err
					}
				}
				return errors.New("everything was taken")
			}
			status := w.run(t.Context())
			if status.Outcome != update.Failed || w.commits != 0 || len(w.parts["A.zip"]) > 100 {
				t.Errorf("%s: %s, %v", what, status.Outcome, status.Fault)
			}
			if cause := status.Fault.Cause; cause != update.ServerFault && cause != update.DamagedDownload {
				t.Errorf("%s: %v", what, status.Fault)
			}
		})
	}
}

// TestAnyDamageIsMended uses arbitrary ranges and broken connections, and checks that exactly the damage is transferred,
// each byte once.
func TestAnyDamageIsMended(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		size := rapid.IntRange(1, 200).Draw(r, "size")
		a := pack("A.zip", size)
		borders := rapid.SliceOfNDistinct(rapid.Int64Range(0, int64(size)), 2, 10, rapid.ID).Draw(r, "borders")
		slices.Sort(borders)
		var bad []update.Range
		due := int64(0)
		for i := 0; i+1 < len(borders); i += 2 {
			bad = append(bad, update.Range{Start: borders[i], End: borders[i+1]})
			due += borders[i+1] - borders[i]
		}
		cutAt := rapid.Int64Range(0, due).Draw(r, "cut")
		bubble(t, func(t *testing.T) {
			w := newWorld(t, a)
			w.portion = rapid.IntRange(1, 50).Draw(r, "portion")
			w.hurt(a, bad...)
			w.cut = func(fetch int, sent int64) error {
				if fetch == 1 && sent >= cutAt {
					return lost()
				}
				return nil
			}
			if status := w.run(t.Context()); status.Outcome != update.ResourcesReady || w.sent != due || status.BytesDone != int64(size) {
				r.Fatalf("%s, %d of %d bytes travelled, %+v", status.Outcome, w.sent, due, status)
			}
			w.installed(w.live, release.Resource)
		})
	})
}

// slowDestination hashes a file for seven seconds and reports its size in advance.
type slowDestination struct {
	fakeDestination
	looked chan struct{}
}

func (s slowDestination) Plan(ctx context.Context, mode update.Mode, offer []release.File, progress func(string, int64, int64)) (update.Plan, error) {
	progress("", 0, 10_000)
	for done := int64(1000); done <= 7000; done += 1000 {
		time.Sleep(time.Second)
		progress("A.zip", done, 7000)
	}
	time.Sleep(update.ProgressPeriod * 3 / 2) // contains a tick
	s.looked <- struct{}{}
	<-s.looked
	return s.fakeDestination.Plan(ctx, mode, offer, func(string, int64, int64) {})
}

// TestStatusOfHashing checks the reported bytes and rate of hashing.
func TestStatusOfHashing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, pack("A.zip", 25))
		destination := slowDestination{fakeDestination{w}, make(chan struct{})}
		u := w.updater(func(c *update.Config) { c.Destination = destination })
		ended := make(chan update.Status)
		go func() { ended <- u.Run(t.Context()) }()
		<-destination.looked
		s := u.Status()
		if s.Phase != update.Comparing || s.Hashed != 7000 || s.ToHash != 10_000 || s.FileDone != 7000 || s.Rate < 900 || s.Rate > 1100 {
			t.Errorf("%+v", s)
		}
		destination.looked <- struct{}{}
		if last := <-ended; last.Outcome != update.ResourcesReady || last.Hashed != 0 {
			t.Errorf("%+v", last)
		}
	})
}
