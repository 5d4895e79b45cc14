package publish_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"collet/build/publish"
	"collet/netproto/release/trust"
	"collet/platform"
	"collet/platform/faultfs"
	"collet/platform/testlevel"
)

// tiny is a game of few operations.
func tiny(n int) tree {
	return tree{
		"Resources/Core.zip":                  prose(1, 2000) + string(rune('0'+n)),
		"PlatformBinaries/Linux-x64/Lathe.so": noise(2, 600) + string(rune('0'+n)),
		"notes/en.md":                         "release " + string(rune('0'+n)),
	}
}

// crashFixture is a disk with release 1 on it, and release 2 to publish.
type crashFixture struct {
	*fixture
	disk *faultfs.Disk
	two  platform.FS
}

// newCrashFixture gives a copy of the fixture that is made once for each kind of disk: those of manners.
func newCrashFixture(t *testing.T, config faultfs.Config) *crashFixture {
	t.Helper()
	made, _ := crashFixtures.LoadOrStore(config.NoExchange, sync.OnceValue(func() *crashFixture {
		disk := faultfs.New(config)
		c := &crashFixture{fixture: newFixtureOn(t, disk.Open(faultfs.Options{})), disk: disk}
		c.publish(game(t, tiny(1)), publish.Request{})
		disk.Settle()
		return c
	}))
	first := made.(func() *crashFixture)()
	disk := first.disk.Clone()
	s := *first.fixture
	s.t, s.fs = t, disk.Open(faultfs.Options{})
	return &crashFixture{fixture: &s, disk: disk, two: game(t, tiny(2))}
}

// crashFixtures are the fixtures, by whether folders can't change places in one step.
var crashFixtures sync.Map

// try publishes release 2 on a disk, as a process that may end at any moment.
func (c *crashFixture) try(ctx context.Context, fsys platform.FS, progress func(publish.Progress)) error {
	o := c.options()
	o.Workers, o.Progress = 1, progress
	f, err := publish.Open(fsys, o)
	if err != nil {
		return err
	}
	_, err = f.Publish(ctx, c.two, publish.Request{Number: 2, Effort: publish.EffortFast}, c.keys.online())
	return errors.Join(err, f.Close())
}

// whole demands that a reader of the disk gets release 1 or release 2, all of it, and returns which.
func (c *crashFixture) whole(disk *faultfs.Disk, when string) uint64 {
	c.t.Helper()
	fsys := disk.Open(faultfs.Options{})
	defer fsys.Kill()
	r, err := c.read(fsys, query("stable", linux, 1))
	if err != nil {
		c.t.Fatalf("%s: a reader gets %v", when, err)
	}
	got, err := r.files(fsys)
	if err == nil {
		err = same(got, tiny(int(r.Number)).setOf(linux))
	}
	if err != nil || r.Number > 2 {
		c.t.Fatalf("%s: release %d: %v", when, r.Number, err)
	}
	return r.Number
}

