package install_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rs/zerolog"

	"collet/app/diskfault"
	"collet/app/install"
	"collet/app/install/inspect"
	"collet/app/update"
	"collet/netproto/release"
	"collet/platform"
)

// TestNamesFromTheWire offers names that must not reach the disk. Nothing is written, not even the valid file.
func TestNamesFromTheWire(t *testing.T) {
	for _, bad := range []string{
		"../evil", "a/../../evil", "/etc/evil", `C:\evil`, "C:evil", `a\b`, "", ".", "..", "a//b", "a/", "CON", "nul.txt",
		"com1.zip", "a/LPT9.x", "~Core.zip", "a/~b", "trailing.", "trailing ", "a\x00b", "a\nb", "a?b", "\xff",
		"core.ZIP", "Core.zip/inside", strings.Repeat("x", 300),
	} {
		for _, role := range []release.Role{release.Resource, release.Binary} {
			t.Run(fmt.Sprintf("%s %.20q", role, bad), func(t *testing.T) {
				f := newFolder(t)
				w := watch(f.open())
				d, err := open(w, false)
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				before := len(w.ops)
				s := start{blobs: append(packs("Core.zip", "core"), blob{bad, "evil", role})}
				_, err = s.update(t, d)
				fault := wantFault(t, "plan", err, update.Untrusted)
				if fault.Subject != bad || fault.Transient {
					t.Errorf("about %q, transient %v", fault.Subject, fault.Transient)
				}
				if len(w.ops) != before {
					t.Errorf("touched the disk: %v", w.ops[before:])
				}
			})
		}
	}
}

func TestValuesFromTheWire(t *testing.T) {
	for name, spoil := range map[string]func(*release.File){
		"negative size": func(f *release.File) { f.Size = -1 },
		"no digest":     func(f *release.File) { f.Digest = release.Digest{} },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			d := f.mustOpen()
			files := offer(t, release.SHA256, packs("Core.zip", "core"))
			spoil(&files[0])
			_, err := d.Plan(context.Background(), update.Resources, files, func(string, int64, int64) {})
			wantFault(t, name, err, update.Untrusted)
			f.want("untouched", "")
		})
	}
}

// TestUnknownRoles checks that an older client skips unknown roles.
func TestUnknownRoles(t *testing.T) {
	f := newFolder(t)
	s := start{blobs: append(packs("Core.zip", "core"), blob{"New.thing", "new", release.Role(7)})}
	s.must(f).want(t, "update", "1 wanted, 4 bytes, 0 resumed, 1 matched, 4 written")
	f.want("installed", "Resources/Core.zip=core")
}

func TestNoRoom(t *testing.T) {
	const reserve = 16 << 20
	tests := []struct {
		name  string
		free  uint64
		sizes []int64
		need  int64 // 0 when there is enough
	}{
		{"enough", reserve + 100, []int64{60, 40}, 0},
		{"one byte short", reserve + 99, []int64{60, 40}, reserve + 100},
		{"nothing", 0, []int64{1}, reserve + 1},
		{"only empty files", 0, []int64{0, 0}, 0},
		{"more than a number holds", math.MaxUint64, []int64{math.MaxInt64, math.MaxInt64}, 0},
		{"sizes that overflow", 1 << 40, []int64{math.MaxInt64, math.MaxInt64, 5}, math.MaxInt64},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFolder(t)
			w := watch(f.open())
			w.free = func() (uint64, error) { return test.free, nil }
			d, err := open(w, false)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			var files []release.File
			for i, size := range test.sizes {
				files = append(files, release.File{Path: fmt.Sprint(i), Size: size, Digest: release.FNVDigest(uint64(i))})
			}
			_, err = d.Plan(context.Background(), update.Resources, files, func(string, int64, int64) {})
			if test.need == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			fault := wantFault(t, "plan", err, update.DiskFull)
			space, ok := errors.AsType[*diskfault.SpaceError](err)
			if !ok || space.Need != test.need || space.Free != int64(test.free) || space.Volume != platform.VolumeOf(f.dir) || fault.Transient {
				t.Errorf("says %+v, %+v", fault, space)
			}
			f.want("nothing begun", "")
			if d.State() != install.None {
				t.Errorf("state %q", d.State())
			}
		})
	}
}

