package download

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestRanking has a row for each rule of the order in which mirrors are asked.
func TestRanking(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for _, test := range []struct {
		name    string
		mirrors []*rankedMirror
		best    int // -1: none may be asked
		wait    bool
		probe   int // -1: none
	}{
		{"nothing is known", []*rankedMirror{{}, {}}, 0, false, 1},
		{"fast goes first", []*rankedMirror{{rate: 10, used: now}, {rate: 30, used: now}, {rate: 20, used: now}}, 1, false, -1},
		{"unknown behind what delivers", []*rankedMirror{{}, {rate: 1, used: now}}, 1, false, 0},
		{"one failure costs half", []*rankedMirror{{rate: 10, used: now}, {rate: 18, used: now, failures: 1, failed: now}}, 0, false, -1},
		{"one failure does not cost all", []*rankedMirror{{rate: 10, used: now}, {rate: 30, used: now, failures: 1, failed: now}}, 1, false, -1},
		{"two failures are the last choice", []*rankedMirror{{rate: 30, failures: 2, failed: now}, {rate: 1, used: now}}, 1, false, -1},
		{"failures are forgiven", []*rankedMirror{{rate: 30, used: now, failures: 2, failed: ago(forgiveAfter)}, {rate: 1, used: now}}, 0, false, -1},
		{"who wants to rest is left alone", []*rankedMirror{{rate: 30, until: now.Add(1)}, {rate: 1}}, 1, false, -1},
		{"the rest is over", []*rankedMirror{{rate: 30, until: now, used: now}, {rate: 1, used: now}}, 0, false, -1},
		{"all rest", []*rankedMirror{{rate: 30, until: now.Add(1)}, {until: now.Add(2)}}, -1, true, -1},
		{"none", nil, -1, false, -1},
		{"whole files are the very last", []*rankedMirror{{rate: 30, whole: true}, {failures: 5, failed: now}}, 1, false, -1},
		{"a probe when it is time", []*rankedMirror{{rate: 30, used: now}, {rate: 1, used: ago(probeEvery)}}, 0, false, 1},
		{"not before", []*rankedMirror{{rate: 30, used: now}, {rate: 1, used: ago(probeEvery - 1)}}, 0, false, -1},
		{"none for who fails", []*rankedMirror{{rate: 30, used: now}, {failures: 2, failed: now}}, 0, false, -1},
		{"none for who is alone", []*rankedMirror{{}}, 0, false, -1},
	} {
		for i, m := range test.mirrors {
			m.index = i
		}
		best, wait := choose(test.mirrors, now)
		if at(best) != test.best || wait != test.wait {
			t.Errorf("%s: way %d, wait %v; want %d, %v", test.name, at(best), wait, test.best, test.wait)
		}
		if got := at(toProbe(test.mirrors, now)); got != test.probe {
			t.Errorf("%s: probe of %d, want %d", test.name, got, test.probe)
		}
	}
}

func at(m *rankedMirror) int {
	if m == nil {
		return -1
	}
	return m.index
}

func TestMirrorMemory(t *testing.T) {
	var m rankedMirror
	m.delivered(rateCounts-1, time.Second)
	if m.rate != 0 {
		t.Error("a few bytes made a rate")
	}
	m.delivered(1_000_000, time.Second)
	m.delivered(2_000_000, time.Second)
	if m.rate < 1_299_999 || m.rate > 1_300_001 {
		t.Errorf("rate %v", m.rate)
	}
	m.answered(50 * time.Millisecond)
	m.answered(70 * time.Millisecond)
	if m.latency != 50*time.Millisecond {
		t.Errorf("latency %v", m.latency)
	}
	now := time.Unix(1000, 0)
	m.failedAt(now, errors.New("x"))
	if m.failures != 1 || m.until != now.Add(faultRest) {
		t.Errorf("%+v", m)
	}
	for asked, want := range map[time.Duration]time.Duration{0: busyRest, time.Second: time.Second, time.Hour: MaxRetryAfter} {
		m.failedAt(now, &WrongError{Kind: WrongBusy, RetryAfter: asked})
		if m.until != now.Add(want) {
			t.Errorf("busy for %v: until %v", asked, m.until.Sub(now))
		}
	}
	m.delivered(1, time.Second)
	if m.failures != 0 {
		t.Error("a delivery does not end a row of failures")
	}
}

// TestErrorTexts reads each error as a person does.
func TestErrorTexts(t *testing.T) {
	cause := errors.New("cause")
	for want, err := range map[string]error{
		`no file "a"`:                       &MissingError{Name: "a"},
		`W: no file "a" (status 404)`:       &MissingError{Mirror: "W", Name: "a", Status: 404},
		`W is busy: "a", status 503`:        &WrongError{Mirror: "W", Name: "a", Kind: WrongBusy, Detail: "status 503"},
		`W sent too many bytes: "a": cause`: &WrongError{Mirror: "W", Name: "a", Kind: WrongLong, Err: cause},
		`W can't be reached: "a": cause`:    &NetError{Mirror: "W", Name: "a", Kind: NetUnreachable, Err: cause},
		`W broke the connection: "a"`:       &NetError{Mirror: "W", Name: "a", Kind: NetReset},
		`no place gives "a": no file "a"; W broke the connection: "a"`: &ExhaustedError{Name: "a", Reasons: []error{
			&MissingError{Name: "a"}, &NetError{Mirror: "W", Name: "a", Kind: NetReset}}},
	} {
		if err.Error() != want {
			t.Errorf("%T: %s, want %s", err, err, want)
		}
		if strings.HasSuffix(want, "cause") && !errors.Is(err, cause) {
			t.Errorf("%T hides its cause", err)
		}
	}
	if fmt.Sprint(&ExhaustedError{Name: "x"}) == "" {
		t.Error("no text")
	}
}
