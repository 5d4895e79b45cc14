package faultfs_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"collet/platform"
	"collet/platform/faultfs"
)

// TestFullAtAnyByte gives a volume room for each number of bytes: that many are stored, and the answer is "disk full".
func TestFullAtAnyByte(t *testing.T) {
	const content = "0123456789"
	for room := int64(1); room <= 12; room++ {
		m := start(t, faultfs.Config{Capacity: room})
		f := m.open("a", os.O_WRONLY|os.O_CREATE)
		var stored int
		var fault error
		for part := range strings.SplitSeq("0123|456|789", "|") {
			n, err := io.WriteString(f, part)
			if stored += n; err != nil {
				fault = err
				break
			}
		}
		want := min(int(room), len(content))
		if stored != want || tell(m.disk) != "a="+content[:want] || platform.IsDiskFull(fault) != (want < len(content)) {
			t.Errorf("room %d: %d bytes, %v, left %s", room, stored, fault, tell(m.disk))
		}
		if free, err := m.Free(); err != nil || free != uint64(room)-uint64(want) {
			t.Errorf("room %d: free %d, %v", room, free, err)
		}
	}
}

// TestRoomComesBack with names that go, files that close and files that are cut.
func TestRoomComesBack(t *testing.T) {
	m := start(t, faultfs.Config{Capacity: 100})
	steps := []struct {
		what string
		do   func()
		used int64
	}{
		{"planted", func() { m.plant("a", strings.Repeat("a", 40), "b", strings.Repeat("b", 30)) }, 70},
		{"empty files and folders", func() { m.write("empty"); m.must(m.MkdirAll("d/e/f", 0o755)) }, 70},
		{"overwritten in place", func() { m.overwrite("a", 10, strings.Repeat("A", 30)) }, 70},
		{"overwritten and longer", func() { m.overwrite("a", 30, strings.Repeat("A", 20)) }, 80},
		{"with a hole", func() { m.overwrite("b", 90, "xxxxx") }, 85},
		{"the hole is filled", func() { m.overwrite("b", 25, strings.Repeat("y", 10)) }, 90},
		{"cut", func() { f := m.open("b", os.O_WRONLY); m.must(f.Truncate(10), f.Close()) }, 60},
		{"replaced by a rename", func() { m.must(m.Rename("b", "a")) }, 10},
		{"removed", func() { m.must(m.Remove("a")) }, 0},
		{"written again", func() { m.write("c", strings.Repeat("c", 100)) }, 100},
		{"emptied", func() { m.write("c") }, 0},
	}
	for _, step := range steps {
		step.do()
		if got := m.disk.Used(); got != step.used {
			t.Fatalf("%s: used %d, want %d", step.what, got, step.used)
		}
	}
}

// TestRoomOfAnOpenFile is taken until it is closed, or until its process ends.
func TestRoomOfAnOpenFile(t *testing.T) {
	for name, end := range map[string]func(*machine, platform.File) error{
		"closed": func(_ *machine, f platform.File) error { return f.Close() },
		"killed": func(m *machine, _ platform.File) error { m.Kill(); return nil },
	} {
		m := start(t, faultfs.Config{})
		m.plant("a", "12345")
		f := m.open("a", os.O_RDONLY)
		m.must(m.Remove("a"))
		if got := m.disk.Used(); got != 5 {
			t.Errorf("%s: used %d while it is open", name, got)
		}
		m.must(end(m, f))
		if got := m.disk.Used(); got != 0 {
			t.Errorf("%s: used %d", name, got)
		}
	}
}

// TestSetFree fills a volume from elsewhere, and makes room again.
func TestSetFree(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.write("a", "12345")
	m.disk.SetFree(3)
	f := m.open("a", os.O_WRONLY|os.O_APPEND)
	n, err := io.WriteString(f, "6789")
	if n != 3 || !platform.IsDiskFull(err) {
		t.Errorf("wrote %d, %v", n, err)
	}
	m.overwrite("a", 0, "ABCDEFGH") // what is there already takes no new room
	m.disk.SetFree(10)
	if _, err := io.WriteString(f, "9"); err != nil {
		t.Errorf("with room: %v", err)
	}
	if got := tell(m.disk); got != "a=ABCDEFGH9" {
		t.Errorf("left %s", got)
	}
	m.disk.SetFree(-100)
	if free, err := m.Free(); err != nil || free != 0 {
		t.Errorf("free: %d, %v", free, err)
	}
	if after, err := m.disk.Crash(faultfs.Keep(100, 1)).Open(faultfs.Options{}).Free(); err != nil || after != 0 {
		t.Errorf("free after a cut: %d, %v", after, err)
	}
}

// TestClaimFree lies about the room, in both directions, on this disk and what comes of it.
func TestClaimFree(t *testing.T) {
	m := start(t, faultfs.Config{Capacity: 4})
	for _, claimed := range []uint64{0, 1 << 50} {
		m.disk.ClaimFree(claimed)
		for _, d := range []*faultfs.Disk{m.disk, m.disk.Clone(), m.disk.Crash(faultfs.Keep(0, 1))} {
			if free, err := d.Open(faultfs.Options{}).Free(); err != nil || free != claimed {
				t.Errorf("claimed %d: %d, %v", claimed, free, err)
			}
		}
	}
	f := m.open("a", os.O_WRONLY|os.O_CREATE)
	if n, err := io.WriteString(f, "123456"); n != 4 || !errors.Is(err, faultfs.ENOSPC) {
		t.Errorf("the truth: %d, %v", n, err)
	}
}

// TestRoomAddsUp plays at random and counts the bytes by hand; no file has holes here.
func TestRoomAddsUp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	m := start(t, faultfs.Config{Capacity: 20000})
	names := []string{"a", "b", "c", "d"}
	for turn := range 800 {
		name, other := names[r.IntN(4)], names[r.IntN(4)]
		switch r.IntN(6) {
		case 0, 1:
			f := m.open(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
			f.Write(make([]byte, r.IntN(3000))) // may find no room
			m.must(f.Close())
		case 2:
			f := m.open(name, os.O_WRONLY|os.O_CREATE)
			f.Write(make([]byte, r.IntN(3000)))
			m.must(f.Close())
		case 3:
			m.Rename(name, other)
		case 4:
			if r.IntN(3) == 0 {
				m.Remove(name)
			}
		case 5:
			m.sync2(name)
		}
		var sum int64
		for _, content := range m.disk.Files() {
			sum += int64(len(content))
		}
		if used := m.disk.Used(); used != sum || used > 20000 {
			t.Fatalf("turn %d: used %d, the files have %d", turn, used, sum)
		}
		if clone := m.disk.Clone().Used(); clone != sum {
			t.Fatalf("turn %d: the clone uses %d of %d", turn, clone, sum)
		}
		if cut := m.disk.Crash(faultfs.Keep(100, 1)).Used(); cut != sum {
			t.Fatalf("turn %d: after a cut %d of %d", turn, cut, sum)
		}
	}
}

// sync2 syncs a file if it is there.
func (m *machine) sync2(name string) {
	if f, err := m.OpenFile(name, os.O_RDWR, 0); err == nil {
		m.must(f.Sync(), f.Close())
	}
}
