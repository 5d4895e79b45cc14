package splash

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"fyne.io/fyne/v2"

	"collet/app/update"
	"collet/assets"
	"collet/platform/interrupt"
)

// Watcher is the window's view of an update, implemented by update.Updater.
type Watcher interface {
	// Status returns a snapshot.
	Status() update.Status
	// Watch returns a channel that holds a tick if Status has changed since the last tick was received, the first one at
	// once. It is closed after the last change and when ctx ends.
	Watch(ctx context.Context) <-chan struct{}
}

// ErrGone reports that the window is closed, because the system told the program to end, or was never opened.
var ErrGone = errors.New("the window is gone")

// View is the interface of work to the window. Its methods may be called from any goroutine while work runs; calls before
// the window is open take effect when it opens. Run makes the View.
type View struct {
	texts assets.Texts
	gone  chan struct{} // closed after the end of the loop

	asking sync.Mutex // held while a dialog is open; there is one at a time

	mu     sync.Mutex
	screen *screen         // nil until the window is open
	early  []func(*screen) // functions posted before
	next   Scene           // the newest frame
	queued bool            // next is posted and not painted yet
}

func newView(texts assets.Texts) *View {
	return &View{texts: texts, gone: make(chan struct{})}
}

// Follow shows w until its channel is closed or ctx ends, and returns after it has passed on the last frame. It may be
// called for several watchers in sequence.
func (v *View) Follow(ctx context.Context, w Watcher) {
	changed := w.Watch(ctx)
	for ctx.Err() == nil {
		s := w.Status()
		scene := Compose(s, time.Now(), v.texts)
		v.show(scene)
		if interrupt.Sleep(ctx, framePeriod) != nil || !wait(ctx, changed, scene.lasts(s.Phase == update.Waiting)-framePeriod) {
			break
		}
	}
	if ctx.Err() == nil {
		v.show(Compose(w.Status(), time.Now(), v.texts))
	}
}

// wait waits for a change, at most for limit if that is not zero. It reports false if no further change will come.
func wait(ctx context.Context, changed <-chan struct{}, limit time.Duration) bool {
	var late <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case _, open := <-changed:
		return open
	case <-late:
		return true
	case <-ctx.Done():
		return false
	}
}

// show passes a frame to the loop. It replaces an unpainted frame.
func (v *View) show(scene Scene) {
	v.mu.Lock()
	unchanged := scene == v.next
	v.next = scene
	post := !v.queued && !unchanged
	v.queued = v.queued || post
	v.mu.Unlock()
	if post {
		v.post(v.paint)
	}
}

// paint runs on the loop.
func (v *View) paint(s *screen) {
	v.mu.Lock()
	scene := v.next
	v.queued = false
	v.mu.Unlock()
	s.show(scene)
}

// Note shows one line below the headline until the next call; an empty text removes it.
func (v *View) Note(text string) {
	text = clean(text, maxLine)
	v.post(func(s *screen) { s.progress.setNote(text) })
}

// ReleaseNotes shows the first line of the release notes of the release being fetched, with a button for the full text. An empty
// text removes them.
func (v *View) ReleaseNotes(text string) {
	text = cleanLines(text)
	v.post(func(s *screen) { s.setNotes(text) })
}

// Ask shows d in place of the progress and waits for an answer. Buttons that show, copy or open something leave the dialog
// open. Every other button is an answer; Escape and closing the window count as the last button. A dialog without buttons
// returns update.Quit at once. The error is ctx's, or ErrGone, and comes with update.Quit.
func (v *View) Ask(ctx context.Context, d Dialog) (update.Action, error) {
	if len(d.Buttons) == 0 {
		return update.Quit, nil
	}
	v.asking.Lock()
	defer v.asking.Unlock()
	answer := make(chan update.Action, 1)
	v.post(func(s *screen) { s.ask(d, func(a update.Action) { answer <- a }) })
	select {
	case a := <-answer:
		return a, nil
	case <-ctx.Done():
		v.post((*screen).dismiss)
		return update.Quit, ctx.Err()
	case <-v.gone:
		return update.Quit, ErrGone
	}
}

// Toast shows t beside the progress for its duration, or until its button is pressed, which it reports. The end of ctx and
// of the window also end it.
func (v *View) Toast(ctx context.Context, t Toast) (pressed bool) {
	asked := make(chan struct{}, 1)
	v.post(func(s *screen) {
		s.toast(t, func() {
			select {
			case asked <- struct{}{}:
			default: // pressed twice
			}
		})
	})
	defer v.post(func(s *screen) { s.toast(Toast{}, func() {}) })
	timer := time.NewTimer(t.Shown)
	defer timer.Stop()
	select {
	case <-asked:
		return true
	case <-timer.C:
	case <-ctx.Done():
	case <-v.gone:
	}
	return false
}

// Raise brings the window to the front, as far as the desktop allows it, and gives it the keyboard. It reports whether a
// window exists.
func (v *View) Raise() bool {
	if v.isGone() {
		return false
	}
	v.post(func(s *screen) { s.do.raise() })
	return true
}

// post runs f on the loop, after all functions posted before. It does not wait.
func (v *View) post(f func(*screen)) {
	v.mu.Lock()
	screen := v.screen
	if screen == nil {
		v.early = append(v.early, f)
	}
	v.mu.Unlock()
	if screen == nil || v.isGone() {
		return
	}
	handOver(func() {
		if !v.isGone() {
			f(screen)
		}
	})
}

// handOver runs f on the loop. When the system tells the program to end, the toolkit ends its loop by itself and closes the
// queue. A concurrent call then panics in the queue with a runtime error, which is ignored: f is not needed any more. A
// panic of f itself is a bug and is passed on, also where the toolkit runs f directly.
func handOver(f func()) {
	var begun atomic.Bool
	defer func() {
		if begun.Load() {
			return
		}
		reason := recover()
		if _, queue := reason.(runtime.Error); reason != nil && !queue {
			panic(reason)
		}
	}()
	fyne.Do(func() {
		begun.Store(true)
		f()
	})
}

func (v *View) isGone() bool {
	select {
	case <-v.gone:
		return true
	default:
		return false
	}
}

// open passes posted functions to s, the early ones first. It runs on the main goroutine before the loop.
func (v *View) open(s *screen) {
	v.mu.Lock()
	early := v.early
	v.screen, v.early = s, nil
	v.mu.Unlock()
	for _, f := range early {
		f(s)
	}
}
