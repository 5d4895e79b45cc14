package splash

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"collet/app/update"
	"collet/assets"
)

// Every answer of a dialog can be reached with the keyboard alone.
func TestKeyboardInDialogs(t *testing.T) {
	const (
		tab, left, right = fyne.KeyTab, fyne.KeyLeft, fyne.KeyRight
		enter, escape    = fyne.KeyReturn, fyne.KeyEscape
	)
	for _, c := range []struct {
		keys []fyne.KeyName
		want update.Action
	}{
		{[]fyne.KeyName{enter}, update.Retry},
		{[]fyne.KeyName{fyne.KeyEnter}, update.Retry},
		{[]fyne.KeyName{fyne.KeySpace}, update.Retry},
		{[]fyne.KeyName{tab, enter}, update.Offline},
		{[]fyne.KeyName{right, enter}, update.Offline},
		{[]fyne.KeyName{right, right, right, enter}, update.Quit},
		{[]fyne.KeyName{left, enter}, update.Quit},
		{[]fyne.KeyName{right, left, enter}, update.Retry},
		{[]fyne.KeyName{tab, tab, tab, tab, enter}, update.Retry},
		{[]fyne.KeyName{escape}, update.Quit},
		{[]fyne.KeyName{right, right, enter, escape, escape}, update.Quit}, // into the details and back
		{[]fyne.KeyName{right, right, enter, enter, enter}, update.Retry},  // back with its button
		{[]fyne.KeyName{"A", fyne.KeyF1, fyne.KeyUp, fyne.KeyDown, enter}, update.Retry},
	} {
		t.Run(fmt.Sprint(c.keys), func(t *testing.T) {
			s := begin(t, Options{LogTail: func() string { return "a log" }})
			got := s.ask(t.Context(), interrupted())
			s.key(c.keys[:len(c.keys)-1]...)
			if !open(got) {
				t.Fatalf("the dialog was answered by %v already", c.keys[:len(c.keys)-1])
			}
			s.key(c.keys[len(c.keys)-1])
			if a := s.answer(got); a.action != c.want || a.err != nil {
				t.Errorf("%v, %v; want %v", a.action, a.err, c.want)
			}
			s.on(func(screen *screen) {
				if screen.card != nil || screen.canvas.Focused() != nil {
					t.Error("something of the dialog stays")
				}
			})
		})
	}
}

// A click on the background removes the focus; Enter then still presses the default button.
func TestEnterWithoutFocus(t *testing.T) {
	s := begin(t, Options{})
	got := s.ask(t.Context(), interrupted())
	s.on(func(screen *screen) { screen.canvas.Unfocus() })
	s.key(fyne.KeyReturn)
	if a := s.answer(got); a.action != update.Retry {
		t.Errorf("answer is %v", a.action)
	}
}

func TestEveryDialogHasAKeyboardWayOut(t *testing.T) {
	s := begin(t, Options{})
	for _, language := range shownLanguages(t) {
		for _, e := range update.Ends() {
			if !e.Shown() {
				continue
			}
			got := s.ask(t.Context(), ComposeEnd(e, EndInfo{}, assets.TextsFor(language)))
			s.on(func(screen *screen) {
				focused, is := screen.canvas.Focused().(*choice)
				if !is || !focused.primary {
					t.Errorf("%s: the focus is on %v", e.Key, screen.canvas.Focused())
				}
			})
			s.key(fyne.KeyEscape)
			if a := s.answer(got); a.action != update.Quit || a.err != nil {
				t.Errorf("%s: Escape is %v, %v", e.Key, a.action, a.err)
			}
		}
	}
}

func TestMousePresses(t *testing.T) {
	s := begin(t, Options{})
	got := s.ask(t.Context(), interrupted())
	s.on(func(screen *screen) { test.Tap(screen.card.choices[1]) })
	if a := s.answer(got); a.action != update.Offline {
		t.Errorf("answer is %v", a.action)
	}
}

