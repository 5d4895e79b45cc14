package launcher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// greeted is a lab whose device is in.
func greeted(t *testing.T, dialect Dialect, own bool) (*lab, *modelDevice) {
	l := newLab(t, DeskOptions{Dialect: dialect}, nil)
	m := newModelDevice(dialect, nil)
	l.connect(m, own)
	m.got, m.started, m.stopped = map[uint8]int{}, nil, nil
	return l, m
}

// raw is a session alone, with what it wants done.
type raw struct {
	*session
	now time.Time
}

func newRaw(dialect Dialect, own bool) *raw {
	now := time.Unix(1_700_000_000, 0)
	times := DeskTimes{}.withDefaults()
	return &raw{newSession(sessionSettings{times: times, dialect: dialect, known: newLayouts()}, own, now), now}
}

func (r *raw) take(m Message) []effect { return r.step(r.now, messageEvent{m}) }

func (r *raw) greet(features Features) []effect {
	r.take(&ConnectRequest{SupportedFeatures: features, Name: "Lab"})
	return r.step(r.now, admittedEvent{decision: Admit, id: "Lab@x", doubts: new(doubts)})
}

// later lets time pass up to the moment that the session named.
func (r *raw) later() []effect {
	r.now = r.wake()
	return r.step(r.now, tickEvent{})
}

func sentCodes(effects []effect) (codes []uint8) {
	for _, e := range effects {
		switch e := e.(type) {
		case sendEffect:
			codes = append(codes, e.message.Code())
		case linkEffect:
			codes = append(codes, 0)
		}
	}
	return codes
}

func closing(effects []effect) error {
	for _, e := range effects {
		if c, is := e.(closeEffect); is {
			return c.err
		}
	}
	return nil
}

// TestGreeting: connectAccepted, then the link, then the properties (Remote launcher protocol, section 3.4).
func TestGreeting(t *testing.T) {
	want := map[Dialect][]uint8{Released: {CodeConnectAccepted, 0, CodeRequestSystemProperty, CodeRequestSystemProperty, CodeRequestSystemProperty},
		Draft: {CodeConnectAccepted, 0}}
	for dialect, codes := range want {
		r := newRaw(dialect, false)
		out := r.take(&ConnectRequest{Name: "Lab \x1b[31m"})
		if ask, is := out[0].(admitEffect); len(out) != 1 || !is || ask.name != "Lab ·[31m" {
			t.Errorf("%v: after connectRequest %v", dialect, out)
		}
		if got := sentCodes(r.step(r.now, admittedEvent{decision: Admit, id: "x", doubts: new(doubts)})); !slices.Equal(got, codes) {
			t.Errorf("%v: after the admission %v, want %v", dialect, got, codes)
		}
	}
}

// TestFeatures: our own mode needs both ends, the transport and the released dialect; other bits are never enabled.
func TestFeatures(t *testing.T) {
	for _, c := range []struct {
		dialect Dialect
		own     bool
		offered Features
		want    Features
	}{
		{Released, true, FeatureCollet, FeatureCollet}, {Released, true, ^Features(0), FeatureCollet}, {Released, true, 1, 0},
		{Released, false, ^Features(0), 0}, {Draft, true, FeatureCollet, 0}, {Released, true, 0, 0},
	} {
		r := newRaw(c.dialect, c.own)
		accepted := r.greet(c.offered)[0].(sendEffect).message.(*ConnectAccepted)
		if accepted.EnabledFeatures != c.want || r.own != (c.want != 0) {
			t.Errorf("%+v: enabled %x", c, accepted.EnabledFeatures)
		}
	}
}