// TestPublishStoppedAnywhere ends the publisher at every operation on the disk, kills it or cuts the power. Readers see the
// release before or the new one, and the same command then makes the new one.
func TestPublishStoppedAnywhere(t *testing.T) {
	t.Parallel()
	c := newCrashFixture(t, faultfs.Config{})
	counter := c.disk.Clone().Open(faultfs.Options{})
	must(t, c.try(context.Background(), counter, nil))
	total := counter.Count()
	counter.Kill()
	if total < 80 {
		t.Fatalf("only %d operations", total)
	}
	stops := []func(*faultfs.FS, int){(*faultfs.FS).StopInside, (*faultfs.FS).StopBefore, (*faultfs.FS).StopAfter}
	seen, every := map[uint64]int{}, testlevel.Stride(11, 33)
	for k := 1; k <= total; k++ {
		for kind, stop := range stops {
			if every == 1 && kind > 0 && k%8 != 0 {
				continue // before one operation is mostly after another
			}
			if every > 1 && (k%every != 0 || k/every%len(stops) != kind) {
				continue
			}
			disk := c.disk.Clone()
			fsys := disk.Open(faultfs.Options{})
			stop(fsys, k)
			err := c.try(context.Background(), fsys, nil)
			fsys.Kill()
			when := func(what string) string {
				return fmt.Sprintf("%s, operation %d, stop %d", what, k, kind)
			}
			if err != nil && !errors.Is(err, faultfs.ErrStopped) {
				t.Fatalf("operation %d: %v", k, err)
			}
			seen[c.whole(disk, when("killed"))]++
			for _, cut := range []faultfs.Cut{faultfs.Keep(0, 1), faultfs.Keep(50, uint64(k)), faultfs.Keep(100, 1), {Names: 50, Data: 0, Seed: uint64(k), Unordered: true}} {
				after := disk.Crash(cut)
				seen[c.whole(after, when("power cut at "+cut.String()))]++
				if cut.Names == 50 && k%8 == kind {
					c.again(after, when("after "+cut.String()))
				}
			}
		}
	}
	if seen[1] == 0 || seen[2] == 0 {
		t.Errorf("seen %v", seen)
	}
	t.Logf("%d operations, readers saw release 1 %d times and 2 %d times", total, seen[1], seen[2])
}

// again publishes once more, as after a power cut.
func (c *crashFixture) again(disk *faultfs.Disk, when string) {
	c.t.Helper()
	fsys := disk.Open(faultfs.Options{})
	if err := c.try(context.Background(), fsys, nil); err != nil {
		c.t.Fatalf("%s: publish again: %v", when, err)
	}
	fsys.Kill()
	if n := c.whole(disk, when); n != 2 {
		c.t.Fatalf("%s: published again, and readers get release %d", when, n)
	}
	if n := c.whole(disk.Crash(faultfs.Keep(0, 1)), when+", power cut"); n != 2 {
		c.t.Fatalf("%s: a release that was published is lost by a power cut: %d", when, n)
	}
}

// TestPublishOnAFullDisk fills the disk at every byte count up to what a publication writes.
func TestPublishOnAFullDisk(t *testing.T) {
	t.Parallel()
	c := newCrashFixture(t, faultfs.Config{})
	done, every := false, int64(testlevel.Stride(5, 20))
	for free := int64(0); !done; free += 1997 * every {
		disk := c.disk.Clone()
		disk.SetFree(free)
		fsys := disk.Open(faultfs.Options{})
		err := c.try(context.Background(), fsys, nil)
		fsys.Kill()
		if done = err == nil; done {
			break
		}
		if !platform.IsDiskFull(err) {
			t.Fatalf("%d bytes free: %v", free, err)
		}
		if free > 1997 && !strings.Contains(err.Error(), "make room") {
			t.Fatalf("%d bytes free: it does not say what to do: %v", free, err)
		}
		c.whole(disk, "full disk")
		disk.SetFree(1 << 30)
		c.again(disk, "room was made")
	}
}

// TestPublishInterrupted presses Ctrl-C at every report of progress.
func TestPublishInterrupted(t *testing.T) {
	t.Parallel()
	c := newCrashFixture(t, faultfs.Config{})
	more := testlevel.Stride(3, 6) - 1
	for at := 0; ; at += 1 + at/4 + at*more {
		ctx, cancel := context.WithCancel(context.Background())
		disk, n := c.disk.Clone(), 0
		fsys := disk.Open(faultfs.Options{})
		err := c.try(ctx, fsys, func(publish.Progress) {
			if n++; n > at {
				cancel()
			}
		})
		cancel()
		fsys.Kill()
		if n <= at {
			must(t, err)
			return
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("report %d: %v", at, err)
		}
		if got := c.whole(disk, "interrupted"); err == nil && got != 2 || err != nil && got != 1 && at < n-3 {
			t.Fatalf("report %d: release %d, %v", at, got, err)
		}
		c.again(disk, "interrupted")
	}
}

