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

// ErrNoWindow says that there is no way to open a window here: no display, no graphics, or a program that was built
// without a window. What can be done without one still can.
var ErrNoWindow = errors.New("no window can be opened here")

// ErrNoDisplay is ErrNoWindow where there is no display at all: no window of any program can be opened, the game's neither.
var ErrNoDisplay = fmt.Errorf("%w: there is no display", ErrNoWindow)

// Options is what the window needs to know. The zero value is a window in English that has nothing to report.
type Options struct {
	Title   string                     // name of the game; empty: the product's name
	Texts   assets.Texts               // all wording; the zero value: English
	LogTail func() string              // the end of the log, for the details; nil: there is none
	Report  func() string              // the report that a player can send; nil: the log's end is the report
	OpenURL func(address string) error // opens a page; nil: the system's browser does

	Installed func() bool // whether there is something to play without an update under way; called on the main goroutine; nil: there is nothing
	Play      func()      // ends the update under way to play it; called on the main goroutine, only after Installed said yes

	Valve Valve // pauses and slows what is fetched; nil: nothing can
	Cap   int64 // bytes a second that it allows at the beginning; 0: no limit

	Picture func() image.Image // the picture of the window, made on a goroutine of its own; nil, or giving nil: the product's
	Icon    func() []byte      // PNG of the window's icon; nil, or giving nil: the product's

	// FirstFrame, if not nil, is called once, on the main goroutine, when the first frame has been handed to the screen.
	FirstFrame func()
}

// Valve is what the player can do to a download. Its methods are called on the main goroutine and return at once.
type Valve interface {
	Pause(paused bool)
	SetCap(bytesPerSecond int64) // 0 is no limit
}

// Run shows the window and runs work beside it. It must be called on the main goroutine, at most once in a process, and
// returns when work has returned and the window is gone. ctx ends when the player cancels an update or the system tells
// the program to end; work should return soon after, and the window says so until it does.
//
// Where no window can be opened, work's ctx is ended, with the error for its cause, work is waited for, and the error is ErrNoWindow
// with the reason; work may then be done again in another way. There are no other errors.
func Run(opt Options, work func(ctx context.Context, v *View)) error {
	return run(opt, work, newApp)
}

// run is Run with a way to make the application.
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

// loop runs the toolkit's loop and, behind it, what the toolkit has to do at its end. Left to itself it (2.8.1) hands that to another
// goroutine just before it empties its queue for the last time; where that goroutine comes too late, what it queues is never
// done, and the loop waits for it for ever.
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

// quitter returns what ends the loop when work is done. Quitting before the loop runs would leave the window open and
// the loop running, so what comes too early is made up for when the loop starts. It is the driver that quits, and not
// the application: that would close windows first, which is a fault if the loop has just ended by itself; the end of the
// loop takes them down anyway.
func quitter(application fyne.App, done <-chan struct{}) func(*screen) {
	started := false // of the main goroutine
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

// decode makes pixels of a picture. Without a picture the window is plain, which is no reason not to start a game.
func decode(data []byte) image.Image {
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil
	}
	return picture
}

// picture is what the window shows.
func (o Options) picture() image.Image {
	if o.Picture != nil {
		if picture := o.Picture(); picture != nil {
			return picture
		}
	}
	return decode(assets.SplashPNG)
}

// icon is what the system shows of the window.
func (o Options) icon() []byte {
	if o.Icon != nil {
		if icon := o.Icon(); icon != nil {
			return icon
		}
	}
	return assets.IconPNG
}

// openWindow puts the first frame on the screen. The toolkit panics where it finds no display, with an error that is no
// runtime error.
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
	go func() { pictures <- opt.picture() }() // while the window is being made
	a.Settings().SetTheme(newLook())
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
	w.SetIcon(fyne.NewStaticResource("icon.png", opt.icon())) // decoding it can wait for the first frame
	return nil
}

// newWindow makes a window without borders in the middle of the screen, or an ordinary one where there are no others.
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

// isOpen reports whether the system really has a window for w: Fyne only logs it when it has not.
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
