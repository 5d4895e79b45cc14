package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/app/install"
	"collet/app/update"
	"collet/netproto/release"
	"collet/platform"
	"collet/platform/faultfs"
	"collet/platform/testlevel"
)

// patient is an install on a volume in memory on which a client can be stopped anywhere.
type patient struct {
	t    testing.TB
	disk *faultfs.Disk
}

func patientNames() install.Names {
	return install.Names{Runtime: "Lathe", Ext: ".so", Resources: "Resources", Cache: "Cache"}
}

// patientSet is a release: live name → content.
type patientSet map[string]string

var (
	patientOld = patientSet{"Lathe.so": "module one", "Lathe.so.pdb": "symbols one", "Resources/A.zip": "pack a one", "Resources/Gone.zip": "goes", "Resources/Same.zip": "same"}
	patientNew = patientSet{"Lathe.so": "module two", "Lathe.so.pdb": "symbols two", "Resources/A.zip": "pack a two", "Resources/Same.zip": "same", "Resources/deep/B.zip": "comes"}
)

func (s patientSet) offer(t testing.TB) (files []release.File) {
	for _, live := range slices.Sorted(maps.Keys(s)) {
		digest, err := release.SHA256.DigestOf(strings.NewReader(s[live]))
		if err != nil {
			t.Fatal(err)
		}
		f := release.File{Path: live, Size: int64(len(s[live])), Digest: digest, Role: release.Binary, Index: uint32(len(files))}
		if rest, is := strings.CutPrefix(live, "Resources/"); is {
			f.Path, f.Role = rest, release.Resource
		}
		files = append(files, f)
	}
	return files
}

func (s patientSet) of(f release.File) string {
	if f.Role == release.Resource {
		return s["Resources/"+f.Path]
	}
	return s[f.Path]
}

func newPatient(t testing.TB) patient { return patient{t, faultfs.New(faultfs.Config{})} }

func patientNow() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }

func patientOpen(fsys platform.FS) (*install.Dir, error) {
	return install.Open(context.Background(), install.Config{FS: fsys, Names: patientNames(), Trust: install.TrustSHA256, Log: zerolog.Nop(), Now: patientNow})
}

// The steps of a client.
var (
	toCommit = func(s patientSet) func(t testing.TB, d *install.Dir) error {
		return func(t testing.TB, d *install.Dir) error {
			plan, err := d.Plan(context.Background(), update.Binaries, s.offer(t), func(string, int64, int64) {})
			for i := 0; err == nil && i < len(plan.Wants); i++ {
				err = patientFetch(d, i, plan.Wants[i], s.of(plan.Wants[i].File))
			}
			if err == nil {
				err = d.Commit(context.Background())
			}
			return err
		}
	}
	promote = func(_ testing.TB, d *install.Dir) error { return d.Promote(context.Background()) }
	confirm = func(_ testing.TB, d *install.Dir) error { return d.Confirm() }
	failing = func(_ testing.TB, d *install.Dir) error {
		_, err := d.FailedStart(context.Background(), "signal 11")
		return err
	}
	closing = func(_ testing.TB, d *install.Dir) error { return d.Close() }
)

func patientFetch(d *install.Dir, i int, w update.Want, content string) error {
	for _, r := range w.Missing {
		if err := d.Advance(context.Background(), i); err != nil {
			return err
		}
		if err := d.Write(i, []byte(content[r.Start:r.End])); err != nil {
			return err
		}
	}
	return d.Finish(context.Background(), i)
}

// run executes steps in one process; with a stop it ends at the operation with that number.
func (p patient) run(fsys *faultfs.FS, steps ...func(testing.TB, *install.Dir) error) error {
	p.t.Helper()
	d, err := patientOpen(fsys)
	for _, step := range steps {
		if err == nil {
			err = step(p.t, d)
		}
	}
	return err
}

func (p patient) must(steps ...func(testing.TB, *install.Dir) error) patient {
	p.t.Helper()
	fsys := p.disk.Open(faultfs.Options{})
	if err := p.run(fsys, steps...); err != nil {
		p.t.Fatal(err)
	}
	fsys.Kill()
	return p
}

