package install_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/app/install"
	"collet/app/update"
)

// module is a start in binaries mode with one version of the module.
func Module(content string) start {
	return start{mode: update.Binaries, blobs: binaries("Lathe.so", content)}
}

// proven returns a folder with a proven module.
func proven(t testing.TB, content string) folder {
	t.Helper()
	f := newFolder(t)
	s := Module(content)
	s.confirm = true
	s.must(f)
	f.want("proven", "Lathe.so="+content)
	return f
}

func wantState(t *testing.T, d *install.Dir, state install.State, pending bool) {
	t.Helper()
	if d.State() != state || d.Pending() != pending {
		t.Errorf("state %q, pending %v; want %q, %v", d.State(), d.Pending(), state, pending)
	}
}

// TestModuleFromStagingToProof follows one module through all states, step by step.
func TestModuleFromStagingToProof(t *testing.T) {
	f, ctx := newFolder(t), context.Background()
	f.write("Lathe.so", "one")
	d := f.mustOpen()
	wantState(t, d, install.None, false)
	g, err := Module("two").update(t, d)
	if err != nil {
		t.Fatal(err)
	}
	g.want(t, "update", "1 wanted, 3 bytes, 0 resumed, 1 matched, 3 written")
	f.want("staged", "Lathe.so=one Lathe.so-staging=two")
	wantState(t, d, install.Prepared, false)
	for range 2 {
		if err := d.Promote(ctx); err != nil {
			t.Fatal(err)
		}
		f.want("promoted", "Lathe.so=two Lathe.so.bak=one")
		wantState(t, d, install.Swapped, true)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = f.mustOpen()
	f.want("still unproven", "Lathe.so=two Lathe.so.bak=one")
	wantState(t, d, install.Swapped, true)
	for range 2 {
		if err := d.Confirm(); err != nil {
			t.Fatal(err)
		}
		f.want("proven", "Lathe.so=two")
		wantState(t, d, install.Confirmed, false)
	}
	if g, err = Module("two").update(t, d); err != nil {
		t.Fatal(err)
	}
	g.want(t, "again", "0 wanted, 0 bytes, 0 resumed, 1 matched, 0 written")
	if !d.HasLibrary() || d.Library() != filepath.Join(f.dir, "Lathe.so") || d.Packs() != filepath.Join(f.dir, "Resources") {
		t.Errorf("%v %s %s", d.HasLibrary(), d.Library(), d.Packs())
	}
}

func TestStagedModuleIsPromotedAtTheNextStart(t *testing.T) {
	for name, rules := range map[string][]rule{"exchange": nil, "two moves": {noExchange()}} {
		t.Run(name, func(t *testing.T) {
			f := proven(t, "one")
			s := Module("two")
			s.stay = true
			s.must(f)
			f.want("staged", "Lathe.so=one Lathe.so-staging=two")
			d := f.mustOpen(rules...)
			f.want("promoted", "Lathe.so=two Lathe.so.bak=one")
			wantState(t, d, install.Swapped, true)
		})
	}
}

func TestFirstModule(t *testing.T) {
	f := newFolder(t)
	d := f.mustOpen()
	if d.HasLibrary() {
		t.Error("there is none")
	}
	if _, err := Module("one").update(t, d); err != nil {
		t.Fatal(err)
	}
	f.want("staged", "Lathe.so-staging=one")
	if err := d.Promote(context.Background()); err != nil {
		t.Fatal(err)
	}
	f.want("promoted", "Lathe.so=one")
	wantState(t, d, install.Swapped, true)
	if err := d.Confirm(); err != nil {
		t.Fatal(err)
	}
	f.want("proven", "Lathe.so=one")
}

// TestUnprovenModuleIsNoBackup swaps twice without a proof: the backup is still the last proven module.
func TestUnprovenModuleIsNoBackup(t *testing.T) {
	for name, rules := range map[string][]rule{"exchange": nil, "two moves": {noExchange()}} {
		t.Run(name, func(t *testing.T) {
			f := proven(t, "one")
			for _, version := range []string{"two", "three", "four"} {
				if _, err := Module(version).on(t, watch(f.open(), rules...)); err != nil {
					t.Fatal(err)
				}
				f.want(version, "Lathe.so="+version+" Lathe.so.bak=one")
			}
			// A module that is already installed changes nothing.
			Module("four").must(f)
			d := f.mustOpen()
			f.want("reopened", "Lathe.so=four Lathe.so.bak=one")
			if err := d.Confirm(); err != nil {
				t.Fatal(err)
			}
			f.want("proven", "Lathe.so=four")
		})
	}
}

func TestMissingModuleGetsItsBackupBack(t *testing.T) {
	f := proven(t, "one")
	Module("two").must(f)
	f.remove("Lathe.so")
	d := f.mustOpen()
	f.want("restored", "Lathe.so=one")
	wantState(t, d, install.RolledBack, false)
	if err := errors.Join(d.Confirm(), d.Close()); err != nil {
		t.Fatal(err)
	}
	f.want("nothing to confirm", "Lathe.so=one")
	Module("two").must(f).want(t, "once more", "1 wanted, 3 bytes, 0 resumed, 1 matched, 3 written")
	f.want("swapped again", "Lathe.so=two Lathe.so.bak=one")
}

// TestBackupOfAnotherProgram starts with the state that the engine's own updater leaves if it stops between its two
// renames.
func TestBackupOfAnotherProgram(t *testing.T) {
	f := newFolder(t)
	f.write("Lathe.so.bak", "one")
	f.mustOpen().Close()
	f.want("restored", "Lathe.so=one")
}

// TestBackupMadeByHand checks that such a file stays until a swap needs the name, and is then moved to the recycler.
func TestBackupMadeByHand(t *testing.T) {
	f := proven(t, "one")
	f.write("Lathe.so.bak", "by hand")
	for range 2 {
		f.mustOpen().Close()
		start{blobs: packs("Core.zip", "core")}.must(f)
		f.want("not ours", "Lathe.so=one Lathe.so.bak=by hand Resources/Core.zip=core")
	}
	Module("two").must(f)
	f.want("swapped", "Lathe.so=two Lathe.so.bak=one Recycler/yours-3/Lathe.so.bak=by hand Resources/Core.zip=core")
}

// TestBackupGoesAtTheNextStart confirms, and stops before the backup is removed.
func TestBackupGoesAtTheNextStart(t *testing.T) {
	f := proven(t, "one")
	Module("two").must(f)
	d := f.mustOpen(refuse("remove", "*.bak", errStopped))
	if err := d.Confirm(); err == nil {
		t.Error("no word about the backup")
	}
	d.Close()
	f.want("left behind", "Lathe.so=two Lathe.so.bak=one")
	d = f.mustOpen()
	f.want("gone", "Lathe.so=two")
	wantState(t, d, install.Confirmed, false)
}

func TestCompanions(t *testing.T) {
	f := newFolder(t)
	f.write("Lathe.so", "one")
	f.write("Lathe.pdb", "the host's own symbols")
	s := start{mode: update.Binaries, blobs: binaries(
		"Lathe.so", "two", "Lathe.so.pdb", "symbols of two", "Lathe.pdb", "symbols of another host",
		"Lathe", "another host", "Lathe.toml", "x", "Other.so", "y", "sub/Lathe.so", "z")}
	d := f.mustOpen()
	g, err := s.update(t, d)
	if err != nil {
		t.Fatal(err)
	}
	g.want(t, "update", "2 wanted, 17 bytes, 0 resumed, 1 matched, 17 written")
	f.want("staged", "Lathe.pdb=the host's own symbols Lathe.so=one Lathe.so-staging=two Lathe.so.pdb-staging=symbols of two")
	if err := d.Promote(context.Background()); err != nil {
		t.Fatal(err)
	}
	f.want("promoted", "Lathe.pdb=the host's own symbols Lathe.so=two Lathe.so.bak=one Lathe.so.pdb=symbols of two")
}

func TestHostSymbolsOnlyWhereThereAreNone(t *testing.T) {
	f := newFolder(t)
	s := start{mode: update.Binaries, blobs: binaries("Lathe.so", "two", "Lathe.pdb", "symbols")}
	s.must(f)
	f.want("first", "Lathe.pdb=symbols Lathe.so=two")
	s.blobs = binaries("Lathe.so", "two", "Lathe.pdb", "other symbols")
	s.must(f).want(t, "then", "0 wanted, 0 bytes, 0 resumed, 1 matched, 0 written")
	f.want("kept", "Lathe.pdb=symbols Lathe.so=two")
}

// TestCompanionsAreBestEffort fails to replace a companion: the module is swapped all the same. The old companion stays or
// is restored.
func TestCompanionsAreBestEffort(t *testing.T) {
	taken := refuse("rename", "Lathe.so.pdb-staging Lathe.so.pdb", fs.ErrPermission)
	for name, held := range map[string][]rule{
		"exchange":  {taken, refuse("exchange", "* Lathe.so.pdb", fs.ErrPermission)},
		"two moves": {taken, noExchange()},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			f.write("Lathe.so", "one")
			f.write("Lathe.so.pdb", "old")
			s := start{mode: update.Binaries, blobs: binaries("Lathe.so", "two", "Lathe.so.pdb", "new")}
			if _, err := s.on(t, watch(f.open(), held...)); err != nil {
				t.Fatal(err)
			}
			f.want("swapped", "Lathe.so=two Lathe.so.bak=one Lathe.so.pdb=old Lathe.so.pdb-staging=new")
			s.must(f).want(t, "next", "1 wanted, 3 bytes, 0 resumed, 1 matched, 3 written")
			f.want("caught up", "Lathe.so=two Lathe.so.bak=one Lathe.so.pdb=new")
		})
	}
}

