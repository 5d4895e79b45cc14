package install_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"collet/app/update"
)

// story is an update that is stopped before every change to the disk. The promise: the next start gives exactly one of the
// allowed sets, and one more run gives the last one, whatever was stopped before; no file of the player is lost.
type story struct {
	name   string
	before []start // bring the folder to where the story begins
	then   start
	// allowed are the sets that a start may find, in the order in which they come about; the last one is the new set.
	allowed []string
}

func stories() []story {
	const mine = " Resources/mine.txt=mine"
	old := start{blobs: packs("A.zip", "a1", "B.zip", "b1", "C.zip", "c")}
	proof := module("one")
	proof.confirm = true
	moduleAndSymbols := start{mode: update.Binaries, blobs: binaries("Lathe.so", "two", "Lathe.so.pdb", "symbols")}
	confirmed := moduleAndSymbols
	confirmed.confirm = true
	verify := start{verify: true, blobs: append(packs("A.zip", "a2"), binaries("Lathe.so", "two")...)}
	return []story{
		{"cold packs", nil, start{blobs: packs("A.zip", "a1", "maps/B.zip", "b1", "empty.zip", "")},
			[]string{"Resources/mine.txt=mine", "Resources/A.zip=a1 Resources/empty.zip= Resources/maps/B.zip=b1" + mine}},
		{"changed packs", []start{old}, start{blobs: packs("A.zip", "a2", "B.zip", "b2", "C.zip", "c", "D.zip", "d2")},
			[]string{"Resources/A.zip=a1 Resources/B.zip=b1 Resources/C.zip=c" + mine,
				"Resources/A.zip=a2 Resources/B.zip=b2 Resources/C.zip=c Resources/D.zip=d2" + mine}},
		{"first module", nil, module("one"), []string{"Resources/mine.txt=mine", "Lathe.so=one" + mine}},
		{"module and symbols", []start{proof}, moduleAndSymbols,
			[]string{"Lathe.so=one" + mine, "Lathe.so=two Lathe.so.bak=one Lathe.so.pdb=symbols" + mine}},
		{"module over an unproven one", []start{proof, module("two")}, module("three"),
			[]string{"Lathe.so=two Lathe.so.bak=one" + mine, "Lathe.so=three Lathe.so.bak=one" + mine}},
		{"module and its proof", []start{proof}, confirmed,
			[]string{"Lathe.so=one" + mine, "Lathe.so=two Lathe.so.bak=one Lathe.so.pdb=symbols" + mine,
				"Lathe.so=two Lathe.so.pdb=symbols" + mine}},
		{"packs and module", []start{proof, old}, verify,
			[]string{"Lathe.so=one Resources/A.zip=a1 Resources/B.zip=b1 Resources/C.zip=c" + mine,
				"Lathe.so=two Lathe.so.bak=one Resources/A.zip=a2 Resources/B.zip=b1 Resources/C.zip=c" + mine}},
	}
}

// system is what a file system offers, and how a stop looks on it.
type system struct {
	name  string
	rules []rule
	half  bool
}

func systems() []system {
	return []system{
		{"exchange", nil, false}, {"exchange, half writes", nil, true},
		{"two moves", []rule{noExchange()}, false},
	}
}

// template is the folder in which a story begins.
func (s story) template(t *testing.T) folder {
	f := newFolder(t)
	f.write("Resources/mine.txt", "mine")
	for _, b := range s.before {
		b.must(f)
	}
	return f
}

// copyOf gives a stop a folder of its own.
func copyOf(t *testing.T, f folder) folder {
	t.Helper()
	c := newFolder(t)
	if err := os.CopyFS(c.dir, os.DirFS(f.dir)); err != nil {
		t.Fatal(err)
	}
	return c
}

// set is the tree without what is on its way.
func (f folder) set() string {
	var live []string
	for _, line := range strings.Split(f.tree(), " ") {
		if !strings.HasPrefix(line[strings.LastIndex(line, "/")+1:], "~") && !strings.HasSuffix(line, "/") {
			live = append(live, line)
		}
	}
	return strings.Join(live, " ")
}

func TestStopAtEveryChange(t *testing.T) {
	for _, s := range stories() {
		for _, sys := range systems() {
			t.Run(s.name+", "+sys.name, func(t *testing.T) {
				t.Parallel()
				template, stops, again := s.template(t), 0, 0
				for k := 1; ; k++ {
					f := copyOf(t, template)
					w := watch(f.open(), append(sys.rules, stopAt(k, sys.half))...)
					w.fast = true
					_, err := s.then.on(t, w)
					w.die()
					at, reached := w.stopped(k)
					if !reached {
						if err != nil {
							t.Fatal(err)
						}
						break
					}
					stops++
					if !s.holds(t, f, sys, at) {
						return
					}
					again += s.stopRecovery(t, f, sys)
					s.next(t, f, at)
				}
				if stops < 10 || (again == 0 && len(s.allowed) > 1) {
					t.Errorf("only %d stops, %d of them in recovery: the story tells nothing", stops, again)
				}
				t.Logf("%d stops, and %d in recovery", stops, again)
			})
		}
	}
}