// TestTurnedAway: whoever begins with anything else, is not let in, or says nothing.
func TestTurnedAway(t *testing.T) {
	first := newRaw(Released, false)
	if closing(first.take(&KeepAlive{})) == nil {
		t.Error("another first message is taken")
	}
	if out := first.take(&ConnectRequest{}); out != nil {
		t.Errorf("a closed session does %v", out)
	}
	broken := newRaw(Released, false)
	if closing(broken.step(broken.now, brokenEvent{errors.New("signature")})) == nil {
		t.Error("a broken first message is taken")
	}
	refused := newRaw(Released, false)
	refused.take(&ConnectRequest{Name: "x"})
	if closing(refused.step(refused.now, admittedEvent{decision: Refuse})) == nil {
		t.Error("a refused device stays")
	}
	var wait *WaitError
	silent := newRaw(Released, false)
	if err := closing(silent.later()); !errors.As(err, &wait) || wait.After != silent.times.Greeting {
		t.Errorf("a silent device: %v", err)
	}
	undecided := newRaw(Released, false)
	undecided.take(&ConnectRequest{Name: "x"})
	if err := closing(undecided.later()); !errors.As(err, &wait) || wait.After != undecided.times.Admission {
		t.Errorf("nobody decides: %v", err)
	}
}

// TestNoise: unknown messages do nothing, broken ones are counted, and too many end the connection.
func TestNoise(t *testing.T) {
	r := newRaw(Released, false)
	r.greet(0)
	for range 10 * maxBroken {
		for _, m := range []Message{&Unknown{Number: 77}, &ResponseDeleteFile{Path: "x"}, &FileClosed{}, &ConnectRequest{}, &LogLines{Lines: []TimedLine{{}}}, &RunReport{Event: RunStarted}} {
			if out := r.take(m); len(out) != 0 {
				t.Fatalf("%T leads to %v", m, out)
			}
		}
	}
	if r.info.Running {
		t.Error("a released device said in our own words that a game runs, and was believed")
	}
	var err error
	for range maxBroken + 1 {
		err = closing(r.step(r.now, brokenEvent{&FormatError{}}))
	}
	if err == nil {
		t.Error("a device that is never understood stays")
	}
}

// TestProperties: lists are taken apart, late and unasked ones too, and bounded.
func TestProperties(t *testing.T) {
	r := newRaw(Released, false)
	r.greet(0)
	r.take(&ResponseSystemProperty{Property: PropertyProfiles, Value: "Default\nLow \x07\n\n"})
	r.take(&ResponseSystemProperty{Property: PropertyDefaultProfile, Value: "Default"})
	r.take(&ResponseSystemProperty{Property: PropertyNames, Value: strings.Repeat("a\n", 3*maxProperties)})
	r.take(&ResponseSystemProperty{Property: "other", Value: "x"})
	if !slices.Equal(r.info.Profiles, []string{"Default", "Low ·"}) || r.info.DefaultProfile != "Default" || len(r.info.Properties) != maxProperties {
		t.Errorf("%+v", r.info)
	}
}

// TestKeepAlive is sent ten seconds after the last message that came in, and not in Draft (Remote launcher protocol, 3.8).
func TestKeepAlive(t *testing.T) {
	r := newRaw(Released, false)
	r.greet(0)
	r.now = r.now.Add(4 * time.Second)
	r.take(&Unknown{})
	begin := r.now
	for n := 1; n <= 3; n++ {
		out := r.later()
		if got := sentCodes(out); !slices.Equal(got, []uint8{CodeKeepAlive}) || r.now.Sub(begin) != time.Duration(n)*10*time.Second {
			t.Errorf("after %v: %v", r.now.Sub(begin), got)
		}
	}
	d := newRaw(Draft, false)
	d.greet(0)
	if out := d.later(); len(out) != 0 {
		t.Errorf("in Draft: %v", out)
	}
}

