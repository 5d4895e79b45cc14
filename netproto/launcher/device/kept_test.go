package device

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"collet/netproto/launcher/tree"
	"collet/netproto/launcher/wire"
	"collet/platform/faultfs"
	"collet/platform/testlevel"
)

// memoryDisk is the disk of a device in memory.
func memoryDisk(t *testing.T) (*disk, *faultfs.Disk) {
	t.Helper()
	volume := faultfs.New(faultfs.Config{})
	fsys := volume.Open(faultfs.Options{})
	d, err := openDisk(fsys, tree.New(fsys, tree.Options{}), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return d, volume
}

// TestBreakWhileVerifying: when the connection ends while a file is hashed, everything that came is kept.
func TestBreakWhileVerifying(t *testing.T) {
	d, _ := memoryDisk(t)
	content := bytes.Repeat([]byte("0123456789abcdef"), 5<<20/16)
	want := wire.HashOf(content)
	p := d.begin("f", uint64(len(content)), "")
	if err := errors.Join(p.resume(t.Context(), want, 0), p.write(0, content, uint64(len(content)))); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.finish(ctx, want); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	d.keep(p)
	parts, _, err := d.kept()
	if err != nil || len(parts) != 1 || parts[0] != (wire.FilePart{Hash: want, Size: 5 << 20, Have: 5 << 20}) {
		t.Fatalf("kept %v, %v", parts, err)
	}
	again := d.begin("f", uint64(len(content)), "")
	if err := again.resume(t.Context(), want, 5<<20); err != nil {
		t.Fatal(err)
	}
	if r, err := again.finish(t.Context(), want); r != wire.Success {
		t.Errorf("%v, %v", r, err)
	}
	if parts, _, _ := d.kept(); len(parts) > 0 {
		t.Errorf("kept %v", parts)
	}
}

// TestWhatIsKept: beginnings without gaps that are worth it, and no more than a few; the largest.
func TestWhatIsKept(t *testing.T) {
	testlevel.Slow(t)
	d, volume := memoryDisk(t)
	for i := range maxKeptParts + 3 {
		p := d.begin(fmt.Sprint(i), 10<<20, "")
		if err := errors.Join(p.resume(t.Context(), wire.Hash{byte(i)}, 0), p.write(0, make([]byte, leastKeptPart+i), uint64(leastKeptPart+i))); err != nil {
			t.Fatal(err)
		}
		d.keep(p)
	}
	small := d.begin("small", 10<<20, "")
	gap := d.begin("gap", 10<<20, "")
	err := errors.Join(small.resume(t.Context(), wire.Hash{100}, 0), small.write(0, make([]byte, 10), 10),
		gap.resume(t.Context(), wire.Hash{101}, 0), gap.write(1, make([]byte, leastKeptPart), leastKeptPart))
	if err != nil {
		t.Fatal(err)
	}
	d.keep(small)
	d.keep(gap)
	if err := d.sweep(); err != nil {
		t.Fatal(err)
	}
	parts, rest, err := d.kept()
	if err != nil || len(rest) > 0 || len(parts) != maxKeptParts || parts[0].Hash != (wire.Hash{maxKeptParts + 2}) || parts[0].Have != leastKeptPart+maxKeptParts+2 {
		t.Errorf("%d parts, the first %v, rest %v, %v", len(parts), parts[0], rest, err)
	}
	if n := len(volume.Files()); n != maxKeptParts+2 { // and the two folders
		t.Errorf("%d files and folders", n)
	}
	open := d.begin("again", 10<<20, "")
	if err := open.resume(t.Context(), parts[3].Hash, leastKeptPart); err != nil {
		t.Fatal(err)
	}
	if err := d.discardKept(); err != nil {
		t.Fatal(err)
	}
	if left, _, _ := d.kept(); len(left) != 1 || left[0].Hash != parts[3].Hash {
		t.Errorf("after a push %v are left", left)
	}
}

// TestReasonsInWords: what a person reads has no path of the device's machine, and ends in something to do.
func TestReasonsInWords(t *testing.T) {
	d, _ := memoryDisk(t)
	fsys := d.fsys.(*faultfs.FS)
	for _, c := range []struct {
		err  error
		want string
	}{
		{faultfs.ENOSPC, "the disk is full: make room on the device"},
		{faultfs.EACCES, "the device does not allow it: look at the permissions of its data folder"},
		{faultfs.EROFS, "the disk is read-only: make it writable on the device"},
		{faultfs.ErrorSharingViolation, "another program on the device has it open: close the game there"},
	} {
		fsys.Heal()
		fsys.Inject(faultfs.Rule{Verb: faultfs.Create, Err: c.err})
		_, err := fsys.OpenFile("x", os.O_CREATE|os.O_RDWR, 0o644)
		if got := inWords(err); got != c.want {
			t.Errorf("%v reads %q, want %q", c.err, got, c.want)
		}
	}
	for err, want := range map[error]string{
		nil:                          "",
		wire.CheckPath("../x"):       "has an element that leaves the folder",
		errLinkedFolder:              errLinkedFolder.Error(),
		&roomError{need: 5, free: 2}: "needs 5 bytes and 2 are free: make room on the device",
		errors.New("a\nb"):           "a; b",
	} {
		if got := inWords(err); got != want {
			t.Errorf("%v reads %q, want %q", err, got, want)
		}
	}
}
