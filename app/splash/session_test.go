package splash

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"fyne.io/fyne/v2"

	"collet/app/update"
	"collet/assets"
)

// patience is the timeout for events on other goroutines.
const patience = 2 * time.Minute

// session is a run of the window on the test loop, with work controlled by the test.
type session struct {
	t      *testing.T
	app    *loopApp
	view   *View
	ctx    context.Context // of the work
	finish func()          // lets work return
	result chan error
}

// begin runs the window until finish is called; the end of the test calls it, too.
func begin(t *testing.T, opt Options) *session {
	s := &session{t: t, app: newLoopApp(t, true), result: make(chan error, 1)}
	if opt.Texts.Language() == "" {
		opt.Texts = assets.TextsFor("en")
	}
	working, leave := make(chan struct{}), make(chan struct{})
	s.finish = sync.OnceFunc(func() { close(leave) })
	go func() {
		s.result <- run(opt, func(ctx context.Context, v *View) {
			s.ctx, s.view = ctx, v
			close(working)
			<-leave
		}, func() (fyne.App, error) { return s.app, nil })
	}()
	<-working
	s.on(func(*screen) {}) // waits until the window is open
	t.Cleanup(func() {
		s.finish()
		if _, ended := s.ended(); !ended {
			t.Error("the window does not end")
		}
	})
	return s
}

// on runs f on the loop and waits for it.
func (s *session) on(f func(*screen)) {
	s.t.Helper()
	done := make(chan struct{})
	s.view.post(func(screen *screen) { defer close(done); f(screen) })
	select {
	case <-done:
	case <-time.After(patience):
		s.t.Fatal("the loop does not run")
	}
}

// ended waits for the end of Run.
func (s *session) ended() (error, bool) {
	select {
	case err := <-s.result:
		s.result <- err
		return err, true
	case <-time.After(patience):
		return nil, false
	}
}

// key presses keys one after the other, in the way of the desktop driver.
func (s *session) key(names ...fyne.KeyName) {
	s.t.Helper()
	for _, name := range names {
		s.on(func(screen *screen) {
			c := screen.canvas
			switch focused := c.Focused(); {
			case name == fyne.KeyTab:
				c.FocusNext()
			case focused != nil:
				focused.TypedKey(&fyne.KeyEvent{Name: name})
			default:
				c.OnTypedKey()(&fyne.KeyEvent{Name: name})
			}
		})
	}
}

// answers are the results of an Ask in the background.
type answers struct {
	action update.Action
	err    error
}

// ask opens a dialog and returns a channel for its answer.
func (s *session) ask(ctx context.Context, d Dialog) <-chan answers {
	s.t.Helper()
	got := make(chan answers, 1)
	go func() {
		action, err := s.view.Ask(ctx, d)
		got <- answers{action, err}
	}()
	s.until("the dialog is open", func(screen *screen) bool { return screen.dialog != nil })
	return got
}

// until waits until a condition is true on the loop.
func (s *session) until(what string, true func(*screen) bool) {
	s.t.Helper()
	for begun := time.Now(); time.Since(begun) < patience; runtime.Gosched() { // each round waits for the loop
		is := false
		s.on(func(screen *screen) { is = true(screen) })
		if is {
			return
		}
	}
	s.t.Fatalf("waited in vain until %s", what)
}

// answer waits for the answer of a dialog.
func (s *session) answer(from <-chan answers) answers {
	s.t.Helper()
	select {
	case a := <-from:
		return a
	case <-time.After(patience):
		s.t.Fatal("no answer")
		return answers{}
	}
}

// open reports whether a dialog is still unanswered.
func open(from <-chan answers) bool { return len(from) == 0 }

func interrupted() Dialog {
	return ComposeEnd(update.EndOf(update.Failed, update.Interrupted), sampleInfo(), assets.TextsFor("en"))
}