// TestCompanionThatCanNotComeBack checks that the set continues without symbols, and that the backup of the symbols is
// kept.
func TestCompanionThatCanNotComeBack(t *testing.T) {
	f := newFolder(t)
	set := func(version string) start {
		return start{mode: update.Binaries, blobs: binaries("Lathe.so", "module "+version, "Lathe.so.pdb", "symbols "+version)}
	}
	set("1").confirmed().must(f)
	if _, err := set("2").on(t, watch(f.open(), noExchange(), refuse("rename", "* Lathe.so.pdb", fs.ErrPermission))); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, "held", f, "Lathe.so", "module 2", "Lathe.so.pdb", "", ".collet/previous/Lathe.so.pdb", "symbols 1")
	start{idle: true, fails: 2}.must(f)
	wantFiles(t, "back", f, "Lathe.so", "module 1", "Lathe.so.pdb", "symbols 1")
}

// TestPromoteFailsAndIsRetried simulates a virus scanner that locks the module: the retry fetches nothing.
func TestPromoteFailsAndIsRetried(t *testing.T) {
	f, ctx := proven(t, "one"), context.Background()
	busy := true
	d := f.mustOpen(noExchange(), func(o op) error {
		if busy && o.verb == "rename" && o.name == "Lathe.so" {
			return fs.ErrPermission
		}
		return nil
	})
	if _, err := Module("two").update(t, d); err != nil {
		t.Fatal(err)
	}
	wantFault(t, "promote", d.Promote(ctx), update.NoPermission)
	f.want("refused", "Lathe.so=one Lathe.so-staging=two")
	g, err := Module("two").update(t, d)
	if err != nil {
		t.Fatal(err)
	}
	g.want(t, "retry", "1 wanted, 3 bytes, 3 resumed, 1 matched, 0 written")
	busy = false
	if err := d.Promote(ctx); err != nil {
		t.Fatal(err)
	}
	f.want("promoted", "Lathe.so=two Lathe.so.bak=one")
	wantState(t, d, install.Swapped, true)
}

