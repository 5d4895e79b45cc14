package faultfs_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"collet/platform"
	"collet/platform/faultfs"
)

// everyVerb makes each call that is counted once, in the order of the verbs below.
func everyVerb(fsys platform.FS) error {
	f, err := fsys.OpenFile("new", os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	steps := []func() error{
		func() error { _, err := io.WriteString(f, "12345678"); return err },
		func() error { return f.Truncate(6) },
		f.Sync,
		func() error { return fsys.Rename("a", "moved") },
		func() error { return fsys.Link("moved", "second") },
		func() error { return fsys.Exchange("b", "c") },
		func() error { return fsys.Remove("gone") },
		func() error { return fsys.MkdirAll("d", 0o755) },
		func() error { return fsys.Chmod("b", 0o600) },
		func() error { return fsys.SyncDir(".") },
		func() error { return closed(fsys.Lock("lock")) },
		func() error { return closed(fsys.LockShared("shared")) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func closed(c io.Closer, err error) error {
	if err != nil {
		return err
	}
	return c.Close()
}

var everyVerbs = []faultfs.Verb{faultfs.Create, faultfs.Write, faultfs.Truncate, faultfs.Sync, faultfs.Rename, faultfs.Link, faultfs.Exchange, faultfs.Remove,
	faultfs.Mkdir, faultfs.Chmod, faultfs.SyncFolder, faultfs.Lock, faultfs.LockShared}

func everyVerbDisk(t *testing.T) *faultfs.Disk {
	t.Helper()
	m := start(t, faultfs.Config{})
	m.plant("a", "A", "b", "B", "c", "C", "gone", "G")
	return m.disk
}

// TestStops enumerates the crash points of every kind of call as doc.go tells: what is there after a stop is what was there
// before the call or after it, and half of a write in the middle.
func TestStops(t *testing.T) {
	disk := everyVerbDisk(t)
	states := []string{tell(disk)}
	whole := disk.Clone()
	fsys := whole.Open(faultfs.Options{After: func(faultfs.Op) { states = append(states, tell(whole)) }})
	if err := everyVerb(fsys); err != nil {
		t.Fatal(err)
	}
	var verbs []faultfs.Verb
	for _, o := range fsys.Ops() {
		verbs = append(verbs, o.Verb)
	}
	if !slices.Equal(verbs, everyVerbs) || fsys.Count() != len(everyVerbs) {
		t.Fatalf("counted %v", verbs)
	}
	for k := 1; k <= fsys.Count(); k++ {
		inside := states[k]
		if verbs[k-1] == faultfs.Write {
			inside = strings.Replace(inside, "12345678", "1234", 1)
		}
		for _, stop := range []struct {
			name string
			set  func(*faultfs.FS)
			want string
		}{
			{"before", func(f *faultfs.FS) { f.StopBefore(k) }, states[k-1]},
			{"inside", func(f *faultfs.FS) { f.StopInside(k) }, inside},
			{"after", func(f *faultfs.FS) { f.StopAfter(k) }, states[k]},
		} {
			clone := disk.Clone()
			process := clone.Open(faultfs.Options{})
			stop.set(process)
			if err := everyVerb(process); !errors.Is(err, faultfs.ErrStopped) {
				t.Errorf("%s %d: %v", stop.name, k, err)
			}
			if got := tell(clone); got != stop.want {
				t.Errorf("stopped %s %s:\n got %s\nwant %s", stop.name, fsys.Ops()[k-1], got, stop.want)
			}
			if process.Count() != k {
				t.Errorf("stopped %s %d and counted %d", stop.name, k, process.Count())
			}
		}
	}
}

// TestStopsAreTakenBack sets a stop, takes it back, and sets one behind the end.
func TestStopsAreTakenBack(t *testing.T) {
	fsys := everyVerbDisk(t).Open(faultfs.Options{})
	fsys.StopBefore(2)
	fsys.StopInside(3)
	fsys.StopAfter(4)
	fsys.StopBefore(0)
	fsys.StopInside(0)
	fsys.StopAfter(1000)
	if err := everyVerb(fsys); err != nil {
		t.Error(err)
	}
}

// TestDeadProcess calls everything after the end: nothing happens, and every answer is ErrStopped.
func TestDeadProcess(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", "A", "b", "B")
	f := m.open("a", os.O_RDWR)
	lock, err := m.Lock("lock")
	m.must(err)
	before, count := tell(m.disk), m.Count()
	m.Kill()
	m.Kill()
	eight := make([]byte, 8)
	for what, call := range map[string]func() error{
		"open":     func() error { return second(m.OpenFile("a", os.O_RDONLY, 0)) },
		"create":   func() error { return second(m.OpenFile("c", os.O_WRONLY|os.O_CREATE, 0o644)) },
		"empty":    func() error { return second(m.OpenFile("a", os.O_WRONLY|os.O_TRUNC, 0)) },
		"rename":   func() error { return m.Rename("a", "c") },
		"link":     func() error { return m.Link("a", "c") },
		"exchange": func() error { return m.Exchange("a", "b") },
		"remove":   func() error { return m.Remove("a") },
		"mkdir":    func() error { return m.MkdirAll("d", 0o755) },
		"list":     func() error { return second(m.ReadDir(".")) },
		"stat":     func() error { return second(m.Stat("a")) },
		"lstat":    func() error { return second(m.Lstat("a")) },
		"chmod":    func() error { return m.Chmod("a", 0) },
		"sync":     func() error { return m.SyncDir(".") },
		"free":     func() error { return second(m.Free()) },
		"lock":     func() error { return second(m.Lock("lock")) },
		"share":    func() error { return second(m.LockShared("lock")) },
		"unlock":   lock.Close,
		"read":     func() error { return second(f.Read(eight)) },
		"read at":  func() error { return second(f.ReadAt(eight, 0)) },
		"write":    func() error { return second(f.Write(eight)) },
		"seek":     func() error { return second(f.Seek(0, io.SeekStart)) },
		"truncate": func() error { return f.Truncate(0) },
		"statfile": func() error { return second(f.Stat()) },
		"syncfile": f.Sync,
		"close":    f.Close,
		"closefs":  m.Close,
	} {
		wantFault(t, what, call(), faultfs.ErrStopped)
	}
	if got := tell(m.disk); got != before || m.Count() != count {
		t.Errorf("left %s, before %s; counted %d, before %d", got, before, m.Count(), count)
	}
}

func second[T any](_ T, err error) error { return err }

// TestKillLosesNothing: the machine still runs, so another process sees the writes, and a power cut can still lose them.
func TestKillLosesNothing(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", "old")
	m.write("a", "new")
	m.Kill()
	if got := tell(m.disk); got != "a=new" {
		t.Errorf("after a kill: %s", got)
	}
	if got := tell(m.disk.Crash(faultfs.Keep(0, 1))); got != "a=old" {
		t.Errorf("after a cut: %s", got)
	}
	next := m.disk.Open(faultfs.Options{})
	if data, err := platform.ReadFile(next, "a", 100); err != nil || string(data) != "new" {
		t.Errorf("the next process reads %q, %v", data, err)
	}
	m.must(next.SyncDir("a"))
	if got := tell(m.disk.Crash(faultfs.Keep(0, 1))); got != "a=new" {
		t.Errorf("synced by another process: %s", got)
	}
}

// TestCounts lists the counted operations with and without reads, including calls that fail or change nothing.
func TestCounts(t *testing.T) {
	for _, reads := range []bool{false, true} {
		disk := faultfs.New(faultfs.Config{})
		fsys := disk.Open(faultfs.Options{Reads: reads})
		var labels []string
		f, err := fsys.OpenFile("a", os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, "xy")
		f.ReadAt(make([]byte, 4), 1)
		f.Stat()
		f.Close()
		fsys.MkdirAll("d", 0o755)
		fsys.MkdirAll("d", 0o755)
		closed(fsys.Lock("l"))
		closed(fsys.Lock("l"))
		closed(fsys.LockShared("l"))
		fsys.Rename("no", "b")
		closed(fsys.OpenFile("a", os.O_WRONLY|os.O_TRUNC, 0))
		fsys.ReadDir(".")
		fsys.Lstat("a")
		fsys.Free()
		for _, o := range fsys.Ops() {
			labels = append(labels, o.String())
		}
		want := []string{"1 create a", "2 write a, 2 bytes at 0", "3 mkdir d", "4 lock l", "5 rename no → b", "6 truncate a to 0 bytes"}
		if reads {
			want = []string{"1 create a", "2 write a, 2 bytes at 0", "3 read a, 4 bytes at 1", "4 stat a", "5 close a", "6 mkdir d", "7 mkdir d",
				"8 lock l", "9 unlock l", "10 lock l", "11 unlock l", "12 lock shared l", "13 unlock l", "14 rename no → b",
				"15 truncate a to 0 bytes", "16 close a", "17 list .", "18 stat a", "19 free ."}
		}
		if !slices.Equal(labels, want) {
			t.Errorf("reads %v: counted\n%s", reads, strings.Join(labels, "\n"))
		}
		for _, o := range fsys.Ops() {
			fails := o.Verb == faultfs.Rename || o.Verb == faultfs.Read // the read met the end of the file
			if (o.Err != nil) != fails {
				t.Errorf("%s: %v", o, o.Err)
			}
		}
	}
}

// TestTraceIsBounded makes more calls than are listed. All are counted, and stops still work.
func TestTraceIsBounded(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", "x")
	const listed = 1 << 17
	m.StopAfter(listed + 10)
	for range listed + 9 {
		m.must(m.Chmod("a", 0o600))
	}
	wantFault(t, "the last one", m.Chmod("a", 0o600), faultfs.ErrStopped)
	if ops := m.Ops(); len(ops) != listed || ops[listed-1].Number != listed || m.Count() != listed+10 {
		t.Errorf("listed %d, counted %d", len(ops), m.Count())
	}
}

// TestLabels names both names of a call that has two.
func TestLabels(t *testing.T) {
	for want, o := range map[string]faultfs.Op{
		"exchange a ⇄ b":         {Verb: faultfs.Exchange, Name: "a", To: "b"},
		"sync folder Resources":  {Verb: faultfs.SyncFolder, Name: "Resources"},
		"write ~a, 9 bytes at 7": {Verb: faultfs.Write, Name: "~a", Offset: 7, Size: 9},
	} {
		if got := o.Label(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestWatchers are called around what happens, and may interfere.
func TestWatchers(t *testing.T) {
	disk := faultfs.New(faultfs.Config{})
	if err := disk.Plant("a", "A"); err != nil {
		t.Fatal(err)
	}
	var said []string
	var fsys *faultfs.FS
	other := disk.Open(faultfs.Options{})
	fsys = disk.Open(faultfs.Options{
		Before: func(o faultfs.Op) {
			said = append(said, "before "+o.Label())
			if o.Verb == faultfs.Rename {
				other.Remove(o.Name) // a scanner took it away in the last moment
			}
		},
		After: func(o faultfs.Op) {
			said = append(said, fmt.Sprint("after ", o.Label(), " ", o.Err == nil))
			if o.Verb == faultfs.Mkdir {
				fsys.Kill()
			}
		},
	})
	wantFault(t, "rename", fsys.Rename("a", "b"), os.ErrNotExist)
	if err := fsys.MkdirAll("d", 0o755); err != nil {
		t.Error(err)
	}
	wantFault(t, "killed by a watcher", fsys.Remove("d"), faultfs.ErrStopped)
	want := "before rename a → b, after rename a → b false, before mkdir d, after mkdir d true"
	if got := strings.Join(said, ", "); got != want {
		t.Errorf("heard %s", got)
	}
	if got := tell(disk); got != "d/" {
		t.Errorf("left %s", got)
	}
}

// TestWatchersOfAStop: the call that ends the process is announced when it happens, and never reported.
func TestWatchersOfAStop(t *testing.T) {
	for _, c := range []struct {
		stop func(*faultfs.FS)
		want string
	}{
		{func(f *faultfs.FS) { f.StopBefore(2) }, "before 1, after 1"},
		{func(f *faultfs.FS) { f.StopInside(2) }, "before 1, after 1, before 2"},
		{func(f *faultfs.FS) { f.StopAfter(2) }, "before 1, after 1, before 2"},
	} {
		var said []string
		fsys := faultfs.New(faultfs.Config{}).Open(faultfs.Options{
			Before: func(o faultfs.Op) { said = append(said, fmt.Sprint("before ", o.Number)) },
			After:  func(o faultfs.Op) { said = append(said, fmt.Sprint("after ", o.Number)) },
		})
		c.stop(fsys)
		for _, name := range []string{"a", "b", "c"} {
			fsys.MkdirAll(name, 0o755)
		}
		if got := strings.Join(said, ", "); got != c.want {
			t.Errorf("heard %s, want %s", got, c.want)
		}
	}
}

// TestStopAmongMany stops a process in which many work at once: all come to an end, and nothing changes afterwards.
func TestStopAmongMany(t *testing.T) {
	disk := faultfs.New(faultfs.Config{})
	fsys := disk.Open(faultfs.Options{})
	fsys.StopAfter(50)
	var group sync.WaitGroup
	for w := range 8 {
		group.Go(func() {
			for {
				if err := platform.WriteFile(fsys, fmt.Sprint("f", w), []byte("content")); errors.Is(err, faultfs.ErrStopped) {
					return
				} else if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	if n := len(fsys.Ops()); n < 50 || n > 58 {
		t.Errorf("%d operations began", n)
	}
	left := tell(disk)
	if err := fsys.MkdirAll("d", 0o755); !errors.Is(err, faultfs.ErrStopped) || tell(disk) != left {
		t.Errorf("%v, and left %s", err, tell(disk))
	}
}

// TestTwoProcesses count by themselves and see each other.
func TestTwoProcesses(t *testing.T) {
	m := start(t, faultfs.Config{})
	other := m.disk.Open(faultfs.Options{})
	m.write("a", "one")
	if data, err := platform.ReadFile(other, "a", 10); err != nil || string(data) != "one" {
		t.Errorf("the other reads %q, %v", data, err)
	}
	m.must(other.Remove("a"))
	if m.Count() != 2 || other.Count() != 1 {
		t.Errorf("counted %d and %d", m.Count(), other.Count())
	}
	m.must(m.Close())
	if _, err := m.Stat("a"); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a closed folder: %v", err)
	}
	if _, err := other.Stat("."); err != nil {
		t.Errorf("the other folder was closed, too: %v", err)
	}
}
