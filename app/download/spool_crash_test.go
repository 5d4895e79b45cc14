package download

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"testing"
	"time"

	"collet/netproto/release"
	"collet/platform/faultfs"
	"collet/platform/span"
	"collet/platform/testlevel"
)

// crashData is what the crash tests fetch: a few pages, so that a torn write shows.
func crashData(seed byte) ([]byte, release.Digest) {
	data := make([]byte, 50_000)
	for i := range data {
		data[i] = byte(i*7>>3) ^ byte(i>>8) ^ seed | 1 // never zero, which is what holes have
	}
	return data, release.ObjectOf(data).Sum
}

// progress is what a run of the story had reached when it stopped.
type progress struct {
	kept    int64 // bytes of the last record that was written
	removed bool  // it was about to remove the object
}

// crashStory gets one object in pieces, with records between them, out of order, and gives another one up. It makes every
// change to a disk that a spool makes.
func crashStory(fsys *faultfs.FS, p *progress) error {
	data, digest := crashData(1)
	other, otherDigest := crashData(2)
	s, err := OpenSpool(fsys, "spool", SpoolOptions{Limit: 2 * int64(len(data))})
	if err != nil {
		return err
	}
	if err = crashPieces(s, otherDigest, other, ranges(0, 20_000), nil); err != nil {
		return err
	}
	pieces := ranges(0, 10_000, 30_000, 40_001, 10_000, 30_000, 40_001, 50_000)
	if err = crashPieces(s, digest, data, pieces, p); err != nil {
		return err
	}
	c, err := s.Open(context.Background(), digest)
	if err != nil {
		return err
	}
	if err = c.Close(); err != nil {
		return err
	}
	if err = s.Close(); err != nil {
		return err
	}
	p.kept = int64(len(data))
	p.removed = true
	return errors.Join(s.Remove(context.Background(), otherDigest), s.Remove(context.Background(), digest))
}

func crashPieces(s *Spool, d release.Digest, data []byte, pieces []Range, reached *progress) error {
	p, err := s.openPart(context.Background(), d, int64(len(data)))
	if err != nil {
		return err
	}
	sum := int64(0)
	for i, r := range pieces {
		if err := p.write(r.Start, data[r.Start:r.End]); err != nil {
			return errors.Join(err, p.close(false))
		}
		if sum += r.Len(); i%2 == 1 || reached == nil {
			continue
		}
		if err := p.checkpoint(); err != nil {
			return errors.Join(err, p.close(false))
		}
		reached.kept = sum
	}
	return p.close(sum == int64(len(data)))
}