// tree lists every name with its content, kind, mode and times.
func tree(t testing.TB, fsys platform.FS, times bool) string {
	t.Helper()
	var out strings.Builder
	var walk func(folder string)
	walk = func(folder string) {
		entries, err := fsys.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			name := path.Join(folder, e.Name())
			info, err := fsys.Lstat(name)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "%s %s", name, info.Mode().Type())
			if times {
				id := platform.IdentityOf(info)
				fmt.Fprintf(&out, " %s %v %v %d", info.Mode(), id.Modified.UnixNano(), id.Changed.UnixNano(), id.Inode)
			}
			if info.Mode().IsRegular() {
				data, err := platform.ReadFile(fsys, name, 1<<30)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&out, " %q", data)
			}
			out.WriteByte('\n')
			if info.IsDir() {
				walk(name)
			}
		}
	}
	walk(".")
	return out.String()
}

// inspected runs Inspect and checks that nothing was changed, by the tree with all times and by the trace of operations.
func (p patient) inspected(hash bool) Report {
	p.t.Helper()
	before := tree(p.t, p.disk.Open(faultfs.Options{}), true)
	fsys := p.disk.Open(faultfs.Options{Reads: true})
	found, err := Folder(context.Background(), fsys, nil, patientNames(), hash)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, o := range fsys.Ops() {
		if o.Changes() {
			p.t.Errorf("operation that changes something: %s", o)
		}
	}
	fsys.Kill()
	if after := tree(p.t, p.disk.Open(faultfs.Options{}), true); after != before {
		p.t.Errorf("the folder changed:\n%s\nwas\n%s", after, before)
	}
	return found
}

// asPredicted opens the install and checks that the result equals that of a rehearsal on the same folder.
func (p patient) asPredicted(found Report) {
	p.t.Helper()
	view := newOverlay(p.disk.Open(faultfs.Options{}), false)
	played, errPlayed := patientOpen(view)
	fsys := p.disk.Clone().Open(faultfs.Options{})
	real, errReal := patientOpen(fsys)
	if (errPlayed == nil) != (errReal == nil) || (errReal == nil) != (found.Next.Error == "") {
		p.t.Fatalf("rehearsed: %v; inspected: %q; real: %v", errPlayed, found.Next.Error, errReal)
	}
	if errReal != nil {
		return
	}
	got, want := withoutLocks(tree(p.t, view, false)), withoutLocks(tree(p.t, fsys, false))
	if got != want {
		p.t.Errorf("rehearsed:\n%s\nreal:\n%s", got, want)
	}
	next := found.Next
	if next.State != real.State() || next.Pending != real.Pending() || next.Module != install.ViewOf(real).HasModule() || next.Verify != real.Unclean() {
		p.t.Errorf("told: %s, pending %t, module %t, verify %t; real: %s %t %t %t", next.State, next.Pending, next.Module, next.Verify,
			real.State(), real.Pending(), install.ViewOf(real).HasModule(), real.Unclean())
	}
	_, _ = played.Close(), real.Close()
}

// withoutLocks removes the lock files, which a rehearsal does not create.
func withoutLocks(tree string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(tree, "\n"), func(line string) bool {
		return strings.HasPrefix(line, install.StateDir+"/"+install.LockFile) || strings.HasPrefix(line, install.StateDir+"/"+install.ReadersFile)
	}), "\n")
}

// TestInspectEverywhere stops an update, its confirmation and its rollback at every operation, cuts the power, and inspects
// the result. Nothing may change, and the next start must match the prediction.
func TestInspectEverywhere(t *testing.T) {
	t.Parallel()
	old := newPatient(t).must(toCommit(patientOld), promote, confirm, closing)
	stories := map[string][]func(testing.TB, *install.Dir) error{
		"update": {toCommit(patientNew), promote, confirm, closing},
		"back":   {toCommit(patientNew), promote, failing, failing, closing},
	}
	for name, story := range stories {
		whole := old.disk.Clone().Open(faultfs.Options{})
		if err := old.run(whole, story...); err != nil {
			t.Fatal(err)
		}
		for k := 1; k <= whole.Count(); k += testlevel.Stride(5, 29) {
			for _, kept := range []int{0, 50, 100} {
				fsys := old.disk.Clone().Open(faultfs.Options{})
				fsys.StopInside(k)
				if err := old.run(fsys, story...); err == nil {
					t.Fatalf("%s: operation %d did not stop it", name, k)
				}
				p := patient{t, fsys.Disk().Crash(faultfs.Keep(kept, uint64(k)))}
				found := p.inspected(k%2 == 0)
				p.asPredicted(found)
				if found.NeedsAttention() {
					t.Errorf("%s: stopped in %d, %d %% kept: %+v", name, k, kept, found.Problems)
				}
				if t.Failed() {
					t.Fatalf("%s: stopped in %d (%s), %d %% kept", name, k, whole.Ops()[k-1].Label(), kept)
				}
			}
		}
	}
}