// TestPreparedModuleMeetsAnotherOffer withdraws the staged module.
func TestPreparedModuleMeetsAnotherOffer(t *testing.T) {
	for name, test := range map[string]struct {
		next       start
		plan, tree string
		state      install.State
		pending    bool
	}{
		"newer": {Module("three"), "1 wanted, 5 bytes, 0 resumed, 1 matched, 5 written",
			"Lathe.so=three Lathe.so.bak=one", install.Swapped, true},
		"the live one": {Module("one"), "0 wanted, 0 bytes, 0 resumed, 1 matched, 0 written",
			"Lathe.so=one ~Lathe.so=two", install.RolledBack, false},
		"packs only": {start{blobs: packs("Core.zip", "core")}, "1 wanted, 4 bytes, 0 resumed, 1 matched, 4 written",
			"Lathe.so=one Resources/Core.zip=core ~Lathe.so=two", install.Swapped, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := proven(t, "one")
			d := f.mustOpen()
			if _, err := Module("two").update(t, d); err != nil {
				t.Fatal(err)
			}
			g, err := test.next.update(t, d)
			if err != nil {
				t.Fatal(err)
			}
			g.want(t, "plan", test.plan)
			if err := errors.Join(d.Promote(context.Background()), d.Close()); err != nil {
				t.Fatal(err)
			}
			d = f.mustOpen()
			f.want("then", test.tree)
			wantState(t, d, test.state, test.pending)
			d.Close()
			want := "1 wanted, 3 bytes, 3 resumed, 1 matched, 0 written"
			if name == "newer" {
				want = "1 wanted, 3 bytes, 0 resumed, 1 matched, 3 written"
			}
			Module("two").must(f).want(t, "back again", want)
		})
	}
}

