package splash

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"go.uber.org/goleak"

	"collet/assets"
)

// fakeDevice is a RemoteWatcher whose Status a test sets.
type fakeDevice struct {
	mu     sync.Mutex
	status RemoteStatus
	ticks  chan struct{}
}

func newFakeDevice() *fakeDevice {
	return &fakeDevice{status: RemoteStatus{Name: "Box", Desk: "desk:1", Link: RemoteDialing, Run: RemoteStopped}, ticks: make(chan struct{}, 1)}
}

func (f *fakeDevice) Status() RemoteStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

func (f *fakeDevice) Watch(context.Context) <-chan struct{} { return f.ticks }

func (f *fakeDevice) set(change func(*RemoteStatus)) {
	f.mu.Lock()
	change(&f.status)
	f.mu.Unlock()
	select {
	case f.ticks <- struct{}{}:
	default:
	}
}

// remoteSession is a run of the remote window on the test loop.
type remoteSession struct {
	t      *testing.T
	app    *loopApp
	device *fakeDevice
	did    *pressed
	finish func() // lets work return
	result chan error
	ended  chan struct{} // closed when work's context has ended
}

func beginRemote(t *testing.T) *remoteSession {
	t.Helper()
	s := &remoteSession{t: t, app: newLoopApp(t, true), device: newFakeDevice(), did: &pressed{}, result: make(chan error, 1), ended: make(chan struct{})}
	working, leave := make(chan struct{}), make(chan struct{})
	s.finish = sync.OnceFunc(func() { close(leave) })
	opt := RemoteOptions{Title: "Box", Texts: assets.TextsFor("en"), Watcher: s.device, Actions: s.did.actions()}
	go func() {
		s.result <- runRemote(opt, func(ctx context.Context) {
			close(working)
			defer context.AfterFunc(ctx, func() { close(s.ended) })()
			<-leave
		}, func() (fyne.App, error) { return s.app, nil })
	}()
	<-working
	t.Cleanup(s.finish)
	return s
}

// on runs f on the loop and waits for it.
func (s *remoteSession) on(f func()) {
	s.t.Helper()
	done := make(chan struct{})
	fyne.Do(func() { f(); close(done) })
	select {
	case <-done:
	case <-time.After(patience):
		s.t.Fatal("the loop does not run")
	}
}

// wait waits for the end of the window.
func (s *remoteSession) wait() error {
	s.t.Helper()
	select {
	case err := <-s.result:
		return err
	case <-time.After(patience):
		s.t.Fatal("the window does not end")
		return nil
	}
}

func TestRemoteWindowEndsWithItsWork(t *testing.T) {
	s := beginRemote(t)
	s.finish()
	if err := s.wait(); err != nil || s.app.runs != 1 || !s.app.window.closed || s.app.window.kind != "plain" {
		t.Errorf("%v; %+v", err, s.app.window)
	}
	goleak.VerifyNone(t, goleak.IgnoreCurrent())
}

// Closing the window ends the context of the work; the window stays open until work returns.
func TestRemoteWindowIsClosed(t *testing.T) {
	s := beginRemote(t)
	s.on(func() { s.app.window.intercept() })
	<-s.ended
	s.on(func() {}) // the loop still runs
	s.finish()
	if err := s.wait(); err != nil || s.did.quit != 1 {
		t.Errorf("%v; quit %d times", err, s.did.quit)
	}
}

func TestRemoteWindowFollowsItsDevice(t *testing.T) {
	s := beginRemote(t)
	// offers waits until one button is visible and another is not.
	offers := func(label, not string) {
		t.Helper()
		for begun := time.Now(); time.Since(begun) < patience; runtime.Gosched() { // each round waits for the loop
			seen := map[string]bool{}
			s.on(func() {
				for _, o := range s.app.window.Content().(*fyne.Container).Objects {
					if c, is := o.(*choice); is && c.Visible() {
						seen[c.label] = true
					}
				}
			})
			if seen[label] && !seen[not] {
				return
			}
		}
		t.Fatalf("%q is never offered", label)
	}
	s.device.set(func(r *RemoteStatus) { r.Link, r.Startable = RemoteConnected, true })
	offers("Start the game", "Stop the game")
	s.device.set(func(r *RemoteStatus) { r.Run = RemoteRunning })
	offers("Stop the game", "Start the game")
	s.finish()
	s.wait()
}

// Without a display the context of the work ends at once, and RunRemote waits for work.
func TestRemoteWithoutAWindow(t *testing.T) {
	ended := false
	opt := RemoteOptions{Texts: assets.TextsFor("en"), Watcher: newFakeDevice(), Actions: (&pressed{}).actions()}
	err := runRemote(opt, func(ctx context.Context) {
		<-ctx.Done()
		ended = true
	}, func() (fyne.App, error) { return nil, ErrNoWindow })
	if !errors.Is(err, ErrNoWindow) || !ended {
		t.Errorf("%v, ended %v", err, ended)
	}
}

// remoteChild is a program with a real window of a remote launcher and a running game. It prints the user's actions.
func remoteChild(texts assets.Texts) int {
	device := newFakeDevice()
	device.set(func(r *RemoteStatus) {
		r.Link, r.Run, r.RunSince = RemoteConnected, RemoteRunning, time.Now()
		r.Lines, r.Seen = []RemoteLine{{Time: time.Now(), Source: "Game", Text: "hello"}}, 1
	})
	say := func(word string) func() { return func() { fmt.Println(word) } }
	opt := RemoteOptions{Title: "Box", Texts: texts, Watcher: device, Actions: RemoteActions{Start: say("start"), Stop: say("stop"), Force: say("force"), Quit: say("quit")}}
	if err := RunRemote(opt, func(ctx context.Context) { <-ctx.Done() }); err != nil {
		fmt.Println(err)
		return 3
	}
	return 0
}
