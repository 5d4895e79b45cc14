package splash

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"time"

	"collet/app/update"
	"collet/assets"
	"collet/platform"
)

// childScene names the environment variable that makes the test binary a program with a real window, and selects its scene.
// childLang selects its language.
const (
	childScene = "COLLET_SPLASH_SCENE"
	childLang  = "COLLET_SPLASH_LANG"
)

// fakeUpdate is a Watcher whose Status the test sets.
type fakeUpdate struct {
	mu      sync.Mutex
	status  update.Status
	ticks   chan struct{}
	asked   int
	watched int
}

func newFakeUpdate(s update.Status) *fakeUpdate {
	f := &fakeUpdate{status: s, ticks: make(chan struct{}, 1)}
	f.ticks <- struct{}{}
	return f
}

func (f *fakeUpdate) Status() update.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	return f.status
}

func (f *fakeUpdate) Watch(context.Context) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watched++
	return f.ticks
}

func (f *fakeUpdate) set(s update.Status) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status = s
	select {
	case f.ticks <- struct{}{}:
	default:
	}
}

func (f *fakeUpdate) end() { close(f.ticks) }

func (f *fakeUpdate) asks() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

// child is a program with a window that plays one scene. It prints what the test needs to know.
func child(scene string) int {
	texts := assets.TextsFor(os.Getenv(childLang))
	if scene == "remote" {
		return remoteChild(texts)
	}
	begun := time.Now()
	signal.Notify(make(chan os.Signal, 1), platform.EndSignals()...) // no longer fatal, as in the client
	opt := Options{
		Title: "Ember Reach", Texts: texts, LogTail: func() string { return sampleLog },
		Report:     func() string { return "report of a test" },
		OpenURL:    func(string) error { return nil },
		FirstFrame: func() { fmt.Printf("first frame after %d ms\n", time.Since(begun).Milliseconds()) },
	}
	var answer string
	err := Run(opt, func(ctx context.Context, v *View) { answer = play(ctx, v, scene, texts) })
	fmt.Printf("answer %s, error %v\n", answer, err)
	if err != nil {
		return 3
	}
	return 0
}

func play(ctx context.Context, v *View, scene string, texts assets.Texts) string {
	if popup, found := popups()[scene]; found {
		action, err := v.Ask(ctx, ComposeEnd(update.EndOf(popup.outcome, update.NoCause), popup.info, texts))
		return fmt.Sprint(action, " ", err)
	}
	switch scene {
	case "quick":
		return "done"
	case "dialog":
		info := sampleInfo()
		action, err := v.Ask(ctx, ComposeEnd(update.EndOf(update.Failed, update.Interrupted), info, texts))
		return fmt.Sprint(action, " ", err)
	case "full":
		e := update.EndOf(update.Failed, update.DiskFull)
		action, err := v.Ask(ctx, ComposeEnd(e, fullInfo(e), texts))
		return fmt.Sprint(action, " ", err)
	case "toast":
		toast := ComposeToast(*sampleDifferences(), texts)
		toast.Shown = 20 * time.Second // its time begins before there is a window
		return fmt.Sprint("pressed ", v.Toast(ctx, toast))
	case "busy":
		v.Follow(ctx, newFakeUpdate(update.Status{Phase: update.Connecting, Attempt: 1}))
	case "note":
		v.Note(texts.Get("note.embedded", "file", "EmberReach.so"))
		v.Follow(ctx, newFakeUpdate(sampleFetching()))
	default:
		v.Follow(ctx, newFakeUpdate(sampleFetching()))
	}
	return fmt.Sprint(ctx.Err())
}

func sampleFetching() update.Status {
	return update.Status{
		Phase: update.Fetching, Mode: update.Resources, Attempt: 1, Server: "play.example.org:4000",
		File: "Resources/Textures/Caves.zip", FileSize: 48_300_000, FileDone: 17_900_000,
		Files: 12, FilesDone: 4, Bytes: 412_000_000, BytesDone: 171_300_000, Rate: 2_300_000,
	}
}

func sampleInfo() EndInfo {
	return EndInfo{
		Target: "Linux-x64", Server: "play.example.org:4000", Path: "/home/ada/Games/EmberReach", PlayOffline: true,
		Fault: &update.Fault{Cause: update.Interrupted, Subject: "play.example.org:4000"},
	}
}

const sampleLog = `{"level":"info","version":"0.1.0","build":1,"target":"Linux-x64","folder":"/home/ada/Games/EmberReach","server":"play.example.org:4000","message":"collet-client starts"}
{"level":"info","role":"runtime","file":"/home/ada/Games/EmberReach/EmberReach.so","compat":"7.1","abi":3,"message":"runtime loaded"}
{"level":"info","phase":"connecting","attempt":1,"message":"update"}
{"level":"info","verdict":"UPDATE_RESOURCES","rule":8,"message":"judged"}
{"level":"info","phase":"fetching","mode":"resources","files":12,"bytes":412000000,"message":"update"}
{"level":"warn","fault":"interrupted: play.example.org:4000: read tcp 127.0.0.1:50122->127.0.0.1:4000: connection reset by peer","message":"attempt failed"}
{"level":"error","outcome":"Failed","cause":"interrupted","message":"start ended"}`