// TestPartsCountAsRoom checks that only missing bytes are required, and that the space of useless parts is released first.
func TestPartsCountAsRoom(t *testing.T) {
	f := newFolder(t)
	s := start{blobs: packs("Core.zip", "0123456789")}
	begin(t, f, s, 6)
	f.write("Resources/~Useless.zip", "useless")
	w := watch(f.open())
	asked := false
	w.free = func() (uint64, error) {
		asked = true
		f.want("before the question", "Resources/~Core.zip=012345")
		return 16<<20 + 4 + 4, nil
	}
	s.blobs = append(s.blobs, packs("Useless.zip", "1234")...)
	if _, err := s.on(t, w); err != nil || !asked {
		t.Error(err, asked)
	}
}

func TestUnknownRoomIsEnough(t *testing.T) {
	f := newFolder(t)
	w := watch(f.open())
	w.free = func() (uint64, error) { return 0, errors.ErrUnsupported }
	if _, err := (start{blobs: packs("Core.zip", "core")}).on(t, w); err != nil {
		t.Error(err)
	}
}

// TestDiskFillsUp fills the disk in the middle of a part, and resumes when there is space again.
func TestDiskFillsUp(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the error is that of Unix")
	}
	f := newFolder(t)
	s := start{blobs: packs("Core.zip", "0123456789")}
	writes := 0
	full := func(o op) error {
		if o.verb == "write" && strings.HasSuffix(o.name, "~Core.zip") {
			if writes++; writes > 2 {
				return syscall.ENOSPC
			}
		}
		return nil
	}
	_, err := s.on(t, watch(f.open(), full))
	fault := wantFault(t, "full", err, update.DiskFull)
	space, _ := errors.AsType[*diskfault.SpaceError](err)
	if fault.Transient || fault.Subject != f.dir || space == nil || space.Need != 16<<20+4 {
		t.Errorf("fault %+v", fault)
	}
	f.want("paused", "Resources/~Core.zip=012345")
	s.must(f).want(t, "resumed", "1 wanted, 10 bytes, 6 resumed, 1 matched, 4 written")
}

// TestBytesThatWereNotWrittenBack fails the sync of a part: its bytes are not trusted afterwards.
func TestBytesThatWereNotWrittenBack(t *testing.T) {
	f := newFolder(t)
	s := start{blobs: packs("Core.zip", "0123456789")}
	_, err := s.on(t, watch(f.open(), refuse("sync", "Resources/~Core.zip", errors.New("input/output error"))))
	wantFault(t, "sync", err, update.DiskFault)
	f.want("thrown away", "Resources/")
	s.must(f).want(t, "again", "1 wanted, 10 bytes, 0 resumed, 1 matched, 10 written")
}

func TestFolderInTheWay(t *testing.T) {
	f := newFolder(t)
	f.write("Resources/Core.zip/readme", "x")
	_, err := start{blobs: packs("Core.zip", "core")}.on(t, f.open())
	fault := wantFault(t, "plan", err, update.DiskFault)
	if fault.Subject != filepath.Join(f.dir, "Resources", "Core.zip", "readme") || !strings.Contains(fault.Error(), "move it away") {
		t.Errorf("says %v", fault)
	}
	f.want("untouched", "Resources/Core.zip/readme=x")
}

func TestFileInTheWayOfAFolder(t *testing.T) {
	f := newFolder(t)
	f.write("Resources/maps", "x")
	_, err := start{blobs: packs("maps/a.zip", "a")}.on(t, f.open())
	wantFault(t, "plan", err, update.DiskFault)
	f.want("untouched", "Resources/maps=x")
}

