package operator

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"collet/netproto/compat"
)

// sessionOf is a connected client.
func sessionOf(logic int32, target string) *Session {
	return &Session{Hello: compat.Hello{Tagged: true, Target: target, Build: compat.Build{Logic: logic}}, Judgement: compat.Judgement{Verdict: compat.Accept}, End: func() {}}
}

// testLabels knows 5 to 8, and one target that no other server has.
func testLabels() labels {
	return labels{versions: compat.Range{Min: 5, Max: 8}, ranged: true, targets: map[string]compat.Target{"Console-x": {}}}
}

// TestLabels lets nothing become a label that the server does not know.
func TestLabels(t *testing.T) {
	for _, c := range []struct {
		hello         compat.Hello
		logic, target string
	}{
		{compat.Hello{Tagged: true, Build: compat.Build{Logic: 5}, Target: "Linux-x64"}, "5", "Linux-x64"},
		{compat.Hello{Tagged: true, Build: compat.Build{Logic: 8}, Target: "Console-x"}, "8", "Console-x"},
		{compat.Hello{Tagged: true, Build: compat.Build{Logic: 9}, Target: "Linux-x65"}, "other", "other"},
		{compat.Hello{Tagged: true, Build: compat.Build{Logic: compat.NoLogic}, Target: ""}, "none", "other"},
		{compat.Hello{Tagged: true, Build: compat.Build{Logic: -77}, Target: "Windows-win64"}, "none", "Windows-win64"},
		{compat.Hello{Build: compat.Build{Logic: 6, Compatibility: compat.Derived(7, 1)}, Target: "Web-wasm"}, "7", "Web-wasm"},
		{compat.Hello{Build: compat.Build{Logic: 6, Compatibility: "spring"}, Target: "macOS-arm64"}, "none", "macOS-arm64"},
		{compat.Hello{Build: compat.Build{Compatibility: compat.Derived(4, 1)}, Target: "iOS-arm64"}, "other", "iOS-arm64"},
	} {
		if got := testLabels().group(c.hello); got.Logic != c.logic || got.Target != c.target {
			t.Errorf("%+v counts as %+v", c.hello, got)
		}
	}
	if got := (labels{}).logic(7); got != OtherGroup {
		t.Errorf("without versions 7 is %q", got)
	}
}

// TestSessionsAreCounted lists connected sessions, and removes ended ones.
func TestSessionsAreCounted(t *testing.T) {
	c, known := newSessions(newMetrics()), testLabels()
	var left []func()
	for _, g := range []*Session{sessionOf(5, "Linux-x64"), sessionOf(5, "Linux-x64"), sessionOf(6, "Linux-x64"), sessionOf(99, "Toaster")} {
		left = append(left, c.addSession(g, known.group(g.Hello), time.Now()))
	}
	want := []Group{{Logic: "5", Target: "Linux-x64", Count: 2}, {Logic: "6", Target: "Linux-x64", Count: 1}, {Logic: "other", Target: "other", Count: 1}}
	if got := c.connectedGroups(known); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := c.countByTarget(); got["Linux-x64"] != 3 || got["Toaster"] != 1 {
		t.Errorf("by target %v", got)
	}
	left[0]()
	left[0]() // a second time changes nothing
	left[3]()
	if got := len(c.list()); got != 2 {
		t.Errorf("%d are left", got)
	}
	if got := c.lastHour(time.Now()); len(got) != 3 || got[0].Count != 2 || got[0].Verdict != "ACCEPT" {
		t.Errorf("the last hour has %v", got)
	}
}

// TestLastHour forgets handshakes after an hour, minute by minute, also after a day without any.
func TestLastHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, known := newSessions(newMetrics()), testLabels()
		come := func() {
			g := sessionOf(5, "Linux-x64")
			c.addSession(g, known.group(g.Hello), time.Now())()
		}
		count := func() (n int) {
			for _, g := range c.lastHour(time.Now()) {
				n += g.Count
			}
			return n
		}
		come()
		time.Sleep(30 * time.Minute)
		come()
		come()
		for _, step := range []struct {
			wait time.Duration
			want int
		}{{0, 3}, {29 * time.Minute, 3}, {time.Minute, 2}, {29 * time.Minute, 2}, {2 * time.Minute, 0}} {
			time.Sleep(step.wait)
			if got := count(); got != step.want {
				t.Errorf("%v later there are %d, want %d", step.wait, got, step.want)
			}
		}
		time.Sleep(25 * time.Hour)
		come()
		if got := count(); got != 1 {
			t.Errorf("after a day there are %d", got)
		}
	})
}

