package update_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"collet/app/update"
	"collet/netproto/compat"
	"collet/netproto/release"
)

// bubble runs test with simulated time.
func bubble(t *testing.T, test func(t *testing.T)) { t.Helper(); synctest.Test(t, test) }

func verdict(v compat.Verdict) func(int) (compat.Judgement, error) {
	return func(int) (compat.Judgement, error) { return compat.Judgement{Verdict: v, Rule: compat.RuleString}, nil }
}

func TestResourcesAreBroughtUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, pack("A.zip", 25), pack("Empty.zip", 0), module("Lathe.so", 40), pack("deep/B.zip", 10))
		w.live["A.zip"] = []byte("old")
		status := w.run(t.Context())
		w.installed(w.live, release.Resource)
		want := update.Status{
			Phase: update.Done, Mode: update.Resources, Outcome: update.ResourcesReady, Server: "game.example:4000",
			Judgement: compat.Judgement{Verdict: compat.Accept, Rule: compat.RuleAccept, Compatibility: "c2"},
			Files:     3, FilesDone: 3, Bytes: 35, BytesDone: 35, Attempt: 1, Started: w.start,
		}
		if status != want {
			t.Errorf("got  %+v\nwant %+v", status, want)
		}
		if len(w.asked) != 1 || asks(w.asked[0]) != "A.zip@0 Empty.zip@0 deep/B.zip@0" || w.commits != 1 || len(w.staged) != 0 {
			t.Errorf("asked %v, %d commits, %d staged", w.asked, w.commits, len(w.staged))
		}
	})
}

func TestBinariesAreStaged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, pack("A.zip", 25), module("Lathe.so", 40), module("Lathe.so.pdb", 7))
		w.judge = verdict(compat.UpdateBinaries)
		status := w.run(t.Context())
		w.installed(w.staged, release.Binary)
		if status.Outcome != update.BinariesStaged || status.Mode != update.Binaries || len(w.live) != 0 || status.BytesDone != 47 {
			t.Errorf("%+v, %d live", status, len(w.live))
		}
	})
}

func TestNothingMissingFetchesNothing(t *testing.T) {
	for _, v := range []compat.Verdict{compat.Accept, compat.UpdateBinaries} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, pack("A.zip", 25), module("Lathe.so", 40))
			w.judge = verdict(v)
			for _, e := range w.files {
				w.live[e.path] = e.data
			}
			status := w.run(t.Context())
			if len(w.asked) != 0 || w.commits != 1 || status.Files != 0 || update.EndOf(status.Outcome, 0).Exit != 0 {
				t.Errorf("%s: %d fetches, %d commits, %+v", v, len(w.asked), w.commits, status)
			}
		})
	}
}

func TestRefusalsEndWithoutAList(t *testing.T) {
	refusals := map[compat.Verdict]update.Outcome{
		compat.UpdateViaStore: update.PlatformUnsupported, compat.NoNativeUpdate: update.ServerMissingNativeUpdate,
		compat.ClientTooNew: update.ClientTooNew, compat.Redirect: update.ClientTooNew, compat.Maintenance: update.Maintenance,
		compat.UpdaterMismatch: update.UpdaterOutdated, compat.ComponentsMismatch: update.ComponentsMismatch, 200: update.UpdaterOutdated,
	}
	for v, outcome := range refusals {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, pack("A.zip", 25))
			w.judge = verdict(v)
			w.hold = func(_ context.Context, method string) error {
				if method != "Connect" {
					t.Errorf("%s: %s was called", v, method)
				}
				return nil
			}
			status := w.run(t.Context())
			if status.Outcome != outcome || status.Mode != update.Undecided || status.Judgement.Verdict != v {
				t.Errorf("%s: %+v", v, status)
			}
		})
	}
	bubble(t, func(t *testing.T) { // the server offers it, but the platform can't update
		w := newWorld(t, module("Lathe.so", 1))
		w.judge = verdict(compat.UpdateBinaries)
		status := w.updater(func(c *update.Config) { c.CanSelfUpdate = false }).Run(t.Context())
		if w.letGo(status); status.Outcome != update.PlatformUnsupported {
			t.Errorf("%+v", status)
		}
	})
	bubble(t, func(t *testing.T) { // the server offers an update, but no file for this install
		w := newWorld(t, pack("A.zip", 25))
		w.judge = verdict(compat.UpdateBinaries)
		if status := w.run(t.Context()); status.Outcome != update.ServerMissingNativeUpdate || w.commits != 0 {
			t.Errorf("%+v", status)
		}
	})
}

// times are the times of n attempts that fail at once, with the default pauses.
func times(n int) []time.Duration {
	at, all := time.Duration(0), []time.Duration{}
	for failed := range n {
		if failed > 0 {
			at += update.DefaultRetry().Delay(failed, 0)
		}
		all = append(all, at)
	}
	return all
}

