package compat_test

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/netproto/compat"
)

// TestVisible is the table of spans: the first version counts, the last one does not.
func TestVisible(t *testing.T) {
	for _, row := range []struct {
		span    compat.Span
		visible map[int32]bool
	}{
		{compat.Span{}, map[int32]bool{0: true, 1: true, 1 << 30: true}},
		{compat.Span{Since: 6}, map[int32]bool{0: false, 5: false, 6: true, 99: true}},
		{compat.Span{Until: 9}, map[int32]bool{0: true, 8: true, 9: false, 10: false}},
		{compat.Span{Since: 6, Until: 9}, map[int32]bool{5: false, 6: true, 8: true, 9: false}},
	} {
		for logic, want := range row.visible {
			if got := compat.Visible(row.span, logic); got != want {
				t.Errorf("%+v in %d: %t", row.span, logic, got)
			}
		}
	}
}

// TestParseMember is the table of tags.
func TestParseMember(t *testing.T) {
	for tag, want := range map[string]compat.Member{
		`wire:"1"`:                  {Number: 1},
		`json:"x" wire:"65535"`:     {Number: 65535},
		`wire:"3,since=6"`:          {Number: 3, Span: compat.Span{Since: 6}},
		`wire:"3,until=9"`:          {Number: 3, Span: compat.Span{Until: 9}},
		`wire:"3,since=6,until=9"`:  {Number: 3, Span: compat.Span{Since: 6, Until: 9}},
		`wire:"3,until=9,since=6"`:  {Number: 3, Span: compat.Span{Since: 6, Until: 9}},
		`wire:"3,since=1,until=2"`:  {Number: 3, Span: compat.Span{Since: 1, Until: 2}},
		`wire:"3,until=2147483647"`: {Number: 3, Span: compat.Span{Until: math.MaxInt32}},
		`wire:"0"`:                  {}, `wire:"65536"`: {}, `wire:"01"`: {}, `wire:"+1"`: {}, `wire:"x"`: {}, `wire:""`: {},
		`wire:"3,since=0"`:          {},
		`wire:"3,since=-1"`:         {},
		`wire:"3,since"`:            {},
		`wire:"3,since=9,until=9"`:  {},
		`wire:"3,since=9,until=6"`:  {},
		`wire:"3,since=6,since=6"`:  {},
		`wire:"3,until=2147483648"`: {},
		`wire:"3,sinse=6"`:          {},
		`wire:"3,"`:                 {},
	} {
		m, known, err := compat.ParseMember(reflect.StructTag(tag))
		if refused := want.Number == 0; !known || refused != (err != nil) || m != want {
			t.Errorf("%s: %+v, %t, %v", tag, m, known, err)
		}
	}
	for _, tag := range []string{``, `json:"x"`, `wire:"-"`} {
		if m, known, err := compat.ParseMember(reflect.StructTag(tag)); known || err != nil || m.Number != 0 {
			t.Errorf("%s: %+v, %t, %v", tag, m, known, err)
		}
	}
}

// purse and hero are a state as version 7 has it: the bow is gone since then, the cape is new.
type purse struct {
	Gold  int64  `wire:"1"`
	Gems  uint16 `wire:"2,since=7"`
	cache string
}

type hero struct {
	Name   string            `wire:"1"`
	Purse  *purse            `wire:"2"`
	Bow    [2]float32        `wire:"3,until=7"`
	Cape   []uint8           `wire:"4,since=7"`
	Skills map[string]int32  `wire:"5"`
	Friend *hero             `wire:"6"`
	Local  func()            // no member: it may be of any type
	Hidden map[string]func() `wire:"-"`
}

// heroAt6 is the same state in the source of version 6, with its fields in another order and by other names.
type heroAt6 struct {
	Abilities map[string]int32 `wire:"5"`
	Title     string           `wire:"1"`
	Bow       [2]float32       `wire:"3"`
	Money     *struct {
		Coins int64 `wire:"1"`
	} `wire:"2"`
	Companion *heroAt6 `wire:"6"`
}

func sum(t *testing.T, v any, logic int32) uint64 {
	t.Helper()
	n, err := compat.Checksum(v, logic)
	if err != nil || n == 0 {
		t.Fatalf("%d, %v", n, err)
	}
	return n
}

func someHero() *hero {
	return &hero{Name: "Ada", Purse: &purse{Gold: 5, Gems: 2}, Bow: [2]float32{1, 2}, Cape: []uint8{3}, Skills: map[string]int32{"run": 1, "swim": 2, "fly": 3}, Friend: &hero{Name: "Bob"}}
}

