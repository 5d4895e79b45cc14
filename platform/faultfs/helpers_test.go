package faultfs_test

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"collet/platform"
	"collet/platform/faultfs"
)

// machine is a disk with one process on it, for tests that tell a story.
type machine struct {
	*faultfs.FS
	t    testing.TB
	disk *faultfs.Disk
}

// start makes an empty disk and a process.
func start(t testing.TB, cfg faultfs.Config) *machine {
	t.Helper()
	disk := faultfs.New(cfg)
	return &machine{FS: disk.Open(faultfs.Options{}), t: t, disk: disk}
}

// must ends the test at an error.
func (m *machine) must(errs ...error) {
	m.t.Helper()
	if err := errors.Join(errs...); err != nil {
		m.t.Fatal(err)
	}
}

// plant makes durable files: name, content, name, content …
func (m *machine) plant(pairs ...string) {
	m.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		m.must(m.disk.Plant(pairs[i], pairs[i+1]))
	}
}

// open opens a file and leaves it open.
func (m *machine) open(name string, flag int) platform.File {
	m.t.Helper()
	f, err := m.OpenFile(name, flag, 0o644)
	m.must(err)
	return f
}

// write replaces a file's content and syncs nothing.
func (m *machine) write(name string, portions ...string) {
	m.t.Helper()
	f := m.open(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	for _, portion := range portions {
		_, err := io.WriteString(f, portion)
		m.must(err)
	}
	m.must(f.Close())
}

// overwrite writes at a place of a file that is there.
func (m *machine) overwrite(name string, off int64, text string) {
	m.t.Helper()
	f := m.open(name, os.O_WRONLY)
	_, err := f.Seek(off, io.SeekStart)
	m.must(err)
	_, err = io.WriteString(f, text)
	m.must(err, f.Close())
}

// sync syncs a file's content.
func (m *machine) sync(name string) {
	m.t.Helper()
	f := m.open(name, os.O_RDWR)
	m.must(f.Sync(), f.Close())
}

// tell is all files of a disk as one line: name=content, sorted, with long contents shortened.
func tell(d *faultfs.Disk) string {
	files := d.Files()
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, "/") {
			parts = append(parts, name)
		} else {
			parts = append(parts, name+"="+files[name])
		}
	}
	return strings.Join(parts, " ")
}

// outcomes are all different things that cuts of many seeds tell about a disk, and how often.
func outcomes(d *faultfs.Disk, percent int, unordered bool, look func(*faultfs.Disk) string) map[string]int {
	seen := map[string]int{}
	for seed := range uint64(400) {
		seen[look(d.Crash(faultfs.Cut{Names: percent, Data: percent, Seed: seed, Unordered: unordered}))]++
	}
	return seen
}

// wantOutcomes compares what was seen with what may be, and with what has to come up.
func wantOutcomes(t *testing.T, seen map[string]int, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, want) {
		t.Errorf("cuts left %q\nwant exactly %q", got, want)
	}
}

// class of errors that a test wants, with the name of the file in them.
func wantFault(t *testing.T, what string, err, want error) {
	t.Helper()
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case !errors.Is(err, want):
		t.Errorf("%s: got %v, want %v", what, err, want)
	case err != nil && !errors.As(err, &path) && !errors.As(err, &link):
		t.Errorf("%s: %T names no file", what, err)
	}
}
