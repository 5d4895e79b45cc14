package splash

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"collet/app/update"
	"collet/assets"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// moment is a status with a name.
type moment struct {
	name   string
	status update.Status
}

// with returns a changed copy of a status.
func with(s update.Status, change func(*update.Status)) update.Status {
	change(&s)
	return s
}

// moments are all phases, with every variation of the display.
func moments() []moment {
	fetching := sampleFetching()
	waiting := func(cause update.Cause, subject string) update.Status {
		return update.Status{
			Phase: update.Waiting, Attempt: 2, RetryAt: noon.Add(4200 * time.Millisecond),
			Fault: &update.Fault{Cause: cause, Transient: true, Subject: subject},
		}
	}
	return []moment{
		{"idle", update.Status{}},
		{"connecting", update.Status{Phase: update.Connecting, Attempt: 1, Server: "play.example.org:4000"}},
		{"connecting for the third time", update.Status{Phase: update.Connecting, Attempt: 3}},
		{"judging", update.Status{Phase: update.Judging, Attempt: 1}},
		{"listing", update.Status{Phase: update.Listing, Attempt: 1}},
		{"comparing, before the first file", update.Status{Phase: update.Comparing, Attempt: 1}},
		{"comparing", update.Status{
			Phase: update.Comparing, File: "Resources/Core.zip", FileSize: 9_000_000, FileDone: 4_500_000,
		}},
		{"comparing, with a measure", update.Status{
			Phase: update.Comparing, File: "Resources/Core.zip", FileSize: 900_000_000, FileDone: 450_000_000,
			Hashed: 1_200_000_000, ToHash: 4_000_000_000, Rate: 850_000_000,
		}},
		{"fetching a repair", with(fetching, func(s *update.Status) { s.Damage = &update.Damages{} })},
		{"putting a repair in place", with(fetching, func(s *update.Status) { s.Phase, s.Damage = update.Committing, &update.Damages{} })},
		{"fetching resources", fetching},
		{"fetching binaries", with(fetching, func(s *update.Status) {
			s.Mode, s.File, s.Files, s.FilesDone = update.Binaries, "EmberReach.so", 1, 0
			s.FileSize, s.FileDone, s.Bytes, s.BytesDone = 8_000_000, 3_100_000, 8_000_000, 3_100_000
		})},
		{"fetching the game", with(fetching, func(s *update.Status) { s.Mode, s.First = update.Binaries, true })},
		{"putting the game in place", with(fetching, func(s *update.Status) { s.Phase, s.Mode, s.First = update.Committing, update.Binaries, true })},
		{"the game is staged", update.Status{Phase: update.Done, Outcome: update.BinariesStaged, First: true}},
		{"fetching, speed unknown", with(fetching, func(s *update.Status) { s.Rate = 0 })},
		{"fetching, nothing there yet", with(fetching, func(s *update.Status) {
			s.FileDone, s.FilesDone, s.BytesDone, s.Rate = 0, 0, 0, 0
		})},
		{"fetching, for hours", with(fetching, func(s *update.Status) { s.Rate = 40_000 })},
		{"fetching, nearly done", with(fetching, func(s *update.Status) {
			s.FilesDone, s.FileDone, s.BytesDone = 11, s.FileSize, s.Bytes-1000
		})},
		{"fetching, more than promised", with(fetching, func(s *update.Status) {
			s.FilesDone, s.FileDone, s.BytesDone = 99, s.FileSize*2, s.Bytes*2
		})},
		{"fetching an empty file", with(fetching, func(s *update.Status) { s.FileSize, s.FileDone = 0, 0 })},
		{"fetching after a lost connection", with(fetching, func(s *update.Status) { s.Attempt = 2 })},
		{"fetching a file with a nasty name", with(fetching, func(s *update.Status) {
			s.File = "Resources/\u202Egnp.\x1b[31m\r\nfake line\x00" + strings.Repeat("long", 100) + "/end.zip"
		})},
		{"fetching during a maintenance", with(fetching, func(s *update.Status) { s.Ahead = true })},
		{"verifying", with(fetching, func(s *update.Status) { s.Phase, s.Rate = update.Verifying, 0 })},
		{"committing resources", with(fetching, func(s *update.Status) { s.Phase, s.File, s.Rate = update.Committing, "", 0 })},
		{"committing binaries", with(fetching, func(s *update.Status) {
			s.Phase, s.Mode, s.File, s.Rate = update.Committing, update.Binaries, "", 0
		})},
		{"committing nothing", update.Status{Phase: update.Committing, Mode: update.Resources}},
		{"waiting, unreachable", waiting(update.Unreachable, "play.example.org:4000")},
		{"waiting, interrupted amid files", with(fetching, func(s *update.Status) {
			w := waiting(update.Interrupted, "play.example.org:4000")
			s.Phase, s.Attempt, s.RetryAt, s.Fault, s.Rate = w.Phase, 1, w.RetryAt, w.Fault, 0
		})},
		{"waiting, damaged", waiting(update.DamagedDownload, "Resources/Core.zip")},
		{"waiting, server fault", waiting(update.ServerFault, "")},
		{"waiting, locked file", waiting(update.LockedFile, "EmberReach.so")},
		{"waiting, disk fault", waiting(update.DiskFault, "Resources/Core.zip")},
		{"waiting, for no known reason", with(waiting(update.NoCause, ""), func(s *update.Status) { s.Fault = nil })},
		{"waiting, the time has come", with(waiting(update.Unreachable, ""), func(s *update.Status) {
			s.RetryAt = noon.Add(-time.Second)
		})},
		{"done, ready", with(fetching, func(s *update.Status) {
			s.Phase, s.Outcome, s.FilesDone, s.BytesDone = update.Done, update.ResourcesReady, 12, s.Bytes
		})},
		{"done, nothing was missing", update.Status{Phase: update.Done, Outcome: update.ResourcesReady, Attempt: 1}},
		{"done, staged", update.Status{Phase: update.Done, Mode: update.Binaries, Outcome: update.BinariesStaged, Attempt: 2}},
		{"done, failed", update.Status{Phase: update.Done, Outcome: update.Failed, Fault: &update.Fault{Cause: update.DiskFull}}},
	}
}

