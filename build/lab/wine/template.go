package wine

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"collet/platform"
	"collet/platform/interrupt"
)

// stub is the source of a bcryptprimitives.dll.
//
//go:embed stub/bcryptprimitives.c
var stub []byte

const (
	// form counts how a template is made; another number makes a new one.
	form = "2"
	// lockPoll is how often a lock that another process holds is tried.
	lockPoll = 100 * time.Millisecond
	// makingLimit is how long the making of a template may take; it is 15 s on an idle machine.
	makingLimit = 10 * time.Minute
	// unused is how old the last use of a template is before it is removed.
	unused = 30 * 24 * time.Hour
)

// library is the name in the prefix of what the stub is compiled to.
const library = "drive_c/windows/system32/bcryptprimitives.dll"

// folder is where all lies that is kept between tests.
func folder() (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "collet", "wine"), err
}

// homeOfTemplates returns the folder of templates and prefixes for this version of Wine, which exists then.
func homeOfTemplates(ctx context.Context) (string, error) {
	all, err := folder()
	if err != nil {
		return "", err
	}
	version, err := exec.CommandContext(ctx, "wine", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("ask wine for its version: %w", err)
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n%s\n%s", form, version, stub)
	dir := filepath.Join(all, fmt.Sprintf("%x", hash.Sum(nil))[:16])
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	now := time.Now()
	return dir, errors.Join(os.Chtimes(dir, now, now), sweep(all, now))
}

// sweep removes what no test asked for in a long time.
func sweep(all string, now time.Time) error {
	entries, err := os.ReadDir(all)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && now.Sub(info.ModTime()) > unused {
			err = os.RemoveAll(filepath.Join(all, entry.Name()))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// template makes the template in home if it is not there yet, and returns its path. Of several processes one makes it and
// the others wait.
func template(ctx context.Context, home string) (string, error) {
	done := filepath.Join(home, "template")
	lock, err := wait(ctx, home, "template.lock")
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if _, err := os.Stat(done); err == nil {
		return done, nil
	}
	ctx, cancel := context.WithTimeout(ctx, makingLimit)
	defer cancel()
	making := filepath.Join(home, "making")
	if err := os.RemoveAll(making); err != nil { // by a process that was ended
		return "", err
	}
	if err := fill(ctx, making); err != nil {
		return "", fmt.Errorf("make a computer for Windows programs in %s: %w", making, err)
	}
	return done, os.Rename(making, done)
}

// wait takes a lock when it is free.
func wait(ctx context.Context, dir, name string) (io.Closer, error) {
	fsys, err := platform.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	defer fsys.Close()
	for {
		lock, err := fsys.Lock(name)
		if !errors.Is(err, platform.ErrLocked) {
			return lock, err
		}
		if interrupt.Sleep(ctx, lockPoll) != nil {
			return nil, errors.Join(err, context.Cause(ctx))
		}
	}
}

// fill makes a prefix in dir. Nothing runs in it afterwards.
func fill(ctx context.Context, dir string) error {
	p := newPrefix(dir)
	defer p.end()
	if err := os.MkdirAll(p.homeDir(), 0o700); err != nil {
		return err
	}
	if said, err := p.Run(ctx, "wineboot", "-i"); err != nil {
		return fmt.Errorf("wineboot: %w\n%s", err, said)
	}
	if err := errors.Join(p.server(ctx, "-w"), unlink(filepath.Join(dir, "drive_c"))); err != nil {
		return err
	}
	return provide(ctx, filepath.Join(dir, library))
}

// unlink makes folders of the links by which Wine shows the user's own folders to programs.
func unlink(dir string) error {
	return filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink == 0 {
			return err
		}
		return errors.Join(os.Remove(name), os.Mkdir(name, 0o755))
	})
}

// provide compiles the stub where this version of Wine has no such library.
func provide(ctx context.Context, output string) error {
	if _, err := os.Stat(output); err == nil {
		return nil
	}
	compiler := exec.CommandContext(ctx, Compiler, "-std=c11", "-O2", "-s", "-shared", "-x", "c", "-", "-o", output, "-ladvapi32")
	compiler.Stdin = bytes.NewReader(stub)
	if said, err := compiler.CombinedOutput(); err != nil {
		return fmt.Errorf("compile %s: %w\n%s", filepath.Base(output), err, said)
	}
	return nil
}
