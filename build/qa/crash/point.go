package crash

import (
	"fmt"
	"strconv"
	"strings"

	"collet/platform/faultfs"
)

// Moments of an operation.
const (
	crashBefore = "before"
	crashInside = "inside" // of a write, half of the bytes arrived; other operations have no inside
	crashAfter  = "after"  // the caller has no result yet
	crashEnd    = "end"    // after the last operation, when all were reported as done
)

// crashPoint is one stop of a run.
type crashPoint struct {
	op   int
	when string
	crashSurvival
}

// String formats the point for --only.
func (p crashPoint) String() string { return fmt.Sprintf("%d:%s:%s:%d", p.op, p.when, p.kept, p.seed) }

// at returns the same moment with another survival.
func (p crashPoint) at(s crashSurvival) crashPoint { p.crashSurvival = s; return p }

// parseCrashPoints parses op:when:kept:seed, and after a slash the same for a stop in the recovering start. Empty text has no points.
func parseCrashPoints(text string) (points []crashPoint, err error) {
	if text == "" {
		return nil, nil
	}
	parts := strings.Split(text, "/")
	for _, part := range parts {
		p, ok := parseCrashPoint(part)
		if !ok || len(parts) > 2 {
			return nil, fmt.Errorf("%w: point %q: want op:when:kept:seed, and for recovery the same again behind a slash, for example 12:before:50:1/3:after:0:0", ErrUsage, text)
		}
		points = append(points, p)
	}
	return points, nil
}

func parseCrashPoint(text string) (p crashPoint, ok bool) {
	f := strings.Split(text, ":")
	if len(f) != 4 {
		return p, false
	}
	op, err := strconv.Atoi(f[0])
	seed, err2 := strconv.ParseUint(f[3], 10, 64)
	p = crashPoint{op, f[1], crashSurvival{f[2], seed}}
	known := p.when == crashBefore || p.when == crashInside || p.when == crashAfter || p.when == crashEnd
	return p, err == nil && err2 == nil && op >= 0 && known && knownSurvival(p.kept)
}

// crashWalk is one run on a disk, and a callback for each moment.
type crashWalk struct {
	disk *faultfs.Disk                               // never changed
	run  func(*faultfs.FS) error                     // its error contains ErrStopped if it was stopped
	look func(crashPoint, faultfs.Op, *faultfs.Disk) // at each moment; must not keep the disk
	only *crashPoint                                 // only this moment; nil: all
}

// walk visits all moments: those between operations in one run, with a callback on the disk before and after each, and those inside writes
// in one run each.
func (w crashWalk) walk() (ops []faultfs.Op, err error) {
	disk := w.disk.Clone()
	fsys := disk.Open(faultfs.Options{
		Before: func(o faultfs.Op) { w.visit(crashPoint{op: o.Number, when: crashBefore}, o, disk) },
		After:  func(o faultfs.Op) { w.visit(crashPoint{op: o.Number, when: crashAfter}, o, disk) },
	})
	if err := w.run(fsys); err != nil {
		return nil, err
	}
	ops = fsys.Ops()
	w.visit(crashPoint{op: len(ops), when: crashEnd}, faultfs.Op{Number: len(ops)}, disk)
	for _, o := range ops {
		if p := (crashPoint{op: o.Number, when: crashInside}); o.Verb == faultfs.Write && w.wants(p) {
			w.inside(p, o)
		}
	}
	return ops, nil
}

func (w crashWalk) inside(p crashPoint, o faultfs.Op) {
	disk := w.disk.Clone()
	fsys := disk.Open(faultfs.Options{})
	fsys.StopInside(o.Number)
	w.run(fsys) // ends with ErrStopped
	w.look(p, o, disk)
}

func (w crashWalk) wants(p crashPoint) bool {
	return w.only == nil || w.only.op == p.op && w.only.when == p.when
}

func (w crashWalk) visit(p crashPoint, o faultfs.Op, d *faultfs.Disk) {
	if w.wants(p) {
		w.look(p, o, d)
	}
}