func TestScenes(t *testing.T) {
	var out strings.Builder
	texts := assets.TextsFor("en")
	for _, m := range moments() {
		describe(&out, m.name, Compose(m.status, noon, texts))
	}
	golden(t, "scenes.en.txt", out.String())
}

func describe(out *strings.Builder, name string, s Scene) {
	fmt.Fprintf(out, "== %s\n", name)
	for _, l := range []struct{ label, text string }{
		{"headline", s.Headline}, {"detail", s.Detail}, {"this", bar(s.This)}, {"all", bar(s.All)},
		{"speed", s.Speed}, {"left", s.Left}, {"retry", s.Retry}, {"busy", busy(s)}, {"line", s.Line()},
	} {
		if l.text != "" {
			fmt.Fprintf(out, "%-8s %s\n", l.label, l.text)
		}
	}
	out.WriteString("\n")
}

func bar(b Bar) string {
	if !b.Shown {
		return ""
	}
	return fmt.Sprintf("%s | %s | %.3f", b.Label, b.Amount, b.Fraction)
}

func busy(s Scene) string {
	if !s.Busy {
		return ""
	}
	return fmt.Sprintf("%.2f", s.Pulse)
}

// Every phase has a golden scene, so that a new phase without one fails.
func TestEveryPhaseHasAScene(t *testing.T) {
	seen := map[update.Phase]bool{}
	for _, m := range moments() {
		seen[m.status.Phase] = true
	}
	for phase := update.Idle; phase <= update.Done; phase++ {
		if !seen[phase] {
			t.Errorf("no scene for %s", phase)
		}
	}
}

// Every scene has cleaned texts, and bars between empty and full.
func TestScenesAreSane(t *testing.T) {
	for _, language := range shownLanguages(t) {
		texts := assets.TextsFor(language)
		for _, m := range moments() {
			s := Compose(m.status, noon, texts)
			if s.Headline == "" || strings.Contains(s.Headline, ".") {
				t.Errorf("%s, %s: headline %q", language, m.name, s.Headline)
			}
			if line := s.Line(); strings.ContainsAny(line, "\r\n\x00\x1b\u202e{}") {
				t.Errorf("%s, %s: line %q", language, m.name, line)
			}
			for _, b := range []Bar{s.This, s.All} {
				if b.Fraction < 0 || b.Fraction > 1 || b.Shown == (b.Amount == "") {
					t.Errorf("%s, %s: bar %+v", language, m.name, b)
				}
			}
			if s.Busy && (s.This.Shown || s.All.Shown) {
				t.Errorf("%s, %s: busy although there is a measure", language, m.name)
			}
		}
	}
}

func TestPulseGoesThereAndBack(t *testing.T) {
	begin := time.UnixMilli(0)
	for part, want := range map[float64]float64{0: 0, 0.25: 0.5, 0.5: 1, 0.75: 0.5, 1: 0} {
		got := pulse(begin.Add(time.Duration(part * float64(pulseCycle))))
		if got < want-0.001 || got > want+0.001 {
			t.Errorf("after %v of a cycle it is %v, want %v", part, got, want)
		}
	}
}

func TestCountdownRunsDown(t *testing.T) {
	texts := assets.TextsFor("en")
	s := update.Status{Phase: update.Waiting, Attempt: 1, RetryAt: noon.Add(3 * time.Second)}
	var seen []string
	for at := noon; !at.After(s.RetryAt); at = at.Add(time.Second) {
		seen = append(seen, Compose(s, at, texts).Retry)
	}
	want := "Trying again in 3 s · Attempt 2, Trying again in 2 s · Attempt 2, Trying again in 1 s · Attempt 2, " +
		"Trying again now · Attempt 2"
	if got := strings.Join(seen, ", "); got != want {
		t.Errorf("countdown is %s", got)
	}
}
