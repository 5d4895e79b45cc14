package device_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"collet/netproto/den"
	"collet/netproto/launcher/device"
	"collet/netproto/launcher/launchertest"
	"collet/netproto/launcher/wire"
	"collet/platform"
	"collet/platform/faultfs"
	"collet/platform/testlevel"
)

var (
	after = map[string]string{"a": "new a, longer", "dir/b": "", "new/c": "cc", "big": strings.Repeat("0123456789", 15) + strings.Repeat("9876543210", 15), "same": "same", "gone": "file now"}
)

// filesOf are the files of a volume, without those of the device itself.
func filesOf(disk *faultfs.Disk) map[string]string {
	files := disk.Files()
	maps.DeleteFunc(files, func(name, _ string) bool {
		return strings.HasPrefix(name, wire.StateFolder) || strings.HasSuffix(name, "/")
	})
	return files
}

// partsOf are the parts that lie on a volume.
func partsOf(disk *faultfs.Disk) (names []string) {
	for name := range disk.Files() {
		if strings.HasPrefix(name, wire.StateFolder+"/parts/") && !strings.HasSuffix(name, "/") {
			names = append(names, name)
		}
	}
	return names
}

// pushReleased makes the device's files those of want, as a released desk would that remembers what it sent before: have. It
// reports whether all went well.
func pushReleased(desk *deskEnd, have, want map[string]string) (ok bool) {
	ok = true
	layout := desk.layout()
	for _, f := range layout.Files() {
		if _, there := want[f.Path]; !there {
			desk.say(&wire.RequestDeleteFile{Path: f.Path})
			ok = expectMessage[*wire.ResponseDeleteFile](desk).Result == wire.Success && ok
		}
	}
	for _, path := range slices.Sorted(maps.Keys(want)) {
		content := want[path]
		f, there := layout.Find(path)
		if there && f.Hash == wire.HashOf([]byte(content)) {
			continue
		}
		only := []int(nil)
		if old := have[path]; there && f.Hash == wire.HashOf([]byte(old)) && len(old) == len(content) {
			only = differing(old, content, 100)
		}
		ok = desk.writeBlocks(path, content, 100, only) == wire.Success && ok
	}
	return ok
}

// differing are the blocks in which two texts of the same length differ.
func differing(a, b string, size int) []int {
	list := []int{}
	theirs := launchertest.BlocksOf(a, size)
	for i, h := range launchertest.BlocksOf(b, size) {
		if theirs[i] != h {
			list = append(list, i)
		}
	}
	return list
}

// pushOwn is pushReleased in our own mode.
func pushOwn(desk *deskEnd, have, want map[string]string) (ok bool) {
	desk.say(&wire.RequestTree{})
	layout := wire.NewLayout(expectMessage[*wire.ResponseTree](desk).Files)
	var deletes []string
	for _, f := range layout.Files() {
		if _, there := want[f.Path]; !there {
			deletes = append(deletes, f.Path)
		}
	}
	desk.say(&wire.DeleteFiles{Batch: 1, Paths: deletes})
	ok = len(expectMessage[*wire.BatchReport](desk).Failures) == 0
	put := &wire.PutFiles{Batch: 2}
	for _, path := range slices.Sorted(maps.Keys(want)) {
		content := []byte(want[path])
		f, _ := layout.Find(path)
		switch hash := wire.HashOf(content); {
		case f.Hash == hash:
		case len(content) < 100:
			put.Files = append(put.Files, wire.PutFile{Path: path, Hash: hash, Data: content})
		default:
			desk.say(&wire.OpenFile{File: 5, Path: path, Size: uint64(len(content)), BlockSize: 150, Hash: hash, Base: path})
			var blocks []int
			if old := have[path]; f.Hash == wire.HashOf([]byte(old)) && len(old) == len(content) {
				blocks = differing(old, string(content), 150)
			} else {
				blocks = differing(strings.Repeat("\x00", len(content)), string(content), 150)
			}
			desk.send(5, string(content), 150, blocks...)
			desk.say(&wire.CloseFile{File: 5})
			ok = expectMessage[*wire.FileClosed](desk).Result == wire.Success && ok
		}
	}
	desk.say(put)
	return len(expectMessage[*wire.BatchReport](desk).Failures) == 0 && ok
}

// modes are both ways to push.
var modes = []struct {
	name     string
	protocol uint16
	push     func(desk *deskEnd, have, want map[string]string) bool
}{
	{"released", den.ProtocolRelease, pushReleased},
	{"own", den.ProtocolCollet, pushOwn},
}

// try pushes to a device that may fail at any point. It returns false if the device did not start.
func try(t *testing.T, mode int, fsys platform.FS) (ok bool) {
	t.Helper()
	probe, err := device.New(device.Options{FS: fsys, Name: "d"})
	if err != nil {
		return false
	}
	desk := &deskEnd{t: t, conn: newMemConn(modes[mode].protocol), device: probe, dead: true}
	desk.runWith(dialOnce(desk.conn))
	desk.greet()
	ok = modes[mode].push(desk, launchertest.Before, after)
	desk.stop()
	return ok
}

// whole is the invariant after a stop: every file has its old or its new content, and none is missing that is in both.
func whole(files map[string]string) error {
	for name, content := range files {
		if content != launchertest.Before[name] && content != after[name] || !known(name) {
			return fmt.Errorf("%q is %.50q", name, content)
		}
	}
	for name := range launchertest.Before {
		if _, stays := after[name]; stays {
			if _, there := files[name]; !there {
				return fmt.Errorf("%q is missing", name)
			}
		}
	}
	return nil
}

