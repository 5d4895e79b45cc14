package download_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collet/app/diskfault"
	"collet/app/download"
	"collet/app/update"
	"collet/netproto/release"
	"collet/platform/faultfs"
	"collet/platform/testlevel"
)

// fetchInto gets an object from memory and counts the bytes that were asked for.
func fetchInto(t *testing.T, s *download.Spool, o download.Object, mirror *memory) (asked int64, err error) {
	t.Helper()
	f := fetcherInBubble(t, mirror)
	defer f.Close()
	err = f.Whole(t.Context(), o, s, nil)
	for _, r := range mirror.requests() {
		asked += r.End - r.Start
	}
	return asked, err
}

// TestResume stops a transfer in the middle, in several ways, and lets another process go on.
func TestResume(t *testing.T) {
	data := random(1_000_000, 1)
	for name, stop := range map[string]func(cancel func(), fsys *faultfs.FS, s *download.Spool){
		"cancelled": func(cancel func(), _ *faultfs.FS, _ *download.Spool) { cancel() },
		"killed":    func(_ func(), fsys *faultfs.FS, _ *download.Spool) { fsys.Kill() },
	} {
		synctest.Test(t, func(t *testing.T) {
			disk := faultfs.New(faultfs.Config{Now: time.Now})
			s, fsys := spoolOn(t, disk)
			mirror := remembering("a", data)
			mirror.rate = 50_000
			f := fetcherInBubble(t, mirror)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				time.Sleep(5 * time.Second)
				stop(cancel, fsys, s)
			}()
			if err := f.Whole(ctx, object(data), s, nil); err == nil {
				t.Errorf("%s: it came to its end", name)
			}
			f.Close()
			fsys.Kill()
			s, _ = spoolOn(t, disk.Crash(faultfs.Keep(0, 1)))
			again := remembering("a", data)
			asked, err := fetchInto(t, s, object(data), again)
			if err != nil || !bytes.Equal(content(t, s, object(data)), data) {
				t.Errorf("%s: wrong bytes, or %v", name, err)
			}
			least := int64(1_000_000 - 800_000)
			if most := int64(1_000_000 - 2*50_000*2); asked > most || asked < least {
				t.Errorf("%s: asked for %d of 1000000 bytes, want at most %d: what was recorded 3 s before the stop is there", name, asked, most)
			}
		})
	}
}