// TestCancellingAsks checks that Escape and Cancel only ask. The first button and Escape resume; the last button quits. An
// installed game can be played instead.
func TestCancellingAsks(t *testing.T) {
	playable, played := false, 0
	s := begin(t, Options{Installed: func() bool { return playable }, Play: func() { played++ }})
	buttons := func(want int) {
		t.Helper()
		s.on(func(screen *screen) {
			if screen.card == nil || len(screen.card.choices) != want || screen.card.heading.whole != "Cancel the update?" {
				t.Fatalf("the question is %+v", screen.card)
			}
		})
	}
	goesOn := func() {
		t.Helper()
		s.on(func(screen *screen) {
			if screen.card != nil || screen.stopping || s.ctx.Err() != nil {
				t.Error("the update does not go on")
			}
		})
	}
	for _, keys := range [][2]fyne.KeyName{{fyne.KeyEscape, fyne.KeyReturn}, {fyne.KeyEscape, fyne.KeyEscape}} {
		s.key(keys[0])
		buttons(2)
		s.key(keys[1])
		goesOn()
	}
	playable = true
	s.key(fyne.KeyEscape)
	buttons(3)
	s.key(fyne.KeyTab, fyne.KeyReturn)
	goesOn() // the window does not end the update
	if played != 1 {
		t.Errorf("played %d times", played)
	}
	s.key(fyne.KeyEscape)
	got := s.ask(t.Context(), interrupted()) // the update failed meanwhile
	s.key(fyne.KeyReturn)
	if a := s.answer(got); a.action != update.Retry {
		t.Errorf("answer is %v", a.action)
	}
	s.key(fyne.KeyEscape, fyne.KeyLeft, fyne.KeyReturn)
	<-s.ctx.Done()
}

func TestEscapeCancelsAnUpdate(t *testing.T) {
	s := begin(t, Options{})
	s.view.show(Scene{Headline: "Downloading", All: Bar{Shown: true, Fraction: 0.5}})
	s.key(fyne.KeyEscape, fyne.KeyRight, fyne.KeyReturn)
	<-s.ctx.Done()
	s.view.show(Scene{Headline: "Downloading on"})
	s.key(fyne.KeyEscape) // a second one has no effect
	s.on(func(screen *screen) {
		if got := screen.progress.headline.whole; got != "Stopping" {
			t.Errorf("the window says %q", got)
		}
		if screen.progress.cancel.Visible() {
			t.Error("the button to cancel is still there")
		}
	})
	s.finish()
	if err, ended := s.ended(); err != nil || !ended {
		t.Errorf("ended: %v, error %v", ended, err)
	}
}

func TestCancelButton(t *testing.T) {
	s := begin(t, Options{})
	s.key(fyne.KeyTab, fyne.KeyReturn)
	s.key(fyne.KeyTab, fyne.KeyReturn)
	<-s.ctx.Done()
}

func TestClosingTheWindow(t *testing.T) {
	t.Run("cancels an update the second time", func(t *testing.T) {
		s := begin(t, Options{})
		s.on(func(screen *screen) {
			s.app.window.intercept()
			if screen.stopping || screen.card == nil {
				t.Error("closing the window does not ask")
			}
			s.app.window.intercept()
		})
		<-s.ctx.Done()
		if !s.app.window.shown || s.app.window.closed {
			t.Error("the window went before work returned")
		}
	})
	t.Run("is the last button of a dialog", func(t *testing.T) {
		s := begin(t, Options{LogTail: func() string { return "a log" }})
		got := s.ask(t.Context(), interrupted())
		s.key(fyne.KeyRight, fyne.KeyRight, fyne.KeyReturn) // closing the window skips the log
		s.on(func(*screen) { s.app.window.intercept() })
		if a := s.answer(got); a.action != update.Quit || a.err != nil {
			t.Errorf("%v, %v", a.action, a.err)
		}
		if s.ctx.Err() != nil {
			t.Error("work was cancelled")
		}
	})
}

func TestCopyReport(t *testing.T) {
	s := begin(t, Options{Report: func() string { return "the report" }})
	d := ComposeEnd(update.EndOf(update.ComponentsMismatch, update.NoCause), EndInfo{}, assets.TextsFor("en"))
	for name, press := range map[string]func(){
		"button": func() { s.key(fyne.KeyReturn) },
		"ctrl+c": func() {
			s.on(func(*screen) { s.app.window.canvas.shortcuts["Copy"](&fyne.ShortcutCopy{}) })
		},
	} {
		s.on(func(*screen) { s.app.Clipboard().SetContent("") })
		got := s.ask(t.Context(), d)
		press()
		s.on(func(screen *screen) {
			if content := s.app.Clipboard().Content(); content != "the report" {
				t.Errorf("%s: on the clipboard is %q", name, content)
			}
			if status := screen.card.status.whole; status != "The report is on the clipboard." {
				t.Errorf("%s: the dialog says %q", name, status)
			}
		})
		if !open(got) {
			t.Errorf("%s: copying answered the dialog", name)
		}
		s.key(fyne.KeyEscape)
		s.answer(got)
	}
}

// Without a dialog nothing is copied, and the clipboard is unchanged.
func TestCopyWithoutDialog(t *testing.T) {
	s := begin(t, Options{Report: func() string { return "the report" }})
	s.on(func(screen *screen) {
		s.app.Clipboard().SetContent("mine")
		screen.copyReport()
		if content := s.app.Clipboard().Content(); content != "mine" {
			t.Errorf("on the clipboard is %q", content)
		}
	})
}

