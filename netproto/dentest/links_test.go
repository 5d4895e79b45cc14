package dentest_test

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"
	"time"

	"collet/netproto/dentest"
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

// TestMismatchWedges: a list of another shape is acknowledged and then nothing is delivered any more (2.7).
func TestMismatchWedges(t *testing.T) {
	w := newBench(dentest.ClientTimers())
	w.atB.States = map[string]*dentest.State{"\x01": {Values: []dentest.Value{dentest.Byte(0)}}}
	w.a.Link(w.now, []byte{1}, &dentest.State{Values: []dentest.Value{dentest.Byte(0), dentest.Byte(0)}}, false)
	w.a.Send(w.now, []byte("later"))
	w.settle()
	if !w.b.Wedged() || len(w.atB.Messages()) != 0 || len(w.journal.Violations()) != 1 || w.a.Pending() != 0 {
		t.Errorf("wedged %v, %d messages, %v, %d pending", w.b.Wedged(), len(w.atB.Messages()), w.journal.Violations(), w.a.Pending())
	}
}

// TestLinkQuirks walks through what gets no answer: a refused link stays pending, an update before linkUp is lost, a live
// id is ignored, setting an equal value sends nothing, a received value isn't echoed (2.7).
func TestLinkQuirks(t *testing.T) {
	w := newBench(dentest.ClientTimers())
	there := &dentest.State{Values: []dentest.Value{dentest.Byte(7)}}
	w.atB.States = map[string]*dentest.State{"run": there}
	here, refused := &dentest.State{Values: []dentest.Value{dentest.Byte(0)}}, &dentest.State{}
	w.a.Link(w.now, []byte("run"), here, false)
	w.a.Link(w.now, []byte("nope"), refused, true)
	w.settle()
	if !here.Up() || refused.Up() || there.Values[0].Data[0] != 0 {
		t.Errorf("up %v, refused up %v, initial value %v", here.Up(), refused.Up(), there.Values)
	}
	if got := hex.EncodeToString(w.sent[len(w.sent)-1].data); got != "080100" {
		t.Errorf("answer to the unknown link %s, want linkDown of link 1", got)
	}
	w.b.Input(w.now, []byte{dentest.CmdLinkUpdate, 1, 9, 0, 1, 0, 0, 1})
	if w.journal.Count(dentest.NoteUpdateLost) != 1 {
		t.Error("an update for an unknown link was taken")
	}
	w.b.Input(w.now, []byte{dentest.CmdReliableLinkState, 2, 0, 0, 0, 0, 3, 0, 'r', 'u', 'n', 1, 0, 1, 5})
	if there.Values[0].Data[0] != 0 || w.journal.Count(dentest.NoteDuplicateLink) != 1 {
		t.Error("a link state for a live id was taken")
	}
	there.Set(0, []byte{0})
	count := len(w.sent)
	w.pass(50 * time.Millisecond)
	there.Set(0, []byte{1})
	w.pass(50 * time.Millisecond)
	if len(w.sent) != count+1 || here.Values[0].Data[0] != 1 {
		t.Errorf("%d datagrams for one change, value %v", len(w.sent)-count, here.Values)
	}
}

// TestLostLinkUpDisablesTheLink: linkUp is sent once, so updates of the other side go nowhere (2.7).
func TestLostLinkUpDisablesTheLink(t *testing.T) {
	w := newBench(dentest.ClientTimers())
	there := &dentest.State{Values: []dentest.Value{dentest.Byte(0)}}
	w.atB.States = map[string]*dentest.State{"run": there}
	here := &dentest.State{Values: []dentest.Value{dentest.Byte(0)}}
	w.loseOnce(func(_ bool, d []byte) bool { return d[0] == dentest.CmdLinkUp })
	w.a.Link(w.now, []byte("run"), here, false)
	w.settle()
	there.Set(0, []byte{1})
	w.pass(5 * time.Second)
	if here.Up() || here.Values[0].Data[0] != 0 || w.journal.Count(dentest.NoteUpdateLost) != 1 {
		t.Errorf("up %v, value %v, lost %d", here.Up(), here.Values, w.journal.Count(dentest.NoteUpdateLost))
	}
}

// TestSplitLinkState: code 11 works in one part with flags 6 and no other way (2.5).
func TestSplitLinkState(t *testing.T) {
	one := []byte{11, 0, 0, 12, 0, 6, 1, 0, 1, 1, 0, 1, 1}
	for flags, works := range map[byte]bool{6: true, 2: false, 4: false} {
		w := newBench(dentest.ClientTimers())
		there := &dentest.State{Values: []dentest.Value{dentest.Byte(0)}}
		w.atB.States = map[string]*dentest.State{"\x01": there}
		d := append([]byte(nil), one...)
		d[5] = flags
		w.b.Input(w.now, d)
		if clean := len(w.journal.Violations()) == 0; clean != works {
			t.Errorf("flags %d: clean %v, want %v", flags, clean, works)
		}
		if works && (there.Values[0].Data[0] != 1 || !there.Up()) {
			t.Errorf("flags %d: up %v, value %v", flags, there.Up(), there.Values)
		}
	}
}
