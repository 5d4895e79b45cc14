package splash

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"fyne.io/fyne/v2"

	"collet/assets"
	"collet/platform/interrupt"
)

// RemoteWatcher is the window's view of a device.
type RemoteWatcher interface {
	// Status returns a snapshot.
	Status() RemoteStatus
	// Watch returns a channel that holds a tick if Status has changed since the last tick was received, the first one at
	// once. It is closed after the last change and when ctx ends.
	Watch(ctx context.Context) <-chan struct{}
}

// RemoteOptions are the parameters of a remote launcher's window. Watcher and Actions are required. Actions.Quit also ends
// the context of the work.
type RemoteOptions struct {
	Title   string
	Texts   assets.Texts
	Watcher RemoteWatcher
	Actions RemoteActions
}

// RunRemote shows the window of a remote launcher and runs work in parallel, like Run for an update: on the main goroutine,
// at most once in a process, until work has returned and the window is closed. ctx ends when the window is closed or the
// system tells the program to end; the window stays open until work returns. The error is ErrNoWindow with the reason.
func RunRemote(opt RemoteOptions, work func(ctx context.Context)) error {
	return runRemote(opt, work, newApp)
}

// runRemote is RunRemote with a constructor for the application.
func runRemote(opt RemoteOptions, work func(context.Context), create func() (fyne.App, error)) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	v := &remoteView{watcher: opt.Watcher, texts: opt.Texts}
	done, ended := make(chan struct{}), func(*screen) {}
	application, err := create()
	if err == nil {
		ended = quitter(application, done)
		err = openRemote(application, opt.complete(cancel), v)
	}
	watching, stopWatching := context.WithCancel(context.Background())
	defer stopWatching()
	var all sync.WaitGroup
	all.Go(func() {
		work(ctx)
		close(done)
		v.post(func() { ended(nil) })
	})
	if err == nil {
		all.Go(func() { v.follow(watching) })
		loop(application)
	}
	v.leave()
	cancel()
	stopWatching()
	all.Wait()
	return err
}

// complete makes Quit also end the work.
func (o RemoteOptions) complete(cancel func()) RemoteOptions {
	quit := o.Actions.Quit
	o.Actions.Quit = func() {
		quit()
		cancel()
	}
	return o
}

// openRemote opens the window with the first frame.
func openRemote(a fyne.App, opt RemoteOptions, v *remoteView) (err error) {
	defer func() {
		reason := recover()
		if fault, is := reason.(error); is && !errors.As(fault, new(runtime.Error)) {
			err = fmt.Errorf("%w: %w", ErrNoWindow, fault)
		} else if reason != nil {
			panic(reason)
		}
	}()
	face, _ := faceOf(opt.Texts) // without one Fyne searches for each letter
	a.Settings().SetTheme(newLook(face))
	w := a.NewWindow(cmp.Or(clean(opt.Title, maxLine), a.Metadata().Name))
	w.SetPadded(false)
	v.screen = newRemoteScreen(opt.Texts, opt.Actions)
	v.screen.show(ComposeRemote(opt.Watcher.Status(), time.Now(), opt.Texts))
	w.SetContent(v.screen.root)
	w.Resize(fyne.NewSize(windowWidth, windowHeight))
	w.CenterOnScreen()
	w.SetCloseIntercept(opt.Actions.Quit)
	v.screen.attach(w.Canvas())
	w.Show()
	if !isOpen(w) {
		return fmt.Errorf("%w: the system gave none", ErrNoWindow)
	}
	w.SetIcon(fyne.NewStaticResource("icon.png", assets.IconPNG))
	return nil
}

// remoteView passes scenes to the screen. A new frame replaces an unpainted one.
type remoteView struct {
	watcher RemoteWatcher
	texts   assets.Texts
	screen  *remoteScreen // used on the loop

	mu     sync.Mutex
	gone   bool // the loop has ended
	next   RemoteScene
	queued bool
}

// follow shows changes until ctx ends or the channel is closed.
func (v *remoteView) follow(ctx context.Context) {
	changed := v.watcher.Watch(ctx)
	for {
		scene := ComposeRemote(v.watcher.Status(), time.Now(), v.texts)
		v.show(scene)
		if interrupt.Sleep(ctx, framePeriod) != nil || !wait(ctx, changed, scene.lasts()) {
			return
		}
	}
}

func (v *remoteView) show(scene RemoteScene) {
	v.mu.Lock()
	v.next = scene
	post := !v.queued
	v.queued = true
	v.mu.Unlock()
	if post {
		v.post(v.paint)
	}
}

// paint runs on the loop.
func (v *remoteView) paint() {
	v.mu.Lock()
	scene := v.next
	v.queued = false
	v.mu.Unlock()
	v.screen.show(scene)
}

// post runs f on the loop.
func (v *remoteView) post(f func()) {
	v.mu.Lock()
	gone := v.gone
	v.mu.Unlock()
	if gone {
		return
	}
	handOver(f)
}

// leave blocks further posts, after the loop has ended.
func (v *remoteView) leave() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.gone = true
}
