package splash

import (
	"slices"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/app"
	"fyne.io/fyne/v2/test"
)

// lastLife is the toolkit's lifecycle with a stop function.
type lastLife struct {
	fyne.Lifecycle
	last func()
}

func (l *lastLife) OnStopped() func()                 { return l.last }
func (l *lastLife) SetOnStoppedHookExecuted(f func()) { l.last = f }

// lastApp is an application whose loop records what the toolkit would queue at its end.
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

// TestNothingIsLeftForTheEndOfTheLoop checks that the toolkit queues nothing there, and that its stop function runs
// afterwards.
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

// TestToolkitsLifecycle checks that the real lifecycle has the two methods that loop uses. Without them loop has to be
// adapted.
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
