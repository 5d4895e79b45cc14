package qa

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// goingDown is EXT4_IOC_SHUTDOWN, which is XFS_IOC_GOINGDOWN: _IOR('X', 125, __u32).
	goingDown = 0x8004587d
	// goingDownWithLog writes the file system's log first: names survive that were not synced, and bytes do not.
	goingDownWithLog = 1
	// goingDownAtOnce writes nothing any more.
	goingDownAtOnce = 2
	// busyPatience is how long a volume may stay busy.
	busyPatience = 10 * time.Second
	// busyLook is how often it is tried meanwhile.
	busyLook = 10 * time.Millisecond
)

// mountMemory mounts a tmpfs of so many bytes; inodes 0 leaves their number to the system.
func mountMemory(dir string, size, inodes int64) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return named("mount tmpfs", unix.Mount("tmpfs", dir, "tmpfs", 0, memoryOptions(size, inodes)))
}

func memoryOptions(size, inodes int64) string {
	options := fmt.Sprintf("size=%d", size)
	if inodes > 0 {
		options += fmt.Sprintf(",nr_inodes=%d", inodes)
	}
	return options
}

// resizeMemory changes a tmpfs that is in use.
func resizeMemory(dir string, size, inodes int64) error {
	return named("remount tmpfs", unix.Mount("", dir, "", unix.MS_REMOUNT, memoryOptions(size, inodes)))
}

// protectMemory makes a tmpfs read-only, or writable again.
func protectMemory(dir string, readOnly bool) error {
	flags := uintptr(unix.MS_REMOUNT)
	if readOnly {
		flags |= unix.MS_RDONLY
	}
	return named("remount tmpfs", patiently(func() error { return unix.Mount("", dir, "", flags, "") }))
}

// patiently repeats what fails only because a volume is busy: a process that was killed is on its way out, or one that is
// being started holds our files until it runs.
func patiently(do func() error) error {
	for end := time.Now().Add(busyPatience); ; time.Sleep(busyLook) {
		if err := do(); !errors.Is(err, unix.EBUSY) || time.Now().After(end) {
			return err
		}
	}
}

// makeImage makes a file of a size with an empty file system in it. The file is sparse.
func makeImage(ctx context.Context, kind, image string, size int64) error {
	f, err := os.Create(image)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
		return err
	}
	return command(ctx, "mkfs."+kind, "-q", image)
}

// mountImage mounts an image over a loop device, which goes with the mount.
func mountImage(ctx context.Context, kind, image, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	options := "loop"
	if kind == "xfs" {
		options += ",nouuid" // all copies of an image have one UUID, and XFS wants it once
	}
	return command(ctx, "mount", "-t", kind, "-o", options, image, dir)
}

// command runs a program of the system, apart from an interrupt that is typed: it is waited for.
func command(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	ownGroup(cmd)
	said, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.Join(strings.Fields(string(bytes.TrimSpace(said))), " "))
	}
	return nil
}

// cutPower makes a mounted file system forget what it has not written yet, and refuse everything from now on.
func cutPower(dir string, withLog bool) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	how := goingDownAtOnce
	if withLog {
		how = goingDownWithLog
	}
	return named("shut the file system down", unix.IoctlSetPointerInt(int(f.Fd()), goingDown, how))
}

// unmount waits until nobody is on the volume any more. A folder on which nothing is mounted is no error.
func unmount(dir string) error {
	err := patiently(func() error { return unix.Unmount(dir, 0) })
	switch {
	case err == nil, errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT):
		return nil
	case errors.Is(err, unix.EBUSY):
		return errors.Join(fmt.Errorf("unmount %s: still busy after %v; detached", filepath.Base(dir), busyPatience),
			unix.Unmount(dir, unix.MNT_DETACH))
	}
	return named("unmount", err)
}

// freeBytes is how much room a volume has for us.
func freeBytes(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * s.Bsize, nil
}

// usedInodes is how many inodes of a volume are taken.
func usedInodes(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Files - s.Ffree), nil
}

// copyImage copies a file without its holes.
func copyImage(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	return errors.Join(copyData(out, in, info.Size()), out.Truncate(info.Size()), out.Close())
}

func copyData(out, in *os.File, size int64) error {
	for at := int64(0); at < size; {
		begin, err := in.Seek(at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return nil // only a hole is left
		}
		if err != nil {
			return err
		}
		end, err := in.Seek(begin, unix.SEEK_HOLE)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.NewOffsetWriter(out, begin), io.NewSectionReader(in, begin, end-begin)); err != nil {
			return err
		}
		at = end
	}
	return nil
}

// named says what a system call was for.
func named(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// isFull reports whether a write failed for want of room.
func isFull(err error) bool { return errors.Is(err, unix.ENOSPC) }
