package splash

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"collet/assets"
)

// remoteMoments are states of a device that look different.
func remoteMoments() []struct {
	name   string
	status RemoteStatus
} {
	base := RemoteStatus{Name: "Test box", Desk: "192.168.1.7:3413", Run: RemoteStopped, Startable: true}
	with := func(change func(*RemoteStatus)) RemoteStatus {
		s := base
		s.Link = RemoteConnected
		change(&s)
		return s
	}
	lines := []RemoteLine{
		{noon, RemoteInfo, "Collet", "module Lathe, build demo-2, compatibility lathe-2026.2"},
		{noon.Add(time.Second), RemoteInfo, "Game", "packs read, title Lathe"},
		{noon.Add(2 * time.Second), RemoteWarning, "Game", "no window, the game runs in text"},
		{noon.Add(3 * time.Second), RemoteError, "Collet", "the game crashed: it ended by signal SIGSEGV (segmentation violation)"},
	}
	return []struct {
		name   string
		status RemoteStatus
	}{
		{"dialing", func() RemoteStatus { s := base; s.Link = RemoteDialing; return s }()},
		{"away", func() RemoteStatus {
			s := base
			s.Link, s.Why = RemoteAway, "192.168.1.7:3413 does not answer"
			return s
		}()},
		{"greeting", with(func(s *RemoteStatus) { s.Link = RemoteGreeting })},
		{"idle", with(func(*RemoteStatus) {})},
		{"checking", with(func(s *RemoteStatus) { s.Checking = true })},
		{"receiving", with(func(s *RemoteStatus) {
			s.File, s.Done, s.Size, s.Files, s.FilesAll, s.Bytes, s.BytesAll, s.Rate = "Resources/Levels.zip", 3<<20, 8<<20, 2, 5, 9<<20, 24<<20, 7<<20
		})},
		{"receiving from a released desk", with(func(s *RemoteStatus) {
			s.File, s.Done, s.Size, s.Files, s.Bytes = "Resources/Levels.zip", 3<<20, 8<<20, 2, 9<<20
		})},
		{"received", with(func(s *RemoteStatus) { s.Files, s.Bytes = 5, 24<<20 })},
		{"disk full", with(func(s *RemoteStatus) {
			s.Files, s.Bytes, s.Why = 1, 5<<20, "write \"Resources/Levels.zip\": the disk is full"
		})},
		{"starting", with(func(s *RemoteStatus) { s.Run = RemoteStarting })},
		{"running", with(func(s *RemoteStatus) { s.Run, s.RunSince, s.Lines, s.Seen = RemoteRunning, noon, lines, 4 })},
		{"stopping", with(func(s *RemoteStatus) { s.Run, s.Lines, s.Seen = RemoteStopping, lines, 4 })},
		{"ending", with(func(s *RemoteStatus) { s.Link = RemoteEnding })},
	}
}

// All texts of all moments.
func TestRemoteScenes(t *testing.T) {
	var out strings.Builder
	texts := assets.TextsFor("en")
	for _, m := range remoteMoments() {
		scene := ComposeRemote(m.status, noon, texts)
		log := scene.Log
		scene.Log = nil
		fmt.Fprintf(&out, "%s\n  %+v\n  %s\n", m.name, scene, scene.Line())
		for _, row := range log {
			fmt.Fprintf(&out, "  %d %s\n", row.Level, row.Text)
		}
	}
	golden(t, "remote.en.txt", out.String())
}

func TestRemoteSceneOffersWhatCanBeDone(t *testing.T) {
	for run, want := range map[RemoteRun]string{
		RemoteStopped: "true false false", RemoteStarting: "false true false", RemoteRunning: "false true false", RemoteStopping: "false false true",
	} {
		s := ComposeRemote(RemoteStatus{Link: RemoteConnected, Run: run, Startable: true}, noon, assets.TextsFor("en"))
		if got := fmt.Sprint(s.CanStart, s.CanStop, s.CanForce); got != want {
			t.Errorf("%s: %s, want %s", run, got, want)
		}
	}
	if ComposeRemote(RemoteStatus{Run: RemoteStopped}, noon, assets.TextsFor("en")).CanStart {
		t.Error("something is started where there is nothing")
	}
}

// Texts from controllers and games can't break the screen or fill the memory.
func TestRemoteSceneIsHarmless(t *testing.T) {
	evil := "a\x1b[2J\n\u202eb" + strings.Repeat("x", 1<<16)
	s := RemoteStatus{Name: evil, Desk: evil, Link: RemoteAway, Why: evil, File: evil, Run: RemoteStopped, Done: -5, Size: 1}
	for range 2 * MaxRemoteLines {
		s.Lines = append(s.Lines, RemoteLine{Source: evil, Text: evil})
	}
	scene := ComposeRemote(s, noon, assets.TextsFor("en"))
	if len(scene.Log) != MaxRemoteLines {
		t.Errorf("%d lines", len(scene.Log))
	}
	for _, text := range []string{scene.Name, scene.Link, scene.Detail, scene.Log[0].Text, scene.Line()} {
		if strings.ContainsAny(text, "\x1b\n\u202e") || len(text) > 4000 {
			t.Errorf("%.80q, %d bytes", text, len(text))
		}
	}
}

// pressed counts the user's actions.
type pressed struct{ start, stop, force, quit int }

func (p *pressed) actions() RemoteActions {
	return RemoteActions{Start: func() { p.start++ }, Stop: func() { p.stop++ }, Force: func() { p.force++ }, Quit: func() { p.quit++ }}
}