// TestPublishGoesOnWhereItStopped: objects of a run that was interrupted in any stage are not made again.
func TestPublishGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	goesOn(t, newCrashFixture(t, faultfs.Config{}), "pack", "chunks", "patch from 1", "sign")
}

// TestPublishOfManyGoesOn is the same for a release with a solid form and an expanded patch.
func TestPublishOfManyGoesOn(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	disk := faultfs.New(faultfs.Config{})
	c := &crashFixture{fixture: newFixtureOn(t, disk.Open(faultfs.Options{})), disk: disk}
	c.publish(game(t, manyFiles(1).with(tree{"Resources/Core.zip": deflatedPack(t, 1, 20)})), publish.Request{})
	disk.Settle()
	c.two = game(t, manyFiles(2).with(tree{"Resources/Core.zip": deflatedPack(t, 2, 20), "Resources/New.js": prose(7, 300_000)}))
	goesOn(t, c, "pack together", "expanded patch from 1", "sign")
}

// goesOn interrupts the publication of release 2 at each of these steps, and publishes it again.
func goesOn(t *testing.T, c *crashFixture, steps ...string) {
	t.Helper()
	for _, doing := range steps {
		reached := false
		ctx, cancel := context.WithCancel(context.Background())
		disk, stages := c.disk.Clone(), []int{0}
		first := disk.Open(faultfs.Options{})
		err := c.try(ctx, first, func(p publish.Progress) {
			if p.Stages != 5 || p.Stage < stages[len(stages)-1] {
				t.Errorf("%s is stage %d of %d", p.Doing, p.Stage, p.Stages)
			}
			stages = append(stages, p.Stage)
			if p.Doing == doing && p.Done == p.Total { // a step without bytes begins so
				reached = true
				cancel()
			}
		})
		cancel()
		if !errors.Is(err, context.Canceled) && err != nil {
			t.Fatal(err)
		}
		if !reached {
			t.Errorf("there is no step %q", doing)
		}
		made := map[string]bool{}
		for _, op := range first.Ops() {
			made[op.To] = true
		}
		fsys := disk.Open(faultfs.Options{})
		must(t, c.try(context.Background(), fsys, nil))
		n := 0
		for _, op := range fsys.Ops() {
			if strings.HasPrefix(op.To, "objects/") {
				if n++; made[op.To] {
					t.Errorf("interrupted at %s, and made again: %s", doing, op.To)
				}
			}
		}
		t.Logf("interrupted at %s: %d more objects", doing, n)
	}
}

// TestAnUnfinishedRotationIsFinished stops the installation of a new root at every operation, or at every third one.
func TestAnUnfinishedRotationIsFinished(t *testing.T) {
	t.Parallel()
	c := newCrashFixture(t, faultfs.Config{})
	fresh, err := trust.GenerateKey(false)
	must(t, err)
	online := append([]*trust.PrivateKey{fresh}, c.keys.online()[1:]...)
	f := c.open()
	draft, err := f.Draft(trust.RootPlan{trust.RoleTargets: {Keys: []trust.PublicKey{fresh.Public()}}}, c.keys.all[:2])
	must(t, errors.Join(err, f.Close()))
	install := func(fsys platform.FS) error {
		f, err := publish.Open(fsys, c.options())
		if err != nil {
			return err
		}
		return errors.Join(f.Install(context.Background(), draft, online), f.Close())
	}
	for k := 1; ; k += testlevel.Stride(3, 9) {
		disk := c.disk.Clone()
		fsys := disk.Open(faultfs.Options{})
		fsys.StopInside(k)
		err := install(fsys)
		fsys.Kill()
		if err == nil {
			break
		}
		after := disk.Crash(faultfs.Keep(50, uint64(k)))
		next := after.Open(faultfs.Options{})
		if f, err := publish.Open(next, c.options()); err != nil {
			t.Fatalf("operation %d: %v", k, err)
		} else {
			_, info, _ := f.Root()
			must(t, f.Close())
			if info.Version == 1 {
				must(t, install(next))
			}
		}
		next.Kill()
		c.whole(after, "rotation finished")
	}
}
