package splash

import (
	"strings"
	"time"

	"collet/app/update"
	"collet/assets"
)

const (
	// framePeriod is the shortest interval between two frames. 30 per second look fluent; with a software renderer more
	// would slow down the download.
	framePeriod = time.Second / 30
	// pulsePeriod is the interval between frames of a busy bar: twice that of progress frames, because it may run for long.
	// A software renderer spends about a seventh of a core on it, a graphics card next to nothing.
	pulsePeriod = 2 * framePeriod
	// pulseCycle is the duration of one full movement of a busy bar.
	pulseCycle = 2400 * time.Millisecond
	// clockPeriod is the interval between updates of a countdown.
	clockPeriod = 250 * time.Millisecond
)

// Bar is one progress bar with the texts above it.
type Bar struct {
	Shown    bool
	Label    string
	Amount   string  // "3.1 MB of 8.0 MB", or empty
	Fraction float64 // 0 to 1
}

// Scene is the content of the window during an update. It is a comparable value: equal scenes look the same. All texts are
// cleaned and in one language.
type Scene struct {
	Headline string
	Detail   string // the current file, or the subject of a wait; may be empty
	This     Bar    // the current file
	All      Bar    // all files
	Speed    string
	Left     string  // the remaining time
	Retry    string  // time and number of the next attempt; replaces Speed
	Valve    bool    // the download can be paused and limited
	Paused   bool    // the download is paused
	Busy     bool    // the progress is unknown
	Pulse    float64 // position of the mark of a busy bar, 0 to 1 and back
}

// Compose composes the scene for s at the time now. It is pure.
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

// headline is the text key of the headline.
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
		case s.Mode == update.Binaries && s.First:
			mode = "first"
		case s.Mode == update.Binaries:
			mode = "binaries"
		}
		return "phase." + s.Phase.String() + "." + mode
	case update.Waiting:
		return waitKey(s.Fault)
	case update.Done:
		if s.First && s.Outcome == update.BinariesStaged {
			return "phase.committing.first"
		}
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

// waitKey is the text key for the last attempt's fault. Only transient faults are waited for, so the other causes share a
// text.
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

// waiting is the scene between two attempts: the progress stays visible, with a countdown.
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

// allBar is the bar of the total progress: bytes hashed, then bytes received, then bytes of files on disk.
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

// pulse moves from 0 to 1 and back once in a cycle.
func pulse(now time.Time) float64 {
	at := float64(now.UnixMilli()%pulseCycle.Milliseconds()) / float64(pulseCycle.Milliseconds())
	return 1 - max(at*2-1, 1-at*2)
}

// lasts is the validity of the scene without new events; 0 is unlimited.
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

// Line is the scene as one line, for logs and for a terminal.
func (s Scene) Line() string {
	parts := []string{s.Headline}
	for _, part := range []string{s.Detail, s.This.Amount, s.All.Label, s.All.Amount, s.Speed, s.Left, s.Retry} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, " · ")
}