// mentions checks for a trouble of a gravity with this text, or for no trouble at all if says is empty.
func (i Report) mentions(t testing.TB, s Severity, says string) {
	t.Helper()
	if says == "" {
		if len(i.Problems) > 0 {
			t.Errorf("troubles: %+v", i.Problems)
		}
		return
	}
	if !slices.ContainsFunc(i.Problems, func(x Problem) bool { return x.Severity == s && strings.Contains(x.What, says) }) {
		t.Errorf("want %s trouble with %q in it, got %+v", s, says, i.Problems)
	}
}

func TestInspectStates(t *testing.T) {
	confirmed := newPatient(t).must(toCommit(patientOld), promote, confirm, closing)
	pending := patient{t, confirmed.disk.Clone()}.must(toCommit(patientNew), promote, closing)
	prepared := patient{t, confirmed.disk.Clone()}.must(toCommit(patientNew), closing)
	halfDone := func(_ testing.TB, d *install.Dir) error {
		plan, err := d.Plan(context.Background(), update.Binaries, patientNew.offer(t), func(string, int64, int64) {})
		if err != nil || len(plan.Wants) == 0 {
			return fmt.Errorf("%v, %d wants", err, len(plan.Wants))
		}
		if err := d.Advance(context.Background(), 0); err != nil {
			return err
		}
		return d.Write(0, []byte(patientNew.of(plan.Wants[0].File))[:4])
	}
	tests := []struct {
		name   string
		from   patient
		spoil  func(t testing.TB, d *faultfs.Disk)
		hash   bool
		worst  Severity // of the expected trouble
		says   string   // empty: no troubles
		needs  bool
		checks func(i Report) bool
	}{
		{name: "nothing", from: newPatient(t), worst: NeedsServer, says: "nothing is installed", needs: true,
			checks: func(i Report) bool { return i.Empty && i.Slot == -1 }},
		{name: "never compared", from: newPatient(t), hash: true, spoil: func(t testing.TB, d *faultfs.Disk) { plant(t, d, "Lathe.so", "module") },
			worst: Note, says: "no start has compared these files with a release", checks: func(i Report) bool { return i.State == install.None && i.Module && !i.Empty }},
		{name: "confirmed", from: confirmed, hash: true,
			checks: func(i Report) bool {
				return i.State == install.Confirmed && !i.Pending && i.Clean && len(i.Files) == 5 && len(i.Next.Actions) == 0 && i.Cache.Known == 4
			}},
		{name: "pending", from: pending, checks: func(i Report) bool {
			return i.State == install.Swapped && i.Pending && i.Last != "" && i.Last != i.Set && len(i.Backups) == 5 && !slices.ContainsFunc(i.Backups, func(f FileState) bool { return f.At != "" && f.Found != foundRight })
		}},
		{name: "prepared", from: prepared, worst: MendsItself, says: "stopped before", checks: func(i Report) bool {
			return i.State == install.Prepared && len(i.Transaction) == 5 && i.Next.State == install.Swapped && i.Next.Pending && len(i.Next.Actions) > 4
		}},
		{name: "on its way", from: patient{t, confirmed.disk.Clone()}.must(halfDone, closing), checks: func(i Report) bool {
			return i.State == install.Staging && slices.ContainsFunc(i.Parts, func(p PartState) bool { return p.Have == 4 })
		}},
		{name: "killed", from: patient{t, confirmed.disk.Clone()}.must(), worst: MendsItself, says: "did not end cleanly",
			checks: func(i Report) bool { return i.Next.Verify && !i.Opened.IsZero() }},
		{name: "blocked", from: patient{t, pending.disk.Clone()}.must(failing, failing, closing), worst: Note, says: "last cause: signal 11",
			checks: func(i Report) bool {
				return i.State == install.RolledBack && i.Tries[len(i.Tries)-1].Blocked && !i.Pending && len(i.Parts) == 4
			}},
		{name: "torn record", from: pending, spoil: appendTo(".collet/journal.1", "0badc0de {\"sta"), worst: Note, says: "not written to its end"},
		{name: "zeros", from: pending, spoil: appendTo(".collet/journal.1", "\x00\x00\x00"), worst: Note, says: "stands zeros"},
		{name: "damaged slots", from: confirmed, spoil: func(t testing.TB, d *faultfs.Disk) {
			plant(t, d, ".collet/journal.0", "rubbish\n")
			plant(t, d, ".collet/journal.1", strings.Repeat("\x00", 100))
		}, worst: NeedsServer, says: "no slot of the journal", needs: true, checks: func(i Report) bool { return i.Slot == -1 && i.Module && i.Next.Error == "" }},
		{name: "lists", from: confirmed, spoil: appendTo(".collet/lists.0", " "), worst: NeedsServer, says: "lists.0 is not the file", needs: true},
		{name: "journal is a folder", from: newPatient(t), spoil: func(t testing.TB, d *faultfs.Disk) { plant(t, d, ".collet/journal.0"+"/x", "") },
			worst: NeedsPlayer, says: "the journal can't be read", needs: true},
		{name: "file in the place of the journal's folder", from: newPatient(t), spoil: func(t testing.TB, d *faultfs.Disk) { plant(t, d, install.StateDir, "") },
			worst: NeedsPlayer, says: ".collet is a file", needs: true, checks: func(i Report) bool {
				return i.Next.Error != "" && (len(i.Problems) == 1 || i.Problems[1].Severity != NeedsPlayer)
			}},
		{name: "missing pack", from: confirmed, spoil: remove("Resources/A.zip"), worst: NeedsServer, says: "A.zip: is missing", needs: true},
		{name: "shortened pack", from: confirmed, spoil: func(t testing.TB, d *faultfs.Disk) { plant(t, d, "Resources/A.zip", "x") },
			worst: NeedsServer, says: "another size", needs: true},
		{name: "same size", from: confirmed, hash: true, spoil: func(t testing.TB, d *faultfs.Disk) { plant(t, d, "Resources/A.zip", "pack a 1ne") },
			worst: NeedsServer, says: "other content", needs: true},
		{name: "same size without looking", from: confirmed, spoil: func(t testing.TB, d *faultfs.Disk) { plant(t, d, "Resources/A.zip", "pack a 1ne") },
			checks: func(i Report) bool { return i.Cache.Known == 3 }},
		{name: "module of a pending set", from: pending, spoil: remove("Lathe.so"), worst: MendsItself, says: "there is no Lathe.so",
			checks: func(i Report) bool { return i.Next.State == install.RolledBack && i.Next.Module }},
		{name: "module of a proven set", from: confirmed, spoil: remove("Lathe.so"), worst: NeedsServer, says: "nothing to restore", needs: true},
		{name: "backup", from: pending, spoil: remove("Lathe.so.bak"), worst: Note, says: "Lathe.so.bak, which the last proven set had"},
		{name: "backup that is another file", from: pending, spoil: func(t testing.TB, d *faultfs.Disk) { plant(t, d, "Lathe.so.bak", "module 1ne") },
			worst: Note, says: "has other content"},
		{name: "cache", from: confirmed, spoil: appendTo("Cache/hashes", "x"), worst: Note, says: "Cache/hashes is damaged",
			checks: func(i Report) bool { return i.Cache.State == "damaged" }},
		{name: "planted link", from: confirmed, spoil: func(t testing.TB, d *faultfs.Disk) {
			remove("Resources/A.zip")(t, d)
			if err := d.Symlink("/etc/passwd", "Resources/A.zip"); err != nil {
				t.Fatal(err)
			}
		}, worst: NeedsServer, says: "symbolic link", needs: true},
		{name: "strays", from: confirmed, spoil: func(t testing.TB, d *faultfs.Disk) {
			plant(t, d, "Lathe.toml", "")
			plant(t, d, "mods/mine.zip", "abc")
			plant(t, d, "Resources/~X.zip", "abcd")
			plant(t, d, install.Recycler+"/3/x", "abcde")
		}, worst: Note, says: "~X.zip is not known", checks: func(i Report) bool {
			return i.StrayTally == Tally{2, 7} && i.Recycler == Tally{1, 5} && slices.Contains(i.Strays, Stray{"mods/mine.zip", 3, "file"})
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := patient{t, test.from.disk.Clone()}
			if test.spoil != nil {
				test.spoil(t, p.disk)
			}
			found := p.inspected(test.hash)
			found.mentions(t, test.worst, test.says)
			if found.NeedsAttention() != test.needs {
				t.Errorf("needs attention: %t; %+v", !test.needs, found.Problems)
			}
			if test.checks != nil && !test.checks(found) {
				t.Errorf("found %s, slot %d, tries %+v, next %+v, parts %+v, backups %+v, cache %+v, strays %+v %+v", found.State, found.Slot, found.Tries, found.Next, found.Parts, found.Backups, found.Cache, found.Strays, found.Recycler)
			}
			p.asPredicted(found)
		})
	}
}

