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

	"collet/build/qa/process"
)

const (
	// goingDown is EXT4_IOC_SHUTDOWN, which is XFS_IOC_GOINGDOWN: _IOR('X', 125, __u32).
	goingDown = 0x8004587d
	// goingDownWithLog writes the file system's log first: unsynced names survive, but unsynced bytes do not.
	goingDownWithLog = 1
	// goingDownAtOnce writes nothing more.
	goingDownAtOnce = 2
	// busyPatience is how long a volume may stay busy.
	busyPatience = 10 * time.Second
	// busyLook is the interval of attempts.
	busyLook = 10 * time.Millisecond
)

// mountMemory mounts a tmpfs of size bytes; inodes 0 is the system's default.
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

// resizeMemory resizes a mounted tmpfs.
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

// patiently retries an operation that fails only because a volume is busy: a killed process is still ending, or a starting one still holds
// inherited files.
func patiently(do func() error) error {
	for end := time.Now().Add(busyPatience); ; time.Sleep(busyLook) {
		if err := do(); !errors.Is(err, unix.EBUSY) || time.Now().After(end) {
			return err
		}
	}
}

// makeImage makes a sparse file of a size with an empty file system.
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

// mountImage mounts an image over a loop device, which is released with the mount.
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

// command runs a system program in its own process group, apart from a typed interrupt, and waits for it.
func command(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	process.OwnGroup(cmd)
	said, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.Join(strings.Fields(string(bytes.TrimSpace(said))), " "))
	}
	return nil
}

// cutPower makes a mounted file system drop its unwritten data and refuse all further operations.
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

// unmount waits until a volume is not busy and unmounts it. A folder without a mount is not an error.
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

// freeBytes returns the free space of a volume.
func freeBytes(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * s.Bsize, nil
}

// usedInodes returns the number of used inodes of a volume.
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
			return nil // only a hole remains
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

// named adds the purpose of a system call to its error.
func named(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// isFull reports whether a write failed for lack of space.
func isFull(err error) bool { return errors.Is(err, unix.ENOSPC) }