// holds checks what a stop leaves even before anything recovers it: the live module is never missing where names can be
// exchanged, and the player's file stays.
func (s story) holds(t *testing.T, f folder, sys system, at op) bool {
	tree := " " + f.tree() + " "
	hadModule := strings.Contains(s.allowed[0], "Lathe.so=")
	switch {
	case !strings.Contains(tree, " Resources/mine.txt=mine "):
		t.Errorf("stopped at %s: the player's file is lost: %s", at, tree)
	case hadModule && sys.rules == nil && !strings.Contains(tree, " Lathe.so="):
		t.Errorf("stopped at %s: no live module: %s", at, tree)
	default:
		return true
	}
	return false
}

// next starts the client as it is after a stop, on the real disk: the set is one of the allowed ones, and one more run
// gives the new one.
func (s story) next(t *testing.T, f folder, at op) {
	t.Helper()
	d, err := open(f.open(), false)
	if err != nil {
		t.Fatalf("stopped at %s: does not open: %v", at, err)
	}
	if set := f.set(); !slices.Contains(s.allowed, set) {
		t.Errorf("stopped at %s: the set is\n%s, want one of\n%s", at, set, strings.Join(s.allowed, "\n"))
	}
	if err := d.Close(); err != nil {
		t.Errorf("stopped at %s: %v", at, err)
	}
	if _, err := s.then.on(t, f.open()); err != nil {
		t.Fatalf("stopped at %s: one more run: %v", at, err)
	}
	f.want("stopped at "+at.String()+", one more run", s.allowed[len(s.allowed)-1])
}

// stopRecovery stops the start that recovers, too, before every change it makes. It returns how often.
func (s story) stopRecovery(t *testing.T, f folder, sys system) (stops int) {
	t.Helper()
	for ; ; stops++ {
		c := copyOf(t, f)
		w := watch(c.open(), append(sys.rules, stopAt(stops+1, sys.half))...)
		w.fast = true
		_, err := open(w, false)
		w.die()
		at, reached := w.stopped(stops + 1)
		if !reached {
			if err != nil {
				t.Fatal(err)
			}
			return stops
		}
		if s.holds(t, c, sys, at) {
			s.next(t, c, at)
		}
	}
}

// TestOrderOfSyncs holds every story against what a power cut needs: bytes before names, names before the journal relies
// on them, the journal before the next change.
func TestOrderOfSyncs(t *testing.T) {
	for _, s := range stories() {
		for _, sys := range systems() {
			if sys.half {
				continue
			}
			t.Run(s.name+", "+sys.name, func(t *testing.T) {
				f, order := s.template(t), newDurability()
				w := watch(f.open(), append(sys.rules, order.rule)...)
				d, err := open(w, s.then.verify)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.then.update(t, d); err != nil {
					t.Fatal(err)
				}
				order.settled(t, "commit")
				if err := d.Promote(context.Background()); err != nil {
					t.Fatal(err)
				}
				order.settled(t, "promote")
				if err := d.Confirm(); err != nil {
					t.Fatal(err)
				}
				order.settled(t, "confirm")
				if err := d.Close(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// settled wants nothing to be only in memory any more.
func (d *durability) settled(t *testing.T, after string) {
	t.Helper()
	for _, fault := range d.faults {
		t.Errorf("%s: %s", after, fault)
	}
	if d.faults = nil; len(d.files)+len(d.folders) > 0 {
		t.Errorf("%s left unsynced: files %v, folders %v", after, d.files, d.folders)
	}
}

// TestOrderOfSyncsInRecovery does the same for a start that finishes what another one prepared.
func TestOrderOfSyncsInRecovery(t *testing.T) {
	for _, sys := range systems() {
		f := proven(t, "one")
		start{blobs: packs("A.zip", "a1")}.must(f)
		s := start{verify: true, stay: true, blobs: append(packs("A.zip", "a2"), binaries("Lathe.so", "two", "Lathe.so.pdb", "x")...)}
		w := watch(f.open(), append(sys.rules, refuse("rename", "* Resources/A.zip", errStopped))...)
		if _, err := s.on(t, w); err == nil {
			t.Fatal("not stopped")
		}
		order := newDurability()
		d := f.mustOpen(append(sys.rules, order.rule)...)
		order.settled(t, sys.name)
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		f.want(sys.name, "Lathe.so=two Lathe.so.bak=one Lathe.so.pdb=x Resources/A.zip=a2")
	}
}

// TestEveryCallFailsOnce fails each call alone, as a disk with a bad spot does, and goes on with the same folder: no
// error is swallowed into a wrong set.
func TestEveryCallFailsOnce(t *testing.T) {
	for _, s := range stories() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			template := s.template(t)
			for k := 1; ; k++ {
				f := copyOf(t, template)
				w := watch(f.open(), failAt(k))
				w.fast = true
				_, err := s.then.on(t, w)
				w.die()
				if len(w.ops) < k {
					break
				}
				if _, err2 := s.then.on(t, f.open()); err2 != nil {
					t.Fatalf("failed at %s (%v): one more run: %v", w.ops[k-1], err, err2)
				}
				f.want("failed at "+w.ops[k-1].String()+", one more run", s.allowed[len(s.allowed)-1])
			}
		})
	}
}
