// Command selfswap is a program that replaces its own file, for a test on every system. It does the same as the client,
// using only the install package.
//
//	selfswap start   takes "newer" in its folder as the offer, and starts it while it runs from its own file
//	selfswap trial   is started by start: it makes itself live
//	selfswap look    opens the install, like the next start
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rs/zerolog"

	"collet/app/install"
	"collet/app/update"
	"collet/netproto/release"
	"collet/platform"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

func run(what string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	folder, err := platform.OpenDir(filepath.Dir(exe))
	if err != nil {
		return err
	}
	ext := filepath.Ext(exe)
	dir, err := install.OpenProgram(context.Background(), install.Config{
		FS: install.ProgramView(folder), Names: install.ProgramNames("Lathe", "", ext), Trust: install.TrustSHA256, Log: zerolog.New(os.Stdout),
	})
	if err != nil {
		return err
	}
	switch what {
	case "trial":
		err = dir.Prove(context.Background())
	case "start":
		return start(dir, folder, ext)
	}
	if closing := dir.Close(); err == nil {
		err = closing
	}
	return err
}

func start(dir *install.Program, folder platform.FS, ext string) error {
	newer, err := platform.ReadFile(folder, "newer", 1<<30)
	if err != nil {
		return err
	}
	digest, err := release.SHA256.DigestOf(bytes.NewReader(newer))
	if err != nil {
		return err
	}
	ctx := context.Background()
	offer := []release.File{{Path: "Lathe" + ext, Size: int64(len(newer)), Digest: digest, Role: release.Binary}}
	if _, err = dir.Plan(ctx, update.Binaries, offer, func(string, int64, int64) {}); err == nil {
		err = dir.Write(0, newer)
	}
	if err == nil {
		err = dir.Finish(ctx, 0)
	}
	if err == nil {
		err = dir.Commit(ctx)
	}
	waiting := dir.Waiting()
	if err == nil && !strings.HasSuffix(waiting, ext) {
		err = fmt.Errorf("%q waits", waiting)
	}
	if err == nil {
		err = dir.Close()
	}
	if err != nil {
		return err
	}
	out, err := exec.Command(waiting, "trial").CombinedOutput()
	fmt.Printf("%s", out)
	return err
}