// TestPreparedPacksGoForward fails in the middle of a commit: the set is completed before anything else is planned.
func TestPreparedPacksGoForward(t *testing.T) {
	f := newFolder(t)
	start{blobs: packs("A.zip", "a1", "B.zip", "b1")}.must(f)
	held := true
	d := f.mustOpen(func(o op) error {
		if held && o.verb == "rename" && o.to == "Resources/B.zip" {
			return fs.ErrPermission
		}
		return nil
	})
	_, err := start{blobs: packs("A.zip", "a2", "B.zip", "b2")}.update(t, d)
	if fault := wantFault(t, "commit", err, update.NoPermission); !strings.HasSuffix(fault.Subject, "B.zip") {
		t.Errorf("about %s", fault.Subject)
	}
	f.want("half", "Resources/A.zip=a2 Resources/B.zip=b1 Resources/~B.zip=b2")
	_, err = start{blobs: packs("A.zip", "a3", "B.zip", "b3")}.update(t, d)
	wantFault(t, "still held", err, update.NoPermission)
	f.want("nothing new begun", "Resources/A.zip=a2 Resources/B.zip=b1 Resources/~B.zip=b2")
	held = false
	g, err := start{blobs: packs("A.zip", "a3", "B.zip", "b2")}.update(t, d)
	if err != nil {
		t.Fatal(err)
	}
	g.want(t, "let go", "1 wanted, 2 bytes, 0 resumed, 2 matched, 2 written")
	f.want("whole", "Resources/A.zip=a3 Resources/B.zip=b2")
}

// TestPreparedBytesVanish simulates a virus scanner that removes a written file.
func TestPreparedBytesVanish(t *testing.T) {
	for name, spoil := range map[string]func(folder){
		"gone":    func(f folder) { f.remove("Lathe.so-staging") },
		"changed": func(f folder) { f.write("Lathe.so-staging", "twX") },
	} {
		t.Run(name, func(t *testing.T) {
			f := proven(t, "one")
			Module("two").must(f)
			s := Module("three")
			s.stay = true
			s.must(f)
			f.want("prepared", "Lathe.so=two Lathe.so-staging=three Lathe.so.bak=one")
			spoil(f)
			d := f.mustOpen()
			wantState(t, d, install.RolledBack, true)
			d.Close()
			if got := f.tree(); !strings.HasPrefix(got, "Lathe.so=two") || !strings.Contains(got, "Lathe.so.bak=one") {
				t.Errorf("left %s", got)
			}
			Module("three").must(f)
			f.want("fetched again", "Lathe.so=three Lathe.so.bak=one")
		})
	}
}

// TestVanishedBetweenTwoMoves loses the staged module between the two renames of a system without an exchange of names.
func TestVanishedBetweenTwoMoves(t *testing.T) {
	f := proven(t, "one")
	w := watch(f.open(), noExchange(), refuse("rename", "Lathe.so-staging Lathe.so", errStopped))
	if _, err := Module("two").on(t, w); err == nil {
		t.Fatal("not stopped")
	}
	f.want("stopped", "Lathe.so-staging=two Lathe.so.bak=one")
	f.remove("Lathe.so-staging")
	d := f.mustOpen()
	f.want("restored", "Lathe.so=one")
	wantState(t, d, install.RolledBack, false)
}