func TestPages(t *testing.T) {
	var opened []string
	fail := error(nil)
	s := begin(t, Options{OpenURL: func(address string) error { opened = append(opened, address); return fail }})
	info := EndInfo{WebsiteURL: "https://example.org/get", StoreURL: "https://store.example.org/"}
	for _, e := range []update.End{
		update.EndOf(update.UpdaterOutdated, update.NoCause), update.EndOf(update.PlatformUnsupported, update.NoCause),
	} {
		got := s.ask(t.Context(), ComposeEnd(e, info, assets.TextsFor("en")))
		fail = nil
		s.key(fyne.KeyReturn)
		s.on(func(screen *screen) {
			if screen.card.status.whole != "" {
				t.Errorf("the dialog says %q", screen.card.status.whole)
			}
		})
		fail = errors.New("no browser")
		s.key(fyne.KeyReturn)
		s.on(func(screen *screen) {
			if status := screen.card.status.whole; !strings.Contains(status, "https://") {
				t.Errorf("the dialog says %q", status)
			}
		})
		s.key(fyne.KeyEscape)
		s.answer(got)
	}
	want := "https://example.org/get https://example.org/get https://store.example.org/ https://store.example.org/"
	if got := strings.Join(opened, " "); got != want {
		t.Errorf("opened were %s", got)
	}
}

func TestReading(t *testing.T) {
	var lines []string
	for i := range 300 {
		lines = append(lines, fmt.Sprintf("line %d of the log", i))
	}
	s := begin(t, Options{LogTail: func() string { return strings.Join(lines, "\n") }})
	s.ask(t.Context(), interrupted())
	s.key(fyne.KeyRight, fyne.KeyRight, fyne.KeyReturn)
	offset := func() (y float32) { s.on(func(screen *screen) { y = screen.card.body.Offset.Y }); return y }
	bottom := offset()
	if bottom < 1000 {
		t.Fatalf("the log begins at %v, not at its end", bottom)
	}
	for _, step := range []struct {
		key  fyne.KeyName
		want func(before, after float32) bool
	}{
		{fyne.KeyDown, func(b, a float32) bool { return a == b }},
		{fyne.KeyUp, func(b, a float32) bool { return a < b && a > b-30 }},
		{fyne.KeyPageUp, func(b, a float32) bool { return a < b-100 }},
		{fyne.KeyHome, func(_, a float32) bool { return a == 0 }},
		{fyne.KeyUp, func(_, a float32) bool { return a == 0 }},
		{fyne.KeyPageDown, func(b, a float32) bool { return a > b+100 }},
		{fyne.KeyDown, func(b, a float32) bool { return a > b && a < b+30 }},
		{fyne.KeyEnd, func(_, a float32) bool { return a == bottom }},
	} {
		before := offset()
		s.key(step.key)
		s.on(func(screen *screen) { screen.card.place(screen.card.root.Size()) }) // must not scroll
		if after := offset(); !step.want(before, after) {
			t.Errorf("%s scrolled from %v to %v", step.key, before, after)
		}
	}
}

func TestReadingWithoutALog(t *testing.T) {
	s := begin(t, Options{})
	got := s.ask(t.Context(), ComposeEnd(update.EndOf(update.RuntimeFailed, update.NoCause), EndInfo{}, assets.TextsFor("en")))
	s.key(fyne.KeyRight, fyne.KeyRight, fyne.KeyReturn)
	s.on(func(screen *screen) {
		if title, text := screen.card.heading.whole, screen.card.body.text; title != "Report" || text != "There is nothing to report yet." {
			t.Errorf("the report is %q, %q", title, text)
		}
	})
	if !open(got) {
		t.Error("showing the report answered the dialog")
	}
}

func TestAskEndsWithItsContext(t *testing.T) {
	s := begin(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	got := s.ask(ctx, interrupted())
	cancel()
	if a := s.answer(got); a.action != update.Quit || !errors.Is(a.err, context.Canceled) {
		t.Errorf("%v, %v", a.action, a.err)
	}
	s.until("the dialog is gone", func(screen *screen) bool { return screen.card == nil && screen.dialog == nil })
}

func TestNote(t *testing.T) {
	s := begin(t, Options{})
	heights := map[string]float32{}
	for _, note := range []string{"", "Something\nto\x1bknow", ""} {
		s.view.Note(note)
		s.on(func(screen *screen) {
			p := screen.progress
			heights[note] = p.headline.Position().Y
			if want := clean(note, maxLine); p.note.whole != want {
				t.Errorf("the note is %q, want %q", p.note.whole, want)
			}
			if bar := p.allBar.track.Position().Y; bar != windowHeight-50 {
				t.Errorf("with the note %q the bar is at %v", note, bar)
			}
		})
	}
	if heights[""] <= heights["Something\nto\x1bknow"] {
		t.Errorf("the headline makes no room for a note: %v", heights)
	}
}
