package splash

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"net/url"
	"runtime"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver"
	"fyne.io/fyne/v2/driver/desktop"

	"collet"
	"collet/app/splash/lasting"
	"collet/app/update"
	"collet/assets"
)

func init() { lasting.Read() }

// ErrNoWindow reports that no window can be opened here: no display, no graphics, or a program built without windows. Work
// that needs no window is still possible.
var ErrNoWindow = errors.New("no window can be opened here")

// ErrNoDisplay is ErrNoWindow without any display: the game can't open a window either.
var ErrNoDisplay = fmt.Errorf("%w: there is no display", ErrNoWindow)

// Options are the parameters of the window. The zero value is valid: a window in English without optional functions.
type Options struct {
	Title   string                     // name of the game; empty: the product's name
	Texts   assets.Texts               // all texts; the zero value: English
	LogTail func() string              // the end of the log, for the details; nil: empty
	Report  func() string              // the report for the player to send; nil: LogTail
	OpenURL func(address string) error // opens a page; nil: in the system's browser

	Installed func() bool // whether the installed game can be played without the update; called on the main goroutine; nil: false
	Play      func()      // ends the update to play it; called on the main goroutine, only after Installed returned true

	Valve Valve // pauses and limits the download; nil: not available
	Cap   int64 // its initial limit in bytes per second; 0: unlimited

	Picture func() image.Image // the picture, made on its own goroutine; nil or a nil result: the product's
	Icon    func() []byte      // PNG of the window's icon; nil or a nil result: the product's

	// FirstFrame, if not nil, is called once on the main goroutine, after the first frame was passed to the screen.
	FirstFrame func()
}

// Valve controls a download. Its methods are called on the main goroutine and must return at once.
type Valve interface {
	Pause(paused bool)
	SetCap(bytesPerSecond int64) // 0 is unlimited
}

// Run shows the window and runs work in parallel. It must be called on the main goroutine, at most once in a process. It
// returns when work has returned and the window is closed. ctx ends when the player cancels an update or the system tells
// the program to end. work should return soon after; until then the window says that it is stopping.
//
// If no window can be opened, Run ends work's ctx with the error as its cause, waits for work, and returns ErrNoWindow with
// the reason. The caller may then run work without a window. There are no other errors.
func Run(opt Options, work func(ctx context.Context, v *View)) error {
	return run(opt, work, newApp)
}

// run is Run with a constructor for the application.
func run(opt Options, work func(context.Context, *View), create func() (fyne.App, error)) error {
	opt = opt.complete()
	ctx, cancelFor := context.WithCancelCause(context.Background())
	cancel := func() { cancelFor(nil) }
	defer cancel()
	v, done, ended := newView(opt.Texts), make(chan struct{}), func(*screen) {}
	application, err := create()
	if err == nil {
		ended = quitter(application, done)
	}
	go func() {
		work(ctx, v)
		close(done)
		v.post(ended)
	}()
	if err == nil {
		err = openWindow(application, opt, v, cancel)
	}
	if err == nil {
		loop(application)
	}
	close(v.gone)
	cancelFor(err)
	<-done
	return err
}

// loop runs the toolkit's loop and then its stop function. By itself the toolkit (2.8.1) calls that function on another
// goroutine just before it empties its queue for the last time. If the goroutine is late, its queued function never runs,
// and the loop waits for it forever.
func loop(application fyne.App) {
	life, is := application.Lifecycle().(interface {
		OnStopped() func()
		SetOnStoppedHookExecuted(f func())
	})
	if is {
		if last := life.OnStopped(); last != nil {
			life.SetOnStoppedHookExecuted(nil)
			defer last()
		}
	}
	application.Run()
}

// quitter returns a function that ends the loop when work is done. A quit before the loop runs would leave the window open
// and the loop running, so an early quit is repeated when the loop starts. It calls the driver's Quit, not the
// application's. The latter closes windows first, which is an error if the loop has just ended by itself; the end of the
// loop closes them anyway.
func quitter(application fyne.App, done <-chan struct{}) func(*screen) {
	started := false // used on the main goroutine
	quit := application.Driver().Quit
	application.Lifecycle().SetOnStarted(func() {
		started = true
		select {
		case <-done:
			quit()
		default:
		}
	})
	return func(*screen) {
		if started {
			quit()
		}
	}
}

