package install_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"

	"collet/app/install"
	"collet/app/update"
	"collet/platform"
	"collet/platform/faultfs"
	"collet/platform/testlevel"
)

// This file runs every story on a disk that loses its power. Each operation is a moment at which the machine stops; none, a
// part or all of the unsynced data is then on the disk.

// volume is the initial disk of a story.
func (s story) volume(t testing.TB, cfg faultfs.Config) *faultfs.Disk {
	t.Helper()
	d := faultfs.New(cfg)
	plant := func(name, content string) {
		if err := d.Plant(name, content); err != nil {
			t.Fatal(err)
		}
	}
	plant("Resources/mine.txt", "mine")
	for name, content := range s.plant {
		plant(name, content)
	}
	for _, b := range s.before {
		fsys := d.Open(faultfs.Options{})
		if _, err := b.on(t, fsys); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		fsys.Kill()
	}
	d.Settle()
	for name, content := range s.spoil {
		plant(name, content)
	}
	return d
}

// cuts are the power cuts of one moment.
func cuts(k int) []faultfs.Cut {
	namesOnly, dataOnly := faultfs.Keep(100, 0), faultfs.Keep(0, 0)
	namesOnly.Data, dataOnly.Data = 0, 100
	wild := faultfs.Keep(50, uint64(k))
	wild.Unordered = true
	more := []faultfs.Cut{faultfs.Keep(50, uint64(k)), wild, faultfs.Keep(50, uint64(k)+1e6), namesOnly, wild, dataOnly}
	all := []faultfs.Cut{faultfs.Keep(0, 0), faultfs.Keep(100, 0), more[k%len(more)]}
	if testlevel.Full() {
		all = append(all, more...)
	}
	return all
}

// tally counts the checked states.
type tally struct{ stops, cuts, again, ways atomic.Int64 }

func (n *tally) String() string {
	return fmt.Sprintf("%d stops, %d disks after them, %d disks after stops in recovery, %d ways back", n.stops.Load(), n.cuts.Load(), n.again.Load(), n.ways.Load())
}

// power is one story on one kind of disk.
type power struct {
	story
	t    *testing.T
	n    *tally
	step int // recovery is stopped, too, at every step-th operation
	from int // the first operation at which the machine stops
}

var volumes = []struct {
	name string
	cfg  faultfs.Config
}{{"exchange", faultfs.Config{}}, {"two moves", faultfs.Config{NoExchange: true}}}

func TestPowerCuts(t *testing.T) {
	var n tally
	t.Run("stories", func(t *testing.T) {
		for i, s := range stories() {
			for j, v := range volumes {
				t.Run(s.name+", "+v.name, func(t *testing.T) {
					t.Parallel()
					p := power{s, t, &n, 47, 1 + (i+j)%install.Stride()}
					p.everyStop(s.volume(t, v.cfg))
				})
			}
		}
	})
	t.Log(&n)
	if testing.Short() {
		return
	}
	if n.stops.Load() < int64(2500/install.Stride()) || n.again.Load() < int64(1500/install.Stride()) || n.ways.Load() < int64(2000/install.Stride()) {
		t.Errorf("only %s", &n)
	}
}

// run runs the story to its stop, if there is one.
func (p power) run(fsys *faultfs.FS) error {
	_, err := p.then.on(p.t, fsys)
	fsys.Kill()
	return err
}

// oneMoreRun runs the story to its end. It retries what the Updater would retry.
func (s story) oneMoreRun(t testing.TB, open func() platform.FS) error {
	_, err := s.then.on(t, open())
	if fault, is := errors.AsType[*update.Fault](err); is && fault.Cause == update.DamagedDownload {
		_, err = s.then.on(t, open())
	}
	return err
}

// everyStop stops the story before and inside each operation.
func (p power) everyStop(begin *faultfs.Disk) {
	whole := begin.Clone().Open(faultfs.Options{})
	if err := p.run(whole); err != nil {
		p.t.Fatal(err)
	}
	ops := whole.Ops()
	for k := p.from; k <= whole.Count(); k += install.Stride() {
		for i, stop := range []func(*faultfs.FS, int){(*faultfs.FS).StopBefore, (*faultfs.FS).StopInside} {
			if i == 1 && ops[k-1].Verb != faultfs.Write {
				continue // other operations have no halves
			}
			fsys := begin.Clone().Open(faultfs.Options{})
			stop(fsys, k)
			p.run(fsys)
			p.n.stops.Add(1)
			at := fmt.Sprintf("stopped %s %v", []string{"before", "inside"}[i], ops[k-1])
			if !p.afterStop(fsys.Disk(), k, at) {
				return
			}
		}
	}
}

// afterStop checks every disk that a stop may leave, and stops the recovery of some of them.
func (p power) afterStop(d *faultfs.Disk, k int, at string) bool {
	for i, c := range cuts(k) {
		p.n.cuts.Add(1)
		after := d.Crash(c)
		if !p.holds(after, at+", "+c.String()) {
			return false
		}
		if (k+i)%p.step == 0 && !p.stopRecovery(after, at+", "+c.String()) {
			return false
		}
	}
	return k%p.step != 1 || p.stopRecovery(d.Clone(), at+", only the process")
}

