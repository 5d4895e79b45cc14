package install

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"collet/netproto/release"
)

// number is a digest with a readable number.
func number(n uint64) release.Digest { return release.FNVDigest(n) }

// inWords formats lists as one line, for tables.
func (l lists) inWords() string {
	digit := func(d release.Digest) string {
		if d.IsZero() {
			return "-"
		}
		text := d.String()
		return strings.TrimLeft(text[strings.Index(text, ":")+1:], "0")
	}
	words := []string{"is " + digit(l.Is), "was " + digit(l.Was)}
	for _, e := range l.Set {
		words = append(words, e.Live+digit(e.Digest))
	}
	for _, e := range l.Parts {
		words = append(words, map[bool]string{true: "aside ", false: "~"}[e.Aside]+e.Live+digit(e.Digest))
	}
	for _, u := range l.Undo {
		marks := ""
		for mark, set := range map[string]bool{"g": u.Gone, "f": u.Foreign, "p": u.Proven, "r": u.Reverting} {
			if set {
				marks += mark
			}
		}
		words = append(words, fmt.Sprintf("undo %s%s%s", u.Live, digit(u.Digest), marks))
	}
	return strings.Join(words, ", ")
}

// TestListsFollowTheRecords applies records to a set, one at a time.
func TestListsFollowTheRecords(t *testing.T) {
	begin := lists{
		Is: number(1), Set: []entry{{Kind: Pack, Live: "a", Digest: number(1)}, {Kind: Module, Live: "m", Digest: number(1)}},
		Adopted: []entry{{Kind: Pack, Live: "n", Digest: number(9)}},
		Files: []entry{{Kind: Pack, Live: "a", Old: number(1)}, {Kind: Pack, Live: "b", Digest: number(2)},
			{Kind: Module, Live: "m", Digest: number(2), Old: number(1)}, {Kind: Pack, Live: "y", Digest: number(2), Old: number(7), Foreign: true}},
	}
	const swapped = "is 2, was 1, b2, m2, n9, y2, undo a1g, undo b-, undo m1, undo y7f"
	type step struct {
		before State
		record record
		want   string
	}
	swap := step{Prepared, record{State: Swapped}, swapped}
	for name, steps := range map[string][]step{
		"proof": {swap, {Swapped, record{State: Confirmed, Proven: "m"}, "is 2, was -, b2, m2, n9, y2, undo a1pg, undo b-p, undo m1p, undo y7fp"},
			{Confirmed, record{State: Confirmed, Dropped: true}, "is 2, was -, b2, m2, n9, y2"}},
		"way back": {swap, {Swapped, record{State: RollingBack, Back: "m"}, "is 2, was 1, b2, m2, n9, y2, undo a1gr, undo b-r, undo m1r, undo y7fr"},
			{RollingBack, record{State: RolledBack}, "is 1, was -, a1, m1, n9, aside b2, aside m2, aside y2"}},
		"another host's proof": {swap, {Swapped, record{State: Confirmed, Proven: "other"}, "is 2, was -, b2, m2, n9, y2, undo a1pg, undo b-p, undo m1, undo y7fp"}},
		"lost in the middle": {{Prepared, record{State: RollingBack, Back: "m"}, "is 2, was 1, b2, m2, n9, y2, undo a1gr, undo b-r, undo m1r, undo y7fr"},
			{RollingBack, record{State: RolledBack}, "is 1, was -, a1, m1, n9, aside b2, aside m2, aside y2"}},
		"lost in the middle, without a way back": {{Prepared, record{State: RolledBack, Stay: []string{"b", "m"}}, "is 1, was -, a1, b2, m2, ~b2, ~m2, ~y2"}},
		"the way back ends": {swap, {Swapped, record{State: RollingBack, Back: "m"}, "is 2, was 1, b2, m2, n9, y2, undo a1gr, undo b-r, undo m1r, undo y7fr"},
			{RollingBack, record{State: RolledBack, Stay: []string{"b", "n"}}, "is 1, was -, a1, b2, m1, n9, aside b2, aside m2, aside y2"}},
		"withdrawn":            {{Prepared, record{State: RolledBack}, "is 1, was -, a1, m1, ~b2, ~m2, ~y2"}},
		"a word about a start": {swap, {Swapped, record{State: Swapped, Tries: []Try{}}, swapped}},
	} {
		l := begin.clone()
		for i, s := range steps {
			l.apply(s.before, s.record, number(2))
			if got := sortMarks(l.inWords()); got != sortMarks(s.want) {
				t.Errorf("%s, step %d:\n got %s\nwant %s", name, i, got, s.want)
			}
		}
	}
	if begin.inWords() != "is 1, was -, a1, m1" || len(begin.Files) != 4 {
		t.Errorf("changed the lists it began with: %s", begin.inWords())
	}
}

