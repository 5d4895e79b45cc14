package splash

import (
	"strings"
	"time"

	"collet/app/update"
	"collet/assets"
)

const (
	// framePeriod is the shortest time between two frames: 30 a second look fluent, and more would be paid for by the
	// download where a software renderer draws them (platform reference, section 1.3).
	framePeriod = time.Second / 30
	// pulsePeriod is how often a busy bar moves: half as often as frames of progress, because it may run for long. A
	// software renderer spends about a seventh of a core on it, a graphics card next to nothing.
	pulsePeriod = 2 * framePeriod
	// pulseCycle is how long a busy bar takes there and back.
	pulseCycle = 2400 * time.Millisecond
	// clockPeriod is how often a countdown is written anew.
	clockPeriod = 250 * time.Millisecond
)

// Bar is one progress bar with what stands above it.
type Bar struct {
	Shown    bool
	Label    string
	Amount   string  // "3.1 MB of 8.0 MB", or empty
	Fraction float64 // 0 to 1
}

// Scene is what the window shows while an update runs. It is a comparable value: equal scenes look the same. All texts
// are cleaned and in one language.
type Scene struct {
	Headline string
	Detail   string // the file under way, or what a wait is about; may be empty
	This     Bar    // the file under way
	All      Bar    // all files
	Speed    string
	Left     string  // the time that is left
	Retry    string  // when it is tried again, and which attempt that is; stands where the speed stands
	Valve    bool    // what comes can be paused and slowed
	Paused   bool    // it is
	Busy     bool    // something goes on that has no measure
	Pulse    float64 // where the mark of a busy bar is, 0 to 1 and back
}

// Compose says what to show for s at the time now. It is pure.
func Compose(s update.Status, now time.Time, t assets.Texts) Scene {
	scene := Scene{Headline: t.Get(headline(s)), Detail: clean(s.File, maxLine)}
	if s.Carrying() {
		scene.Detail = ""
	}
	switch s.Phase {
	case update.Comparing, update.Fetching, update.Verifying, update.Committing:
		scene.This, scene.All = thisBar(s, t), allBar(s, t)
		scene.Valve, scene.Paused = s.Traffic.Total > 0, s.Traffic.Paused
	case update.Waiting:
		return waiting(scene, s, now, t)
	case update.Done:
		scene.Detail = ""
		scene.All = allBar(s, t)
		return scene
	default:
		scene.Detail = ""
		if s.Attempt > 1 {
			scene.Retry = t.Get("retry.attempt", "n", s.Attempt)
		}
	}
	if (s.Phase == update.Fetching || s.Phase == update.Comparing) && s.Rate > 0 && !scene.Paused {
		scene.Speed = t.Rate(s.Rate)
	}
	if left, known := s.Remaining(); known {
		scene.Left = t.Left(left)
	}
	scene.Busy = !scene.This.Shown && !scene.All.Shown
	if scene.Busy {
		scene.Pulse = pulse(now)
	}
	return scene
}

// headline is the key of the line that says what is going on.
func headline(s update.Status) string {
	if s.Traffic.Paused && s.Phase == update.Fetching {
		return "phase.paused"
	}
	switch s.Phase {
	case update.Fetching, update.Committing:
		if s.Ahead {
			return "phase.ahead"
		}
		mode := "resources"
		switch {
		case s.Damage != nil:
			mode = "repair"
		case s.Mode == update.Binaries:
			mode = "binaries"
		}
		return "phase." + s.Phase.String() + "." + mode
	case update.Waiting:
		return waitKey(s.Fault)
	case update.Done:
		return doneKey(s.Outcome)
	default:
		return "phase." + s.Phase.String()
	}
}

func doneKey(o update.Outcome) string {
	switch o {
	case update.ResourcesReady:
		return "phase.done.ready"
	case update.BinariesStaged:
		return "phase.done.staged"
	default:
		return "phase.done.ended"
	}
}

// waitKey says what the last attempt died of. Only faults that may pass are waited for, so the other causes share a text.
func waitKey(fault *update.Fault) string {
	if fault == nil {
		return "wait.other"
	}
	switch fault.Cause {
	case update.Unreachable:
		return "wait.unreachable"
	case update.Interrupted:
		return "wait.interrupted"
	case update.DamagedDownload:
		return "wait.damaged"
	case update.ServerFault:
		return "wait.server"
	case update.LockedFile:
		return "wait.locked"
	default:
		return "wait.other"
	}
}

// waiting is the scene between two attempts: what is there stays to be seen, and the clock runs down.
func waiting(scene Scene, s update.Status, now time.Time, t assets.Texts) Scene {
	scene.Detail = ""
	if s.Fault != nil {
		scene.Detail = clean(s.Fault.Subject, maxLine)
	}
	scene.All = allBar(s, t)
	scene.Retry = t.Get("retry.now")
	if left := s.RetryAt.Sub(now); left > 0 {
		scene.Retry = t.Get("retry.in", "time", t.Span(left))
	}
	scene.Retry += " · " + t.Get("retry.attempt", "n", s.Attempt+1)
	return scene
}

func thisBar(s update.Status, t assets.Texts) Bar {
	if s.File == "" || s.FileSize <= 0 || s.Carrying() {
		return Bar{}
	}
	return Bar{
		Shown: true, Label: t.Get("bar.file"),
		Amount: t.Amount(min(s.FileDone, s.FileSize), s.FileSize), Fraction: fraction(s.FileDone, s.FileSize),
	}
}

// allBar is the whole of what goes on: all that is hashed, later what comes over the line, and all that is made of it.
func allBar(s update.Status, t assets.Texts) Bar {
	if s.Phase == update.Comparing && s.ToHash > 0 {
		return Bar{
			Shown: true, Label: t.Get("bar.all"),
			Amount: t.Amount(min(s.Hashed, s.ToHash), s.ToHash), Fraction: fraction(s.Hashed, s.ToHash),
		}
	}
	if s.Carrying() {
		return Bar{
			Shown: true, Label: t.Get("bar.line"),
			Amount: t.Amount(s.Traffic.Done, s.Traffic.Total), Fraction: fraction(s.Traffic.Done, s.Traffic.Total),
		}
	}
	if s.Bytes <= 0 || s.Phase == update.Comparing {
		return Bar{}
	}
	label := t.Get("bar.all")
	if s.Files > 1 {
		label = t.Get("count", "n", min(s.FilesDone+1, s.Files), "total", s.Files)
	}
	return Bar{
		Shown: true, Label: label,
		Amount: t.Amount(min(s.BytesDone, s.Bytes), s.Bytes), Fraction: fraction(s.BytesDone, s.Bytes),
	}
}

func fraction(done, total int64) float64 {
	return min(max(float64(done)/float64(total), 0), 1)
}

// pulse goes from 0 to 1 and back once in a cycle.
func pulse(now time.Time) float64 {
	at := float64(now.UnixMilli()%pulseCycle.Milliseconds()) / float64(pulseCycle.Milliseconds())
	return 1 - max(at*2-1, 1-at*2)
}

// lasts is how long the scene holds if nothing new happens; 0 is for ever.
func (s Scene) lasts(waiting bool) time.Duration {
	switch {
	case s.Busy:
		return pulsePeriod
	case waiting:
		return clockPeriod
	default:
		return 0
	}
}

// Line is the scene in one line, for logs and for a terminal.
func (s Scene) Line() string {
	parts := []string{s.Headline}
	for _, part := range []string{s.Detail, s.This.Amount, s.All.Label, s.All.Amount, s.Speed, s.Left, s.Retry} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, " · ")
}
