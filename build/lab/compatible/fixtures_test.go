//go:build unix

package compatible

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"collet/build/testscripts"
)

var update = flag.Bool("update", false, "write the fixtures of app/testdata/before anew, by the earlier programs")

// TestFixtures lets the earlier programs write the fixtures, and shows that they have what today's tests look for by name.
func TestFixtures(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the fixtures are those of Linux-x64")
	}
	s, output := newStage(t), t.TempDir()
	if *update {
		output = filepath.Join(root, "app", "testdata", "before")
	}
	commands := s.commands()
	commands["keep"] = func(ts *testscript.TestScript, _ bool, args []string) {
		testscripts.Check(ts, pack(filepath.Join(output, args[0]+".tar.gz"), ts.MkAbs(args[0])))
	}
	t.Run("earlier", func(t *testing.T) { // ends when the script has ended
		testscript.Run(t, testscript.Params{
			Dir:  filepath.Join("testdata", "fixtures"),
			Cmds: commands,
			Setup: func(e *testscript.Env) error {
				return s.setup(e, map[string]bool{"COLLET_CLIENT": true, "COLLET_SERVER": true, "COLLET": true})
			},
		})
	})
	checked, err := filepath.Glob(filepath.Join(root, "app", "testdata", "before", "*.tar.gz"))
	if err != nil || len(checked) == 0 {
		t.Fatalf("%d fixtures in the tree: %v", len(checked), err)
	}
	for _, name := range checked {
		if info, err := os.Stat(filepath.Join(output, filepath.Base(name))); err != nil || info.Size() == 0 {
			t.Errorf("the earlier programs do not make %s: %v", filepath.Base(name), err)
		}
	}
}

// pack writes the folders and files below a folder as an archive, in the order of their names.
func pack(output, dir string) (err error) {
	file, err := os.Create(output)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	zipped, err := gzip.NewWriterLevel(file, gzip.BestCompression)
	if err != nil {
		return err
	}
	entries := tar.NewWriter(zipped)
	err = filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		header, err := tar.FileInfoHeader(info, "")
		if err != nil {
			return err
		}
		header.Name, header.Format = filepath.ToSlash(rel), tar.FormatPAX // keeps nanoseconds
		header.AccessTime, header.ChangeTime = time.Time{}, time.Time{}
		header.Uid, header.Gid, header.Uname, header.Gname = 0, 0, "", ""
		if err := entries.WriteHeader(header); err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		_, err = entries.Write(data)
		return err
	})
	return errors.Join(err, entries.Close(), zipped.Close())
}
