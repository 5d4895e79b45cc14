package main

import (
	"context"
	"errors"
	"runtime"

	"collet/build/cmd/collet/console"
	"collet/build/qa"
)

// qaDiskCommand is `collet qa disk`.
type qaDiskCommand struct {
	labFlags
	FS     []string `name:"fs" group:"work" default:"ext4,xfs" enum:"ext4,xfs" placeholder:"ext4,xfs" help:"File systems for power cuts (default: ${default})."`
	Sizes  int      `group:"work" default:"16" placeholder:"N" help:"Number of sizes tried for a disk that is too small, that fills up during the download, and that has few inodes (default: ${default})."`
	Cuts   int      `group:"work" default:"20" placeholder:"N" help:"Power cuts at random moments, for each file system and each kind of data loss (default: ${default})."`
	Faults int      `group:"work" default:"4" placeholder:"N" help:"Number of failing calls for each kind of call and error, one in each case; needs strace (default: ${default})."`
	qaFlags
}

// Help is what --help adds to the flags.
func (qaDiskCommand) Help() string {
	return `Runs an update on disks that are too small, fill up, are read-only or have no inodes left, with failing system calls, and on
ext4 and XFS with power cuts: at random moments, and, with a client that has crash points, at every operation on the disk.
After each case the install must be exactly the old or exactly the new set, by hash, and reach the new one when the disk
works again. The exit code and the text for the player are checked, too.

Needs root and the right to mount (tmpfs and loop devices), mkfs.ext4, mkfs.xfs and strace. Cases without their tool are
skipped and listed. Everything is unmounted at the end, also after Ctrl-C.

  collet qa disk --sizes 8 --report disk.html`
}

// Run runs it.
func (q qaDiskCommand) Run(ctx context.Context, c console.Console) error {
	if min(q.Sizes, q.Cuts, q.Faults) < 0 {
		return console.Usage(errors.New("--sizes, --cuts and --faults: want 0 or more"))
	}
	return q.qaFlags.runKit(ctx, c, "A client on failing disks", func(ctx context.Context, r *qaRun) error {
		r.columns("fs", "lost")
		return q.labFlags.withLab(ctx, r, func(l *qa.Lab, points string) error {
			return qa.Disk(ctx, l, qa.DiskOptions{
				Kinds: q.FS, Sizes: q.Sizes, Cuts: q.Cuts, Faults: q.Faults, Points: points, Depth: q.depth(), Seed: q.Seed,
				Jobs: q.jobs(runtime.NumCPU()),
			}, r.addCaseOf)
		})
	})
}