// TestLogs: levels, terminals, and the cap on how many a second.
func TestLogs(t *testing.T) {
	r := newRaw(Released, false)
	r.greet(0)
	line := r.take(&Logs{Level: 9, Source: "Ga\x00me", Message: "a\tb\x1b[2J\u202e\xff"})[0].(logEffect).line
	if line.Level != LevelInfo || line.Source != "Ga·me" || line.Text != "a b·[2J·�" || line.Device != "Lab@x" {
		t.Errorf("%+v", line)
	}
	for _, level := range []LogLevel{LevelInfo, LevelWarning, LevelError} {
		if got := r.take(&Logs{Level: level})[0].(logEffect).line.Level; got != level {
			t.Errorf("level %v became %v", level, got)
		}
	}
	for range 2 * MaxLogRate {
		r.take(&Logs{})
	}
	if want := uint64(MaxLogRate + 4); r.info.LogsDropped != want {
		t.Errorf("%d lines were dropped, want %d", r.info.LogsDropped, want)
	}
	r.now = r.now.Add(time.Second)
	if len(r.take(&Logs{})) != 1 {
		t.Error("the next second has no lines")
	}
}

// TestStart: running, too late, refused, running already, restarted.
func TestStart(t *testing.T) {
	options := &StartOptions{GameConfig: "<degame/>", Profile: "Low", Arguments: "-x 1"}
	begin := func(own bool, o *StartOptions) (*lab, *modelDevice) {
		l, m := greeted(t, Released, own)
		l.step(runCommand{ticket: 5, op: &runOp{start: o}})
		l.settle()
		return l, m
	}
	t.Run("runs", func(t *testing.T) {
		l, m := begin(false, options)
		if want := (StartApplication{"<degame/>", "Low", "-x 1"}); len(m.started) != 1 || m.started[0] != want {
			t.Fatalf("%+v", m.started)
		}
		if _, done := l.results[5]; done {
			t.Fatal("done before the device said so")
		}
		l.step(runEvent{RunRunning})
		if err, done := l.results[5]; !done || err != nil || !l.session.info.Running || !l.session.info.RunningSince.Equal(l.now) {
			t.Errorf("%v %v", done, err)
		}
		l.step(runEvent{77})
		if l.session.info.Running || l.session.info.End.Exit != -1 || !l.session.info.EndedAt.Equal(l.now) {
			t.Errorf("an unknown state counts as %+v", l.session.info)
		}
	})
	t.Run("too late, with the log", func(t *testing.T) {
		l, _ := begin(false, options)
		for n := range MaxLogTail + 5 {
			l.step(messageEvent{&Logs{Message: fmt.Sprint("line ", n)}})
		}
		for l.results[5] == nil {
			l.now = l.session.wake()
			l.step(tickEvent{})
		}
		var late *StartTimeoutError
		if err := l.results[5]; !errors.As(err, &late) || len(late.Lines) != MaxLogTail || late.Lines[0].Text != "line 5" || late.Device == "" {
			t.Fatalf("%v", l.results[5])
		}
		if !strings.Contains(late.Error(), "line 204") {
			t.Error(late)
		}
	})
	t.Run("runs already", func(t *testing.T) {
		l, m := greeted(t, Released, false)
		l.step(runEvent{RunRunning})
		l.step(runCommand{ticket: 5, op: &runOp{start: options}})
		if !errors.Is(l.results[5], ErrRunning) || len(m.started) != 0 {
			t.Errorf("%v", l.results[5])
		}
	})
	t.Run("restarts", func(t *testing.T) {
		l, m := greeted(t, Released, false)
		l.step(runEvent{RunRunning})
		again := *options
		again.Restart = true
		l.step(runCommand{ticket: 5, op: &runOp{start: &again}})
		l.settle()
		if !slices.Equal(m.stopped, []StopMode{StopAsk}) || len(m.started) != 0 {
			t.Fatalf("stopped %v, started %v", m.stopped, m.started)
		}
		l.step(runEvent{RunStopped})
		l.settle()
		l.step(runEvent{RunRunning})
		if err, done := l.results[5]; !done || err != nil || len(m.started) != 1 {
			t.Errorf("%v %v", done, err)
		}
	})
	t.Run("refused in our own mode", func(t *testing.T) {
		l, _ := begin(true, options)
		l.step(messageEvent{&RunReport{Event: RunRefused, Text: "no such profile"}})
		var fault *DeviceError
		if err := l.results[5]; !errors.As(err, &fault) || fault.Reason != "no such profile" {
			t.Errorf("%v", err)
		}
	})
	t.Run("the end of the run before comes late", func(t *testing.T) {
		l, _ := greeted(t, Released, true)
		l.step(messageEvent{&RunReport{Event: RunStarted}})
		again := *options
		again.Restart = true
		l.step(runCommand{ticket: 5, op: &runOp{start: &again}})
		l.step(runEvent{RunStopped})
		l.step(messageEvent{&RunReport{Event: RunEnded, Exit: 3, Text: "exited with code 3"}})
		if _, done := l.results[5]; done || l.session.info.End != (RunEnd{3, "exited with code 3"}) || !l.session.info.EndedAt.Equal(l.now) {
			t.Fatalf("done %v, %+v", done, l.session.info)
		}
		l.step(messageEvent{&RunReport{Event: RunStarted}})
		if err, done := l.results[5]; !done || err != nil || !l.session.info.Running {
			t.Errorf("%v %v", done, err)
		}
	})
	t.Run("given up", func(t *testing.T) {
		l, _ := begin(false, options)
		l.step(cancelCommand{4})
		l.step(cancelCommand{5})
		if !errors.Is(l.results[5], context.Canceled) {
			t.Errorf("%v", l.results[5])
		}
	})
}

