package splash

import (
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"collet/app/update"
	"collet/assets"
)

// fakeValve records the calls.
type fakeValve struct {
	paused bool
	caps   []int64
}

func (v *fakeValve) Pause(paused bool) { v.paused = paused }

func (v *fakeValve) SetCap(limit int64) { v.caps = append(v.caps, limit) }

// steered is a screen with a valve, in a window of the test driver.
func steered(t *testing.T, language string) (*screen, *fakeValve, fyne.Window) {
	t.Helper()
	test.NewApp()
	valve := &fakeValve{}
	s := newScreen("Game", nil, assets.TextsFor(language), actions{valve: valve, cancel: func() {}, report: func() string { return "" }})
	w := test.NewWindow(s.root)
	t.Cleanup(w.Close)
	w.Resize(fyne.NewSize(windowWidth, windowHeight))
	s.attach(w.Canvas())
	return s, valve, w
}

func carrying() update.Status {
	return update.Status{
		Phase: update.Fetching, Mode: update.Binaries, File: "A", FileSize: 10, Bytes: 100, Files: 2,
		Traffic: update.Traffic{Total: 4_000_000, Done: 1_000_000}, Rate: 1_000_000,
	}
}

func TestSceneOfTraffic(t *testing.T) {
	texts := assets.TextsFor("en")
	s := carrying()
	scene := Compose(s, time.Now(), texts)
	if !scene.Valve || scene.Paused || scene.This.Shown || scene.All.Amount != "1.0 MB of 4.0 MB" || scene.All.Fraction != 0.25 || scene.Left == "" {
		t.Errorf("%+v", scene)
	}
	s.Traffic.Paused = true
	scene = Compose(s, time.Now(), texts)
	if !scene.Paused || scene.Headline != texts.Get("phase.paused") || scene.Speed != "" || scene.Left != "" {
		t.Errorf("paused: %+v", scene)
	}
	s.Traffic = update.Traffic{Total: 5, Done: 5}
	scene = Compose(s, time.Now(), texts)
	if !scene.This.Shown || scene.All.Amount != "0 B of 100 B" {
		t.Errorf("what came is made into files: %+v", scene)
	}
}

// TestSteering checks that each button calls the valve, by mouse and by keyboard, and that the labels show the state.
func TestSteering(t *testing.T) {
	for _, language := range shownLanguages(t) {
		s, valve, w := steered(t, language)
		steer := s.progress.steer
		s.show(Compose(update.Status{}, time.Now(), s.texts))
		for _, c := range steer.choices() {
			if c.Visible() {
				t.Errorf("%s: %q is shown without a use", language, c.label)
			}
		}
		s.show(Compose(carrying(), time.Now(), s.texts))
		if !steer.pause.Visible() || !steer.speed.Visible() || steer.news.Visible() {
			t.Fatalf("%s: wrong buttons", language)
		}
		w.Canvas().Focus(steer.pause)
		steer.pause.TypedKey(&fyne.KeyEvent{Name: fyne.KeyReturn})
		if !valve.paused {
			t.Errorf("%s: Enter does not pause", language)
		}
		paused := carrying()
		paused.Traffic.Paused = true
		s.show(Compose(paused, time.Now(), s.texts))
		if steer.pause.label != s.texts.Get("button.resume") {
			t.Errorf("%s: the button says %q", language, steer.pause.label)
		}
		steer.pause.Tapped(nil)
		if valve.paused {
			t.Errorf("%s: a click does not go on", language)
		}
		for range len(limits()) {
			steer.speed.Tapped(nil)
			if steer.speed.Size() != steer.speed.MinSize() || steer.speed.Position().X+steer.speed.Size().Width > steer.pause.Position().X {
				t.Errorf("%s: %q does not fit its place", language, steer.speed.label)
			}
		}
		if got := valve.caps; len(got) != 4 || got[0] != 1_200_000 || got[2] != 100_000 || got[3] != 0 {
			t.Errorf("%s: caps %v", language, got)
		}
		for _, c := range append(steer.choices(), s.progress.cancel) {
			if c.Visible() && (c.Position().X < 0 || c.Position().X+c.Size().Width > windowWidth) {
				t.Errorf("%s: %q sticks out", language, c.label)
			}
		}
	}
}

// TestNews checks that the first line is on the splash and the full text behind a button, and that Escape and closing still
// work.
func TestNews(t *testing.T) {
	s, _, _ := steered(t, "en")
	s.setNotes("Faster doors\n" + strings.Repeat("Much more.\n", 60))
	if s.progress.note.whole != "Faster doors" || !s.progress.steer.news.Visible() {
		t.Errorf("note %q", s.progress.note.whole)
	}
	s.progress.setNote("Playing offline")
	if s.progress.note.whole != "Playing offline" {
		t.Error("a note does not go before the news")
	}
	s.progress.setNote("")
	s.progress.steer.news.Tapped(nil)
	if s.card == nil || !strings.Contains(s.card.body.text, "Much more.") {
		t.Fatal("the notes are not shown")
	}
	s.typed(&fyne.KeyEvent{Name: fyne.KeyEscape})
	if s.card != nil || s.stopping {
		t.Error("Escape does not lead back")
	}
	s.progress.steer.news.Tapped(nil)
	s.shut()
	if s.card == nil || s.card != s.question {
		t.Error("closing the window over the notes does not ask")
	}
	s.setNotes("")
	if s.progress.steer.news.Visible() {
		t.Error("no news, and a button for them")
	}
}