// TestChecksumVersions checks that two builds agree on the state as the older one's version sees it, and that only visible
// members count.
func TestChecksumVersions(t *testing.T) {
	old := heroAt6{Title: "Ada", Bow: [2]float32{1, 2}, Abilities: map[string]int32{"fly": 3, "run": 1, "swim": 2}, Companion: &heroAt6{Title: "Bob"}}
	old.Money = &struct {
		Coins int64 `wire:"1"`
	}{5}
	if a, b := sum(t, someHero(), 6), sum(t, &old, 6); a != b {
		t.Errorf("version 6 of the new source is %016x, of the old source %016x", a, b)
	}
	changes := map[string]struct {
		change   func(*hero)
		in6, in7 bool // whether it counts there
	}{
		"name":        {func(h *hero) { h.Name = "Eve" }, true, true},
		"gold":        {func(h *hero) { h.Purse.Gold++ }, true, true},
		"gems":        {func(h *hero) { h.Purse.Gems++ }, false, true},
		"bow":         {func(h *hero) { h.Bow[1]++ }, true, false},
		"cape":        {func(h *hero) { h.Cape = append(h.Cape, 0) }, false, true},
		"skill":       {func(h *hero) { h.Skills["run"]++ }, true, true},
		"other skill": {func(h *hero) { delete(h.Skills, "run") }, true, true},
		"swapped":     {func(h *hero) { h.Skills["run"], h.Skills["swim"] = h.Skills["swim"], h.Skills["run"] }, true, true},
		"no purse":    {func(h *hero) { h.Purse = nil }, true, true},
		"friend":      {func(h *hero) { h.Friend.Name += "!" }, true, true},
		"friend's":    {func(h *hero) { h.Friend.Cape = []uint8{1} }, false, true},
		"cache":       {func(h *hero) { h.Purse.cache = "x" }, false, false},
		"local":       {func(h *hero) { h.Local = func() {}; h.Hidden = map[string]func(){"": nil} }, false, false},
	}
	for name, row := range changes {
		for logic, counts := range map[int32]bool{6: row.in6, 7: row.in7} {
			h := someHero()
			before := sum(t, h, logic)
			row.change(h)
			if after := sum(t, h, logic); (after != before) != counts {
				t.Errorf("%s in version %d: changed %t, want %t", name, logic, after != before, counts)
			}
		}
	}
}

// TestChecksumValues checks what is one value and what is not.
func TestChecksumValues(t *testing.T) {
	type number struct {
		F float64 `wire:"1"`
	}
	type words struct {
		A string   `wire:"1"`
		B string   `wire:"2"`
		C []string `wire:"3"`
	}
	type byMap struct {
		M map[float64]bool `wire:"1"`
	}
	same := [][2]any{
		{number{0}, number{math.Copysign(0, -1)}},
		{number{math.NaN()}, number{math.Float64frombits(0x7ff8000000000123)}},
		{number{1}, &number{1}},
		{struct{ A, B int8 }{1, 2}, struct {
			Y int8 `wire:"2"`
			X int8 `wire:"1"`
		}{2, 1}},
		{words{C: nil}, words{C: []string{}}},
		{byMap{map[float64]bool{math.NaN(): true, 1: false}}, byMap{map[float64]bool{1: false, math.NaN(): true}}},
	}
	for i, row := range same {
		if sum(t, row[0], 1) != sum(t, row[1], 1) {
			t.Errorf("row %d: %+v and %+v differ", i, row[0], row[1])
		}
	}
	other := []any{
		number{0}, number{1}, number{-1}, number{math.Inf(1)}, number{math.NaN()},
		words{}, words{A: "ab"}, words{A: "a", B: "b"}, words{B: "ab"}, words{C: []string{"ab"}}, words{C: []string{"a", "b"}}, words{C: []string{"", "ab"}},
		struct {
			F float32 `wire:"1"`
		}{1},
		struct {
			F float64 `wire:"2"`
		}{1},
		struct {
			P *int8 `wire:"1"`
		}{},
		struct {
			P *int8 `wire:"1"`
		}{new(int8)},
	}
	seen := map[uint64]any{}
	for _, v := range other {
		n := sum(t, v, 1)
		if twin, taken := seen[n]; taken {
			t.Errorf("%+v and %+v have one checksum", twin, v)
		}
		seen[n] = v
	}
}