// TestStop: asked, then killed, then given up; at once if nothing runs.
func TestStop(t *testing.T) {
	for _, c := range []struct {
		force bool
		want  []StopMode
		after time.Duration
	}{{false, []StopMode{StopAsk, StopKill}, 15 * time.Second}, {true, []StopMode{StopKill}, 10 * time.Second}} {
		l, m := greeted(t, Released, false)
		l.step(runEvent{RunRunning})
		begin := l.now
		l.step(runCommand{ticket: 6, op: &runOp{force: c.force}})
		for l.settle(); l.results[6] == nil; l.settle() {
			l.now = l.session.wake()
			l.step(tickEvent{})
		}
		var wait *WaitError
		if !errors.As(l.results[6], &wait) || !slices.Equal(m.stopped, c.want) || l.now.Sub(begin) != c.after {
			t.Errorf("force %v: %v after %v: %v", c.force, m.stopped, l.now.Sub(begin), l.results[6])
		}
	}
	l, m := greeted(t, Released, false)
	l.step(runCommand{ticket: 7, op: &runOp{}})
	if err, done := l.results[7]; !done || err != nil || len(m.stopped) != 0 {
		t.Errorf("nothing runs: %v %v %v", done, err, m.stopped)
	}
	l.step(runEvent{RunRunning})
	l.step(runCommand{ticket: 8, op: &runOp{}})
	l.settle()
	l.step(runEvent{RunStopped})
	if err, done := l.results[8]; !done || err != nil {
		t.Errorf("it stops: %v %v", done, err)
	}
}

// silent is a device that does not answer some messages.
type silent struct {
	*modelDevice
	code  uint8
	times int
}

func (s *silent) take(m Message, size int) {
	if m.Code() == s.code && s.times > 0 {
		s.times--
		return
	}
	s.modelDevice.take(m, size)
}

// TestWatchdogs: each answer that never comes is noticed, named, and another attempt made; a second one ends the push.
func TestWatchdogs(t *testing.T) {
	big := noise(1, 2*block)
	for code, name := range map[uint8]string{CodeRequestFileLayout: "file layout", CodeRequestFileBlockHashes: "block hashes",
		CodeRequestDeleteFile: "answer to a deletion", CodeRequestWriteFile: "answer to a write",
		CodeSendFileData: "confirmation of a block", CodeRequestFinishWriteFile: "answer to the end of a file"} {
		for _, times := range []int{1, 1000} {
			t.Run(fmt.Sprint(name, times), func(t *testing.T) {
				ours := map[string][]byte{"a": big}
				l := newLab(t, DeskOptions{Times: DeskTimes{Layout: 20 * time.Second}}, ours)
				m := &silent{newModelDevice(Released, map[string][]byte{"a": with(big, 1)}), code, times}
				if code == CodeRequestDeleteFile {
					m.files["old"] = []byte{1}
				}
				l.connect(m, false)
				begin := l.now
				_, err := l.push(PushOptions{})
				if times == 1 && code != CodeRequestFileLayout {
					if err != nil {
						t.Fatal(err)
					}
					sameFiles(t, m.files, ours)
					return
				}
				var wait *WaitError
				if !errors.As(err, &wait) || wait.For != name {
					t.Fatalf("after %v: %v", l.now.Sub(begin), err)
				}
			})
		}
	}
}

