package qa

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"collet/build/qa/fileset"
	"collet/build/qa/report"
)

const (
	// diskSuite is the suite of the cases that Disk tries.
	diskSuite = "disk"
	// diskRoom is the size in bytes of the tmpfs for images during a run; unwritten parts take no memory.
	diskRoom = 4 << 30
	// diskCaution is the client's free-space margin beyond the new set, in bytes.
	diskCaution = 20 << 20
)

// imageSizes are the sizes in bytes of the file systems for power cuts: mkfs.xfs refuses less than 300 MB.
var imageSizes = map[string]int64{"ext4": 64 << 20, "xfs": 320 << 20}

// DiskOptions select the file systems and faults.
type DiskOptions struct {
	Sizes  int      // the number of too small disks of growing size; as many fill up during the download, and as many lack inodes
	Kinds  []string // file systems for power cuts: "ext4", "xfs"; empty: no power cuts
	Cuts   int      // power cuts at random moments, for each file system and kind of cut
	Points string   // a client built with the tag crashpoints for a power cut at every operation; may be empty
	Depth  int      // 2: recoveries lose power, too; 1: they do not
	Faults int      // number of failing calls of each kind, one in each case, if a tracer is available
	Seed   uint64
	Jobs   int
}

// diskLab is a lab with its own file systems.
type diskLab struct {
	*Lab
	options DiskOptions
	images  string           // folder of the images
	refused error            // why mounting is impossible; nil if it is possible
	imaged  map[string]error // by file system: why it can't be tested; nil if it can
	chance  *rand.Rand       // for planning only
	sizes   map[string]int64 // of images
}

// Disk runs the client of a lab on small, failing and power-cut file systems, which it creates, and judges each case like Real. Cases
// without the required rights or programs are skipped with a reason. All mounts are removed when it returns. The error is that of ctx, or
// says that no case was selected.
func Disk(ctx context.Context, l *Lab, o DiskOptions, tell Progress) (err error) {
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
	return playCases(ctx, diskSuite, append(tries, cuts...), o.Jobs, tell)
}

// prepare determines which file systems can be mounted, and makes an image with the old set for each. Images lie in memory if possible:
// there a sync is a copy, without disk wear.
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

// close unmounts the memory.
func (d *diskLab) close() error {
	if d.refused != nil {
		return nil
	}
	return unmount(d.images)
}

func (d *diskLab) template(kind string) string { return filepath.Join(d.images, kind+".image") }

// makeTemplate makes the image that is copied for each case, and tests on it whether its power can be cut.
func (d *diskLab) makeTemplate(ctx context.Context, kind string) (err error) {
	image, mount := d.template(kind), filepath.Join(d.images, kind)
	if err := makeImage(ctx, kind, image, d.sizes[kind]); err != nil {
		return err
	}
	if err := mountImage(ctx, kind, image, mount); err != nil {
		return err
	}
	err = fileset.CopyInstall(filepath.Join(mount, "install"), d.stages[0].before)
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

// onMemory runs a case on a tmpfs of a size with a copy of the install. inodes 0 means no limit.
func (d *diskLab) onMemory(size, inodes int64, try func(mount, dir string) (report.State, string, error)) (state report.State, detail string, err error) {
	if d.refused != nil {
		return "", "", &skipError{"nothing can be mounted here: " + d.refused.Error()}
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
	if err := fileset.CopyInstall(dir, d.stages[0].before); err != nil {
		return "", "", err
	}
	return try(mount, dir)
}

// afterwards judges an install after its disk is repaired. The failed run must have left one of the sets, without any recovery; then the
// client must reach the new one.
func (d *diskLab) afterwards(ctx context.Context, dir string, heal func() error) (problem string, err error) {
	which, problem, err := d.promise.checkFolder(dir)
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
	return joinLines(problem, later), err
}

// powerCuts plans the power cuts of all file systems.
func (d *diskLab) powerCuts(ctx context.Context) ([]try, error) {
	points, err := d.cutPoints(ctx)
	if err != nil {
		return nil, err
	}
	var tries []try
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