// TestCrashAnywhere stops the story at each change of the disk, by the end of the process and by power cuts that keep
// nothing, all, and different halves. What the record of the next start speaks of is there and right, nothing that was
// recorded is lost, nothing wrong is given out, and the object can be completed.
func TestCrashAnywhere(t *testing.T) {
	began := time.Now()
	whole := faultfs.New(faultfs.Config{}).Open(faultfs.Options{})
	if err := crashStory(whole, &progress{}); err != nil {
		t.Fatal(err)
	}
	stops := map[string]func(*faultfs.FS, int){"before": (*faultfs.FS).StopBefore, "inside": (*faultfs.FS).StopInside, "after": (*faultfs.FS).StopAfter}
	cases := 0
	for k := 1; k <= whole.Count(); k += testlevel.Stride(3, 3) {
		for name, stop := range stops {
			disk := faultfs.New(faultfs.Config{})
			fsys := disk.Open(faultfs.Options{})
			stop(fsys, k)
			var reached progress
			_ = crashStory(fsys, &reached)
			fsys.Kill()
			at := fmt.Sprintf("%s operation %d, %s", name, k, whole.Ops()[k-1].Label())
			for cut, after := range crashCuts(disk) {
				cases++
				checkCrash(t, at+", "+cut, after, reached)
			}
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("%d operations, %d cases, %v", whole.Count(), cases, time.Since(began))
}

// crashCuts are the disks that the next start may find.
func crashCuts(disk *faultfs.Disk) map[string]*faultfs.Disk {
	cuts := map[string]*faultfs.Disk{"killed": disk.Clone()}
	for _, c := range []faultfs.Cut{faultfs.Keep(0, 0), faultfs.Keep(100, 0), faultfs.Keep(50, 1), faultfs.Keep(50, 2), faultfs.Keep(30, 3),
		{Names: 100, Data: 0}, {Names: 60, Data: 40, Seed: 4, Unordered: true}} {
		cuts[c.String()] = disk.Crash(c)
	}
	return cuts
}

func checkCrash(t *testing.T, at string, disk *faultfs.Disk, reached progress) {
	t.Helper()
	data, digest := crashData(1)
	s, err := OpenSpool(disk.Open(faultfs.Options{}), "spool", SpoolOptions{})
	if err != nil {
		t.Errorf("%s: the spool does not open: %v", at, err)
		return
	}
	known := s.stateOf(digest)
	size, have := known.size, known.have
	if span.Total(have) < reached.kept && !reached.removed {
		t.Errorf("%s: %d bytes are known, %d were recorded", at, span.Total(have), reached.kept)
	}
	if len(have) > 0 && size != int64(len(data)) {
		t.Errorf("%s: the size is %d", at, size)
	}
	if len(have) > 0 {
		checkRecorded(t, at, s, digest, data, have)
	}
	if c, err := s.Open(context.Background(), digest); err == nil {
		got, _ := io.ReadAll(io.NewSectionReader(c, 0, c.Size()))
		if !bytes.Equal(got, data) {
			t.Errorf("%s: wrong bytes are given out", at)
		}
		_ = c.Close()
	} else if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v", at, err)
	}
	if err := crashComplete(s, digest, data); err != nil {
		t.Errorf("%s: it can't be completed: %v", at, err)
	}
	s, err = OpenSpool(disk.Crash(faultfs.Keep(0, 0)).Open(faultfs.Options{}), "spool", SpoolOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if have := s.stateOf(digest).have; span.Total(have) != int64(len(data)) {
		t.Errorf("%s: of what was completed %d bytes are known behind a power cut", at, span.Total(have))
	}
}

// checkRecorded looks whether what a record speaks of is there.
func checkRecorded(t *testing.T, at string, s *Spool, d release.Digest, data []byte, have span.Set[int64]) {
	t.Helper()
	f, err := s.fs.OpenFile(s.partName(d), os.O_RDONLY, 0)
	if err != nil {
		t.Errorf("%s: a record without its part: %v", at, err)
		return
	}
	defer f.Close()
	for _, r := range have {
		got := make([]byte, r.Len())
		if _, err := f.ReadAt(got, r.Start); err != nil && err != io.EOF || !bytes.Equal(got, data[r.Start:r.End]) {
			t.Errorf("%s: the bytes %d to %d are not what the record says, %v", at, r.Start, r.End, err)
		}
	}
}

// crashComplete writes the missing ranges and verifies the object.
func crashComplete(s *Spool, d release.Digest, data []byte) error {
	p, err := s.openPart(context.Background(), d, int64(len(data)))
	if err != nil {
		return err
	}
	for _, r := range p.have.Gaps(span.Of(0, int64(len(data)))) {
		if err := p.write(r.Start, data[r.Start:r.End]); err != nil {
			return errors.Join(err, p.close(false))
		}
	}
	h := p.hashing()
	err = h.upTo(context.Background())
	if err == nil && h.sum() != d {
		err = errDigest
	}
	return errors.Join(err, p.close(err == nil), s.Close())
}

// TestRecordAfterRemoval has a power cut that brings an old record back beside a part that was begun anew: the digest
// finds out.
func TestRecordAfterRemoval(t *testing.T) {
	data, digest := crashData(1)
	disk := faultfs.New(faultfs.Config{})
	s, err := OpenSpool(disk.Open(faultfs.Options{}), "spool", SpoolOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := crashComplete(s, digest, data); err != nil {
		t.Fatal(err)
	}
	record := disk.Files()[s.recordName(digest)]
	if err := s.Remove(context.Background(), digest); err != nil {
		t.Fatal(err)
	}
	if err := disk.Plant(s.recordName(digest), record); err != nil {
		t.Fatal(err)
	}
	if err := disk.Plant(s.partName(digest), string(make([]byte, len(data)))); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(context.Background(), digest); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if files := disk.Files(); files[s.partName(digest)] != "" || files[s.recordName(digest)] != "" {
		t.Errorf("left: %v", len(files))
	}
}