func plant(t testing.TB, d *faultfs.Disk, name, content string) {
	t.Helper()
	if err := d.Plant(name, content); err != nil {
		t.Fatal(err)
	}
}

func remove(name string) func(testing.TB, *faultfs.Disk) {
	return func(t testing.TB, d *faultfs.Disk) {
		if err := d.Open(faultfs.Options{}).Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}

func appendTo(name, more string) func(testing.TB, *faultfs.Disk) {
	return func(t testing.TB, d *faultfs.Disk) {
		data, err := platform.ReadFile(d.Open(faultfs.Options{}), name, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		plant(t, d, name, string(data)+more)
	}
}

// TestInspectWhileItRuns checks that a running client keeps its lock and is reported.
func TestInspectWhileItRuns(t *testing.T) {
	p := newPatient(t).must(toCommit(patientOld), promote, confirm, closing).must(toCommit(patientNew), closing)
	fsys := p.disk.Open(faultfs.Options{})
	d, err := patientOpen(fsys)
	if err != nil {
		t.Fatal(err)
	}
	found := p.inspected(false)
	if found.Running != LockHeld || found.InUse != LockUnknown {
		t.Errorf("running %s, in use %s", found.Running, found.InUse)
	}
	if err := confirm(t, d); err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if found = p.inspected(false); found.Running != LockFree || found.InUse != LockFree {
		t.Errorf("afterwards: running %s, in use %s", found.Running, found.InUse)
	}
}

// TestInspectWhileItIsUsed checks that a set in use is not swapped, and that the rehearsal reports this.
func TestInspectWhileItIsUsed(t *testing.T) {
	p := newPatient(t).must(toCommit(patientOld), promote, confirm, closing).must(toCommit(patientNew), closing)
	user, err := p.disk.Open(faultfs.Options{}).LockShared(path.Join(install.StateDir, install.ReadersFile))
	if err != nil {
		t.Fatal(err)
	}
	defer user.Close()
	found := p.inspected(false)
	if found.InUse != LockHeld || found.Next.State != install.Prepared {
		t.Errorf("in use %s, then %s", found.InUse, found.Next.State)
	}
}

func TestInspectRefuses(t *testing.T) {
	p := newPatient(t)
	if _, err := Folder(context.Background(), p.disk.Open(faultfs.Options{}), nil, install.Names{}, false); err == nil {
		t.Error("a layout without names was inspected")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Folder(ctx, p.disk.Open(faultfs.Options{}), nil, patientNames(), false); err == nil {
		t.Error("it went on after its context had ended")
	}
	gone := p.disk.Open(faultfs.Options{})
	gone.Kill()
	if _, err := Folder(context.Background(), gone, nil, patientNames(), false); err == nil {
		t.Error("a folder that can't be listed was inspected")
	}
}

// TestInspectUnreadable checks that unreadable files are reported and do not end the inspection.
func TestInspectUnreadable(t *testing.T) {
	p := newPatient(t).must(toCommit(patientOld), promote, confirm, closing).must(toCommit(patientNew), promote, closing)
	tests := []struct {
		rule faultfs.Rule
		says string // of the gravest trouble
	}{
		{faultfs.Rule{Verb: faultfs.Open, Name: "Resources/A.zip", Err: faultfs.EACCES}, "Resources/A.zip: open Resources/A.zip"},
		{faultfs.Rule{Verb: faultfs.Stat, Name: "Resources/A.zip", Err: faultfs.EIO}, "Resources/A.zip: lstat Resources/A.zip"},
		{faultfs.Rule{Verb: faultfs.Open, Name: ".collet/journal.1", Err: faultfs.EACCES}, "the journal can't be read"},
		{faultfs.Rule{Verb: faultfs.Read, Name: ".collet/lists.1", Err: faultfs.EIO}, "the next start stops"},
		{faultfs.Rule{Verb: faultfs.List, Name: "Resources", Err: faultfs.EACCES}, "a folder can't be listed"},
	}
	for _, test := range tests {
		fsys := p.disk.Open(faultfs.Options{})
		fsys.Inject(test.rule)
		found, err := Folder(context.Background(), fsys, nil, patientNames(), true)
		if err != nil || !found.NeedsAttention() {
			t.Errorf("%v: %v, %+v", test.rule, err, found.Problems)
		}
		found.mentions(t, NeedsPlayer, test.says)
		fsys.Kill()
	}
}

// TestRehearsal checks that changes to the view are visible there but not on the disk.
func TestRehearsal(t *testing.T) {
	disk := faultfs.New(faultfs.Config{})
	plant(t, disk, "a", "A")
	plant(t, disk, "f/b", "B")
	before := tree(t, disk.Open(faultfs.Options{}), true)
	view := newOverlay(disk.Open(faultfs.Options{}), false)
	steps := []struct {
		what string
		do   func() error
		want error
		tree string
	}{
		{"exchange", func() error { return view.Exchange("a", "f/b") }, nil, `a "B" f f/b "A"`},
		{"rename over", func() error { return view.Rename("f/b", "a") }, nil, `a "A" f`},
		{"gone", func() error { return view.Rename("f/b", "a") }, fs.ErrNotExist, `a "A" f`},
		{"over a folder", func() error { return view.Rename("a", "f") }, syscall.EISDIR, `a "A" f`},
		{"into nothing", func() error { return view.Rename("a", "g/a") }, fs.ErrNotExist, `a "A" f`},
		{"mkdir", func() error { return view.MkdirAll("g/h", 0o755) }, nil, `a "A" f g g/h`},
		{"mkdir over a file", func() error { return view.MkdirAll("a/h", 0o755) }, syscall.ENOTDIR, `a "A" f g g/h`},
		{"into it", func() error { return view.Rename("a", "g/h/c") }, nil, `f g g/h g/h/c "A"`},
		{"remove a full folder", func() error { return view.Remove("g/h") }, syscall.ENOTEMPTY, `f g g/h g/h/c "A"`},
		{"remove", func() error { return view.Remove("f") }, nil, `g g/h g/h/c "A"`},
		{"remove nothing", func() error { return view.Remove("f") }, fs.ErrNotExist, `g g/h g/h/c "A"`},
		{"exchange with nothing", func() error { return view.Exchange("f", "g/h/c") }, fs.ErrNotExist, `g g/h g/h/c "A"`},
		{"write", func() error { return platform.WriteFile(view, "g/d", []byte("abcd")) }, nil, `g g/d "abcd" g/h g/h/c "A"`},
		{"change", func() error { return changeIn(view, "g/d", 2, "XYZ") }, nil, `g g/d "abXYZ" g/h g/h/c "A"`},
		{"change what is on the disk", func() error { return changeIn(view, "g/h/c", 3, "!") }, nil, `g g/d "abXYZ" g/h g/h/c "A\x00\x00!"`},
		{"open nothing", func() error { _, err := view.OpenFile("f", os.O_RDONLY, 0); return err }, fs.ErrNotExist, `g g/d "abXYZ" g/h g/h/c "A\x00\x00!"`},
		{"list a file", func() error { _, err := view.ReadDir("g/d"); return err }, syscall.ENOTDIR, `g g/d "abXYZ" g/h g/h/c "A\x00\x00!"`},
	}
	for _, s := range steps {
		err := s.do()
		if !errors.Is(err, s.want) {
			t.Errorf("%s: %v, want %v", s.what, err, s.want)
		}
		got := tree(t, view, false)
		got = strings.Join(strings.Fields(strings.NewReplacer(" d---------", "", " ----------", "").Replace(got)), " ")
		if got != s.tree {
			t.Errorf("%s: %s, want %s", s.what, got, s.tree)
		}
	}
	if after := tree(t, disk.Open(faultfs.Options{}), true); after != before {
		t.Errorf("the disk changed: %s", after)
	}
}

// changeIn writes into a file with several calls.
func changeIn(fsys platform.FS, name string, at int64, text string) error {
	f, err := fsys.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return err
	}
	for i := range len(text) {
		if _, err := f.Write([]byte(text[i : i+1])); err != nil {
			return err
		}
	}
	if _, err := f.Seek(0, io.SeekEnd); err == nil {
		return fs.ErrInvalid
	}
	data := make([]byte, len(text))
	if n, err := f.ReadAt(data, at); n != len(text) || err != nil && err != io.EOF || !bytes.Equal(data, []byte(text)) {
		return fmt.Errorf("read back %q, %w", data[:n], err)
	}
	return f.Sync()
}