// Computed by another program from the text that TestChecksumVector describes.
const (
	purseAt7 = 0xb25f287c1a28a2d8
	purseAt6 = 0xfe3ebfd17516bfa4
)

// TestChecksumVector pins a checksum: another implementation must come to the same.
func TestChecksumVector(t *testing.T) {
	// 64-bit big-endian numbers: 15 and "compat/value/1\n"; kind 25 (struct), 2 members; number 1, kind 6 (int64), 5; number 2, kind 9 (uint16), 2.
	if got := sum(t, purse{Gold: 5, Gems: 2}, 7); got != purseAt7 {
		t.Errorf("%016x, want %016x", got, uint64(purseAt7))
	}
	if got := sum(t, purse{Gold: 5, Gems: 2}, 6); got != purseAt6 {
		t.Errorf("%016x, want %016x", got, uint64(purseAt6))
	}
}

// TestChecksumRefuses is the table of values without a checksum, each named by its path.
func TestChecksumRefuses(t *testing.T) {
	type loop struct {
		Next *loop `wire:"1"`
	}
	round := &loop{}
	round.Next = round
	for want, v := range map[string]any{
		"checksum of int: it is no struct":        5,
		"checksum of <nil>: it is no struct":      nil,
		"checksum of *compat_test.hero: it is no": (*hero)(nil),
		": none of the fields of time.Time is":    struct{ At time.Time }{},
		"checksum of loop.Next.Next":              round,
		"nested deeper than 64":                   round,
		".N: int has no fixed width": struct {
			N int `wire:"1"`
		}{},
		".L[1].N[3]: uint has no fixed width": struct {
			L []any2 `wire:"1"`
		}{[]any2{{}, {map[int8]uint{3: 1}}}},
		".F: func() has no fixed width": struct {
			F func() `wire:"1"`
		}{},
		".I: interface {} has no fixed width": struct {
			I any `wire:"1"`
		}{5},
		".C: chan int has no fixed width": struct {
			C chan int `wire:"1"`
		}{},
		`field B: tag wire:"x"`: struct {
			B bool `wire:"x"`
		}{},
		"fields A and B have the number 1": struct {
			A, B bool `wire:"1"`
		}{},
	} {
		_, err := compat.Checksum(v, 7)
		var broken *compat.ValueError
		if !errors.As(err, &broken) || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v, want %q", v, err, want)
		}
	}
}

type any2 struct {
	N map[int8]uint `wire:"1"`
}

// BenchmarkChecksum is a state of the size of a small game's player.
func BenchmarkChecksum(b *testing.B) {
	h := someHero()
	for b.Loop() {
		if _, err := compat.Checksum(h, 7); err != nil {
			b.Fatal(err)
		}
	}
}

// TestChecksumAsWritten computes a checksum by the table of the document: games in other languages do.
func TestChecksumAsWritten(t *testing.T) {
	type inner struct {
		On bool `wire:"1"`
	}
	type value struct {
		Back  int16           `wire:"2"`
		Name  string          `wire:"7"`
		Late  uint8           `wire:"3,since=9"`
		List  []uint32        `wire:"4"`
		Pair  [1]float32      `wire:"5"`
		Map   map[uint8]int64 `wire:"6"`
		Inner *inner          `wire:"8"`
		None  *inner          `wire:"9"`
	}
	numbers := func(ns ...uint64) (text []byte) {
		for _, n := range ns {
			text = binary.BigEndian.AppendUint64(text, n)
		}
		return text
	}
	pair := sha256.Sum256(numbers(8, 3, 6, 0xFFFFFFFFFFFFFFFB))
	text := slices.Concat(
		numbers(15), []byte("compat/value/1\n"), numbers(25, 7),
		numbers(2, 4, 0xFFFFFFFFFFFFFFFE), numbers(4, 23, 2, 10, 5, 10, 6), numbers(5, 17, 1, 13, 0x3FF8000000000000),
		numbers(6, 21, 1), pair[:], numbers(7, 24, 2), []byte("ab"), numbers(8, 22, 1, 25, 1, 1, 1, 1), numbers(9, 22, 0),
	)
	want := sha256.Sum256(text)
	got, err := compat.Checksum(value{Back: -2, Name: "ab", Late: 9, List: []uint32{5, 6}, Pair: [1]float32{1.5}, Map: map[uint8]int64{3: -5}, Inner: &inner{true}}, 8)
	if err != nil || got != binary.BigEndian.Uint64(want[:]) {
		t.Errorf("%016x, %v; want %x", got, err, want[:8])
	}
}