// TestVanishedBetweenTwoMovesOfThisProcess detects the loss at the next attempt, without another start.
func TestVanishedBetweenTwoMovesOfThisProcess(t *testing.T) {
	f, ctx := proven(t, "one"), context.Background()
	d := f.mustOpen(noExchange(), refuse("rename", "Lathe.so-staging Lathe.so", fs.ErrPermission))
	if _, err := Module("two").update(t, d); err != nil {
		t.Fatal(err)
	}
	wantFault(t, "promote", d.Promote(ctx), update.NoPermission)
	f.want("half", "Lathe.so-staging=two Lathe.so.bak=one")
	f.remove("Lathe.so-staging")
	wantFault(t, "again", d.Promote(ctx), update.DiskFault)
	f.want("restored", "Lathe.so=one")
	wantState(t, d, install.RolledBack, false)
}

// TestSwapThatHasBegunGoesForward plans again between the two renames: the set can't be withdrawn any more.
func TestSwapThatHasBegunGoesForward(t *testing.T) {
	for name, rules := range map[string][]rule{
		"exchange":  {refuse("rename", "Lathe.so-staging Lathe.so.bak", fs.ErrPermission)},
		"two moves": {noExchange(), refuse("rename", "Lathe.so-staging Lathe.so", fs.ErrPermission)},
	} {
		t.Run(name, func(t *testing.T) {
			f, held := proven(t, "one"), true
			d := f.mustOpen(func(o op) error {
				for _, r := range rules {
					if err := r(o); err != nil && (held || o.verb == "exchange") {
						return err
					}
				}
				return nil
			})
			if _, err := Module("two").update(t, d); err != nil {
				t.Fatal(err)
			}
			wantFault(t, "promote", d.Promote(context.Background()), update.NoPermission)
			held = false
			g, err := Module("two").update(t, d)
			if err != nil {
				t.Fatal(err)
			}
			g.want(t, "again", "0 wanted, 0 bytes, 0 resumed, 1 matched, 0 written")
			f.want("swapped", "Lathe.so=two Lathe.so.bak=one")
			wantState(t, d, install.Swapped, true)
		})
	}
}

// TestConfirmWhileAnotherIsPrepared confirms a module while the next one is prepared: both stay.
func TestConfirmWhileAnotherIsPrepared(t *testing.T) {
	f := proven(t, "one")
	Module("two").must(f)
	d := f.mustOpen()
	if _, err := Module("three").update(t, d); err != nil {
		t.Fatal(err)
	}
	if err := d.Confirm(); err != nil {
		t.Fatal(err)
	}
	f.want("two is proven", "Lathe.so=two Lathe.so-staging=three")
	wantState(t, d, install.Prepared, false)
	if err := errors.Join(d.Promote(context.Background()), d.Close()); err != nil {
		t.Fatal(err)
	}
	d = f.mustOpen()
	f.want("two is the backup", "Lathe.so=three Lathe.so.bak=two")
	wantState(t, d, install.Swapped, true)
}

// TestConfirmWhilePartsArrive checks that the parts stay bound.
func TestConfirmWhilePartsArrive(t *testing.T) {
	f := proven(t, "one")
	Module("two").must(f)
	s := start{blobs: packs("Core.zip", "0123456789")}
	begin(t, f, s, 6)
	d := f.mustOpen()
	wantState(t, d, install.Staging, true)
	if err := errors.Join(d.Confirm(), d.Close()); err != nil {
		t.Fatal(err)
	}
	f.want("proven", "Lathe.so=two Resources/~Core.zip=012345")
	s.must(f).want(t, "resumed", "1 wanted, 10 bytes, 6 resumed, 1 matched, 4 written")
}

