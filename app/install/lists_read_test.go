package install

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// randomLists returns lists with random fields, and with names that JSON escapes and names that it does not.
func randomLists(r *rand.Rand) lists {
	flip := func() bool { return r.IntN(2) == 0 }
	name := func() string {
		return []string{"a", "Resources/Größe.zip", "b/c d/e", `quote"`, `back\slash`, "<tag>", "line\nbreak", ""}[r.IntN(8)]
	}
	entries := func() (all []entry) {
		for range r.IntN(4) {
			all = append(all, entry{
				Kind: []Kind{Pack, Module, Companion, "other"}[r.IntN(4)], Live: name(), Size: r.Int64N(1 << 40), Digest: number(r.Uint64N(3)),
				Old: number(r.Uint64N(3)), OldSize: r.Int64N(3), Repair: flip(), Foreign: flip(), Aside: flip(), Broken: flip(),
			})
		}
		return all
	}
	l := lists{Is: number(r.Uint64N(3)), Set: entries(), Adopted: entries(), Files: entries(), Parts: entries()}
	for range r.IntN(4) {
		l.Undo = append(l.Undo, undo{
			Kind: Pack, Live: name(), Size: r.Int64N(3), Digest: number(r.Uint64N(3)), Foreign: flip(), Gone: flip(), Proven: flip(), Reverting: flip(),
		})
	}
	return l
}

// TestListsReadBack decodes the output of encode.
func TestListsReadBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		want := randomLists(r)
		data, err := want.encode()
		if err != nil {
			t.Fatal(err)
		}
		var got lists
		if err := got.decode(data); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s was read as\n%+v, want\n%+v (%v)", data, got, want, err)
		}
	}
}

// TestListsInOtherForms reads lists in forms that encode does not write.
func TestListsInOtherForms(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                                 "is -, was -",
		`{"is": "fnv1a64:0000000000000001"}`: "is 1, was -",
		`{"later":[1,{"a":"b"}],"is":"fnv1a64:0000000000000001"}`:                      "is 1, was -",
		`{"set":[{"live":"a","later":7,"digest":"fnv1a64:0000000000000002"}]}`:         "is -, was -, a2",
		`{"set":[{"live":"a\u0062","size": 100,"digest":"fnv1a64:0000000000000002"}]}`: "is -, was -, ab2",
		`{"set":[],"undo":[{"live":"u","gone":true,"proven":false}]}`:                  "is -, was -, undo u-g",
		` {"parts":[{"kind":"pack","live":"p","aside":true}]} `:                        "is -, was -, aside p-",
	} {
		var l lists
		if err := l.decode([]byte(text)); err != nil || l.inWords() != want {
			t.Errorf("%s was read as %q (%v), want %q", text, l.inWords(), err, want)
		}
	}
}

// TestListsThatAreNone checks that truncated or invalid JSON is rejected and leaves the lists unchanged.
func TestListsThatAreNone(t *testing.T) {
	whole := `{"is":"fnv1a64:0000000000000001","set":[{"kind":"pack","live":"a","size":5,"digest":"fnv1a64:0000000000000002","repair":true}]}`
	texts := []string{whole + "x", strings.Replace(whole, "pack\"", "pack", 1), strings.Replace(whole, "00002", "0000g", 1), strings.Replace(whole, "5", "99999999999999999999", 1)}
	for n := range whole {
		texts = append(texts, whole[:n])
	}
	for _, text := range texts {
		l := lists{Is: number(9)}
		if err := l.decode([]byte(text)); err == nil || l.inWords() != "is 9, was -" {
			t.Errorf("%s was read as %q (%v)", text, l.inWords(), err)
		}
	}
}