// stopRecovery cuts the power at some moments of the recovering start.
func (p power) stopRecovery(d *faultfs.Disk, at string) bool {
	for k := 1; ; k++ {
		fsys := d.Clone().Open(faultfs.Options{})
		fsys.StopBefore(k)
		dir, err := open(fsys, false)
		if err == nil {
			err = dir.Close()
		}
		ended := fsys.Count() < k
		fsys.Kill()
		if ended {
			if err != nil {
				p.t.Errorf("%s: %v", at, err)
			}
			return err == nil
		}
		for _, c := range cuts(k)[:3] {
			p.n.again.Add(1)
			if !p.holds(fsys.Disk().Crash(c), fmt.Sprintf("%s; recovery stopped before %d, %s", at, k, c)) {
				return false
			}
		}
	}
}

// holds checks the promise on a disk.
func (p power) holds(d *faultfs.Disk, at string) bool {
	if err := p.promise(d); err != nil {
		p.t.Errorf("%s: %v", at, err)
		return false
	}
	return true
}

func (p power) promise(d *faultfs.Disk) error {
	had := strings.HasPrefix(p.allowed[0], "Lathe.so=") && strings.HasPrefix(p.allowed[len(p.allowed)-1], "Lathe.so=")
	if _, there := d.Files()["Lathe.so"]; had && !there && !strings.HasSuffix(p.t.Name(), "two_moves") {
		return fmt.Errorf("no live module: %v", d.Files())
	}
	fsys := d.Open(faultfs.Options{})
	dir, err := open(fsys, false)
	if err != nil {
		return fmt.Errorf("does not open: %w", err)
	}
	err = p.allows(d.Files())
	if err == nil && dir.Pending() && p.proven != "" {
		err = p.wayBack(d.Clone())
	}
	if err == nil {
		err = dir.Close()
	}
	fsys.Kill()
	if err != nil {
		return err
	}
	if err := p.oneMoreRun(p.t, func() platform.FS { return d.Open(faultfs.Options{}) }); err != nil {
		return fmt.Errorf("one more run: %w", err)
	}
	return p.last(d.Files())
}

// wayBack makes the set of a disk fail twice.
func (p power) wayBack(d *faultfs.Disk) error {
	p.n.ways.Add(1)
	fsys := d.Open(faultfs.Options{})
	defer fsys.Kill()
	dir, err := open(fsys, false)
	if err != nil {
		return err
	}
	for range 2 {
		if _, err := dir.FailedStart(context.Background(), "crash"); err != nil {
			return fmt.Errorf("no way back: %w", err)
		}
	}
	if got := setOf(d.Files()); got != withMine(p.proven) || dir.Pending() {
		return fmt.Errorf("the way back leads to\n%s, want\n%s", got, p.proven)
	}
	return dir.Close()
}

// careless is a folder that does not sync.
type careless struct{ platform.FS }

func (careless) SyncDir(string) error { return nil }

func (c careless) OpenFile(name string, flag int, perm fs.FileMode) (platform.File, error) {
	f, err := c.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return carelessFile{f}, nil
}

type carelessFile struct{ platform.File }

func (carelessFile) Sync() error { return nil }

// TestCarelessInstallIsCaught checks the harness: an installer without syncs breaks the promise in each story.
func TestCarelessInstallIsCaught(t *testing.T) {
	t.Parallel()
	for i, s := range stories() {
		if i%testlevel.Stride(1, 6) != 0 {
			continue
		}
		begin, caught := s.volume(t, faultfs.Config{}), 0
		p := power{s, t, &tally{}, 1, 1}
		whole := begin.Clone().Open(faultfs.Options{})
		if _, err := s.then.on(t, careless{whole}); err != nil {
			t.Fatal(err)
		}
		for k := 1; k <= whole.Count()+1 && caught == 0; k++ {
			fsys := begin.Clone().Open(faultfs.Options{})
			fsys.StopBefore(k)
			_, _ = s.then.on(t, careless{fsys})
			fsys.Kill()
			for _, c := range cuts(k) {
				if p.promise(fsys.Disk().Crash(c)) != nil {
					caught++
				}
			}
		}
		if caught == 0 {
			t.Errorf("%s: an installer without syncs was not caught", s.name)
		}
	}
}

// TestLargePartOutlivesAPowerCut: a part that is synced by itself is on the disk when the journal promises it.
func TestLargePartOutlivesAPowerCut(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("large", install.SyncAlone/5+1)
	disk := faultfs.New(faultfs.Config{})
	fsys := disk.Open(faultfs.Options{})
	if _, err := (start{blobs: packs("A.zip", content), portion: 1 << 20, stay: true}).on(t, fsys); err != nil {
		t.Fatal(err)
	}
	fsys.Kill()
	after := disk.Crash(faultfs.Keep(0, 0)) // only what was synced
	fsys = after.Open(faultfs.Options{})
	if _, err := (start{idle: true}).on(t, fsys); err != nil {
		t.Fatal(err)
	}
	fsys.Kill()
	if got := after.Files()["Resources/A.zip"]; got != content {
		t.Errorf("%d bytes of the pack are live after the power cut; want %d", len(got), len(content))
	}
}
