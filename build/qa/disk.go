package qa

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

const (
	// diskSuite is the suite of the cases that Disk tries.
	diskSuite = "disk"
	// diskRoom is the size of the memory that holds images during a run, in bytes; what is not written takes none.
	diskRoom = 4 << 30
	// diskCaution is how much more room than the new set a client may ask for before it begins, in bytes.
	diskCaution = 20 << 20
)

// imageSizes are the sizes of the file systems whose power is cut, in bytes: mkfs.xfs refuses less than 300 MB.
var imageSizes = map[string]int64{"ext4": 64 << 20, "xfs": 320 << 20}

// DiskOptions say which file systems are tried.
type DiskOptions struct {
	Sizes  int      // how many disks that are too small, growing; as many that get full during the download; and as many without names
	Kinds  []string // the file systems whose power is cut: "ext4", "xfs"; none: no power is cut
	Cuts   int      // power cuts at random moments, for each file system and each way of cutting
	Points string   // a client built with the tag crashpoints: the power is cut at every operation, too; empty: it is not
	Depth  int      // 2: the power of a second client, which recovers, is cut as well; 1: it is not
	Faults int      // how many calls of one kind fail, one in each case, where a tracer is there
	Seed   uint64
	Jobs   int
}

// diskLab is a lab with file systems of its own.
type diskLab struct {
	*Lab
	options DiskOptions
	images  string           // folder of the images
	refused error            // why nothing can be mounted here; nil when it can
	imaged  map[string]error // by kind of file system: why it can't be tried; nil when it can
	chance  *rand.Rand       // for planning only
	sizes   map[string]int64 // of images
}

// Disk runs the client of a lab on small, failing and powerless file systems, which it makes, and judges each case as Real
// does. What needs rights or programs that are not there is skipped and says so. All mounts are gone when it returns. The
// error is that of ctx, or that there is nothing to try.
func Disk(ctx context.Context, l *Lab, o DiskOptions, tell LabTell) (err error) {
	d := &diskLab{
		Lab: l, options: o, images: filepath.Join(l.folder, "images"), chance: rand.New(rand.NewPCG(o.Seed, 4)),
		imaged: map[string]error{}, sizes: imageSizes,
	}
	defer func() { err = errors.Join(err, d.close()) }()
	if err := d.prepare(ctx); err != nil {
		return err
	}
	full, err := d.fullDisks()
	if err != nil {
		return err
	}
	cuts, err := d.powerCuts(ctx)
	if err != nil {
		return err
	}
	tries := append(full, d.failingDisks()...)
	tries = append(tries, d.tracedFaults(ctx)...)
	return labTries(ctx, diskSuite, append(tries, cuts...), o.Jobs, tell)
}

// prepare finds out what can be mounted, and makes an image with the old set for each kind of file system. Images lie in
// memory, where that can be had: a file's sync on one is a copy, and no wear.
func (d *diskLab) prepare(ctx context.Context) error {
	if err := os.MkdirAll(d.images, 0o755); err != nil {
		return err
	}
	d.refused = mountMemory(d.images, diskRoom, 0)
	for _, kind := range d.options.Kinds {
		err := d.refused
		if err == nil {
			err = d.makeTemplate(ctx, kind)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		d.imaged[kind] = err
	}
	return nil
}

// close gives the memory back.
func (d *diskLab) close() error {
	if d.refused != nil {
		return nil
	}
	return unmount(d.images)
}

func (d *diskLab) template(kind string) string { return filepath.Join(d.images, kind+".image") }

// makeTemplate makes the image that is copied for each case, and tries on it whether its power can be cut.
func (d *diskLab) makeTemplate(ctx context.Context, kind string) (err error) {
	image, mount := d.template(kind), filepath.Join(d.images, kind)
	if err := makeImage(ctx, kind, image, d.sizes[kind]); err != nil {
		return err
	}
	if err := mountImage(ctx, kind, image, mount); err != nil {
		return err
	}
	err = CopyInstall(filepath.Join(mount, "install"), d.stages[0].before)
	if err = errors.Join(err, unmount(mount)); err != nil {
		return err
	}
	probe := filepath.Join(d.images, kind+".probe")
	defer os.Remove(probe)
	if err := copyImage(probe, image); err != nil {
		return err
	}
	if err := mountImage(ctx, kind, probe, mount); err != nil {
		return err
	}
	return errors.Join(cutPower(mount, false), unmount(mount))
}

// onMemory runs a case on a tmpfs of a size with a copy of the install in it. inodes 0 is as many as there are.
func (d *diskLab) onMemory(size, inodes int64, try func(mount, dir string) (CaseState, string, error)) (state CaseState, detail string, err error) {
	if d.refused != nil {
		return "", "", &labSkip{"nothing can be mounted here: " + d.refused.Error()}
	}
	mount, err := os.MkdirTemp(d.folder, "disk-")
	if err != nil {
		return "", "", err
	}
	defer os.Remove(mount)
	if err := mountMemory(mount, size, inodes); err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, unmount(mount)) }()
	dir := filepath.Join(mount, "install")
	if err := CopyInstall(dir, d.stages[0].before); err != nil {
		return "", "", err
	}
	return try(mount, dir)
}

// afterwards judges an install whose disk is well again: what the failed run left must be one of the sets already, without
// any repair, and then the client has to get to the new one.
func (d *diskLab) afterwards(ctx context.Context, dir string, heal func() error) (problem string, err error) {
	which, problem, err := d.promise.check(dir)
	if err != nil {
		return "", err
	}
	if problem != "" {
		problem = "after the run that failed: " + problem
	}
	if err := heal(); err != nil {
		return "", err
	}
	_, later, err := d.judgeConverging(ctx, dir, which)
	return labLines(problem, later), err
}

// powerCuts plans the cuts of all file systems.
func (d *diskLab) powerCuts(ctx context.Context) ([]labTry, error) {
	points, err := d.cutPoints(ctx)
	if err != nil {
		return nil, err
	}
	var tries []labTry
	for _, kind := range d.options.Kinds {
		for _, withLog := range []bool{false, true} {
			for i := range d.options.Cuts {
				span := time.Duration(float64(d.Duration()) * realSlack)
				tries = append(tries, d.cutTry(kind, withLog, fmt.Sprint(i+1), 1+time.Duration(d.chance.Int64N(int64(span)))))
			}
			tries = append(tries, d.cutAfterTry(kind, withLog))
			for _, p := range points {
				tries = append(tries, d.cutPointTry(kind, withLog, p))
			}
		}
	}
	return tries, nil
}
