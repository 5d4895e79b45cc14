package rolling

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collet/netproto/release"
	"collet/netproto/release/rollout"
)

// rolloutWorld is a signed list, and players whose first starts are reported.
type rolloutWorld struct {
	entries   []release.Entry
	starts    map[StartsOf]rollout.Starts
	perMinute rollout.Starts // of release 12 at 1 percent, for each target
	began     time.Time
	told      []string
	recorded  []string
	down      bool // the figures can't be read
	deaf      bool // nothing can be recorded
	meanwhile func(w *rolloutWorld, minutes int)
}

func (w *rolloutWorld) driver() *Driver {
	return &Driver{
		Plan:  rollout.DefaultPlan(),
		Every: time.Minute, After: 24 * time.Hour, Number: 12,
		Entries: func(context.Context) ([]release.Entry, error) { return append([]release.Entry(nil), w.entries...), nil },
		Figures: func(context.Context) (map[StartsOf]rollout.Starts, error) {
			if w.meanwhile != nil {
				w.meanwhile(w, int(time.Since(w.began).Minutes()))
			}
			if w.down {
				return nil, errors.New("no server answers")
			}
			for _, e := range w.entries {
				if e.Number == 12 && !e.Hold {
					at := StartsOf{e.Channel, e.Target, 12}
					s := w.starts[at]
					s.Confirmed += w.perMinute.Confirmed * uint64(e.Percent)
					s.Failed += w.perMinute.Failed * uint64(e.Percent)
					w.starts[at] = s
				}
			}
			return w.starts, nil
		},
		Change: func(_ context.Context, next map[string]rollout.Decision) error {
			for i := range w.entries {
				e := &w.entries[i]
				switch d := next[e.Target]; {
				case e.Number != 12:
				case d.Action == rollout.Hold:
					e.Hold = true
				case d.Action == rollout.Widen:
					e.Percent = uint8(d.Percent)
				}
			}
			return nil
		},
		Reload: func(context.Context) error {
			if w.deaf {
				return errors.New("deaf")
			}
			return nil
		},
		Record: func(_ context.Context, e release.Entry, d rollout.Decision) error {
			if w.deaf {
				return errors.New("deaf")
			}
			w.recorded = append(w.recorded, fmt.Sprintf("%s %s %d", e.Target, d.Action, e.Percent))
			return nil
		},
		Tell: func(target, what, reason string, isNew bool) {
			if isNew {
				w.told = append(w.told, fmt.Sprintf("%s %s: %s", target, what, reason))
			}
		},
	}
}

// newRolloutWorld has releases 11 and 12 for targets; 12 is offered to a percentage.
func newRolloutWorld(percent uint8, targets ...string) *rolloutWorld {
	w := &rolloutWorld{starts: map[StartsOf]rollout.Starts{}, began: time.Now()}
	for _, target := range targets {
		for _, number := range []uint64{9, 10, 11, 12} {
			e := release.Entry{Product: "lathe", Channel: "stable", Target: target, Number: number, Percent: 100, Killed: number == 11}
			if number == 12 {
				e.Percent = percent
			}
			w.entries = append(w.entries, e)
		}
		w.starts[StartsOf{"stable", target, 10}] = rollout.Starts{Confirmed: 999_000, Failed: 1000}
		w.starts[StartsOf{"stable", target, 11}] = rollout.Starts{Confirmed: 10, Failed: 500} // was withdrawn: nothing to compare with
	}
	return w
}

