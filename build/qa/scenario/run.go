package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"collet/build/qa/report"
	"collet/platform"
	"collet/platform/faultfs"
)

// run is a scenario in one direction on one kind of volume.
type run struct {
	*Scenario
	direction string
	volume    string
	seed      uint64
	scratch   string

	from, to tree
	faults   []fault
	crashes  int // number of tried crashes
}

// runsOf returns the runs of a scenario: one for each direction and volume.
func (s *Scenario) runsOf(o Options) (runs []*run) {
	volumes := s.volumes
	if o.Real {
		volumes = []string{realDisk}
	}
	for _, direction := range s.directions {
		for _, volume := range volumes {
			r := &run{Scenario: s, direction: direction, volume: volume, seed: o.Seed, scratch: o.Scratch}
			r.from, r.to = s.sides["old"], s.sides["new"]
			if direction == backward {
				r.from, r.to = r.to, r.from
			}
			for _, f := range s.faults {
				if f.direction == "" || f.direction == direction {
					r.faults = append(r.faults, f)
				}
			}
			runs = append(runs, r)
		}
	}
	return runs
}

// play plays the scenario and returns the result.
func (r *run) play(ctx context.Context) report.Case {
	started := time.Now()
	c := report.Case{Suite: "scenarios", Name: r.Name, Params: []report.Param{{Name: "direction", Value: r.direction}, {Name: "volume", Value: r.volume}}, State: report.OK, Detail: r.About}
	err := r.playAll(ctx)
	var skipped *skipError
	switch {
	case errors.As(err, &skipped):
		c.State, c.Detail = report.Skipped, skipped.reason
	case err != nil:
		c.State, c.Detail = report.Violation, r.About+"\n"+err.Error()
	case r.crashes > 0:
		c.Detail += fmt.Sprintf("\n%d crashes", r.crashes)
	}
	c.Took = time.Since(started)
	return c
}

// skipError is the reason why a scenario can't be played here.
type skipError struct{ reason string }

func (e *skipError) Error() string { return e.reason }

