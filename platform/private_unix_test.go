//go:build unix

package platform_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collet/platform"
)

func TestPrivateFolder(t *testing.T) {
	dir := t.TempDir()
	for name, row := range map[string]struct {
		mode    os.FileMode // 0: it is not there
		refused string
	}{
		"new/below": {}, "ours": {mode: 0o700}, "read by others": {mode: 0o755}, "written by a group": {mode: 0o770, refused: "chmod 700"},
		"written by others": {mode: 0o777, refused: "chmod 700"}, "sticky": {mode: os.ModeSticky | 0o777, refused: "chmod 700"},
	} {
		path := filepath.Join(dir, name)
		if row.mode != 0 {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, row.mode); err != nil { // whatever the umask
				t.Fatal(err)
			}
		}
		err := platform.PrivateFolder(path)
		if row.refused != "" {
			if err == nil || !strings.Contains(err.Error(), row.refused) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		info, statErr := os.Stat(path)
		if err != nil || statErr != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v, %v", name, err, info.Mode(), statErr)
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := platform.PrivateFolder(file); err == nil {
		t.Error("a file passed for a folder")
	}
}

func TestPrivateThingsOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	path := t.TempDir()
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{platform.PrivateFolder(path), platform.CheckPrivate(path)} {
		if err == nil || !strings.Contains(err.Error(), "another user (number 12345)") {
			t.Errorf("got %v", err)
		}
	}
}

func TestCheckPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := platform.CheckPrivate(path); !os.IsNotExist(err) {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode]bool{0o600: true, 0o700: true, 0o604: false, 0o660: false, 0o610: false} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := platform.CheckPrivate(path); (err == nil) != want {
			t.Errorf("%04o: %v", mode, err)
		}
	}
}
