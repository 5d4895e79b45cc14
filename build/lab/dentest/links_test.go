package dentest_test

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"
	"time"

	"collet/build/lab/dentest"
)

// vectors are the recorded datagrams of one state with all 38 value types: its link state, and the update after every
// value was raised by one (trace 4). A line is a name and hex.
func vectors(t *testing.T) map[string][]byte {
	t.Helper()
	text, err := os.ReadFile("testdata/values.txt")
	must(t, err)
	all := map[string][]byte{}
	for line := range strings.Lines(string(text)) {
		name, digits, _ := strings.Cut(strings.TrimSpace(line), " ")
		all[name], err = hex.DecodeString(digits)
		must(t, err)
	}
	return all
}

// recordedState is the state of the vectors, and the values it is raised to.
func recordedState(t *testing.T) (s *dentest.State, raised [][]byte) {
	t.Helper()
	v := vectors(t)
	list := v["linkState"][13:] // command, number, link, flags, length, "all", count
	next := v["linkUpdate"][5:] // command, links, link, count
	s = &dentest.State{}
	for kind := range byte(38) {
		size := []int{1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8, 0, 0, 2, 2, 4, 4, 8, 8, 16, 16, 3, 3, 6, 6, 12, 12, 24, 24, 4, 8, 16, 6, 12, 24, 8, 16, 32}[kind]
		first, second := size, size
		if size == 0 {
			first, second = 2+int(list[1]), 2+int(next[2])
		}
		if list[0] != kind || next[0] != kind || next[1] != 0 {
			t.Fatalf("type %d: the vectors don't have it in its place", kind)
		}
		s.Values = append(s.Values, dentest.Value{Type: kind, Data: list[1 : 1+first]})
		raised = append(raised, next[2:2+second])
		list, next = list[1+first:], next[2+second:]
	}
	if len(list)+len(next) != 0 {
		t.Fatalf("%d and %d bytes are left over", len(list), len(next))
	}
	return s, raised
}

func zeros(s *dentest.State) *dentest.State {
	var z dentest.State
	for _, v := range s.Values {
		data := make([]byte, len(v.Data))
		if v.Type == 11 || v.Type == 12 {
			data = data[:2]
		}
		z.Values = append(z.Values, dentest.Value{Type: v.Type, Data: data})
	}
	return &z
}

// TestAllValueTypes repeats the recorded link state and update and reads them on the other side.
func TestAllValueTypes(t *testing.T) {
	w := newBench(dentest.ClientTimers())
	s, raised := recordedState(t)
	other := zeros(s)
	w.atB.States = map[string]*dentest.State{"all": other}
	w.a.Link(w.now, []byte("all"), s, false)
	w.settle()
	if got := w.sent[0].data; string(got) != string(vectors(t)["linkState"]) {
		t.Errorf("link state %x", got)
	}
	for i, data := range raised {
		s.Set(i, data)
	}
	w.pass(20 * time.Millisecond)
	if got := w.sent[len(w.sent)-1].data; string(got) != string(vectors(t)["linkUpdate"]) {
		t.Errorf("update %x", got)
	}
	for i := range raised {
		if string(other.Values[i].Data) != string(raised[i]) {
			t.Errorf("value %d arrived as %s, want %x", i, other.Values[i], raised[i])
		}
	}
	if n := w.atB.Changes(); n != 38 {
		t.Errorf("%d changes seen, want 38", n)
	}
}