// TestVerifyHealsTheModule repairs a damaged module during an update of packs.
func TestVerifyHealsTheModule(t *testing.T) {
	f := proven(t, "one")
	f.write("Lathe.so", "onX")
	s := start{blobs: append(packs("Core.zip", "core"), binaries("Lathe.so", "one")...), verify: true, stay: true}
	s.must(f).want(t, "verify", "2 wanted, 7 bytes, 0 resumed, 1 matched, 7 written")
	f.want("staged", "Lathe.so=onX Lathe.so-staging=one Resources/~Core.zip=core")
	f.mustOpen()
	f.want("healed", "Lathe.so=one Resources/Core.zip=core")
}

// TestLinkInPlaceOfTheModule checks that a link is replaced and not followed.
func TestLinkInPlaceOfTheModule(t *testing.T) {
	f := newFolder(t)
	f.write("build/real.so", "real")
	if err := os.Symlink("build/real.so", filepath.Join(f.dir, "Lathe.so")); err != nil {
		t.Skip(err)
	}
	f.write("Lathe.so.bak", "older")
	d := f.mustOpen()
	if !d.HasLibrary() {
		t.Error("a link is a module")
	}
	d.Close()
	f.want("left alone", "Lathe.so? Lathe.so.bak=older build/real.so=real")
	Module("two").must(f)
	f.want("replaced", "Lathe.so=two Lathe.so.bak=older Recycler/yours-1/Lathe.so? build/real.so=real")
}

// TestTwoHostsShareAFolder updates the modules of two hosts in turn; each confirms only its own.
func TestTwoHostsShareAFolder(t *testing.T) {
	f, ctx := proven(t, "one"), context.Background()
	Module("two").must(f)
	cfg := install.Config{FS: f.open(), Names: names(), Trust: install.TrustFNV, Log: zerolog.Nop(), Now: later}
	cfg.Names.Runtime, cfg.Names.Server = "MyAlt", "Lathe"
	alt, err := install.Open(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	wantState(t, alt, install.Swapped, false)
	g, err := Module("alt").update(t, alt)
	if err != nil {
		t.Fatal(err)
	}
	g.want(t, "renamed host", "1 wanted, 3 bytes, 0 resumed, 1 matched, 3 written")
	if err := alt.Promote(ctx); err != nil {
		t.Fatal(err)
	}
	f.want("both", "Lathe.so=two Lathe.so.bak=one MyAlt.so=alt")
	wantState(t, alt, install.Swapped, true)
	if err := errors.Join(alt.Confirm(), alt.Close()); err != nil {
		t.Fatal(err)
	}
	d := f.mustOpen()
	wantState(t, d, install.Confirmed, true)
	f.want("one of them waits", "Lathe.so=two Lathe.so.bak=one MyAlt.so=alt")
	if err := d.Confirm(); err != nil {
		t.Fatal(err)
	}
	f.want("none waits", "Lathe.so=two MyAlt.so=alt")
}

// TestOtherHostFinishesTheSwap has the other host of a folder open it while a module waits for its promotion.
func TestOtherHostFinishesTheSwap(t *testing.T) {
	f := proven(t, "one")
	s := Module("two")
	s.stay = true
	s.must(f)
	cfg := install.Config{FS: f.open(), Names: names(), Trust: install.TrustFNV, Log: zerolog.Nop(), Now: later}
	cfg.Names.Runtime = "MyAlt"
	alt, err := install.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	f.want("swapped", "Lathe.so=two Lathe.so.bak=one")
	wantState(t, alt, install.Swapped, false)
	if err := alt.Close(); err != nil {
		t.Fatal(err)
	}
	wantState(t, f.mustOpen(), install.Swapped, true)
}

// TestLogSaysWhatHappened checks the two log lines that explain why an old module runs.
func TestLogSaysWhatHappened(t *testing.T) {
	f := proven(t, "one")
	Module("two").must(f)
	f.remove("Lathe.so")
	var log bytes.Buffer
	d, err := install.Open(context.Background(), install.Config{FS: f.open(), Names: names(), Trust: install.TrustFNV, Log: zerolog.New(&log)})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if !strings.Contains(log.String(), "new module is missing") || !strings.Contains(log.String(), `"file":"Lathe.so"`) {
		t.Errorf("logged %s", &log)
	}
}
