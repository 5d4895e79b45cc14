package qa

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"collet/build/qa/report"
)

// poweredDisk is a mounted copy of an image. It is used by one goroutine.
type poweredDisk struct {
	lab     *diskLab
	kind    string
	withLog bool
	image   string
	mount   string
}

// dir returns the install folder.
func (p *poweredDisk) dir() string { return filepath.Join(p.mount, "install") }

// mount mounts a fresh copy of an image. The caller unplugs it.
func (d *diskLab) mount(ctx context.Context, kind string, withLog bool) (*poweredDisk, error) {
	if refused := d.imaged[kind]; refused != nil {
		return nil, &skipError{kind + " can't be tried here: " + refused.Error()}
	}
	home, err := os.MkdirTemp(d.images, "cut-")
	if err != nil {
		return nil, err
	}
	p := &poweredDisk{lab: d, kind: kind, withLog: withLog, image: filepath.Join(home, "image"), mount: filepath.Join(home, "mount")}
	if err = copyImage(p.image, d.template(kind)); err == nil {
		err = mountImage(ctx, kind, p.image, p.mount)
	}
	if err != nil {
		return nil, errors.Join(err, p.unmount())
	}
	return p, nil
}

// unmount unmounts and removes the copy.
func (p *poweredDisk) unmount() error {
	return errors.Join(unmount(p.mount), os.RemoveAll(filepath.Dir(p.image)))
}

// cut cuts the power.
func (p *poweredDisk) cut() error { return cutPower(p.mount, p.withLog) }

// restart simulates the machine's next boot.
func (p *poweredDisk) restart(ctx context.Context) error {
	if err := unmount(p.mount); err != nil {
		return err
	}
	return mountImage(ctx, p.kind, p.image, p.mount)
}

func cutParams(kind string, withLog bool, more ...report.Param) []report.Param {
	lost := "all unsynced"
	if withLog {
		lost = "unsynced bytes"
	}
	return append([]report.Param{{Name: "fs", Value: kind}, {Name: "lost", Value: lost}}, more...)
}

// cutTry plans a cut after a time.
func (d *diskLab) cutTry(kind string, withLog bool, number string, at time.Duration) try {
	again := d.recoveryKills(d.chance, d.options.Depth)
	return try{
		name:   "power cut at a random moment",
		params: cutParams(kind, withLog, report.Param{Name: "cut", Value: number}, report.Param{Name: "at", Value: milliseconds(at)}),
		do: func(ctx context.Context) (report.State, string, error) {
			return d.onPower(ctx, kind, withLog, again, func(p *poweredDisk) (note, problem string, err error) {
				return p.playUntilCut(ctx, at)
			})
		},
	}
}

// cutAfterTry plans a cut right after the client reported success.
func (d *diskLab) cutAfterTry(kind string, withLog bool) try {
	return try{
		name: "power cut when the update is over", params: cutParams(kind, withLog),
		do: func(ctx context.Context) (report.State, string, error) {
			return d.onPower(ctx, kind, withLog, nil, func(p *poweredDisk) (note, problem string, err error) {
				return p.playUntilCut(ctx, never)
			})
		},
	}
}

// never is a time longer than any update.
const never = 24 * time.Hour

// onPower runs a case on a copy of an image; play ends with the power cut. During each recovery in again the power is cut once more.
func (d *diskLab) onPower(ctx context.Context, kind string, withLog bool, again []clientRun, play func(p *poweredDisk) (note, problem string, err error)) (state report.State, detail string, err error) {
	p, err := d.mount(ctx, kind, withLog)
	if err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, p.unmount()) }()
	note, problem, err := play(p)
	if err != nil || problem != "" {
		return verdict(problem, note, err)
	}
	for _, r := range again {
		if err := p.cutRecovery(ctx, r); err != nil {
			return "", "", err
		}
	}
	if err := p.restart(ctx); err != nil {
		return "", "", err
	}
	problem, err = d.checkInstall(ctx, p.dir(), nil)
	return verdict(problem, note, err)
}

// playUntilCut plays the update run by run, and cuts the power after a time or at the end.
func (p *poweredDisk) playUntilCut(ctx context.Context, at time.Duration) (note, problem string, err error) {
	isCut := false
	var failed error
	note, problem, err = p.lab.playUntil(ctx, p.dir(), at, clientRun{onKill: func() { isCut, failed = true, p.cut() }})
	if !isCut {
		failed = p.cut()
	}
	return note, problem, errors.Join(err, failed)
}

// cutRecovery restores the power, lets the client recover, and cuts the power during that or at its end.
func (p *poweredDisk) cutRecovery(ctx context.Context, r clientRun) error {
	if err := p.restart(ctx); err != nil {
		return err
	}
	isCut := false
	var failed error
	r.offline, r.onKill = true, func() { isCut, failed = true, p.cut() }
	_, err := p.lab.client.run(ctx, p.dir(), r)
	if !isCut {
		failed = p.cut()
	}
	return errors.Join(err, failed)
}

// cutPoints lists the operations for power cuts; empty without a client with crash points.
func (d *diskLab) cutPoints(ctx context.Context) (points []operation, err error) {
	if d.options.Points == "" {
		return nil, nil
	}
	for run := range d.stages {
		found, err := d.listPoints(ctx, run, d.options.Points)
		if err != nil {
			return nil, err
		}
		points = append(points, found...)
	}
	return points, nil
}

// cutPointTry plans a cut before one operation. A cut after it equals one before the next.
func (d *diskLab) cutPointTry(kind string, withLog bool, at operation) try {
	return try{
		name:   "power cut at " + at.text,
		params: cutParams(kind, withLog, report.Param{Name: "run", Value: fmt.Sprint(at.run + 1)}, report.Param{Name: "operation", Value: at.number}),
		do: func(ctx context.Context) (report.State, string, error) {
			return d.onPower(ctx, kind, withLog, nil, func(p *poweredDisk) (note, problem string, err error) {
				return p.playToPoint(ctx, at)
			})
		},
	}
}

// playToPoint plays the runs before the point, stops the client there, and cuts the power.
func (p *poweredDisk) playToPoint(ctx context.Context, at operation) (note, problem string, err error) {
	for n := range at.run {
		end, err := p.lab.client.run(ctx, p.dir(), clientRun{})
		if err != nil || end.code != exitReady {
			return "", fmt.Sprintf("run %d, undisturbed so far: %v; it printed:\n%s", n+1, end, end.tail()), err
		}
	}
	end, err := p.lab.client.run(ctx, p.dir(), clientRun{
		program: p.lab.options.Points, env: []string{crashAtVariable + "=" + at.number + ":before"},
	})
	if err = errors.Join(err, p.cut()); err != nil {
		return "", "", err
	}
	switch {
	case end.code == exitReady:
		return "the run did fewer operations than the undisturbed one; the power was cut at its end", "", nil
	case end.code > 0 || end.hung:
		problem = fmt.Sprintf("the client did not die at the point: %v; it printed:\n%s", end, end.tail())
	}
	return "", problem, nil
}
