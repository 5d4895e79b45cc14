package testscripts

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"collet/build/demo"
	"collet/platform/testwait"
)

func (s *Stage) games(ts *testscript.TestScript, _ bool, args []string) {
	for i, release := range []demo.Release{s.Layout.Old, s.Layout.New} {
		dir := filepath.Join(ts.MkAbs(args[0]), fmt.Sprintf("release-%d", i+1))
		Check(ts, copyFile(filepath.Join(dir, filepath.Base(release.Module)), release.Module, 0o755))
		Check(ts, copyFiles(filepath.Join(dir, "Resources"), release.Packs))
	}
}

func desk(ts *testscript.TestScript, _ bool, _ []string) {
	_, port, err := net.SplitHostPort(testwait.FreeAddress(ts))
	Check(ts, err)
	ts.Setenv("DESK", "localhost:"+port)
	ts.Setenv("COLLET_REMOTE_LISTEN", ts.Getenv("DESK"))
	ts.Setenv("COLLET_REMOTE_STATE", ts.MkAbs("s"))
}

func waitDesk(ts *testscript.TestScript, _ bool, _ []string) {
	Wait(ts, "no desk can be reached", func() bool {
		sockets, err := filepath.Glob(filepath.Join(ts.MkAbs("s"), "*.sock"))
		Check(ts, err)
		for _, socket := range sockets {
			if conn, err := net.Dial("unix", socket); err == nil {
				return conn.Close() == nil
			}
		}
		return false
	})
}

func sameTree(ts *testscript.TestScript, neg bool, args []string) {
	a, b := tree(ts, ts.MkAbs(args[0])), tree(ts, ts.MkAbs(args[1]))
	var differ []string
	for name := range a {
		if a[name] != b[name] {
			differ = append(differ, name)
		}
	}
	for name := range b {
		if _, there := a[name]; !there {
			differ = append(differ, name)
		}
	}
	if (len(differ) > 0) != neg {
		ts.Fatalf("%s and %s differ in %q", args[0], args[1], differ)
	}
}

// tree returns the SHA-256 of every file below a folder.
func tree(ts *testscript.TestScript, root string) map[string]string {
	files := map[string]string{}
	Check(ts, filepath.WalkDir(root, func(name string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == ".collet-remote" {
			return filepath.SkipDir
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		rel, err := filepath.Rel(root, name)
		Check(ts, err)
		f, err := os.Open(name)
		Check(ts, err)
		defer f.Close()
		sum := sha256.New()
		_, err = io.Copy(sum, f)
		files[rel] = string(sum.Sum(nil))
		return err
	}))
	return files
}
