package qa

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"collet/build/qa/doctor"
	"collet/build/qa/fileset"
	"collet/netproto/product"
	"collet/platform"
)

// Subject is a client, an install with the old set, and a server that offers the new one. All fields but Args, Env and New are required.
// The subject is not modified.
type Subject struct {
	Client  string      // the client's executable; it may lie in the install
	Args    []string    // arguments of each run in addition to --headless --json --dir --server
	Env     []string    // added to the current environment
	Install string      // an install folder with the old set; read only
	Server  string      // host:port of a running update server
	New     fileset.Set // the expected final set, without the client's program; nil: the result of an undisturbed update
}

// FindClient takes the path of a program, or of an install folder with only one program in it.
func FindClient(name string) (program, install string, err error) {
	if name, err = filepath.Abs(name); err != nil {
		return "", "", err
	}
	if name, err = filepath.EvalSymlinks(name); err != nil {
		return "", "", fmt.Errorf("client: %w", err)
	}
	info, err := os.Stat(name)
	if err != nil || !info.IsDir() {
		return name, filepath.Dir(name), err
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return "", "", err
	}
	var found []string
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && canStart(entry.Name(), info) {
			found = append(found, entry.Name())
		}
	}
	if len(found) != 1 {
		return "", "", fmt.Errorf("client %s: want one program in the folder, found %d %v; name the program itself", name, len(found), found)
	}
	return filepath.Join(name, found[0]), name, nil
}

// canStart reports whether a file of an install is an executable of this system, and not a module.
func canStart(name string, info fs.FileInfo) bool {
	ext := strings.ToLower(path.Ext(name))
	if runtime.GOOS == "windows" {
		return info.Mode().IsRegular() && ext == ".exe"
	}
	return info.Mode().IsRegular() && info.Mode()&0o111 != 0 && !slices.Contains(doctor.ModuleExts(), ext)
}

// settings reads the client's settings: the packaged ones, overridden by the file beside it.
func (s *Subject) settings() (found doctor.HostSettings, err error) {
	base := product.RuntimeBase(s.Client)
	fsys, err := platform.OpenDir(s.Install)
	if err != nil {
		return found, err
	}
	_, err = found.ReadInside(fsys, base)
	if err = errors.Join(err, fsys.Close()); err != nil {
		return found, err
	}
	file := filepath.Join(s.Install, base+".toml")
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	if err == nil {
		err = toml.Unmarshal(data, &found)
	}
	if err != nil {
		return found, fmt.Errorf("settings of the client: %s: %w", file, err)
	}
	return found, nil
}

// writableFolder is the writable root in copies of an install whose root is elsewhere: a folder of the copy, so that both are copied, damaged
// and judged together. The tester's own folder must stay untouched.
const writableFolder = "writable root of the lab"

// ownNames determines the client's own names, and whether its writable root is outside the install.
func (s *Subject) ownNames() (own fileset.OwnNames, err error) {
	settings, err := s.settings()
	if err != nil {
		return own, err
	}
	own.Cache = path.Clean(filepath.ToSlash(cmp.Or(settings.Baking.CacheResources, "Cache")))
	_, marked := os.Lstat(filepath.Join(s.Install, doctor.InstalledMark))
	asked := settings.Client.UserWritablePath != "" || slices.ContainsFunc(s.Args, func(a string) bool {
		return strings.HasPrefix(a, "--UserWritablePath")
	})
	if marked == nil || asked {
		own.Writable = writableFolder
	}
	return own, nil
}
