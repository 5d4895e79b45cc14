package linux

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"collet/build/pack/bundle"
	"collet/build/pack/icon"
)

// AppDir is a client as a folder that starts from anywhere, in the form that AppImage gave it: AppRun, a desktop file and an
// icon at its top, everything else below usr. The folder, "<Base>.AppDir", is the first element of every path. It has INSTALLED in
// it, because an AppImage is a disk that can't be written: the client writes to the player's data folder, and the folder never
// changes. Removing it leaves what is the player's.
func AppDir(b bundle.Bundle) (bundle.Tree, error) {
	tree, err := appDir(b)
	if err != nil {
		return nil, fmt.Errorf("make the AppDir of %s: %w", b.Base, err)
	}
	return bundle.NewTree(tree.Below(b.Base + ".AppDir")...)
}

func appDir(b bundle.Bundle) (bundle.Tree, error) {
	n, err := namesOf(b)
	if err != nil {
		return nil, err
	}
	cpu, err := processorOf(b.Target)
	if err != nil {
		return nil, err
	}
	// Its dependencies are checked but not recorded: no program would read them.
	if _, err := needsOf(b.Tree, cpu); err != nil {
		return nil, err
	}
	tree, err := b.Tree.Installed()
	if err != nil {
		return nil, err
	}
	desktop := entry{command: n.pkg, names: n, product: b.Product}
	around, err := desktop.files("usr")
	if err != nil {
		return nil, err
	}
	pictures, err := icon.Scale(b.Product.Icon, 256)
	if err != nil {
		return nil, err
	}
	return tree.Below(n.home()).With(append(around,
		bundle.Entry{Path: "AppRun", Link: n.home() + "/" + b.Base},
		bundle.Entry{Path: "usr/bin/" + n.pkg, Link: "../lib/games/" + n.pkg + "/" + b.Base},
		bundle.Entry{Path: n.id + ".desktop", Mode: bundle.Plain, Data: desktop.desktop()},
		bundle.Entry{Path: n.id + ".png", Mode: bundle.Plain, Data: pictures[0].PNG},
		bundle.Entry{Path: ".DirIcon", Link: n.id + ".png"},
	)...)
}

// maxRuntime is the largest run-time of AppImages in bytes; the official one has 1 MB.
const maxRuntime = 64 << 20

// runtimeMark stands at byte 8 of every run-time of the second type, where ELF has nothing.
const runtimeMark = "AI\x02"

// AppImage gives a maker of AppImages: one file that mounts the AppDir inside it and starts that. runtime is the path of the
// AppImage project's run-time for the client's processor, the part that does so ("runtime-x86_64", from the releases of
// AppImage/type2-runtime). It is a third-party program that every player runs, so the game provides it; Collet contains none. Without
// one, ship the AppDir. mksquashfs 4.4 or newer has to be there (Debian: squashfs-tools).
func AppImage(runtime string) func(ctx context.Context, b bundle.Bundle, out string) error {
	return func(ctx context.Context, b bundle.Bundle, out string) error {
		if err := appImage(ctx, runtime, b, out); err != nil {
			return fmt.Errorf("make the AppImage %s: %w", out, err)
		}
		return nil
	}
}

func appImage(ctx context.Context, runtime string, b bundle.Bundle, out string) (err error) {
	head, err := readRuntime(runtime, b)
	if err != nil {
		return fmt.Errorf("run-time %q: %w", runtime, err)
	}
	tree, err := appDir(b)
	if err != nil {
		return err
	}
	stage, err := os.MkdirTemp(filepath.Dir(out), ".appimage-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(stage)) }()
	folder, made := filepath.Join(stage, "AppDir"), filepath.Join(stage, "made")
	if err := tree.Lay(ctx, folder); err != nil {
		return err
	}
	if err := squash(ctx, folder, filepath.Join(stage, "squashfs"), b.Product.Time.Unix()); err != nil {
		return err
	}
	if err := join(made, head, filepath.Join(stage, "squashfs")); err != nil {
		return err
	}
	return os.Rename(made, out)
}

// readRuntime reads a run-time and refuses what would not start.
func readRuntime(name string, b bundle.Bundle) ([]byte, error) {
	cpu, err := processorOf(b.Target)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(name); err != nil {
		return nil, err
	} else if info.Size() > maxRuntime {
		return nil, fmt.Errorf("has %d bytes; want at most %d", info.Size(), maxRuntime)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	f, err := elf.NewFile(bytes.NewReader(data))
	switch {
	case err != nil:
		return nil, err
	case string(data[8:8+len(runtimeMark)]) != runtimeMark:
		return nil, errors.New("has no mark of AppImages of the second type; take a release of AppImage/type2-runtime")
	case f.Machine != cpu.machine || f.Class != cpu.class:
		return nil, fmt.Errorf("is for %v, the client for %v", f.Machine, cpu.machine)
	}
	return data, nil
}

// squash makes a file system of a folder, whose bytes depend on the files and the time alone.
func squash(ctx context.Context, folder, out string, unix int64) error {
	when := strconv.FormatInt(unix, 10)
	cmd := exec.CommandContext(ctx, "mksquashfs", folder, out, "-noappend", "-all-root", "-no-xattrs", "-reproducible",
		"-mkfs-time", when, "-all-time", when, "-comp", "zstd", "-Xcompression-level", "9", "-b", "131072", "-no-progress", "-quiet")
	for _, pair := range os.Environ() {
		// It refuses two sources of times.
		if !strings.HasPrefix(pair, "SOURCE_DATE_EPOCH=") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	said, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%w; install it (Debian: squashfs-tools), or make an AppDir instead", err)
	}
	if err != nil {
		return fmt.Errorf("mksquashfs: %w: %s", err, bytes.TrimSpace(said))
	}
	return nil
}

// join writes the run-time and what it mounts.
func join(out string, head []byte, tail string) error {
	in, err := os.Open(tail)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(out, os.O_CREATE|os.O_EXCL|os.O_WRONLY, bundle.Program)
	if err != nil {
		return errors.Join(err, in.Close())
	}
	_, err = io.Copy(file, io.MultiReader(bytes.NewReader(head), in))
	return errors.Join(err, in.Close(), file.Close(), os.Chmod(out, bundle.Program))
}