func TestRolloutDriver(t *testing.T) {
	for _, c := range []struct {
		name     string
		percent  uint8
		targets  string
		good     rollout.Starts // a minute, at 1 percent
		change   func(*Driver, *rolloutWorld)
		during   func(w *rolloutWorld, minutes int)
		recorded string
		fault    string
		after    time.Duration // that it took; 0 is not looked at
	}{
		{name: "good", percent: 1, targets: "a", good: rollout.Starts{Confirmed: 100}, recorded: "a widen 5, a widen 25, a widen 100", after: 30 * time.Hour},
		{name: "from nothing", targets: "a", good: rollout.Starts{Confirmed: 100}, recorded: "a widen 1, a widen 5, a widen 25, a widen 100"},
		{name: "bad", percent: 1, targets: "a b", good: rollout.Starts{Confirmed: 90, Failed: 10}, recorded: "a hold 1, b hold 1", fault: "lathe/stable/a/12, lathe/stable/b/12: held", after: time.Minute},
		{name: "everybody has it, and it turns bad", percent: 100, targets: "a", good: rollout.Starts{Confirmed: 10}, recorded: "a hold 100", fault: "held",
			during: func(w *rolloutWorld, minutes int) {
				if minutes > 600 {
					w.perMinute.Failed = 1
				}
			}},
		{name: "it is held meanwhile", percent: 1, targets: "a", good: rollout.Starts{Confirmed: 1}, fault: "was changed meanwhile, so it does not drive itself any more",
			during: func(w *rolloutWorld, minutes int) { w.entries[3].Hold = minutes > 5 }},
		{name: "it is widened meanwhile", percent: 1, targets: "a", good: rollout.Starts{Confirmed: 1}, fault: "was changed meanwhile, so it does not drive itself any more",
			during: func(w *rolloutWorld, minutes int) {
				if minutes > 5 {
					w.entries[3].Percent = 30
				}
			}},
		{name: "it is taken off the list", percent: 1, targets: "a", good: rollout.Starts{Confirmed: 1}, fault: "was changed meanwhile, so it does not drive itself any more",
			during: func(w *rolloutWorld, minutes int) {
				if minutes > 5 {
					w.entries = w.entries[:3]
				}
			}},
		{name: "a newer release", percent: 1, targets: "a", good: rollout.Starts{Confirmed: 1}, fault: "lathe/stable/a/13 is offered now",
			during: func(w *rolloutWorld, minutes int) {
				if minutes == 5 {
					w.entries = append(w.entries, release.Entry{Product: "lathe", Channel: "stable", Target: "a", Number: 13, Percent: 1})
				}
			}},
		{name: "held before", percent: 1, targets: "a", fault: "is held", change: func(_ *Driver, w *rolloutWorld) { w.entries[3].Hold = true }},
		{name: "withdrawn before", percent: 1, targets: "a", fault: "was withdrawn for ever", change: func(_ *Driver, w *rolloutWorld) { w.entries[3].Killed = true }},
		{name: "nothing to compare with", percent: 1, targets: "a", fault: "--usual", change: func(_ *Driver, w *rolloutWorld) { clear(w.starts) }},
		{name: "a usual share", percent: 1, targets: "a", good: rollout.Starts{Confirmed: 100}, recorded: "a widen 5, a widen 25, a widen 100",
			change: func(d *Driver, w *rolloutWorld) { clear(w.starts); share := 0.001; d.Usual = &share }},
		{name: "the server does not know the release", percent: 1, targets: "a", fault: "collet-server reload",
			during: func(w *rolloutWorld, minutes int) {
				w.starts[StartsOf{"stable", "a", 0}] = rollout.Starts{Confirmed: 7}
			}},
		{name: "no server at the beginning", percent: 1, targets: "a", fault: "no server answers", change: func(_ *Driver, w *rolloutWorld) { w.down = true }},
		{name: "the server is away for a day", percent: 1, targets: "a", good: rollout.Starts{Confirmed: 100}, recorded: "a widen 5, a widen 25, a widen 100", after: 52 * time.Hour,
			during: func(w *rolloutWorld, minutes int) { w.down = minutes > 60 && minutes < 25*60 }},
		{name: "what can't be recorded is recorded later", percent: 1, targets: "a", good: rollout.Starts{Confirmed: 90, Failed: 10}, recorded: "a hold 1", fault: "held", after: 11 * time.Minute,
			during: func(w *rolloutWorld, minutes int) { w.deaf = minutes <= 10 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newRolloutWorld(c.percent, strings.Fields(c.targets)...)
				w.perMinute, w.meanwhile = c.good, c.during
				d := w.driver()
				if c.change != nil {
					c.change(d, w)
				}
				begin := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 10*24*time.Hour)
				defer cancel()
				err := d.Drive(ctx)
				if ctx.Err() != nil {
					err = fmt.Errorf("%w; %s", err, strings.Join(w.told, "; "))
				}
				if c.fault == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), c.fault) {
					t.Errorf("%v, want %q; told:\n%s", err, c.fault, strings.Join(w.told, "\n"))
				}
				if got := strings.Join(w.recorded, ", "); got != c.recorded {
					t.Errorf("recorded %s, want %s; told:\n%s", got, c.recorded, strings.Join(w.told, "\n"))
				}
				if took := time.Since(begin); c.after != 0 && (took < c.after-time.Minute || took > c.after+time.Hour) {
					t.Errorf("took %v, want %v", took, c.after)
				}
			})
		})
	}
}

// TestRolloutIsInterrupted ends at once, and changes nothing any more.
func TestRolloutIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRolloutWorld(1, "a")
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := w.driver().Drive(ctx); !errors.Is(err, context.DeadlineExceeded) || len(w.recorded) > 0 {
			t.Errorf("%v, %v", err, w.recorded)
		}
	})
}