// sortMarks sorts the letters at the end of each word, because the order of a map is random.
func sortMarks(line string) string {
	words := strings.Split(line, ", ")
	for i, word := range words {
		if strings.HasPrefix(word, "undo") {
			letters := strings.Split(word[5:], "")
			slices.Sort(letters)
			words[i] = strings.Join(letters, "")
		}
	}
	return strings.Join(words, ", ")
}

// TestSwappedOverAnother checks that files of the last proven set are kept, and proven changes are given up.
func TestSwappedOverAnother(t *testing.T) {
	files := []entry{{Kind: Module, Live: "m", Digest: number(3), Old: number(2)}, {Kind: Pack, Live: "c", Digest: number(3)}}
	for name, test := range map[string]struct {
		proven bool
		want   string
	}{
		"unproven":                           {false, "is 3, was 1, c3, m3, undo m1, undo c-"},
		"proven, and its backup still there": {true, "is 3, was 2, c3, m3, undo m2, undo c-"},
	} {
		l := lists{Is: number(2), Was: number(1), Set: []entry{{Kind: Module, Live: "m", Digest: number(2)}}, Files: files,
			Undo: []undo{{Kind: Module, Live: "m", Digest: number(1), Proven: test.proven}}}
		if test.proven {
			l.Was = release.Digest{}
		}
		before := slices.Clone(l.Undo)
		shared := l.Undo
		if backedUp := l.backedUp(); backedUp["m"] == test.proven {
			t.Errorf("%s: backed up %v", name, backedUp)
		}
		l.apply(Prepared, record{State: Swapped}, number(3))
		if got := l.inWords(); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, test.want)
		}
		if !slices.Equal(before, shared) {
			t.Errorf("%s: changed a list that is shared: %v", name, shared)
		}
	}
}

// TestMissedCompanions checks that companions that were not replaced, or are missing, are not part of the new set and have
// no undo.
func TestMissedCompanions(t *testing.T) {
	begin := lists{Is: number(1), Set: []entry{{Kind: Companion, Live: "c", Digest: number(1)}, {Kind: Companion, Live: "d", Digest: number(1)}},
		Files: []entry{{Kind: Companion, Live: "c", Digest: number(2), Old: number(1)}, {Kind: Companion, Live: "d", Old: number(1)},
			{Kind: Companion, Live: "e", Digest: number(2)}, {Kind: Module, Live: "m", Digest: number(2)}}}
	for name, test := range map[string]struct {
		missed []string
		want   string
	}{
		"none":     {nil, "is 2, was 1, c2, e2, m2, undo c1, undo d1g, undo e-, undo m-"},
		"each":     {[]string{"c", "d", "e"}, "is 2, was 1, c1, d1, m2, undo m-"},
		"new":      {[]string{"e"}, "is 2, was 1, c2, m2, undo c1, undo d1g, undo m-"},
		"dropped":  {[]string{"d"}, "is 2, was 1, c2, d1, e2, m2, undo c1, undo e-, undo m-"},
		"replaced": {[]string{"c"}, "is 2, was 1, c1, e2, m2, undo d1g, undo e-, undo m-"},
	} {
		l := begin.clone()
		l.apply(Prepared, record{State: Swapped, Missed: test.missed}, number(2))
		if got := l.inWords(); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, test.want)
		}
	}
	if len(begin.Files) != 4 || begin.Files[0].Live != "c" || begin.Files[3].Live != "m" {
		t.Error("changed the lists it began with")
	}
}