func TestUnreachableServerIsGivenUpSoon(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		fault := &update.Fault{Cause: update.Unreachable, Transient: true, Subject: "game.example:4000", Err: errors.New("refused")}
		w.judge = func(int) (compat.Judgement, error) { return compat.Judgement{}, fault }
		status := w.run(t.Context())
		if want := times(update.FirstContactAttempts); !slices.Equal(w.connects, want) {
			t.Errorf("connected at %v, want %v", w.connects, want)
		}
		if status.Outcome != update.Failed || status.Fault != fault || status.Attempt != update.FirstContactAttempts {
			t.Errorf("%+v", status)
		}
		if time.Since(w.start) != 1500*time.Millisecond {
			t.Errorf("it took %v", time.Since(w.start))
		}
	})
}

// TestRestartOfTheServer checks that a server that refuses for ten seconds costs little more than that, at the first
// contact and during a transfer.
func TestRestartOfTheServer(t *testing.T) {
	for _, dice := range []float64{0, 0.5, 1} {
		for _, before := range []time.Duration{0, 3 * time.Second} {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, pack("A.zip", 25))
				w.pace = 2 * time.Second
				down := func() bool { now := time.Since(w.start); return now >= before && now < before+10*time.Second }
				w.judge = func(int) (compat.Judgement, error) {
					if down() {
						return compat.Judgement{}, &update.Fault{Cause: update.Unreachable, Transient: true, Refused: true, Err: errors.New("refused")}
					}
					return verdict(compat.UpdateResources)(0)
				}
				w.cut = func(int, int64) error {
					if down() {
						return lost()
					}
					return nil
				}
				status := w.updater(func(c *update.Config) { c.Random = func() float64 { return dice } }).Run(t.Context())
				w.letGo(status)
				if took := time.Since(w.start); status.Outcome != update.ResourcesReady || took > before+26*time.Second {
					t.Errorf("down from %v, dice %g: %s, %v, after %v", before, dice, status.Outcome, status.Fault, took)
				}
			})
		}
	}
}

func TestJitterShortensThePause(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.judge = func(int) (compat.Judgement, error) { return compat.Judgement{}, lost() }
		dice := []float64{0.5, 1, 0}
		u := w.updater(func(c *update.Config) {
			c.Random = func() float64 { next := dice[0]; dice = dice[1:]; return next }
		})
		w.letGo(u.Run(t.Context()))
		if want := []time.Duration{0, 375 * time.Millisecond, 875 * time.Millisecond}; !slices.Equal(w.connects, want) {
			t.Errorf("connected at %v, want %v", w.connects, want)
		}
	})
}

// TestDefaultsForClockAndChance checks that the pauses are in range without Now and Random.
func TestDefaultsForClockAndChance(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.judge = func(int) (compat.Judgement, error) { return compat.Judgement{}, lost() }
		w.letGo(w.updater(func(c *update.Config) { c.Random = nil }).Run(t.Context()))
		for i, at := range times(update.FirstContactAttempts) {
			if got := w.connects[i]; got > at || got < at/2 {
				t.Errorf("attempt %d at %v, want %v to %v", i+1, got, at/2, at)
			}
		}
	})
}

func TestBrokenTransferWithoutProgressIsGivenUpLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, pack("A.zip", 25))
		w.cut = func(int, int64) error { return lost() }
		status := w.run(t.Context())
		if want := times(update.TransferAttempts); !slices.Equal(w.connects, want) {
			t.Errorf("connected at %v, want %v", w.connects, want)
		}
		if status.Outcome != update.Failed || status.Fault.Cause != update.Interrupted || w.commits != 0 {
			t.Errorf("%+v", status)
		}
	})
}

// TestServerThatGoesAwayIsInterrupted checks that a server that has answered and becomes unreachable counts as a broken
// connection, with its number of attempts.
func TestServerThatGoesAwayIsInterrupted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, pack("A.zip", 25))
		w.judge = func(connect int) (compat.Judgement, error) {
			if connect > 1 {
				return compat.Judgement{}, errors.New("no route to host")
			}
			return compat.Judgement{}, nil
		}
		w.cut = func(_ int, sent int64) error {
			if sent == 10 {
				return lost()
			}
			return nil
		}
		status := w.run(t.Context())
		if len(w.connects) != update.TransferAttempts || status.Fault.Cause != update.Interrupted || status.BytesDone != 10 {
			t.Errorf("%d attempts, %+v", len(w.connects), status)
		}
	})
}