func known(name string) bool {
	_, was := launchertest.Before[name]
	_, will := after[name]
	return was || will
}

// TestKilledAtEveryOperation stops the device before, during and after each change of its disk. The remaining files are
// whole, and the next push completes them; the same holds after a power failure.
func TestKilledAtEveryOperation(t *testing.T) {
	for mode, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			start := launchertest.Planted(t)
			plain := start.Clone()
			fsys := plain.Open(faultfs.Options{})
			if !try(t, mode, fsys) || !maps.Equal(filesOf(plain), after) {
				t.Fatalf("an undisturbed push led to %q", filesOf(plain))
			}
			total := fsys.Count()
			stops := []func(*faultfs.FS, int){(*faultfs.FS).StopBefore, (*faultfs.FS).StopInside, (*faultfs.FS).StopAfter}
			for n := 0; n < total*len(stops); n += testlevel.Stride(4, 40) { // no multiple of 3: all ways to stop
				where := n % len(stops)
				killAt(t, mode, start.Clone(), stops[where], 1+n/len(stops), where)
			}
		})
	}
}

func killAt(t *testing.T, mode int, disk *faultfs.Disk, stop func(*faultfs.FS, int), k, where int) {
	t.Helper()
	fsys := disk.Open(faultfs.Options{})
	stop(fsys, k)
	try(t, mode, fsys)
	if err := whole(filesOf(disk)); err != nil {
		t.Fatalf("stopped at %d.%d: %v", k, where, err)
	}
	for _, next := range []*faultfs.Disk{disk.Clone(), disk.Crash(faultfs.Keep(50, uint64(k))), disk.Crash(faultfs.Keep(0, 1))} {
		if ok := try(t, mode, next.Open(faultfs.Options{})); !ok || !maps.Equal(filesOf(next), after) {
			t.Fatalf("stopped at %d.%d, the next push (%v) led to %q", k, where, ok, filesOf(next))
		}
		if parts := partsOf(next); len(parts) > 0 {
			t.Fatalf("stopped at %d.%d: parts %q are left", k, where, parts)
		}
	}
}

// TestEachOperationFails: one fault of the disk is a failure that is answered, and the next push completes everything.
func TestEachOperationFails(t *testing.T) {
	for mode, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			start := launchertest.Planted(t)
			plain := start.Clone().Open(faultfs.Options{})
			try(t, mode, plain)
			for k := 1; k <= plain.Count(); k += testlevel.Stride(3, 20) {
				disk := start.Clone()
				fsys := disk.Open(faultfs.Options{})
				fsys.FailAt(k, faultfs.EIO)
				ok := try(t, mode, fsys)
				if err := whole(filesOf(disk)); err != nil || ok && !maps.Equal(filesOf(disk), after) {
					t.Fatalf("failing at %d (%v, %v) led to %q", k, ok, err, filesOf(disk))
				}
				next := disk.Open(faultfs.Options{})
				if ok := try(t, mode, next); !ok || !maps.Equal(filesOf(disk), after) {
					t.Fatalf("failing at %d, the next push (%v) led to %q", k, ok, filesOf(disk))
				}
			}
		})
	}
}

// TestDiskFull: the desk is told, in words too; what was there stays; with room the next push succeeds.
func TestDiskFull(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			disk := launchertest.Planted(t)
			desk := greeted(t, setting{fsys: disk.Open(faultfs.Options{}), protocol: m.protocol, name: "d"})
			disk.SetFree(5)
			if m.push(desk, launchertest.Before, after) {
				t.Fatal("a push into a full disk succeeded")
			}
			if err := whole(filesOf(disk)); err != nil {
				t.Error(err)
			}
			s := desk.device.Status()
			if !strings.Contains(s.Problem, "disk is full") || len(s.Log) == 0 || !strings.Contains(s.Log[0].Text, "make room") {
				t.Errorf("problem %q, log %v", s.Problem, s.Log)
			}
			if parts := partsOf(disk); len(parts) > 0 {
				t.Errorf("parts %q take room", parts)
			}
			disk.SetFree(1 << 20)
			if !m.push(desk, launchertest.Before, after) || !maps.Equal(filesOf(disk), after) {
				t.Errorf("with room the push led to %q", filesOf(disk))
			}
		})
	}
}

// TestNoRoomIsSeenAtOnce: a file that can't fit is refused before it fills the disk.
func TestNoRoomIsSeenAtOnce(t *testing.T) {
	disk := faultfs.New(faultfs.Config{Capacity: 1 << 21})
	desk := greeted(t, setting{fsys: disk.Open(faultfs.Options{}), name: "d"})
	desk.answers(&wire.RequestWriteFile{Path: "huge", FileSize: 1 << 40, BlockSize: 1 << 20, BlockCount: 1 << 20}, &wire.ResponseWriteFile{Path: "huge"})
	desk.answers(&wire.SendFileData{Path: "huge", Data: make([]byte, 1<<20)}, &wire.FileDataReceived{Path: "huge", Result: wire.Failure})
	if disk.Used() > 1000 {
		t.Errorf("%d bytes are used", disk.Used())
	}
}
