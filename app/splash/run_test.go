package splash

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver"

	"collet"
	"collet/app/update"
	"collet/assets"
)

// runOn runs the window on its own goroutine and returns the result of Run.
func runOn(t *testing.T, a *loopApp, opt Options, work func(context.Context, *View)) error {
	t.Helper()
	result := make(chan error, 1)
	go func() { result <- run(opt, work, func() (fyne.App, error) { return a, nil }) }()
	select {
	case err := <-result:
		return err
	case <-time.After(patience):
		t.Fatal("Run does not return")
		return nil
	}
}

func TestRunEndsWhenWorkIsDone(t *testing.T) {
	a := newLoopApp(t, true)
	frames, worked := 0, false
	err := runOn(t, a, Options{FirstFrame: func() {
		frames++
		if !a.window.shown || a.runs != 0 {
			t.Error("the first frame is not the first thing")
		}
	}}, func(ctx context.Context, v *View) {
		a.driver.DoFromGoroutine(func() {}, true) // the loop runs now
		worked = ctx.Err() == nil
	})
	if err != nil || !worked || frames != 1 || a.runs != 1 || !a.window.closed {
		t.Errorf("error %v, worked %v, %d first frames, %d loops, closed %v", err, worked, frames, a.runs, a.window.closed)
	}
	if a.window.kind != "splash" || a.window.Title() != collet.App().Name || a.window.icon == nil {
		t.Errorf("the window is %q, titled %q, icon %v", a.window.kind, a.window.Title(), a.window.icon)
	}
}

// Work that ends before the window is open must not leave a window or a loop behind.
func TestRunOfWorkThatIsDoneAtOnce(t *testing.T) {
	for range 5 {
		a := newLoopApp(t, true)
		if err := runOn(t, a, Options{}, func(context.Context, *View) {}); err != nil || a.runs != 1 || !a.window.closed {
			t.Fatalf("error %v, %d loops, closed %v", err, a.runs, a.window.closed)
		}
	}
}

// Work begins in parallel with the making of the window: here no window is made until work has started.
func TestRunBeginsWorkBeforeTheWindowIsOpen(t *testing.T) {
	a := newLoopApp(t, true)
	begun := make(chan struct{})
	a.driver = patientDriver{splashDriver{plainDriver{a.App.Driver(), a}}, begun}
	err := runOn(t, a, Options{}, func(_ context.Context, v *View) {
		v.Note("said early")
		close(begun)
	})
	if err != nil || !a.window.shown {
		t.Errorf("error %v, window shown: %v", err, a.window.shown)
	}
}

// patientDriver makes a window once work has started.
type patientDriver struct {
	splashDriver
	begun <-chan struct{}
}

func (d patientDriver) CreateSplashWindow() fyne.Window {
	<-d.begun
	return d.splashDriver.CreateSplashWindow()
}

func TestEarlyNoteIsInTheFirstFrame(t *testing.T) {
	v := newView(assets.TextsFor("en"))
	v.Note("said early")
	s := newScreen("Game", nil, assets.TextsFor("en"), actions{})
	v.open(s)
	if s.progress.note.whole != "said early" {
		t.Errorf("the first frame's note is %q", s.progress.note.whole)
	}
}

func TestOrdinaryWindowWhereThereIsNoBorderlessOne(t *testing.T) {
	a := newLoopApp(t, false)
	if err := runOn(t, a, Options{Title: "Ember\nReach"}, func(context.Context, *View) {}); err != nil {
		t.Fatal(err)
	}
	if a.window.kind != "plain" || a.window.Title() != "Ember Reach" {
		t.Errorf("the window is %q, titled %q", a.window.kind, a.window.Title())
	}
}

// When the system tells the program to end, Fyne ends its loop by itself. The context of work ends, and Run waits for work.
func TestLoopThatEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newLoopApp(t, true)
		returned := false
		err := runOn(t, a, Options{}, func(ctx context.Context, v *View) {
			time.AfterFunc(time.Second, a.Quit)
			action, err := v.Ask(context.Background(), interrupted())
			if action != update.Quit || !errors.Is(err, ErrGone) {
				t.Errorf("asking ends with %v, %v", action, err)
			}
			<-ctx.Done()
			v.Note("after the end")
			v.Follow(context.Background(), closedUpdate())
			time.Sleep(time.Second)
			returned = true
		})
		if err != nil || !returned {
			t.Errorf("error %v, returned %v", err, returned)
		}
	})
}

func closedUpdate() *fakeUpdate {
	f := newFakeUpdate(sampleFetching())
	f.end()
	return f
}