func (o Options) complete() Options {
	o.Title = cmp.Or(clean(o.Title, maxLine), collet.App().Name)
	if o.Texts.Language() == "" {
		o.Texts = assets.TextsFor("")
	}
	if o.LogTail == nil {
		o.LogTail = func() string { return "" }
	}
	if o.Report == nil {
		o.Report = o.LogTail
	}
	if o.OpenURL == nil {
		o.OpenURL = browse
	}
	return o
}

// browse opens a page in the system's browser.
func browse(address string) error {
	page, err := url.Parse(address)
	if err != nil {
		return err
	}
	return fyne.CurrentApp().OpenURL(page)
}

// decode decodes a picture. After an error the window has no picture, which must not prevent the start of a game.
func decode(data []byte) image.Image {
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil
	}
	return picture
}

// picture is the window's picture.
func (o Options) picture() image.Image {
	if o.Picture != nil {
		if picture := o.Picture(); picture != nil {
			return picture
		}
	}
	return decode(assets.SplashPNG)
}

// icon is the window's icon.
func (o Options) icon() []byte {
	if o.Icon != nil {
		if icon := o.Icon(); icon != nil {
			return icon
		}
	}
	return assets.IconPNG
}

// openWindow opens the window with the first frame. Without a display the toolkit panics with an error other than a runtime
// error.
func openWindow(a fyne.App, opt Options, v *View, cancel func()) (err error) {
	defer func() {
		reason := recover()
		if fault, is := reason.(error); is && !errors.As(fault, new(runtime.Error)) {
			err = fmt.Errorf("%w: %w", ErrNoWindow, fault)
		} else if reason != nil {
			panic(reason)
		}
	}()
	pictures := make(chan image.Image, 1)
	go func() { pictures <- opt.picture() }() // in parallel with opening the window
	face, _ := faceOf(opt.Texts)              // without one Fyne searches for each letter
	a.Settings().SetTheme(newLook(face))
	w := newWindow(a, opt.Title)
	s := newScreen(opt.Title, <-pictures, opt.Texts, actions{
		cancel: cancel, logTail: opt.LogTail, report: opt.Report, open: opt.OpenURL,
		copy: func(text string) { a.Clipboard().SetContent(text) }, raise: w.RequestFocus,
		valve: opt.Valve, cap: opt.Cap, installed: opt.Installed, play: opt.Play,
	})
	s.show(Compose(update.Status{}, time.Now(), opt.Texts))
	w.SetContent(s.root)
	w.Resize(fyne.NewSize(windowWidth, windowHeight))
	w.SetFixedSize(true)
	w.SetCloseIntercept(s.shut)
	s.attach(w.Canvas())
	v.open(s)
	w.Show()
	if !isOpen(w) {
		return fmt.Errorf("%w: the system gave none", ErrNoWindow)
	}
	if opt.FirstFrame != nil {
		opt.FirstFrame()
	}
	w.SetIcon(fyne.NewStaticResource("icon.png", opt.icon())) // decoded after the first frame
	return nil
}

// newWindow makes a borderless window in the middle of the screen, or an ordinary one if the driver has no borderless
// windows.
func newWindow(a fyne.App, title string) fyne.Window {
	var w fyne.Window
	if d, is := a.Driver().(desktop.Driver); is {
		w = d.CreateSplashWindow()
	} else {
		w = a.NewWindow(title)
		w.SetPadded(false)
		w.CenterOnScreen()
	}
	w.SetTitle(title)
	return w
}

// isOpen reports whether the system has opened a window for w: Fyne only logs a failure.
func isOpen(w fyne.Window) bool {
	native, is := w.(driver.NativeWindow)
	if !is {
		return true
	}
	open := true
	native.RunNative(func(handle any) {
		switch handle := handle.(type) {
		case driver.X11WindowContext:
			open = handle.WindowHandle != 0
		case driver.WaylandWindowContext:
			open = handle.WaylandSurface != 0
		case driver.WindowsWindowContext:
			open = handle.HWND != 0
		case driver.MacWindowContext:
			open = handle.NSWindow != 0
		}
	})
	return open
}
