package faultfs_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"collet/platform"
	"collet/platform/faultfs"
)

// TestEveryCallCanFail injects one fault into each kind of call: it says what was asked for and where, and has no effect.
func TestEveryCallCanFail(t *testing.T) {
	eight := make([]byte, 8)
	for verb, call := range map[faultfs.Verb]func(*machine, platform.File) error{
		faultfs.Create: func(m *machine, _ platform.File) error {
			return closed(m.OpenFile("new", os.O_WRONLY|os.O_CREATE, 0o644))
		},
		faultfs.Open:       func(m *machine, _ platform.File) error { return closed(m.OpenFile("a", os.O_RDONLY, 0)) },
		faultfs.Write:      func(_ *machine, f platform.File) error { return second(f.Write(eight)) },
		faultfs.Read:       func(_ *machine, f platform.File) error { return second(f.Read(eight)) },
		faultfs.Truncate:   func(_ *machine, f platform.File) error { return f.Truncate(0) },
		faultfs.Sync:       func(_ *machine, f platform.File) error { return f.Sync() },
		faultfs.Close:      func(_ *machine, f platform.File) error { return f.Close() },
		faultfs.Rename:     func(m *machine, _ platform.File) error { return m.Rename("a", "x") },
		faultfs.Link:       func(m *machine, _ platform.File) error { return m.Link("a", "x") },
		faultfs.Exchange:   func(m *machine, _ platform.File) error { return m.Exchange("a", "b") },
		faultfs.Remove:     func(m *machine, _ platform.File) error { return m.Remove("a") },
		faultfs.Mkdir:      func(m *machine, _ platform.File) error { return m.MkdirAll("x", 0o755) },
		faultfs.Chmod:      func(m *machine, _ platform.File) error { return m.Chmod("a", 0o400) },
		faultfs.SyncFolder: func(m *machine, _ platform.File) error { return m.SyncDir(".") },
		faultfs.List:       func(m *machine, _ platform.File) error { return second(m.ReadDir(".")) },
		faultfs.Stat:       func(m *machine, _ platform.File) error { return second(m.Lstat("a")) },
		faultfs.Free:       func(m *machine, _ platform.File) error { return second(m.Free()) },
		faultfs.Lock:       func(m *machine, _ platform.File) error { return closed(m.Lock("x")) },
		faultfs.LockShared: func(m *machine, _ platform.File) error { return closed(m.LockShared("x")) },
	} {
		t.Run(string(verb), func(t *testing.T) {
			m := start(t, faultfs.Config{})
			m.plant("a", "A", "b", "B")
			f := m.open("a", os.O_RDWR)
			before := tell(m.disk)
			m.Inject(faultfs.Rule{Verb: verb})
			wantFault(t, "by default", call(m, f), faultfs.EIO)
			if got := tell(m.disk); got != before {
				t.Errorf("a failed %s left %s", verb, got)
			}
			if m.Heal(); verb == faultfs.Close {
				wantFault(t, "close after a close that failed", f.Close(), os.ErrClosed)
			}
		})
	}
}

// TestWhichCallsFail is the table of Nth and Times, over five calls; x is one that fails.
func TestWhichCallsFail(t *testing.T) {
	for want, rules := range map[string][]faultfs.Rule{
		"xxxxx": {{}},
		"..xxx": {{Nth: 3}},
		"xx...": {{Times: 2}},
		".x...": {{Nth: 2, Times: 1}},
		".....": {{Nth: 6}, {Verb: faultfs.Remove}, {Name: "other"}},
		"x.x..": {{Times: 1}, {Nth: 2, Times: 1}}, // a call that a rule failed is not seen by those behind it
	} {
		m := start(t, faultfs.Config{})
		m.Inject(rules...)
		got := ""
		for i := range 5 {
			if err := m.MkdirAll(fmt.Sprint(i), 0o755); err != nil {
				got += "x"
			} else {
				got += "."
			}
		}
		if got != want {
			t.Errorf("%+v: %s, want %s", rules, got, want)
		}
		m.Heal()
		m.must(m.MkdirAll("healed", 0o755))
	}
}