// TestKindsOfClientsAreBounded counts what is too diverse together.
func TestKindsOfClientsAreBounded(t *testing.T) {
	c, now := newSessions(newMetrics()), time.Now()
	const many = maxGroups + 500
	for i := range many {
		g := sessionOf(5, "Linux-x64")
		c.addSession(g, Group{Logic: fmt.Sprint(i), Target: "Linux-x64"}, now)()
	}
	got, sum := c.lastHour(now), 0
	for _, g := range got {
		sum += g.Count
	}
	if len(got) > maxGroups+1 || sum != many {
		t.Errorf("%d kinds with %d clients", len(got), sum)
	}
}

// TestSealsBelongToTheirPlace can't be moved to another key or bucket, nor shortened.
func TestSealsBelongToTheirPlace(t *testing.T) {
	bucket, key, value := []byte("floors"), []byte("ann"), []byte{0, 0, 0, 7}
	sealed := append(seal(bucket, key, value), value...)
	if got, err := unseal(bucket, key, sealed); err != nil || floorOf(got) != 7 {
		t.Errorf("%v, %v", got, err)
	}
	for name, try := range map[string]struct{ bucket, key, sealed []byte }{
		"another account":  {bucket, []byte("bob"), sealed},
		"another bucket":   {[]byte("tokens"), key, sealed},
		"shifted":          {[]byte("floorsa"), []byte("nn"), sealed},
		"cut":              {bucket, key, sealed[:len(sealed)-1]},
		"nothing":          {bucket, key, nil},
		"only a hash":      {bucket, key, sealed[:sumSize]},
		"another value":    {bucket, key, append(append([]byte{}, sealed[:sumSize]...), 0, 0, 0, 8)},
		"a byte too many":  {bucket, key, append(append([]byte{}, sealed...), 0)},
		"less than a hash": {bucket, key, sealed[:7]},
	} {
		if _, err := unseal(try.bucket, try.key, try.sealed); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// TestNumbersOfKeys are 0 for what is none.
func TestNumbersOfKeys(t *testing.T) {
	for _, n := range []uint64{0, 1, 255, 256, 1<<63 + 5} {
		if got := numberOf(numberKey(n)); got != n {
			t.Errorf("%d became %d", n, got)
		}
	}
	if numberOf(nil) != 0 || numberOf([]byte{1, 2}) != 0 || floorOf(nil) != 0 || floorOf([]byte{1}) != 0 {
		t.Error("something is made of nothing")
	}
}

// TestKickCountsDown ends sessions when the time is over, unless the settings were changed once more, or the server was stopped.
func TestKickCountsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			meanwhile func(o *Operator)
			ended     bool
		}{
			"nothing happens": {func(*Operator) {}, true},
			"another change":  {func(o *Operator) { o.applyRevision(3, 5) }, false},
			"the end":         {func(o *Operator) { close(o.closing); o.running.Wait() }, false},
		} {
			o := &Operator{Sessions: newSessions(newMetrics()), metrics: newMetrics(), closing: make(chan struct{})}
			o.applyRevision(2, 6)
			gone := make(chan struct{}, 2)
			for _, logic := range []int32{5, 6} {
				g := sessionOf(logic, "Linux-x64")
				g.End = func() { gone <- struct{}{} }
				o.Sessions.addSession(g, Group{}, time.Now())
			}
			o.kickSessions(5*time.Minute, 2)
			time.Sleep(4 * time.Minute)
			synctest.Wait()
			if len(gone) != 0 {
				t.Errorf("%s: ended too early", name)
			}
			c.meanwhile(o)
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			if want := map[bool]int{true: 1}[c.ended]; len(gone) != want {
				t.Errorf("%s: %d were ended, want %d", name, len(gone), want)
			}
			o.running.Wait()
		}
	})
}

// applyRevision makes an operator judge by a revision in which a version and those above it are active.
func (o *Operator) applyRevision(revision uint64, from int32) {
	d := &compat.Declared{Versioned: true, Supported: compat.Range{Min: 5, Max: 8}}
	s := compat.Defaults(*d)
	s.Revision, s.ActiveMin = revision, from
	o.applySettings(s, d)
}