// Without a window the context of work ends, Run waits for work, and work may run again in another way.
func TestNoWindow(t *testing.T) {
	noGraphics := errors.New("no graphics")
	for name, create := range map[string]func(*testing.T) (fyne.App, error){
		"no application": func(*testing.T) (fyne.App, error) { return nil, ErrNoWindow },
		"toolkit panics": func(t *testing.T) (fyne.App, error) {
			a := newLoopApp(t, true)
			a.driver = brokenDriver{plainDriver{a.App.Driver(), a}, noGraphics}
			return a, nil
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			returned := false
			err := run(Options{}, func(ctx context.Context, v *View) {
				v.Note("after the end")
				if _, err := v.Ask(ctx, interrupted()); err == nil {
					t.Errorf("%s: asking succeeds", name)
				}
				<-ctx.Done()
				time.Sleep(time.Second)
				returned = true
			}, func() (fyne.App, error) { return create(t) })
			if !errors.Is(err, ErrNoWindow) || !returned {
				t.Errorf("%s: error %v, work returned: %v", name, err, returned)
			}
			if name == "toolkit panics" && !errors.Is(err, noGraphics) {
				t.Errorf("%s: the reason is lost: %v", name, err)
			}
		})
	}
}

// A runtime error is not mistaken for a missing display.
func TestRuntimeErrorsAreNotSwallowed(t *testing.T) {
	a := newLoopApp(t, true)
	a.driver = brokenDriver{plainDriver{a.App.Driver(), a}, nil}
	defer func() {
		if _, is := recover().(runtime.Error); !is {
			t.Error("a runtime error became an ordinary one")
		}
	}()
	_ = openWindow(a, Options{Texts: assets.TextsFor("en")}.complete(), newView(assets.TextsFor("en")), func() {})
}

// brokenDriver can't make windows: it panics with its error, or like a bug.
type brokenDriver struct {
	plainDriver
	reason error
}

func (d brokenDriver) CreateSplashWindow() fyne.Window {
	if d.reason != nil {
		panic(d.reason)
	}
	var none map[string]int
	none["x"] = 1 //lint:ignore SA5000 this stands for a bug
	return nil
}

func (brokenDriver) CurrentKeyModifiers() fyne.KeyModifier { return 0 }
func (brokenDriver) HasSecondaryDisplay() bool             { return false }

// nativeWindow is a window with a given system handle.
type nativeWindow struct {
	fyne.Window
	handle any
}

func (w nativeWindow) RunNative(f func(any)) { f(w.handle) }

// Fyne only logs a failure to open a window; isOpen checks the handle.
func TestIsOpen(t *testing.T) {
	for _, c := range []struct {
		handle any
		want   bool
	}{
		{driver.X11WindowContext{}, false}, {driver.X11WindowContext{WindowHandle: 7}, true},
		{driver.WaylandWindowContext{}, false}, {driver.WaylandWindowContext{WaylandSurface: 7}, true},
		{driver.WindowsWindowContext{}, false}, {driver.WindowsWindowContext{HWND: 7}, true},
		{driver.MacWindowContext{}, false}, {driver.MacWindowContext{NSWindow: 7}, true},
		{driver.UnknownContext{}, true},
	} {
		if got := isOpen(nativeWindow{handle: c.handle}); got != c.want {
			t.Errorf("%#v: %v", c.handle, got)
		}
	}
	if !isOpen(&loopWindow{}) {
		t.Error("a window without a handle is not open")
	}
}

func TestOptionsAreCompleted(t *testing.T) {
	o := Options{}.complete()
	if o.Title != collet.App().Name || o.Texts.Language() != "en" || o.LogTail() != "" || o.Report() != "" || o.OpenURL == nil {
		t.Errorf("completed options are %+v", o)
	}
	other := assets.Languages()[0]
	o = Options{Title: "  Ember\tReach ", Texts: assets.TextsFor(other), LogTail: func() string { return "log" }}.complete()
	if o.Title != "Ember Reach" || o.Texts.Language() != other || o.Report() != "log" {
		t.Errorf("completed options are %+v", o)
	}
}

func TestBrowseRefusesWhatIsNoAddress(t *testing.T) {
	newLoopApp(t, true)
	if err := browse("https://example.org/get"); err != nil {
		t.Error(err)
	}
	if err := browse("http://[::1"); err == nil {
		t.Error("a broken address is opened")
	}
}

func TestHasDisplay(t *testing.T) {
	for _, c := range []struct {
		goos, x11, wayland string
		want               bool
	}{
		{"linux", "", "", false}, {"linux", ":0", "", true}, {"linux", "", "wayland-0", true}, {"freebsd", "", "", false},
		{"windows", "", "", true}, {"darwin", "", "", true},
	} {
		got := hasDisplay(c.goos, func(name string) string {
			return map[string]string{"DISPLAY": c.x11, "WAYLAND_DISPLAY": c.wayland}[name]
		})
		if got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestDecodeOfADamagedPicture(t *testing.T) {
	if got := decode([]byte("no picture")); got != nil {
		t.Errorf("got %v", got)
	}
	if got := decode(assets.SplashPNG); got == nil || got.Bounds().Dx() != windowWidth {
		t.Errorf("the splash picture is %v", got)
	}
}

func TestSystemLocaleIsUnderstood(t *testing.T) {
	if tag := assets.TextsFor(SystemLocale()).Language(); tag == "" {
		t.Errorf("%q has no texts", SystemLocale())
	}
}