// TestPatterns is the table of names that rules match.
func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "a", true}, {"", "d/a", true},
		{"a", "a", true}, {"a", "d/a", true}, {"a", "d/ab", false}, {"a", "a/b", false},
		{"*.zip", "Core.zip", true}, {"*.zip", "Resources/Core.zip", true}, {"*.zip", "Core.zip.new", false},
		{"~*", "Resources/~Core.zip", true}, {"~*", "Resources/Core.zip", false},
		{"Resources/*", "Resources/Core.zip", true}, {"Resources/*", "Resources/d/Core.zip", false}, {"Resources/*", "Core.zip", false},
		{"Resources/**", "Resources/d/Core.zip", true}, {"**", "a/b/c", true}, {"**/a", "b/c/a", true}, {"**/a", "a", false},
		{"?", "d/a", true}, {"?", "ab", false}, {"?", "é", true}, {"a?c", "a/c", false},
		{"journal.?", ".collet/journal.1", true}, {"*a*b*", "xaybz", true}, {"*a*b*", "xbya", false},
	} {
		m := start(t, faultfs.Config{})
		m.Inject(faultfs.Rule{Name: c.pattern})
		if got := errors.Is(second(m.Stat(c.name)), faultfs.EIO); got != c.want {
			t.Errorf("does %q match %q? got %v", c.pattern, c.name, got)
		}
	}
}