// TestLinksOutOfTheFolder plants links out of the install folder: the updater does not write through them.
func TestLinksOutOfTheFolder(t *testing.T) {
	outside := newFolder(t)
	outside.write("victim", "victim")
	link := func(f folder, target, name string) {
		if err := os.Symlink(filepath.Join(outside.dir, target), filepath.Join(f.dir, name)); err != nil {
			t.Skip(err)
		}
	}
	s := start{blobs: packs("Core.zip", "core")}
	for _, name := range []string{"Resources", ".collet", "Cache"} {
		f := newFolder(t)
		link(f, ".", name)
		_, err := s.on(t, f.open())
		if name != "Cache" {
			fault := wantFault(t, name, err, update.DiskFault)
			way, is := errors.AsType[*platform.ObstacleError](err)
			if full := filepath.Join(f.dir, name); !is || way.Path != full || fault.Subject != full {
				t.Errorf("%s: about %s, %+v", name, fault.Subject, way)
			}
		} else if err != nil {
			t.Errorf("a cache that can't be written: %v", err)
		}
	}
	f := newFolder(t)
	f.write("Resources/x", "")
	link(f, "victim", "Resources/Core.zip")
	s.must(f)
	f.want("the link gave way", "Recycler/yours-1/Resources/Core.zip? Resources/Core.zip=core Resources/x=")
	f = newFolder(t)
	f.write(".collet/x", "")
	link(f, "victim", ".collet/journal.0")
	if _, err := s.on(t, f.open()); err == nil {
		t.Error("a journal outside was accepted")
	}
	outside.want("outside", "victim=victim")
}

// TestReadOnlyFolder checks that a read-only folder is detected before any download.
func TestReadOnlyFolder(t *testing.T) {
	f := newFolder(t)
	_, err := open(watch(f.open(), readOnly()), false)
	fault := wantFault(t, "open", err, update.NoPermission)
	if !strings.HasPrefix(fault.Subject, f.dir) {
		t.Errorf("about %s", fault.Subject)
	}
	start{blobs: packs("Core.zip", "one")}.must(f)
	w := watch(f.open(), readOnly())
	g, err := start{blobs: packs("Core.zip", "two")}.on(t, w)
	wantFault(t, "plan", err, update.NoPermission)
	g.want(t, "plan", "0 wanted, 0 bytes, 0 resumed, 0 matched, 0 written")
	f.want("untouched", "Resources/Core.zip=one")
	if _, err := (start{blobs: packs("Core.zip", "one")}).on(t, watch(f.open(), readOnly())); err != nil {
		t.Errorf("an up-to-date install in a read-only folder: %v", err)
	}
}

// TestRealReadOnlyFolder uses real permissions, unless the test runs with all privileges.
func TestRealReadOnlyFolder(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("this user may write everywhere")
	}
	f := newFolder(t)
	if err := os.Chmod(f.dir, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(f.dir, 0o755) })
	_, err := open(f.open(), false)
	wantFault(t, "open", err, update.NoPermission)
}

func TestCausesOfFaults(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the errors are those of Unix")
	}
	tests := []struct {
		err       error
		cause     update.Cause
		transient bool
	}{
		{syscall.EACCES, update.NoPermission, false},
		{syscall.EPERM, update.NoPermission, false},
		{syscall.EROFS, update.NoPermission, false},
		{syscall.EBUSY, update.LockedFile, true},
		{syscall.ETXTBSY, update.LockedFile, true},
		{syscall.ENOSPC, update.DiskFull, false},
		{syscall.EDQUOT, update.DiskFull, false},
		{syscall.EIO, update.DiskFault, false},
	}
	for _, test := range tests {
		t.Run(test.err.Error(), func(t *testing.T) {
			t.Parallel()
			f := newFolder(t)
			f.write("Lathe.so", "one")
			held := refuse("exchange", "*", &os.LinkError{Op: "exchange", Old: "Lathe.so-staging", New: "Lathe.so", Err: test.err})
			_, err := Module("two").on(t, watch(f.open(), func(o op) error {
				if err := held(o); err != nil {
					return errors.Unwrap(err) // the disk's error, so that the folder wraps it once
				}
				return nil
			}))
			fault := wantFault(t, test.err.Error(), err, test.cause)
			if fault.Transient != test.transient || !errors.Is(err, test.err) || !strings.HasPrefix(fault.Subject, f.dir) {
				t.Errorf("%v: %+v", test.err, fault)
			}
			f.want("nothing lost", "Lathe.so=one Lathe.so-staging=two")
		})
	}
}