// remoteStage is the window's content on the test driver.
func remoteStage(t *testing.T, language string, p *pressed) (*remoteScreen, fyne.Window) {
	t.Helper()
	a := test.NewTempApp(t)
	face, err := faces(language)
	if err != nil {
		t.Fatal(err)
	}
	a.Settings().SetTheme(newLook(face))
	s := newRemoteScreen(assets.TextsFor(language), p.actions())
	w := a.NewWindow("")
	w.SetPadded(false)
	w.SetContent(s.root)
	w.Resize(fyne.NewSize(windowWidth, windowHeight))
	s.attach(w.Canvas())
	t.Cleanup(w.Close)
	return s, w
}

func (s *remoteScreen) showStatus(language string, status RemoteStatus) {
	s.show(ComposeRemote(status, noon, assets.TextsFor(language)))
}

func TestEveryTextFitsIntoTheRemoteWindow(t *testing.T) {
	for _, language := range shownLanguages(t) {
		s, _ := remoteStage(t, language, &pressed{})
		for _, m := range remoteMoments() {
			s.showStatus(language, m.status)
			for _, l := range s.lines() {
				if l.Text.Text != l.whole && l != s.detail {
					t.Errorf("%s, %s: %q is cut to %q", language, m.name, l.whole, l.Text.Text)
				}
			}
		}
	}
}

func TestRemotePictures(t *testing.T) {
	for _, name := range []string{"receiving", "running", "away"} {
		for _, m := range remoteMoments() {
			if m.name != name {
				continue
			}
			t.Run(name, func(t *testing.T) {
				s, w := remoteStage(t, "en", &pressed{})
				s.showStatus("en", m.status)
				picture(t, "remote."+name+".en.png", w.Canvas().Capture())
			})
		}
	}
}

func TestRemoteKeyboard(t *testing.T) {
	var p pressed
	s, w := remoteStage(t, "en", &p)
	key := func(names ...fyne.KeyName) {
		for _, name := range names {
			if focused := w.Canvas().Focused(); focused != nil {
				focused.TypedKey(&fyne.KeyEvent{Name: name})
			} else {
				s.typed(&fyne.KeyEvent{Name: name})
			}
		}
	}
	s.showStatus("en", RemoteStatus{Link: RemoteConnected, Run: RemoteStopped, Startable: true})
	key(fyne.KeyF5, fyne.KeyF6) // nothing runs that could be stopped
	w.Canvas().FocusNext()
	key(fyne.KeyReturn)
	if p != (pressed{start: 2}) || w.Canvas().Focused() != fyne.Focusable(s.start) {
		t.Errorf("stopped: %+v, focus on %v", p, w.Canvas().Focused())
	}
	s.showStatus("en", RemoteStatus{Link: RemoteConnected, Run: RemoteRunning})
	if w.Canvas().Focused() != fyne.Focusable(s.stop) {
		t.Error("the focus does not go to the button that took the place of the last one")
	}
	key(fyne.KeySpace, fyne.KeyF6, fyne.KeyF5)
	s.showStatus("en", RemoteStatus{Link: RemoteConnected, Run: RemoteStopping})
	key(fyne.KeyReturn)
	s.showStatus("en", RemoteStatus{Link: RemoteConnected, Run: RemoteStopped}) // nothing to start: the last button gets the focus
	if w.Canvas().Focused() != fyne.Focusable(s.quit) {
		t.Errorf("the focus is on %v", w.Canvas().Focused())
	}
	key(fyne.KeyEscape, fyne.KeyReturn)
	if p != (pressed{start: 2, stop: 2, force: 1, quit: 2}) {
		t.Errorf("in the end: %+v", p)
	}
}

func TestRemoteLogScrolls(t *testing.T) {
	s, _ := remoteStage(t, "en", &pressed{})
	status := RemoteStatus{Link: RemoteConnected, Run: RemoteStopped}
	add := func(n int) {
		for range n {
			status.Seen++
			status.Lines = append(status.Lines, RemoteLine{noon, RemoteInfo, "", fmt.Sprintf("line %d", status.Seen)})
		}
		s.showStatus("en", status)
	}
	lowest := func() string { return s.tail.rows[len(s.tail.rows)-1].whole[len("12:00:00  "):] }
	if s.showStatus("en", status); s.tail.rows[0].whole != "What the game logs appears here." {
		t.Errorf("empty: %q", s.tail.rows[0].whole)
	}
	add(2)
	if got := s.tail.rows[0].whole; !strings.HasSuffix(got, "line 1") {
		t.Errorf("two lines begin at the top with %q", got)
	}
	add(98)
	if lowest() != "line 100" {
		t.Errorf("the lowest is %q", lowest())
	}
	page := len(s.tail.rows) - 1
	s.typed(&fyne.KeyEvent{Name: fyne.KeyPageUp})
	if want := fmt.Sprintf("line %d", 100-page); lowest() != want {
		t.Errorf("a page up the lowest is %q, want %q", lowest(), want)
	}
	add(5) // after scrolling back the view stays
	if want := fmt.Sprintf("line %d", 100-page); lowest() != want {
		t.Errorf("more came, and the lowest is %q, want %q", lowest(), want)
	}
	s.tail.Scrolled(&fyne.ScrollEvent{Scrolled: fyne.NewDelta(0, 10)})
	if want := fmt.Sprintf("line %d", 100-page-rowsAWheel); lowest() != want {
		t.Errorf("with the wheel the lowest is %q, want %q", lowest(), want)
	}
	s.typed(&fyne.KeyEvent{Name: fyne.KeyHome})
	if got := s.tail.rows[0].whole; !strings.HasSuffix(got, "line 1") {
		t.Errorf("home shows %q at the top", got)
	}
	s.typed(&fyne.KeyEvent{Name: fyne.KeyEnd})
	if add(1); lowest() != "line 106" {
		t.Errorf("at the end the lowest is %q", lowest())
	}
}
