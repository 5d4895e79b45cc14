package desk

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/netproto/launcher/wire"
)

// greeted is a lab whose device is in.
func greeted(t *testing.T, dialect wire.Dialect, own bool) (*lab, *modelDevice) {
	l := newLab(t, Options{Dialect: dialect}, nil)
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

func newRaw(dialect wire.Dialect, own bool) *raw {
	now := time.Unix(1_700_000_000, 0)
	times := Times{}.withDefaults()
	return &raw{newSession(sessionSettings{times: times, dialect: dialect, known: newLayouts()}, own, now), now}
}

func (r *raw) take(m wire.Message) []effect { return r.step(r.now, messageEvent{m}) }

func (r *raw) greet(features wire.Features) []effect {
	r.take(&wire.ConnectRequest{SupportedFeatures: features, Name: "Lab"})
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

// TestGreeting: connectAccepted, then the link, then the properties.
func TestGreeting(t *testing.T) {
	want := map[wire.Dialect][]uint8{wire.Released: {wire.CodeConnectAccepted, 0, wire.CodeRequestSystemProperty, wire.CodeRequestSystemProperty, wire.CodeRequestSystemProperty},
		wire.Draft: {wire.CodeConnectAccepted, 0}}
	for dialect, codes := range want {
		r := newRaw(dialect, false)
		out := r.take(&wire.ConnectRequest{Name: "Lab \x1b[31m"})
		if ask, is := out[0].(admitEffect); len(out) != 1 || !is || ask.name != "Lab \uFFFD[31m" {
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
		dialect wire.Dialect
		own     bool
		offered wire.Features
		want    wire.Features
	}{
		{wire.Released, true, wire.FeatureCollet, wire.FeatureCollet}, {wire.Released, true, ^wire.Features(0), wire.FeatureCollet}, {wire.Released, true, 1, 0},
		{wire.Released, false, ^wire.Features(0), 0}, {wire.Draft, true, wire.FeatureCollet, 0}, {wire.Released, true, 0, 0},
	} {
		r := newRaw(c.dialect, c.own)
		accepted := r.greet(c.offered)[0].(sendEffect).message.(*wire.ConnectAccepted)
		if accepted.EnabledFeatures != c.want || r.own != (c.want != 0) {
			t.Errorf("%+v: enabled %x", c, accepted.EnabledFeatures)
		}
	}
}

// TestTurnedAway: a device that begins with another message, is rejected, or stays silent.
func TestTurnedAway(t *testing.T) {
	first := newRaw(wire.Released, false)
	if closing(first.take(&wire.KeepAlive{})) == nil {
		t.Error("another first message is taken")
	}
	if out := first.take(&wire.ConnectRequest{}); out != nil {
		t.Errorf("a closed session does %v", out)
	}
	broken := newRaw(wire.Released, false)
	if closing(broken.step(broken.now, brokenEvent{errors.New("signature")})) == nil {
		t.Error("a broken first message is taken")
	}
	refused := newRaw(wire.Released, false)
	refused.take(&wire.ConnectRequest{Name: "x"})
	if closing(refused.step(refused.now, admittedEvent{decision: Refuse})) == nil {
		t.Error("a refused device stays")
	}
	var wait *WaitError
	silent := newRaw(wire.Released, false)
	if err := closing(silent.later()); !errors.As(err, &wait) || wait.After != silent.times.Greeting {
		t.Errorf("a silent device: %v", err)
	}
	undecided := newRaw(wire.Released, false)
	undecided.take(&wire.ConnectRequest{Name: "x"})
	if err := closing(undecided.later()); !errors.As(err, &wait) || wait.After != undecided.times.Admission {
		t.Errorf("without a decision: %v", err)
	}
}

// TestNoise: unknown messages do nothing, broken ones are counted, and too many end the connection.
func TestNoise(t *testing.T) {
	r := newRaw(wire.Released, false)
	r.greet(0)
	for range 10 * maxBroken {
		for _, m := range []wire.Message{&wire.Unknown{Number: 77}, &wire.ResponseDeleteFile{Path: "x"}, &wire.FileClosed{}, &wire.ConnectRequest{}, &wire.LogLines{Lines: []wire.TimedLine{{}}}, &wire.RunReport{Event: wire.RunStarted}} {
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
		err = closing(r.step(r.now, brokenEvent{&wire.FormatError{}}))
	}
	if err == nil {
		t.Error("a device that is never understood stays")
	}
}

// TestProperties: lists are taken apart, late and unasked ones too, and bounded.
func TestProperties(t *testing.T) {
	r := newRaw(wire.Released, false)
	r.greet(0)
	r.take(&wire.ResponseSystemProperty{Property: wire.PropertyProfiles, Value: "Default\nLow \x07\n\n"})
	r.take(&wire.ResponseSystemProperty{Property: wire.PropertyDefaultProfile, Value: "Default"})
	r.take(&wire.ResponseSystemProperty{Property: wire.PropertyNames, Value: strings.Repeat("a\n", 3*maxProperties)})
	r.take(&wire.ResponseSystemProperty{Property: "other", Value: "x"})
	if !slices.Equal(r.info.Profiles, []string{"Default", "Low \uFFFD"}) || r.info.DefaultProfile != "Default" || len(r.info.Properties) != maxProperties {
		t.Errorf("%+v", r.info)
	}
}

// TestKeepAlive is sent ten seconds after the last message that came in, and not in Draft.
func TestKeepAlive(t *testing.T) {
	r := newRaw(wire.Released, false)
	r.greet(0)
	r.now = r.now.Add(4 * time.Second)
	r.take(&wire.Unknown{})
	begin := r.now
	for n := 1; n <= 3; n++ {
		out := r.later()
		if got := sentCodes(out); !slices.Equal(got, []uint8{wire.CodeKeepAlive}) || r.now.Sub(begin) != time.Duration(n)*10*time.Second {
			t.Errorf("after %v: %v", r.now.Sub(begin), got)
		}
	}
	d := newRaw(wire.Draft, false)
	d.greet(0)
	d.now = d.now.Add(time.Hour)
	if out := d.step(d.now, tickEvent{}); len(out) != 0 || !d.wake().IsZero() {
		t.Errorf("in Draft: %v, then %v", out, d.wake())
	}
}

// TestLogs: levels, terminals, and the cap on how many a second.
func TestLogs(t *testing.T) {
	r := newRaw(wire.Released, false)
	r.greet(0)
	line := r.take(&wire.Logs{Level: 9, Source: "Ga\x00me", Message: "a\tb\x1b[2J\u202e\xff"})[0].(logEffect).line
	if line.Level != wire.LevelInfo || line.Source != "Ga\uFFFDme" || line.Text != "a b\uFFFD[2J\uFFFD\uFFFD" || line.Device != "Lab@x" {
		t.Errorf("%+v", line)
	}
	for _, level := range []wire.LogLevel{wire.LevelInfo, wire.LevelWarning, wire.LevelError} {
		if got := r.take(&wire.Logs{Level: level})[0].(logEffect).line.Level; got != level {
			t.Errorf("level %v became %v", level, got)
		}
	}
	for range 2 * MaxLogRate {
		r.take(&wire.Logs{})
	}
	if want := uint64(MaxLogRate + 4); r.info.LogsDropped != want {
		t.Errorf("%d lines were dropped, want %d", r.info.LogsDropped, want)
	}
	if out := r.step(r.now, tickEvent{}); len(out) != 0 {
		t.Errorf("in the same second: %v", out)
	}
	r.now = r.now.Add(time.Second)
	if out := r.take(&wire.Logs{}); len(out) != 1 || out[0].(logEffect).line.Lost != MaxLogRate+4 {
		t.Errorf("the first line of the next second: %v", out)
	}
	if line := r.take(&wire.Logs{})[0].(logEffect).line; line.Lost != 0 {
		t.Errorf("told twice: %+v", line)
	}
	for range MaxLogRate + 5 {
		r.take(&wire.Logs{})
	}
	if due := r.wake(); !due.Equal(r.now.Add(time.Second)) { // the device says nothing more
		t.Errorf("the loss is told at %v", due)
	}
	r.now = r.now.Add(time.Second)
	if out := r.step(r.now, tickEvent{}); len(out) != 1 || out[0].(logEffect).line.Lost != 7 {
		t.Errorf("without another line: %v", out)
	}
}