// installFolder names the variable with the install that a child process opens; it is set for the child only.
const installFolder = "COLLET_TEST_INSTALL_FOLDER"

// TestInstallHolder is the child of TestAnotherProcessHoldsTheInstall.
func TestInstallHolder(t *testing.T) {
	dir := os.Getenv(installFolder)
	if dir == "" {
		t.Skip("runs as a child process")
	}
	fsys, err := platform.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(fsys, false); err != nil {
		t.Fatal(err)
	}
	fmt.Println("held")
	io.Copy(io.Discard, os.Stdin)
}

func TestAnotherProcessHoldsTheInstall(t *testing.T) {
	f := proven(t, "one")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(exe, "-test.run=^TestInstallHolder$", "-test.v")
	child.Env = append(os.Environ(), installFolder+"="+f.dir)
	input, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Process.Kill()
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "held"; {
	}
	_, err = open(f.open(), false)
	if _, fault := errors.AsType[*update.Fault](err); !errors.Is(err, platform.ErrLocked) || fault {
		t.Errorf("beside another process: %v", err)
	}
	if err := errors.Join(child.Process.Kill(), input.Close()); err != nil {
		t.Fatal(err)
	}
	child.Wait()
	f.mustOpen()
}

// TestFailedOpenLetsGo checks that a failed Open releases the lock.
func TestFailedOpenLetsGo(t *testing.T) {
	f := proven(t, "one")
	if _, err := open(watch(f.open(), refuse("open", ".collet/journal.0", fs.ErrPermission)), false); err == nil {
		t.Fatal("opened without its journal")
	}
	f.mustOpen()
}

func TestNamesAreChecked(t *testing.T) {
	for name, change := range map[string]func(*install.Names){
		"no runtime":              func(n *install.Names) { n.Runtime = "" },
		"no extension":            func(n *install.Names) { n.Ext = "" },
		"runtime in a folder":     func(n *install.Names) { n.Runtime = "bin/Lathe" },
		"packs everywhere":        func(n *install.Names) { n.Resources = "." },
		"packs nowhere":           func(n *install.Names) { n.Resources = "" },
		"packs outside":           func(n *install.Names) { n.Resources = "../Resources" },
		"packs at a root":         func(n *install.Names) { n.Resources = "/Resources" },
		"packs in the state":      func(n *install.Names) { n.Resources = ".Collet/packs" },
		"packs in the cache":      func(n *install.Names) { n.Resources = "cache/packs" },
		"cache in the packs":      func(n *install.Names) { n.Cache = "Resources/Cache" },
		"cache is the packs":      func(n *install.Names) { n.Cache = "resources" },
		"packs below the library": func(n *install.Names) { n.Resources = "lathe.so/x" },
		"no cache":                func(n *install.Names) { n.Cache = "" },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			cfg := install.Config{FS: f.open(), Names: names(), Log: zerolog.Nop()}
			change(&cfg.Names)
			_, err := install.Open(context.Background(), cfg)
			wantFault(t, name, err, update.DiskFault)
			if entries, err := os.ReadDir(f.dir); err != nil || len(entries) != 0 {
				t.Errorf("left %v, %v", entries, err)
			}
		})
	}
	f := newFolder(t)
	cfg := install.Config{FS: f.open(), Names: names(), Log: zerolog.Nop()}
	cfg.Names.Resources, cfg.Names.Cache = "./Data/Packs/", "Data/Cache"
	d, err := install.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.Packs() != filepath.Join(f.dir, "Data", "Packs") {
		t.Error(d.Packs())
	}
}