// TestResumeAsksOnlyForWhatIsMissing breaks the connection after every portion of ten bytes.
func TestResumeAsksOnlyForWhatIsMissing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, pack("A.zip", 25), pack("B.zip", 400))
		w.parts["B.zip"] = slices.Clone(w.files[1].data[:5]) // left by an earlier run
		w.cut = func(_ int, sent int64) error {
			if sent >= 10 {
				return lost()
			}
			return nil
		}
		status := w.run(t.Context())
		w.installed(w.live, release.Resource)
		if status.Outcome != update.ResourcesReady || status.BytesDone != 425 || w.sent != 420 {
			t.Errorf("%d bytes on the wire, %+v", w.sent, status)
		}
		wants := []string{"A.zip@0 B.zip@5", "A.zip@10 B.zip@5", "A.zip@20 B.zip@5", "A.zip@25 B.zip@15", "A.zip@25 B.zip@25"}
		for i, want := range wants {
			if got := asks(w.asked[i]); got != want {
				t.Errorf("fetch %d asked for %s, want %s", i+1, got, want)
			}
		}
		// Every attempt gained bytes, so every pause is the shortest.
		for i, at := range w.connects {
			if want := time.Duration(i) * update.BackoffBase; at != want {
				t.Errorf("attempt %d at %v, want %v", i+1, at, want)
			}
		}
		if len(w.connects) <= 2*update.TransferAttempts {
			t.Errorf("only %d attempts: this test no longer shows that progress resets them", len(w.connects))
		}
	})
}

func TestDamagedFileIsFetchedAnew(t *testing.T) {
	for _, test := range []struct {
		damaged  int // number of fetches that damage B.zip
		outcome  update.Outcome
		attempts int
	}{
		{1, update.ResourcesReady, 2},
		{2, update.ResourcesReady, 3},
		{3, update.Failed, 3},
	} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, pack("A.zip", 25), pack("B.zip", 30))
			w.spoil = func(path string, fetch int) bool { return path == "B.zip" && fetch <= test.damaged }
			status := w.run(t.Context())
			if status.Outcome != test.outcome || len(w.connects) != test.attempts || (w.commits == 0) != (test.outcome == update.Failed) {
				t.Errorf("damaged %d times: %s after %d attempts", test.damaged, status.Outcome, len(w.connects))
			}
			for _, wants := range w.asked[1:] {
				if got := asks(wants); got != "A.zip@25 B.zip@0" {
					t.Errorf("asked again for %s", got)
				}
			}
			if f := status.Fault; test.outcome == update.Failed && (f.Cause != update.DamagedDownload || f.Subject != "B.zip") {
				t.Errorf("failed with %v", f)
			}
		})
	}
}

// TestFilesThatCameWholeCountAsProgress has each attempt complete one file and damage the next one.
func TestFilesThatCameWholeCountAsProgress(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		for i := range update.TransferAttempts + 3 {
			w.files = append(w.files, pack(string(rune('A'+i)), 5))
		}
		w.spoil = func(path string, fetch int) bool { return path == string(rune('A'+fetch)) }
		status := w.run(t.Context())
		w.installed(w.live, release.Resource)
		if status.Outcome != update.ResourcesReady || len(w.connects) != len(w.files) {
			t.Errorf("%s after %d attempts", status.Outcome, len(w.connects))
		}
		if last := w.connects[len(w.connects)-1]; last != time.Duration(len(w.connects)-1)*update.BackoffBase {
			t.Errorf("the last attempt began after %v: a pause was not the shortest", last)
		}
	})
}

// TestDoneIsToldWhenItIsTrue checks that Done is not published before the ports are closed.
func TestDoneIsToldWhenItIsTrue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, pack("A.zip", 5))
		w.letting = time.Second
		u, done := w.updater(nil), make(chan update.Status, 1)
		ticks := u.Watch(t.Context())
		go func() { done <- u.Run(t.Context()) }()
		time.Sleep(500 * time.Millisecond)
		if <-ticks; u.Status().Phase != update.Committing || len(ticks) != 0 {
			t.Errorf("told %s too early", u.Status().Phase)
		}
		if status := <-done; status.Phase != update.Done || time.Since(w.start) != time.Second {
			t.Errorf("%s after %v", status.Phase, time.Since(w.start))
		}
	})
}

// TestModeFollowsTheLastVerdict updates the server while the connection is broken.
func TestModeFollowsTheLastVerdict(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, pack("A.zip", 25), module("Lathe.so", 40))
		w.judge = func(connect int) (compat.Judgement, error) {
			return compat.Judgement{Verdict: []compat.Verdict{compat.Accept, compat.UpdateBinaries}[connect-1]}, nil
		}
		w.cut = func(fetch int, sent int64) error {
			if fetch == 1 && sent == 10 {
				return lost()
			}
			return nil
		}
		status := w.run(t.Context())
		w.files = w.files[1:]
		delete(w.parts, "A.zip") // remains for the next time
		w.installed(w.staged, release.Binary)
		if status.Outcome != update.BinariesStaged || len(w.live) != 0 {
			t.Errorf("%+v", status)
		}
	})
}

func TestSecondRunPanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		u := w.updater(nil)
		u.Run(t.Context())
		defer func() {
			if recover() == nil {
				t.Error("a second Run went through")
			}
		}()
		u.Run(t.Context())
	})
}

func TestStatusBeforeRun(t *testing.T) {
	if got, want := newWorld(t).updater(nil).Status(), (update.Status{Server: "game.example:4000"}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}
