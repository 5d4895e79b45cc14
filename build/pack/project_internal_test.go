package pack

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"collet/platform/tomllines"
)

// TestPlaces finds the line of every key, however it is written.
func TestPlaces(t *testing.T) {
	t.Parallel()
	text := strings.Join([]string{
		`top = 1`,                           // 1
		`a.b . "c d" = 2`,                   // 2
		``,                                  // 3
		`[table.inner]   # a comment`,       // 4
		`list = [`,                          // 5
		`  "x", # first`,                    // 6
		``,                                  // 7
		`  ["y", 'z'],`,                     // 8
		`]`,                                 // 9
		`inline = { k = 1, l = { m = 2 } }`, // 10
		`[[many]]`,                          // 11
		`name = """`,                        // 12
		`two lines"""`,                      // 13
		`[many.sub]`,                        // 14
		`x = true`,                          // 15
		`[[many.deep]]`,                     // 16
		`y = 1`,                             // 17
		`[[many]]`,                          // 18
		`[[many.deep]]`,                     // 19
		`[[many.deep]]`,                     // 20
		`y = 2`,                             // 21
		`rows = [ { a = 1 },`,               // 22
		`  { a = 2 } ]`,                     // 23
	}, "\n")
	want := places{
		"top": 1, "a": 2, "a.b": 2, `a.b."c d"`: 2, "table": 4, "table.inner": 4, "table.inner.list": 5, "table.inner.list[0]": 6,
		"table.inner.list[1]": 8, "table.inner.list[1][0]": 8, "table.inner.list[1][1]": 8,
		"table.inner.inline": 10, "table.inner.inline.k": 10, "table.inner.inline.l": 10, "table.inner.inline.l.m": 10,
		"many": 11, "many[0]": 11, "many[0].name": 12, "many[0].sub": 14, "many[0].sub.x": 15, "many[0].deep": 16, "many[0].deep[0]": 16, "many[0].deep[0].y": 17,
		"many[1]": 18, "many[1].deep": 19, "many[1].deep[0]": 19, "many[1].deep[1]": 20, "many[1].deep[1].y": 21,
		"many[1].deep[1].rows": 22, "many[1].deep[1].rows[0].a": 22, "many[1].deep[1].rows[1].a": 23,
	}
	got := places(tomllines.Of([]byte(text), join))
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got[key] != want[key] {
			t.Errorf("%s stands on line %d, want %d", key, got[key], want[key])
		}
	}
	for key, line := range map[string]int{"many[1].deep[1].gone": 20, "table.inner.list[7]": 5, "gone": 1, "": 1, "many[0].sub.gone.more": 14, `a."q.r"`: 2} {
		if got.of(key) != line {
			t.Errorf("%s would stand on line %d, want %d", key, got.of(key), line)
		}
	}
}

// TestLedger tells of each key once, and of nothing inside a table that is wrong as a whole.
func TestLedger(t *testing.T) {
	t.Parallel()
	l := &ledger{file: "f", lines: places{"b": 2, "a": 1}, broken: map[string]bool{}}
	l.add("b", "", "second")
	l.add("b", "", "never")
	l.add("b.c[0].d", "", "never")
	l.add("a.x", "", "first of %d", 1)
	l.add("a", "do this", "and its table")
	want := "f:1: a: and its table; do this\nf:1: a.x: first of 1\nf:2: b: second"
	if err := l.err(); err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if err := (&ledger{}).err(); err != nil {
		t.Errorf("nothing is wrong: %v", err)
	}
}

// TestFlatten brings all ways to write a setting to one name.
func TestFlatten(t *testing.T) {
	t.Parallel()
	var values map[string]any
	if err := toml.Unmarshal([]byte("\"A.b\" = 1\nC.d = 2\nE = { f.g = 3 }\nh = 'x'\n"), &values); err != nil {
		t.Fatal(err)
	}
	var names, keys []string
	for _, s := range flatten(values) {
		names, keys = append(names, s.name), append(keys, s.key)
	}
	if want := []string{"A.b", "C.d", "E.f.g", "h"}; !slices.Equal(names, want) {
		t.Errorf("the names are %q, want %q", names, want)
	}
	if want := []string{`"A.b"`, "C.d", "E.f.g", "h"}; !slices.Equal(keys, want) {
		t.Errorf("the keys are %q, want %q", keys, want)
	}
	deep := map[string]any{}
	for at, i := deep, 0; i < 100; i++ {
		next := map[string]any{}
		at["x"], at = next, next
	}
	if got := flatten(deep); len(got) != 1 || strings.Count(got[0].name, ".") != maxDepth {
		t.Errorf("a hundred tables are %d settings: %v", len(got), got)
	}
}

// FuzzValues holds that every text comes back from what is written of it, in both spellings.
func FuzzValues(f *testing.F) {
	for _, text := range []string{"", "a", "a\nb", "'''", "\r\n", "\\", "\"", "\x00", "é\u2028\u007f", "{\n  \"signed\": {}\n}\n", "\nx", "''"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?")
		for _, written := range []string{valueText(text), quote(text), quoteAll([]string{text, "b"})} {
			var read struct{ V any }
			if err := toml.Unmarshal([]byte("V = "+written+"\nW = 1\n"), &read); err != nil {
				t.Fatalf("%q is written as %s: %v", text, written, err)
			}
			if list, is := read.V.([]any); is {
				read.V = list[0]
			}
			if read.V != text {
				t.Errorf("%q comes back as %q from %s", text, read.V, written)
			}
		}
	})
}

func TestNameFrom(t *testing.T) {
	t.Parallel()
	for folder, want := range map[string]string{
		"lathe": "Lathe", "my game": "Mygame", "2048": "Game", "3d-chess": "D-chess", "": "Game", "ИграX": "X", "_x": "X", "a.b": "Ab",
		"Käse-&-Brot": "Kase-and-Brot", "Straße": "Strasse", "Ærø": "Aero", "Łódź--2": "Lodz-2", "Ka\u0308se": "Kase", "& more": "And-more", "a-": "A", "Ǿre": "Ore", "日本語": "Game",
		strings.Repeat("a", 100): "A" + strings.Repeat("a", maxName-1),
	} {
		if got := NameFrom(folder); got != want || !nameForm.MatchString(got) {
			t.Errorf("a game in %q is called %q, want %q", folder, got, want)
		}
	}
	if got := NameFrom("星露谷物语 2", "", "stardew", "other"); got != "Stardew" {
		t.Errorf("a name without a Latin letter, and a program: %q", got)
	}
}

func TestSecretNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"password": true, "Password": true, "key": true, "private-key": true, "api-token": true, "client-secret": true, "pin": true, "passphrase": true, "credentials": true,
		"password-env": false, "key-env": false, "keyboard": false, "spin": false, "name": false,
	} {
		if isSecret(name) != want {
			t.Errorf("%s is a secret: %t, want %t", name, !want, want)
		}
	}
	eachKey(func(k Key) {
		if isSecret(k.Name) {
			t.Errorf("%s.%s is a key of ours, and taken for a secret", k.Table, k.Name)
		}
	})
}
