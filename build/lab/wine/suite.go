package wine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Build is `go build` or, with flags that say so, `go test -c` of a package for Windows, without cgo, as output. dir is a
// folder of the module.
func Build(ctx context.Context, dir, pkg, output string, flags ...string) error {
	args := append(flags[:len(flags):len(flags)], "-buildvcs=false", "-o", output, pkg)
	if len(flags) == 0 || flags[0] != "test" {
		args = append([]string{"build"}, args...)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=windows", "GOARCH=amd64")
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s for Windows: %w\n%s", args[0], err, said)
	}
	return nil
}

// Compile makes a Windows program or library of C sources with the C compiler's flags.
func Compile(ctx context.Context, output string, args ...string) error {
	cmd := exec.CommandContext(ctx, Compiler, append([]string{"-std=c11", "-O2", "-Wall", "-Wextra", "-s", "-o", output}, args...)...)
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compile %s for Windows: %w\n%s", filepath.Base(output), err, said)
	}
	return nil
}

// ClientFlags are those of every build of the client for Windows: the bindings to OpenGL that it contains take minutes to
// compile, and other flags would compile them again. A test holds build/hosts.sh to them.
var ClientFlags = []string{"-buildvcs=false", "-trimpath", "-ldflags", "-s -w -H=windowsgui"}

// BuildClient puts the client with its window into a file. dir is a folder of the module. All tests of a user share one build in
// the cache folder, which Go links again only if something changed; who comes while it does waits.
func BuildClient(ctx context.Context, dir, output string) error {
	all, err := folder()
	if err != nil {
		return err
	}
	home := filepath.Join(all, "client")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	lock, err := wait(ctx, home, "client.lock")
	if err != nil {
		return err
	}
	defer lock.Close()
	built, now := filepath.Join(home, "client.exe"), time.Now()
	if err := buildClient(ctx, dir, built); err != nil {
		return err
	}
	data, err := os.ReadFile(built)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(output, data, 0o755), os.Chtimes(home, now, now))
}

func buildClient(ctx context.Context, dir, output string) error {
	args := append(append([]string{"build"}, ClientFlags...), "-o", output, "collet/app")
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOOS=windows", "GOARCH=amd64", "CC="+Compiler, "CXX=x86_64-w64-mingw32-g++")
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build of the client for Windows: %w\n%s", err, said)
	}
	return nil
}
