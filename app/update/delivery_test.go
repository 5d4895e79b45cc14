package update_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"collet/app/update"
	"collet/netproto/release"
)

// TestWantsComeInAnyOrder delivers wants in another order, as a solid patch does.
func TestWantsComeInAnyOrder(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, pack("A.zip", 25), pack("B.zip", 5), pack("C.zip", 40))
			w.parts["C.zip"] = bytes.Clone(w.files[2].data[:15])
			w.fetchTo = func(to update.Delivery) error {
				for _, i := range order {
					for _, missing := range w.plan.Wants[i].Missing {
						if err := to.Deliver(i, w.files[i].data[missing.Start:missing.End]); err != nil {
							return err
						}
					}
				}
				return nil
			}
			status := w.run(t.Context())
			w.installed(w.live, release.Resource)
			if status.Outcome != update.ResourcesReady || status.FilesDone != 3 || status.BytesDone != 70 {
				t.Errorf("%v: %s, %d files, %d bytes", order, status.Outcome, status.FilesDone, status.BytesDone)
			}
		})
	}
}

// TestWantBeginsAnew checks that a restart discards all bytes of a want and that the whole file is fetched again.
func TestWantBeginsAnew(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, pack("A.zip", 25), pack("B.zip", 5))
		w.parts["A.zip"] = []byte("ten wrong!")
		w.fetchTo = func(to update.Delivery) error {
			steps := []error{to.Deliver(1, w.files[1].data), to.Deliver(0, make([]byte, 14)), to.Restart(0)}
			steps = append(steps, to.Deliver(0, w.files[0].data[:20]), to.Deliver(0, w.files[0].data[20:]))
			return errors.Join(steps...)
		}
		status := w.run(t.Context())
		w.installed(w.live, release.Resource)
		if status.Outcome != update.ResourcesReady || status.BytesDone != 30 || len(w.connects) != 1 {
			t.Errorf("%s, %d bytes, %d attempts, %v", status.Outcome, status.BytesDone, len(w.connects), status.Fault)
		}
	})
}

// TestRestartOfWhatIsNotUnderWay checks that this bug of a Source never reaches the Destination.
func TestRestartOfWhatIsNotUnderWay(t *testing.T) {
	for what, steps := range map[string]func(to update.Delivery) error{
		"nothing": func(to update.Delivery) error { return to.Restart(0) },
		"another": func(to update.Delivery) error { return errors.Join(to.Deliver(0, make([]byte, 3)), to.Restart(1)) },
		"behind":  func(to update.Delivery) error { return errors.Join(to.Deliver(0, make([]byte, 25)), to.Restart(0)) },
	} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, pack("A.zip", 25), pack("B.zip", 5))
			w.files[0].data = make([]byte, 25)
			w.fetchTo = steps
			w.hold = func(_ context.Context, method string) error {
				if method == "Restart" {
					return errors.New("reached the destination")
				}
				return nil
			}
			status := w.run(t.Context())
			if status.Outcome != update.Failed || status.Fault.Cause != update.ServerFault {
				t.Errorf("%s: %s, %v", what, status.Outcome, status.Fault)
			}
		})
	}
}

// TestNothingComesTwice checks that verified bytes are not written again, and that a second check of one file does not
// count for another.
func TestNothingComesTwice(t *testing.T) {
	for what, have := range map[string]int{"bytes": 0, "nothing missing": 25} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, pack("A.zip", 25), pack("B.zip", 5))
			w.parts["A.zip"] = bytes.Clone(w.files[0].data[:have])
			finished := 0
			w.hold = func(_ context.Context, method string) error {
				switch method {
				case "Finish":
					finished++
				case "Commit":
					t.Errorf("%s: committed without B.zip", what)
				}
				return nil
			}
			w.fetchTo = func(to update.Delivery) error {
				missing := w.files[0].data[have:]
				return errors.Join(to.Deliver(0, missing), to.Deliver(0, missing))
			}
			status := w.run(t.Context())
			if status.Outcome != update.Failed || status.Fault.Cause != update.ServerFault || finished != 1 {
				t.Errorf("%s: %s, %v, %d checks", what, status.Outcome, status.Fault, finished)
			}
		})
	}
}

// carrier is a Source with its own traffic.
type carrier struct {
	update.Source
	traffic *atomic.Pointer[update.Traffic]
}

func (c carrier) Traffic() update.Traffic { return *c.traffic.Load() }

// TestTrafficIsTheProgress checks that rate and remaining time of a patch are those of the wire, not of files.
func TestTrafficIsTheProgress(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, pack("A.zip", 1000))
		var traffic atomic.Pointer[update.Traffic]
		traffic.Store(&update.Traffic{Total: 4000, Cap: 9})
		var u *update.Updater
		var seen []string
		w.fetchTo = func(to update.Delivery) error {
			for i := range 4 {
				time.Sleep(time.Second)
				traffic.Store(&update.Traffic{Done: int64(i+1) * 1000, Total: 4000, Cap: 9})
				time.Sleep(2 * update.ProgressPeriod)
				s := u.Status()
				left, known := s.Remaining()
				seen = append(seen, fmt.Sprintf("%d %t %d %v %t", s.Traffic.Done, s.Carrying(), s.Rate, left.Round(time.Second), known))
			}
			return to.Deliver(0, w.files[0].data)
		}
		u = w.updater(func(c *update.Config) { c.Source = carrier{c.Source, &traffic} })
		status := u.Run(t.Context())
		if status.Outcome != update.ResourcesReady || status.Carrying() {
			t.Errorf("ended %s, %+v", status.Outcome, status.Traffic)
		}
		if len(seen) != 4 || seen[3] != "4000 false 0 0s false" || !slices.ContainsFunc(seen[1:3], func(s string) bool { return s[:10] == "2000 true " || s[:10] == "3000 true " }) {
			t.Errorf("saw %q", seen)
		}
		paused := update.Status{Phase: update.Fetching, Rate: 100, Traffic: update.Traffic{Total: 500, Done: 100}}
		if left, known := paused.Remaining(); !known || left != 4*time.Second {
			t.Errorf("400 bytes at 100 a second take %v, %t", left, known)
		}
		paused.Traffic.Paused = true
		if _, known := paused.Remaining(); known {
			t.Error("a pause ends by itself")
		}
	})
}