// playAll plays the scenario once, or once for each of its crashes.
func (r *run) playAll(ctx context.Context) error {
	if r.volume == realDisk && slices.ContainsFunc(r.faults, func(f fault) bool { return f.crash != nil || f.inject != nil || f.free >= 0 }) {
		return &skipError{"it needs a disk that fails on demand"}
	}
	v, err := r.prepared(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(r.faults, func(f fault) bool { return f.crash != nil })
	if at < 0 {
		return errors.Join(r.playOnce(ctx, v, 0, "", -1), v.close())
	}
	crash, count := r.faults[at].crash, 0
	disk := v.disk.Clone()
	probe := &volume{disk: disk, fsys: disk.Open(faultfs.Options{})}
	if count, err = r.count(ctx, probe); err != nil {
		return fmt.Errorf("without the crash: %w", err)
	}
	first, last := 1, count
	if crash.op > 0 {
		first, last = crash.op, crash.op
	}
	if first > count {
		return fmt.Errorf("%w: there are only %d operations", &textError{r.file, r.faults[at].line, r.faults[at].text}, count)
	}
	for op := first; op <= last; op++ {
		for _, moment := range crash.moments {
			for _, kept := range crash.kept {
				disk := v.disk.Clone()
				again := &volume{disk: disk, fsys: disk.Open(faultfs.Options{})}
				r.crashes++
				if err := r.playOnce(ctx, again, op, moment, kept); err != nil {
					return fmt.Errorf("crash %s operation %d of %d, kept %d (-1: all): %w", moment, op, count, kept, err)
				}
			}
		}
	}
	return nil
}

func (v *volume) close() error {
	if v.disk != nil {
		return nil
	}
	return errors.Join(v.fsys.Close(), os.RemoveAll(v.dir))
}

// prepared returns a volume with the old set, the files of player and others, and the changes before the update.
func (r *run) prepared(ctx context.Context) (v *volume, err error) {
	v = &volume{}
	if r.volume == realDisk {
		if v.dir, err = os.MkdirTemp(r.scratch, "collet-scenario-"); err != nil {
			return nil, err
		}
		if v.fsys, err = platform.OpenDir(v.dir); err != nil {
			return nil, errors.Join(err, os.RemoveAll(v.dir))
		}
	} else {
		v.disk = faultfs.New(faultfs.Config{NoExchange: r.volume == moving, FoldCase: r.volume == folding})
		v.fsys = v.disk.Open(faultfs.Options{})
	}
	if err := r.install(ctx, v); err != nil {
		return nil, errors.Join(err, v.close())
	}
	return v, nil
}

func (r *run) install(ctx context.Context, v *volume) error {
	switch r.begin {
	case beginConfirmed:
		first := r.client(r.process(v))
		first.packs = false
		if err := first.update(ctx, r.from); err != nil {
			return fmt.Errorf("the set that is there before: %w", err)
		}
	case beginPlanted:
		if err := v.plant(r.from); err != nil {
			return err
		}
	}
	if err := errors.Join(v.plant(r.sides["disk"]), v.plant(r.sides["player"])); err != nil {
		return err
	}
	if err := r.change(v, whenBefore); err != nil {
		return err
	}
	if v.disk != nil {
		v.disk.Settle()
	}
	return nil
}

func (v *volume) plant(tree tree) error {
	for _, name := range tree.names() {
		if err := v.writeFile(name, tree[name]); err != nil {
			return err
		}
	}
	return nil
}

// change applies the faults that change files at a moment.
func (r *run) change(v *volume, when string) error {
	for _, f := range r.faults {
		if f.change != nil && f.when == when {
			if err := f.change(v); err != nil {
				return fmt.Errorf("%w: %w", &textError{r.file, f.line, "fault " + f.text}, err)
			}
		}
	}
	return nil
}

func (r *run) changes(when string) bool {
	return slices.ContainsFunc(r.faults, func(f fault) bool { return f.change != nil && f.when == when })
}

// process returns the file system of a new process on the volume.
func (r *run) process(v *volume) platform.FS {
	if v.disk != nil {
		return v.disk.Open(faultfs.Options{})
	}
	return v.fsys
}

func (r *run) client(fsys platform.FS) *client {
	return &client{scenario: r.Scenario, fsys: fsys, verify: r.verify, packs: r.resources}
}

// count plays the update without the crash and returns the number of its operations.
func (r *run) count(ctx context.Context, v *volume) (int, error) {
	fsys := v.disk.Open(faultfs.Options{})
	err := r.disturbed(ctx, v, fsys)
	return fsys.Count(), err
}

// playOnce plays the update and all following runs, and checks the results. op 0 means no crash.
func (r *run) playOnce(ctx context.Context, v *volume, op int, moment string, kept int) error {
	fsys := r.process(v)
	if mem, is := fsys.(*faultfs.FS); is {
		r.arm(v, mem, op, moment)
	}
	err := r.disturbed(ctx, v, fsys)
	if mem, is := fsys.(*faultfs.FS); is {
		mem.Heal()
		mem.Kill()
		if v.disk.SetFree(1 << 40); op > 0 && kept >= 0 {
			v.disk = v.disk.Crash(faultfs.Keep(kept, r.seed+uint64(op)))
		}
		v.fsys = v.disk.Open(faultfs.Options{})
	}
	if err := r.judgeUpdate(err, op > 0); err != nil {
		return err
	}
	if err := r.change(v, whenCrashed); err != nil {
		return err
	}
	if err := r.client(r.process(v)).recover(ctx); err != nil {
		return err
	}
	if err := r.judgeRecovered(v); err != nil {
		return err
	}
	for range r.runs {
		err = r.client(r.process(v)).update(ctx, r.to)
	}
	return r.judgeEnd(ctx, v, err)
}

// arm prepares the faults of a process.
func (r *run) arm(v *volume, fsys *faultfs.FS, op int, moment string) {
	switch moment {
	case "before":
		fsys.StopBefore(op)
	case "inside":
		fsys.StopInside(op)
	case "after":
		fsys.StopAfter(op)
	}
	for _, f := range r.faults {
		if f.inject != nil {
			f.inject(fsys)
		}
		if f.free >= 0 {
			v.disk.SetFree(f.free)
		}
	}
}

// disturbed is the run with all faults.
func (r *run) disturbed(ctx context.Context, v *volume, fsys platform.FS) error {
	c, fails := r.client(fsys), 0
	for _, f := range r.faults {
		fails += f.fails
		if f.clock != nil {
			c.now = f.clock(clientTime())
		}
		if f.offline {
			return c.recover(ctx)
		}
	}
	err := c.openInstall(ctx)
	if err != nil {
		return err
	}
	if err := c.fetch(ctx, r.to); err != nil {
		return cmp.Or(err, c.dir.Close())
	}
	if r.changes(whenPrepared) {
		return cmp.Or(c.dir.Close(), r.change(v, whenPrepared))
	}
	if r.changes(whenPending) {
		return cmp.Or(c.dir.Promote(ctx), c.dir.Close(), r.change(v, whenPending))
	}
	return cmp.Or(c.prove(ctx, fails), c.dir.Close())
}

// judgeUpdate checks that the update failed only because of a fault, and with the expected text.
func (r *run) judgeUpdate(err error, crashed bool) error {
	refused := r.expected(r.direction, expectRefused, "")
	var wrong *textError
	switch {
	case errors.As(err, &wrong):
		return err
	case refused != "" && err == nil:
		return fmt.Errorf("the update should have been refused with %q, and was not", refused)
	case refused != "" && !strings.Contains(err.Error(), refused):
		return fmt.Errorf("the update should have been refused with %q, and was with: %w", refused, err)
	case err == nil, refused != "", crashed, r.disturbs():
		return nil
	default:
		return fmt.Errorf("the update failed: %w", err)
	}
}

// disturbs reports whether a fault may cause the update to fail.
func (r *run) disturbs() bool {
	return slices.ContainsFunc(r.faults, func(f fault) bool {
		return f.inject != nil || f.free >= 0 || f.change != nil
	})
}
