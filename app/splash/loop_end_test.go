package splash

import (
	"slices"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/app"
	"fyne.io/fyne/v2/test"
)

// lastLife is the toolkit's lifecycle with something to do at its end.
type lastLife struct {
	fyne.Lifecycle
	last func()
}

func (l *lastLife) OnStopped() func()                 { return l.last }
func (l *lastLife) SetOnStoppedHookExecuted(f func()) { l.last = f }

// lastApp is an application whose loop notes what the toolkit would queue when it ends.
type lastApp struct {
	fyne.App
	life   fyne.Lifecycle
	queued bool
	said   *[]string
}

func (a *lastApp) Lifecycle() fyne.Lifecycle { return a.life }
func (a *lastApp) Run() {
	if l, is := a.life.(*lastLife); is {
		a.queued = l.OnStopped() != nil
	}
	*a.said = append(*a.said, "loop")
}

// TestNothingIsLeftForTheEndOfTheLoop: the toolkit finds nothing to queue there, and what it wanted to do is done afterwards.
func TestNothingIsLeftForTheEndOfTheLoop(t *testing.T) {
	for name, want := range map[string][]string{"something": {"loop", "last"}, "nothing": {"loop"}, "another lifecycle": {"loop"}} {
		var said []string
		life := &lastLife{}
		a := &lastApp{life: life, said: &said}
		switch name {
		case "something":
			life.last = func() { said = append(said, "last") }
		case "another lifecycle":
			a.life = struct{ fyne.Lifecycle }{}
		}
		if loop(a); a.queued || !slices.Equal(said, want) {
			t.Errorf("%s: %q, want %q; queued: %v", name, said, want, a.queued)
		}
	}
}

// TestToolkitsLifecycle: the real one has the two methods that loop looks for. A toolkit without them needs another look.
func TestToolkitsLifecycle(t *testing.T) {
	for name, a := range map[string]fyne.App{"test": test.NewTempApp(t), "real": app.New()} {
		if _, is := a.Lifecycle().(interface {
			OnStopped() func()
			SetOnStoppedHookExecuted(f func())
		}); !is {
			t.Errorf("%s: %T can't be told to leave the end to us", name, a.Lifecycle())
		}
	}
}