// TestForeignJournal opens installs with files that are not a journal.
func TestForeignJournal(t *testing.T) {
	for name, content := range map[string]string{
		"empty": "", "zeros": strings.Repeat("\x00", 4096), "text": "hello\nworld\n", "binary": "\xff\xfe\x00\n",
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			f.write("Lathe.so", "one")
			f.write(".collet/journal.0", content)
			f.write(".collet/journal.1", content)
			s := Module("two")
			s.confirm = true
			s.must(f)
			f.want("works", "Lathe.so=two")
			wantState(t, f.mustOpen(), install.Confirmed, false)
		})
	}
}

// TestPreviousSlotCounts damages the newer slot, like a power cut: the older one is used, and the next run repairs it.
func TestPreviousSlotCounts(t *testing.T) {
	for name, content := range map[string]string{"zeros": strings.Repeat("\x00", 300), "short": "5e", "gone": ""} {
		t.Run(name, func(t *testing.T) {
			f := proven(t, "one") // slot 0
			s := start{blobs: packs("Core.zip", "0123456789")}
			begin(t, f, s, 6) // slot 1
			f.write(".collet/journal.1", content)
			d := f.mustOpen()
			wantState(t, d, install.Confirmed, false)
			d.Close()
			s.must(f).want(t, "unbound", "1 wanted, 10 bytes, 0 resumed, 1 matched, 10 written")
			f.want("healed", "Lathe.so=one Resources/Core.zip=0123456789")
			wantState(t, f.mustOpen(), install.Swapped, true)
		})
	}
}

// TestWhatStandsInTheWay checks that the error and the inspection name the file to move away.
func TestWhatStandsInTheWay(t *testing.T) {
	s := start{blobs: packs("Core.zip", "core")}
	for name, put := range map[string]func(f folder){
		".collet":            func(f folder) { f.write(".collet", "x") },
		"Resources":          func(f folder) { f.write("Resources", "x") },
		"Resources/Core.zip": func(f folder) { f.write("Resources/Core.zip/mine", "x") },
	} {
		f := newFolder(t)
		if name == "Resources/Core.zip" {
			s.must(f)
			f.remove("Resources/Core.zip")
		}
		put(f)
		found, inspected := inspect.Folder(context.Background(), f.open(), nil, names(), false)
		if inspected != nil || !slices.ContainsFunc(found.Problems, func(p inspect.Problem) bool {
			return p.Severity == inspect.NeedsPlayer && strings.Contains(p.What, name) && strings.Contains(p.Then, "move it away")
		}) {
			t.Errorf("%s: predicted %+v, %v", name, found.Problems, inspected)
		}
		_, err := s.on(t, f.open())
		fault := wantFault(t, name, err, update.DiskFault)
		if way, is := errors.AsType[*platform.ObstacleError](err); !is || !strings.HasPrefix(fault.Subject, filepath.Join(f.dir, filepath.FromSlash(name))) {
			t.Errorf("%s: about %s, %+v", name, fault.Subject, way)
		}
	}
}

// TestNoInodes checks the error for a volume with free bytes but no room for another file.
func TestNoInodes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the error is that of Unix")
	}
	f := newFolder(t)
	w := watch(f.open(), refuse("open", ".collet/open", syscall.ENOSPC), func(o op) error {
		if o.verb == "open" && strings.HasSuffix(o.name, "~Core.zip") {
			return syscall.ENOSPC
		}
		return nil
	})
	w.free = func() (uint64, error) { return 1 << 30, nil }
	_, err := start{blobs: packs("Core.zip", "core")}.on(t, w)
	wantFault(t, "no inodes", err, update.DiskFull)
	if space, _ := errors.AsType[*diskfault.SpaceError](err); space == nil || !space.NoNames() || !strings.Contains(space.Error(), "inodes") {
		t.Errorf("says %v", err)
	}
}