// TestSpoolKeepsComplete closes a spool with a complete object: the next process has it without a request.
func TestSpoolKeepsComplete(t *testing.T) {
	data := random(300_000, 1)
	disk := faultfs.New(faultfs.Config{})
	s, _ := spoolOn(t, disk)
	if _, err := fetchInto(t, s, object(data), remembering("a", data)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, _ = spoolOn(t, disk.Crash(faultfs.Keep(0, 0)))
	if got := content(t, s, object(data)); !bytes.Equal(got, data) {
		t.Error("the bytes are wrong")
	}
	asked, err := fetchInto(t, s, object(data), remembering("empty"))
	if asked != 0 || err != nil {
		t.Errorf("asked for %d bytes, %v", asked, err)
	}
}

// TestDamagedPart: bytes that the disk changed are fetched again, and no mirror is blamed.
func TestDamagedPart(t *testing.T) {
	data := random(300_000, 1)
	o := object(data)
	disk := faultfs.New(faultfs.Config{})
	s, fsys := spoolOn(t, disk)
	if _, err := fetchInto(t, s, o, remembering("a", data)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	fsys.Kill()
	for name, content := range disk.Files() {
		if strings.HasSuffix(name, release.UnverifiedSuffix) {
			if err := disk.Plant(name, content[:1000]+"x"+content[1001:]); err != nil {
				t.Fatal(err)
			}
		}
	}
	damaged := disk.Clone()
	s, _ = spoolOn(t, disk)
	asked, err := fetchInto(t, s, o, remembering("a", data))
	if err != nil || asked != 300_000 || !bytes.Equal(content(t, s, o), data) {
		t.Errorf("asked for %d bytes, %v", asked, err)
	}
	s, _ = spoolOn(t, damaged)
	if _, err := s.Open(t.Context(), o.Digest); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a damaged object was given out: %v", err)
	}
	if n := len(damaged.Files()); n != 1 {
		t.Errorf("%d names are left of it", n)
	}
}

// TestShortPart has a part that lost its end: only that is fetched again.
func TestShortPart(t *testing.T) {
	data := random(300_000, 1)
	disk := faultfs.New(faultfs.Config{})
	s, fsys := spoolOn(t, disk)
	if _, err := fetchInto(t, s, object(data), remembering("a", data)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	fsys.Kill()
	for name, content := range disk.Files() {
		if strings.HasSuffix(name, release.UnverifiedSuffix) {
			if err := disk.Plant(name, content[:100_000]); err != nil {
				t.Fatal(err)
			}
		}
	}
	s, _ = spoolOn(t, disk)
	asked, err := fetchInto(t, s, object(data), remembering("a", data))
	if err != nil || asked != 200_000 || !bytes.Equal(content(t, s, object(data)), data) {
		t.Errorf("asked for %d bytes, %v", asked, err)
	}
}

// TestDiskFull runs out of room: without leftovers that is the player's affair, with some they go first.
func TestDiskFull(t *testing.T) {
	data, old := random(400_000, 1), random(250_000, 2)
	disk := faultfs.New(faultfs.Config{})
	s, fsys := spoolOn(t, disk)
	disk.SetFree(300_000)
	_, err := fetchInto(t, s, object(data), remembering("a", data))
	var fault *update.Fault
	var space *diskfault.SpaceError
	if !errors.As(err, &fault) || fault.Cause != update.DiskFull || !errors.As(err, &space) {
		t.Fatalf("got %v", err)
	}
	disk.SetFree(500_000)
	asked, err := fetchInto(t, s, object(data), remembering("a", data))
	if err != nil || asked > 400_000-250_000 {
		t.Errorf("with room again it asked for %d bytes, %v", asked, err)
	}
	if err := s.Remove(t.Context(), object(data).Digest); err != nil {
		t.Fatal(err)
	}
	if _, err := fetchInto(t, s, object(old), remembering("a", old)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	fsys.Kill()
	s, _ = spoolOn(t, disk) // which does not need the old one
	disk.SetFree(200_000)
	if _, err := fetchInto(t, s, object(data), remembering("a", data)); err != nil || !bytes.Equal(content(t, s, object(data)), data) {
		t.Errorf("with a leftover in the way: %v", err)
	}
}

// TestSpoolFaults lets the disk fail in each way that a person can do something about.
func TestSpoolFaults(t *testing.T) {
	data := random(100_000, 1)
	for _, test := range []struct {
		rule faultfs.Rule
		want update.Cause
	}{
		{faultfs.Rule{Verb: faultfs.Create, Err: faultfs.EACCES}, update.NoPermission},
		{faultfs.Rule{Verb: faultfs.Create, Err: faultfs.EROFS}, update.NoPermission},
		{faultfs.Rule{Verb: faultfs.Write, Err: faultfs.EIO}, update.DiskFault},
		{faultfs.Rule{Verb: faultfs.Write, Nth: 2, Err: faultfs.EIO}, update.DiskFault},
		{faultfs.Rule{Verb: faultfs.Write, Err: faultfs.EDQUOT}, update.DiskFull},
		{faultfs.Rule{Verb: faultfs.Read, Err: faultfs.EIO}, update.DiskFault},
	} {
		disk := faultfs.New(faultfs.Config{})
		s, fsys := spoolOn(t, disk)
		fsys.Inject(test.rule)
		_, err := fetchInto(t, s, object(data), remembering("a", data))
		var fault *update.Fault
		if !errors.As(err, &fault) || fault.Cause != test.want {
			t.Errorf("%+v: %v", test.rule, err)
		}
		fsys.Heal()
		if _, err := fetchInto(t, s, object(data), remembering("a", data)); err != nil || !bytes.Equal(content(t, s, object(data)), data) {
			t.Errorf("%+v, healed: %v", test.rule, err)
		}
	}
	fsys := faultfs.New(faultfs.Config{}).Open(faultfs.Options{})
	fsys.Inject(faultfs.Rule{Verb: faultfs.Mkdir, Err: faultfs.EACCES})
	var fault *update.Fault
	if _, err := download.OpenSpool(fsys, "spool", download.SpoolOptions{}); !errors.As(err, &fault) || fault.Cause != update.NoPermission {
		t.Errorf("no folder: %v", err)
	}
}

// TestCrashWhileFetching kills the process at changes of the disk in the middle of a real transfer, and goes on.
func TestCrashWhileFetching(t *testing.T) {
	data := random(500_000, 1)
	o := object(data)
	for k := 1; ; k += testlevel.Stride(3, 3) {
		ended := false
		synctest.Test(t, func(t *testing.T) {
			disk := faultfs.New(faultfs.Config{Now: time.Now})
			fsys := disk.Open(faultfs.Options{})
			fsys.StopInside(k)
			mirror := remembering("a", data)
			mirror.rate = 400_000
			if s, err := download.OpenSpool(fsys, "spool", download.SpoolOptions{Checkpoint: time.Millisecond}); err == nil {
				if _, err := fetchInto(t, s, o, mirror); err == nil {
					ended = s.Close() == nil
				}
			}
			fsys.Kill()
			for name, after := range map[string]*faultfs.Disk{"killed": disk.Clone(), "nothing kept": disk.Crash(faultfs.Keep(0, 0)), "half kept": disk.Crash(faultfs.Keep(50, uint64(k)))} {
				s, _ := spoolOn(t, after)
				if _, err := fetchInto(t, s, o, remembering("a", data)); err != nil || !bytes.Equal(content(t, s, o), data) {
					t.Errorf("operation %d, %s: wrong bytes, or %v", k, name, err)
				}
			}
		})
		if ended || t.Failed() {
			if k < 20 {
				t.Errorf("only %d operations were tried", k)
			}
			return
		}
	}
}

// TestCollect removes the oldest parts, but not parts in keep, parts that are being written, and verified parts.
func TestCollect(t *testing.T) {
	disk := faultfs.New(faultfs.Config{})
	s, fsys := spoolOn(t, disk)
	var digests []release.Digest
	for i := range 4 {
		data := random(100_000, uint64(i))
		digests = append(digests, object(data).Digest)
		if _, err := fetchInto(t, s, object(data), remembering("a", data)); err != nil {
			t.Fatal(err)
		}
	}
	if freed, err := s.Collect(nil, 0); freed != 0 || err != nil {
		t.Errorf("%d bytes that this process verified went, %v", freed, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	fsys.Kill()
	s, _ = spoolOn(t, disk)
	if _, err := s.Open(t.Context(), digests[2]); err != nil {
		t.Fatal(err)
	}
	if freed, err := s.Collect(digests[1:2], 150_000); freed != 200_000 || err != nil {
		t.Errorf("%d bytes went, %v", freed, err)
	}
	for i, d := range digests {
		if _, err := s.Open(t.Context(), d); errors.Is(err, fs.ErrNotExist) != (i == 0 || i == 3) {
			t.Errorf("object %d: %v", i, err)
		}
	}
}

// TestSpoolLimit begins something new: the oldest leftovers make room, and files of others stay.
func TestSpoolLimit(t *testing.T) {
	disk := faultfs.New(faultfs.Config{})
	s, fsys := spoolOn(t, disk)
	var objects []download.Object
	for i := range 4 {
		data := random(100_000, uint64(i))
		objects = append(objects, object(data))
		if _, err := fetchInto(t, s, object(data), remembering("a", data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	fsys.Kill()
	if err := errors.Join(disk.Plant("spool/notes.txt", "mine"), disk.Plant("spool/"+strings.Repeat("0", 64)+".have", "{}")); err != nil {
		t.Fatal(err)
	}
	s, err := download.OpenSpool(disk.Open(faultfs.Options{}), "spool", download.SpoolOptions{Limit: 310_000})
	if err != nil {
		t.Fatal(err)
	}
	data := random(100_000, 9)
	if _, err := fetchInto(t, s, object(data), remembering("a", data)); err != nil {
		t.Fatal(err)
	}
	for i, o := range objects {
		if _, err := s.Open(t.Context(), o.Digest); errors.Is(err, fs.ErrNotExist) != (i < 2) {
			t.Errorf("object %d: %v", i, err)
		}
	}
	files := disk.Files()
	if files["spool/notes.txt"] != "mine" || files["spool/"+strings.Repeat("0", 64)+".have"] != "" {
		t.Error("a file of others went, or a record without its part stayed")
	}
	if freed, err := s.Collect([]release.Digest{objects[3].Digest}, 0); freed != 0 || err != nil {
		t.Errorf("%d bytes went that are in use or named, %v", freed, err)
	}
}

// TestSpoolWaits lets two calls want the same object: the second has it for nothing.
func TestSpoolWaits(t *testing.T) {
	data := random(200_000, 1)
	synctest.Test(t, func(t *testing.T) {
		mirror := remembering("a", data)
		mirror.rate = 50_000
		f := fetcherInBubble(t, mirror)
		defer f.Close()
		s, _ := spoolOn(t, faultfs.New(faultfs.Config{}))
		ended := make(chan error)
		for range 2 {
			go func() { ended <- f.Whole(t.Context(), object(data), s, nil) }()
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := s.Remove(ctx, object(data).Digest); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a part under way was removed: %v", err)
		}
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		sum := int64(0)
		for _, r := range mirror.requests() {
			sum += r.End - r.Start
		}
		if sum != 200_000 {
			t.Errorf("asked for %d bytes", sum)
		}
		if err := s.Remove(t.Context(), object(data).Digest); err != nil {
			t.Error(err)
		}
		if _, err := s.Open(t.Context(), object(data).Digest); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a removed object was opened: %v", err)
		}
	})
}