// TestPushIsGivenUp: what was handed out and not sent is dropped, and the next push works.
func TestPushIsGivenUp(t *testing.T) {
	ours := map[string][]byte{"a": noise(1, 5*block), "b": {1}}
	l := newLab(t, DeskOptions{}, ours)
	m := newModelDevice(Released, nil)
	l.connect(m, false)
	l.step(pushCommand{ticket: 1, task: newPushTask(PushOptions{}, l.now)})
	for range 6 {
		_ = l.work() || l.deliver()
	}
	l.step(cancelCommand{1})
	if !errors.Is(l.results[1], context.Canceled) || l.session.push != nil {
		t.Fatalf("%v", l.results[1])
	}
	delete(l.results, 1)
	l.settle()
	if _, err := l.push(PushOptions{}); err != nil {
		t.Fatal(err)
	}
	sameFiles(t, m.files, ours)
}

// TestBrokenLayoutEndsThePush at once: nothing else will come.
func TestBrokenLayoutEndsThePush(t *testing.T) {
	l := newLab(t, DeskOptions{}, nil)
	m := newModelDevice(Released, nil)
	l.connect(m, false)
	l.step(pushCommand{ticket: 1, task: newPushTask(PushOptions{}, l.now)})
	for l.work() {
	}
	l.step(brokenEvent{&FormatError{Code: CodeResponseFileLayout, Err: errors.New("count")}})
	var fault *DeviceError
	if !errors.As(l.results[1], &fault) || fault.Op != "layout" {
		t.Errorf("%v", l.results[1])
	}
}

// TestHostileAnswers: sizes, counts and paths of a device that lies lead nowhere.
func TestHostileAnswers(t *testing.T) {
	ours := map[string][]byte{"a": noise(1, 3*block)}
	l := newLab(t, DeskOptions{}, ours)
	m := newModelDevice(Released, map[string][]byte{"a": noise(2, 3*block)})
	l.connect(m, false)
	l.step(pushCommand{ticket: 1, task: newPushTask(PushOptions{}, l.now)})
	lies := []Message{
		&ResponseFileBlockHashes{Path: "a", Hashes: make([]Hash, 5000)}, &ResponseFileBlockHashes{Path: "a"},
		&FileDataReceived{Path: "a", Block: 1 << 31}, &FileDataReceived{Path: "a", Block: 2}, &FileDataReceived{Path: "../a"},
		&ResponseWriteFile{Path: "a"}, &ResponseWriteFile{Path: "a"}, &ResponseFinishWriteFile{Path: "a"}, &ResponseDeleteFile{Path: ""},
		&ResponseFileLayout{Files: []File{{Path: "a"}}}, &DraftFileLayout{}, &DraftFileBlockHash{Path: "a", Index: 1 << 31},
		&BlocksWritten{Count: 1 << 31}, &BatchReport{Batch: 1}, &ResponseTree{}, &ResponseBlocks{Path: "a"},
	}
	for n := 0; l.work() || l.deliver(); n++ {
		if p := l.session.push; p != nil && p.doing != nil {
			l.step(messageEvent{lies[n%len(lies)]})
			if s := l.session.push; s != nil && s.doing != nil && s.doing.(*syncer).under < 0 {
				t.Fatal("less than nothing is under way")
			}
		}
	}
	if _, done := l.results[1]; !done && l.session.wake().IsZero() {
		t.Error("the push neither ends nor waits")
	}
}
