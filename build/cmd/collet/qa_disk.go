package main

import (
	"context"
	"errors"
	"runtime"

	"collet/build/qa"
)

// qaDiskCommand is `collet qa disk`.
type qaDiskCommand struct {
	labFlags
	FS     []string `name:"fs" group:"work" default:"ext4,xfs" enum:"ext4,xfs" placeholder:"ext4,xfs" help:"The file systems whose power is cut (default: ${default})."`
	Sizes  int      `group:"work" default:"16" placeholder:"N" help:"How many sizes of a disk that is too small, of one that gets full during the download, and of one with few inodes (default: ${default})."`
	Cuts   int      `group:"work" default:"20" placeholder:"N" help:"Power cuts at random moments, for each file system and each way to lose data (default: ${default})."`
	Faults int      `group:"work" default:"4" placeholder:"N" help:"How many calls of each kind fail with each error, one in each case; needs strace (default: ${default})."`
	qaFlags
}

// Help is what --help adds to the flags.
func (qaDiskCommand) Help() string {
	return `Plays an update on disks that are too small, that get full, that are read-only or out of inodes, with system calls that fail,
and on ext4 and XFS whose power is cut: at random moments, and, with a client that has crash points, at every operation on
the disk. After each the install must hold exactly the old or exactly the new set, by hash, and get to the new one once the
disk is well again. The exit code and the text for the player are checked, too.

Needs root and the right to mount (tmpfs and loop devices), mkfs.ext4, mkfs.xfs and strace; what can't be had is skipped and
named. Everything is unmounted at the end, also after Ctrl-C.`
}

// Run runs it.
func (q qaDiskCommand) Run(ctx context.Context, c console) error {
	if min(q.Sizes, q.Cuts, q.Faults) < 0 {
		return usageError{errors.New("--sizes, --cuts and --faults: want 0 or more")}
	}
	return q.qaFlags.run(ctx, c, "A client on failing disks", func(ctx context.Context, r *qaRun) error {
		r.columns("fs", "lost")
		return q.labFlags.run(ctx, r, func(l *qa.Lab, points string) error {
			return qa.Disk(ctx, l, qa.DiskOptions{
				Kinds: q.FS, Sizes: q.Sizes, Cuts: q.Cuts, Faults: q.Faults, Points: points, Depth: q.depth(), Seed: q.Seed,
				Jobs: q.jobs(runtime.NumCPU()),
			}, r.take)
		})
	})
}
