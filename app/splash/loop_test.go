package splash

import (
	"sync"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
)

// loopApp is Fyne's test application plus an event loop on one goroutine, which ends once and for all, like the real one.
type loopApp struct {
	fyne.App
	driver fyne.Driver
	queue  *queue
	life   *life
	window *loopWindow
	runs   int
	leave  sync.Once
}

// queue holds the functions passed to the loop.
type queue struct {
	mu     sync.Mutex
	waits  []func()
	ready  chan struct{}
	ended  chan struct{}
	shut   chan struct{} // closed with the queue
	closed bool
}

func (q *queue) add(f func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		q.shut <- struct{}{} // panics, like the real queue
	}
	q.waits = append(q.waits, f)
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

func (q *queue) take() []func() {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := q.waits
	q.waits = nil
	return taken
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	close(q.shut)
}

type life struct {
	fyne.Lifecycle
	started func()
}

func (l *life) SetOnStarted(f func()) { l.started = f }

// plainDriver makes ordinary windows only; splashDriver also makes borderless ones.
type plainDriver struct {
	fyne.Driver
	app *loopApp
}

func (d plainDriver) DoFromGoroutine(f func(), wait bool) {
	if !wait {
		d.app.queue.add(f)
		return
	}
	done := make(chan struct{})
	d.app.queue.add(func() { f(); close(done) })
	select {
	case <-done:
	case <-d.app.queue.ended:
	}
}

func (d plainDriver) Quit() { d.app.Quit() }

func (d plainDriver) CreateWindow(title string) fyne.Window {
	d.app.window = &loopWindow{Window: d.Driver.CreateWindow(title), kind: "plain"}
	return d.app.window
}

type splashDriver struct{ plainDriver }

func (d splashDriver) CreateSplashWindow() fyne.Window {
	d.app.window = &loopWindow{Window: d.Driver.CreateWindow(""), kind: "splash"}
	d.app.window.SetPadded(false) // like the real one
	return d.app.window
}

func (splashDriver) CurrentKeyModifiers() fyne.KeyModifier { return 0 }
func (splashDriver) HasSecondaryDisplay() bool             { return false }

// loopWindow records what the test window does not.
type loopWindow struct {
	fyne.Window
	kind      string
	intercept func()
	shown     bool
	icon      fyne.Resource
	closed    bool
	canvas    *loopCanvas
}

func (w *loopWindow) SetCloseIntercept(f func()) { w.intercept = f }
func (w *loopWindow) SetIcon(icon fyne.Resource) { w.icon = icon }
func (w *loopWindow) Show() {
	w.shown = true
}

// Canvas is the test canvas with shortcuts.
func (w *loopWindow) Canvas() fyne.Canvas {
	if w.canvas == nil {
		w.canvas = &loopCanvas{w.Window.Canvas(), map[string]func(fyne.Shortcut){}}
	}
	return w.canvas
}

type loopCanvas struct {
	fyne.Canvas
	shortcuts map[string]func(fyne.Shortcut)
}

func (c *loopCanvas) AddShortcut(s fyne.Shortcut, f func(fyne.Shortcut)) {
	c.shortcuts[s.ShortcutName()] = f
}

func newLoopApp(t *testing.T, splash bool) *loopApp {
	a := &loopApp{
		App: test.NewTempApp(t), life: &life{},
		queue: &queue{ready: make(chan struct{}, 1), ended: make(chan struct{}), shut: make(chan struct{})},
	}
	a.driver = plainDriver{a.App.Driver(), a}
	if splash {
		a.driver = splashDriver{plainDriver{a.App.Driver(), a}}
	}
	fyne.SetCurrentApp(a)
	return a
}

func (a *loopApp) Driver() fyne.Driver                { return a.driver }
func (a *loopApp) Lifecycle() fyne.Lifecycle          { return a.life }
func (a *loopApp) NewWindow(title string) fyne.Window { return a.driver.CreateWindow(title) }

// Run is the loop.
func (a *loopApp) Run() {
	a.runs++
	if a.life.started != nil {
		a.life.started()
	}
	for {
		select {
		case <-a.queue.ready:
			for _, f := range a.queue.take() {
				f()
			}
		case <-a.queue.ended:
			a.window.closed = true
			a.queue.close()
			return
		}
	}
}

// Quit ends the loop.
func (a *loopApp) Quit() { a.leave.Do(func() { close(a.queue.ended) }) }
