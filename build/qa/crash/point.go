package crash

import (
	"fmt"
	"strconv"
	"strings"

	"collet/platform/faultfs"
)

// Moments of an operation.
const (
	momentBefore = "before"
	momentInside = "inside" // of a write, half of the bytes arrived; other operations have no inside
	momentAfter  = "after"  // the caller has no result yet
	momentEnd    = "end"    // after the last operation, when all were reported as done
)

// point is one stop of a run.
type point struct {
	op   int
	when string
	survival
}

// String formats the point for --only.
func (p point) String() string { return fmt.Sprintf("%d:%s:%s:%d", p.op, p.when, p.kept, p.seed) }

// at returns the same moment with another survival.
func (p point) at(s survival) point { p.survival = s; return p }

// parsePoints parses op:when:kept:seed, and after a slash the same for a stop in the recovering start. Empty text has no points.
func parsePoints(text string) (points []point, err error) {
	if text == "" {
		return nil, nil
	}
	parts := strings.Split(text, "/")
	for _, part := range parts {
		p, ok := parsePoint(part)
		if !ok || len(parts) > 2 {
			return nil, fmt.Errorf("%w: point %q: want op:when:kept:seed, and for recovery the same again behind a slash, for example 12:before:50:1/3:after:0:0", ErrUsage, text)
		}
		points = append(points, p)
	}
	return points, nil
}

func parsePoint(text string) (p point, ok bool) {
	f := strings.Split(text, ":")
	if len(f) != 4 {
		return p, false
	}
	op, err := strconv.Atoi(f[0])
	seed, err2 := strconv.ParseUint(f[3], 10, 64)
	p = point{op, f[1], survival{f[2], seed}}
	known := p.when == momentBefore || p.when == momentInside || p.when == momentAfter || p.when == momentEnd
	return p, err == nil && err2 == nil && op >= 0 && known && knownSurvival(p.kept)
}

// walker is one run on a disk, and a callback for each moment.
type walker struct {
	disk *faultfs.Disk                          // never changed
	run  func(*faultfs.FS) error                // its error contains ErrStopped if it was stopped
	look func(point, faultfs.Op, *faultfs.Disk) // at each moment; must not keep the disk
	only *point                                 // only this moment; nil: all
}

// walk visits all moments: those between operations in one run, with a callback on the disk before and after each, and those inside writes
// in one run each.
func (w walker) walk() (ops []faultfs.Op, err error) {
	disk := w.disk.Clone()
	fsys := disk.Open(faultfs.Options{
		Before: func(o faultfs.Op) { w.visit(point{op: o.Number, when: momentBefore}, o, disk) },
		After:  func(o faultfs.Op) { w.visit(point{op: o.Number, when: momentAfter}, o, disk) },
	})
	if err := w.run(fsys); err != nil {
		return nil, err
	}
	ops = fsys.Ops()
	w.visit(point{op: len(ops), when: momentEnd}, faultfs.Op{Number: len(ops)}, disk)
	for _, o := range ops {
		if p := (point{op: o.Number, when: momentInside}); o.Verb == faultfs.Write && w.wants(p) {
			w.inside(p, o)
		}
	}
	return ops, nil
}

func (w walker) inside(p point, o faultfs.Op) {
	disk := w.disk.Clone()
	fsys := disk.Open(faultfs.Options{})
	fsys.StopInside(o.Number)
	w.run(fsys) // ends with ErrStopped
	w.look(p, o, disk)
}

func (w walker) wants(p point) bool {
	return w.only == nil || w.only.op == p.op && w.only.when == p.when
}

func (w walker) visit(p point, o faultfs.Op, d *faultfs.Disk) {
	if w.wants(p) {
		w.look(p, o, d)
	}
}
