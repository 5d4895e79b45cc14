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

// Watcher is an update as the window sees it: update.Updater is one.
type Watcher interface {
	// Status is a snapshot.
	Status() update.Status
	// Watch returns a channel that holds a tick when Status has changed since the last one was taken, the first one at
	// once. It is closed when nothing will change any more, and when ctx ends.
	Watch(ctx context.Context) <-chan struct{}
}

// ErrGone says that the window is gone: the system told the program to end, or there never was one.
var ErrGone = errors.New("the window is gone")

// View is the window as work sees it. Its methods may be called from any goroutine, from the moment work starts until
// it returns; what they show before the window is open appears with it. The constructor is Run.
type View struct {
	texts assets.Texts
	gone  chan struct{} // closed when the loop has ended

	asking sync.Mutex // held while a dialog is open: there is one at a time

	mu     sync.Mutex
	screen *screen         // nil until the window is open
	early  []func(*screen) // what was posted before that
	next   Scene           // the newest frame
	queued bool            // it has been posted and not been painted yet
}

func newView(texts assets.Texts) *View {
	return &View{texts: texts, gone: make(chan struct{})}
}

// Follow shows w until nothing changes any more or ctx ends, and returns when its last frame was handed over. Several
// watchers may be followed one after the other.
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

// wait waits for a change, or for at most limit if that is not zero. It reports false when there is nothing to wait for
// any more.
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

// show hands a frame over. If the one before is still waiting for the loop, this one takes its place.
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

// Note shows one line below the headline until the next call; an empty one takes it away.
func (v *View) Note(text string) {
	text = clean(text, maxLine)
	v.post(func(s *screen) { s.progress.setNote(text) })
}

// Notes offers the release notes of what is being fetched: their first line, and all of them behind a button. An empty text
// takes them away.
func (v *View) Notes(text string) {
	text = cleanLines(text)
	v.post(func(s *screen) { s.setNotes(text) })
}

// Ask shows d in place of the progress and waits for an answer. Buttons that show, copy or open something are dealt with
// here and leave the dialog open; every other one is an answer, and so are Escape and the closing of the window: they
// are the last button. A dialog without buttons is answered with update.Quit at once. The error is ctx's, or ErrGone,
// and comes with update.Quit.
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

// Toast shows t in the window beside the progress and returns when it was there for as long as it has to be, or when somebody
// pressed its button, which it reports. The end of ctx and a closed window end it, too.
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

// Raise brings the window in front of others, as far as the desktop allows it, and gives it the keyboard. It reports
// whether there is a window.
func (v *View) Raise() bool {
	if v.isGone() {
		return false
	}
	v.post(func(s *screen) { s.do.raise() })
	return true
}

// post has f run on the loop, after everything that was posted before. It does not wait.
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

// handOver has f run on the loop. The toolkit ends its loop by itself when the system tells the program to end, and closes the
// queue behind it, which a goroutine that is about to hand something over can't know: then the queue panics, with a runtime
// error, and f is of no more use. What f itself panics with is a fault of ours and passes, also where the toolkit runs f right here.
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

// open lets posts through to s, those that waited first. It runs on the main goroutine before the loop.
func (v *View) open(s *screen) {
	v.mu.Lock()
	early := v.early
	v.screen, v.early = s, nil
	v.mu.Unlock()
	for _, f := range early {
		f(s)
	}
}