// TestEitherName: of a rename either name may match.
func TestEitherName(t *testing.T) {
	for pattern, want := range map[string]bool{"from": true, "to": true, "other": false} {
		m := start(t, faultfs.Config{})
		m.plant("from", "x")
		m.Inject(faultfs.Rule{Verb: faultfs.Rename, Name: pattern, Err: faultfs.EXDEV})
		err := m.Rename("from", "to")
		if platform.IsCrossDevice(err) != want {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

// TestShort lets some bytes through, with an error and without.
func TestShort(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", "")
	f := m.open("a", os.O_RDWR)
	m.Inject(faultfs.Rule{Verb: faultfs.Write, Short: 3, Times: 1, Err: faultfs.ENOSPC})
	n, err := io.WriteString(f, "12345")
	if wantFault(t, "write", err, faultfs.ENOSPC); n != 3 {
		t.Errorf("wrote %d bytes", n)
	}
	m.Inject(faultfs.Rule{Verb: faultfs.Write, Short: 2, Times: 1})
	n, err = io.WriteString(f, "67890")
	if wantFault(t, "write", err, io.ErrShortWrite); n != 2 {
		t.Errorf("wrote %d bytes", n)
	}
	m.Inject(faultfs.Rule{Verb: faultfs.Write, Short: 9, Times: 1})
	if n, err := io.WriteString(f, "89"); n != 2 || err != nil {
		t.Errorf("a write within the limit: %d, %v", n, err)
	}
	if got := tell(m.disk); got != "a=1236789" {
		t.Errorf("left %s", got)
	}
	m.Inject(faultfs.Rule{Verb: faultfs.Read, Short: 4})
	got := make([]byte, 7)
	if n, err := f.ReadAt(got, 0); n != 4 || string(got[:4]) != "1236" || errors.Is(err, faultfs.EIO) {
		t.Errorf("a short read gave %d, %v", n, err)
	}
	m.Heal()
	m.Inject(faultfs.Rule{Verb: faultfs.Rename, Short: 4})
	wantFault(t, "elsewhere it means nothing", m.Rename("a", "b"), faultfs.EIO)
}

// TestBytes begins to fail at a byte, wherever it lies in a portion, of one file or of all.
func TestBytes(t *testing.T) {
	for limit := int64(1); limit <= 12; limit++ {
		m := start(t, faultfs.Config{})
		m.Inject(faultfs.Rule{Verb: faultfs.Write, Name: "a", Bytes: limit, Err: faultfs.ENOSPC})
		m.write("b", "not", "concerned", "at all")
		f := m.open("a", os.O_WRONLY|os.O_CREATE)
		var through int64
		var fault error
		for range 3 {
			n, err := io.WriteString(f, "1234")
			through += int64(n)
			fault = errors.Join(fault, err)
		}
		if through != limit || errors.Is(fault, faultfs.ENOSPC) != (limit < 12) {
			t.Errorf("limit %d: %d bytes and %v", limit, through, fault)
		}
		if got := m.disk.Files()["a"]; int64(len(got)) != limit {
			t.Errorf("limit %d: left %q", limit, got)
		}
	}
}

// TestLate: a late fault has its effect, which a second attempt finds.
func TestLate(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", "A")
	m.Inject(faultfs.Rule{Verb: faultfs.Rename, Times: 1, Late: true, Err: faultfs.EBUSY})
	wantFault(t, "late", m.Rename("a", "b"), faultfs.EBUSY)
	if got := tell(m.disk); got != "b=A" {
		t.Errorf("left %s", got)
	}
	wantFault(t, "once more", m.Rename("a", "b"), os.ErrNotExist)
	f := m.open("b", os.O_WRONLY)
	m.Inject(faultfs.Rule{Verb: faultfs.Write, Late: true})
	n, err := io.WriteString(f, "new")
	if wantFault(t, "late write", err, faultfs.EIO); n != 3 || tell(m.disk) != "b=new" {
		t.Errorf("wrote %d bytes, left %s", n, tell(m.disk))
	}
	m.Inject(faultfs.Rule{Verb: faultfs.Remove, Late: true})
	wantFault(t, "what would have failed anyway", m.Remove("no"), os.ErrNotExist)
}

// TestFailAt fails one call by its number, and none by numbers that are not counted.
func TestFailAt(t *testing.T) {
	m := start(t, faultfs.Config{})
	m.plant("a", "A")
	m.FailAt(2, faultfs.EIO)
	m.FailAt(0, faultfs.EACCES)
	m.must(m.Rename("a", "b"), second(m.Stat("b")))
	wantFault(t, "the second", m.Rename("b", "c"), faultfs.EIO)
	m.must(m.Rename("b", "c"))
	if got := tell(m.disk); got != "c=A" {
		t.Errorf("left %s", got)
	}
	if ops := m.Ops(); len(ops) != 3 || !errors.Is(ops[1].Err, faultfs.EIO) || ops[2].Err != nil {
		t.Errorf("noted %v", ops)
	}
}

// TestFaultsOfSystems asks what callers ask. The names are in the text, so that a report says what was injected.
func TestFaultsOfSystems(t *testing.T) {
	for word, err := range map[string]*faultfs.Errno{
		"ENOSPC": faultfs.ENOSPC, "EDQUOT": faultfs.EDQUOT, "EIO": faultfs.EIO, "EACCES": faultfs.EACCES, "EBUSY": faultfs.EBUSY,
		"ETXTBSY": faultfs.ETXTBSY, "EXDEV": faultfs.EXDEV, "EROFS": faultfs.EROFS, "(5)": faultfs.ErrorAccessDenied,
		"(19)": faultfs.ErrorWriteProtect, "(32)": faultfs.ErrorSharingViolation, "(33)": faultfs.ErrorLockViolation,
		"(112)": faultfs.ErrorDiskFull, "(1224)": faultfs.ErrorUserMappedFile,
	} {
		m := start(t, faultfs.Config{})
		m.Inject(faultfs.Rule{Err: err})
		got := m.Remove("some/file")
		if wantFault(t, word, got, err); !strings.Contains(got.Error(), word) || !strings.Contains(got.Error(), "some/file") {
			t.Errorf("%s reads %q", word, got)
		}
	}
}