// TestRepairLeavesNothingToUndo checks that damaged files are not kept.
func TestRepairLeavesNothingToUndo(t *testing.T) {
	l := lists{Is: number(1), Set: []entry{{Kind: Pack, Live: "a", Digest: number(1)}},
		Files: []entry{{Kind: Pack, Live: "a", Digest: number(1), Repair: true}}}
	l.apply(Prepared, record{State: Swapped}, number(1))
	if got := l.inWords(); got != "is 1, was 1, a1" {
		t.Error(got)
	}
}

func TestBound(t *testing.T) {
	files := []entry{{Live: "a", Size: 1, Digest: number(1)}, {Live: "b", Digest: number(1), Aside: true}, {Live: "gone"}}
	parts := []entry{{Live: "c", Digest: number(1)}, {Live: "a", Size: 2, Digest: number(1), Aside: true}}
	for state, want := range map[State]string{
		None: "a2aside c0", Staging: "a1 b0aside c0", Prepared: "a1 b0aside c0", RolledBack: "a2aside c0", Swapped: "a2aside c0",
	} {
		j := Journal{State: state, lists: lists{Files: files, Parts: parts}}
		bound := j.bound()
		var got []string
		for _, live := range slices.Sorted(maps.Keys(bound)) {
			got = append(got, fmt.Sprint(live, bound[live].Size)+map[bool]string{true: "aside"}[bound[live].Aside])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v, want %s", state, got, want)
		}
	}
	if len(files) != 3 || len(parts) != 2 || parts[0].Live != "c" {
		t.Error("changed the journal's lists")
	}
}

// TestReadLists checks that only the lists named by the journal are accepted.
func TestReadLists(t *testing.T) {
	d := slots(t)
	l := lists{Is: number(1), Set: []entry{{Kind: Pack, Live: "Resources/Ö.zip", Digest: number(2)}}, Undo: []undo{{Kind: Module, Live: "m", Gone: true}}}
	listed, text := digestOfLists(t, l)
	for name, test := range map[string]struct {
		text []byte
		ok   bool
	}{
		"whole": {text, true}, "torn": {text[:len(text)-1], false}, "longer": {append(slices.Clone(text), ' '), false},
		"zeros": {make([]byte, len(text)), false}, "empty": {nil, false}, "other lists": {[]byte("{}"), false},
	} {
		if err := os.WriteFile(d.Path(listsName(0)), test.text, 0o644); err != nil {
			t.Fatal(err)
		}
		got, ok, err := readLists(d, listsName(0), listed)
		if ok != test.ok || err != nil || ok && !reflect.DeepEqual(got, l) {
			t.Errorf("%s: %v %v %+v", name, ok, err, got)
		}
	}
	if _, ok, err := readLists(d, listsName(1), listed); ok || err != nil {
		t.Errorf("none: %v %v", ok, err)
	}
}

func FuzzReadLists(f *testing.F) {
	_, text := digestOfLists(f, someLists("m"))
	f.Add(text)
	f.Add([]byte(`{"undo":[{"live":"x","reverting":true}],"set":[{"live":""}]}`))
	f.Add([]byte("null"))
	f.Add([]byte{0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		d := slots(t)
		if err := os.WriteFile(d.Path(listsName(0)), data, 0o644); err != nil {
			t.Fatal(err)
		}
		listed, err := release.SHA256.DigestOf(strings.NewReader(string(data)))
		if err != nil {
			t.Fatal(err)
		}
		l, ok, err := readLists(d, listsName(0), listed)
		if err != nil || !ok {
			return
		}
		again, text := digestOfLists(t, l)
		if err := os.WriteFile(d.Path(listsName(0)), text, 0o644); err != nil {
			t.Fatal(err)
		}
		if back, ok, err := readLists(d, listsName(0), again); !ok || err != nil || back.inWords() != l.inWords() {
			t.Fatalf("%s reads back as %s", text, back.inWords())
		}
		// No record may panic, whatever the lists contain.
		for _, r := range goldenRecords()[1:] {
			for _, before := range []State{Staging, Prepared, Swapped, RollingBack} {
				copied := l.clone()
				copied.apply(before, r, wantedDigest)
			}
		}
	})
}
