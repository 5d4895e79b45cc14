package releasetest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Sets are the contents of standard release n for two targets: some of them the same for both, one resource of its own.
func Sets(n int) map[string]map[string]string {
	core := strings.Repeat(fmt.Sprintf("core %d ", n), 500)
	return map[string]map[string]string{
		"Linux-x64": {
			"Core.zip": core, "Textures.zip": strings.Repeat("pixel", 40_000), "Lights.zip": "lights for Linux",
			"FoGame.so": fmt.Sprintf("module %d", n), "FoGame.so.pdb": "",
		},
		"Windows-win64": {
			"Core.zip": core, "Textures.zip": strings.Repeat("pixel", 40_000), "Lights.zip": "lights for Windows",
			"FoGame.dll": fmt.Sprintf("windows module %d", n),
		},
	}
}

// Standard is release n, which all clients are offered.
func Standard(n int) Release {
	return Release{Number: uint64(n), Percent: 100, Compatibility: fmt.Sprintf("compat-%d", n), Files: Sets(n), Plain: true,
		Patch: strings.Repeat("patch", 20_000), Note: "It is better.", Changes: strings.Repeat("changes", 500)}
}

// Templates makes release folders from copies, because compressing takes most of the time of tests. All folders have the
// same keys. It is safe for concurrent use.
type Templates struct {
	mu   sync.Mutex
	dir  string
	made map[string]*Folder // by the releases in it
}

// NewTemplates makes an empty set in a temporary folder, which the caller removes with Remove.
func NewTemplates() (*Templates, error) {
	dir, err := os.MkdirTemp("", "collet-releases-")
	return &Templates{dir: dir, made: map[string]*Folder{}}, err
}

// Remove removes the templates.
func (t *Templates) Remove() error { return os.RemoveAll(t.dir) }

// Copy makes dir a release folder with these releases.
func (t *Templates) Copy(dir string, releases ...Release) (*Folder, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f, err := t.template(releases)
	if err != nil {
		return nil, err
	}
	return f.Copy(dir)
}

// template returns a folder. Each is the one without its last release, and that release.
func (t *Templates) template(releases []Release) (*Folder, error) {
	key := fmt.Sprintf("%+v", releases)
	if f := t.made[key]; f != nil {
		return f, nil
	}
	place := func() string { return filepath.Join(t.dir, fmt.Sprint(len(t.made))) }
	if len(releases) == 0 {
		f, err := New(place())
		if err == nil {
			t.made[key] = f
		}
		return f, err
	}
	last := len(releases) - 1
	base, err := t.template(releases[:last])
	if err != nil {
		return nil, err
	}
	f, err := base.Copy(place())
	if err == nil {
		err = f.Publish(releases[last])
	}
	if err == nil {
		t.made[key] = f
	}
	return f, err
}

// Files are the contents of all files of the folder, by their names in it.
func (f *Folder) Files() (map[string]string, error) {
	all := map[string]string{}
	err := filepath.WalkDir(f.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if name, fault := filepath.Rel(f.Dir, path); err == nil && fault == nil {
			all[filepath.ToSlash(name)] = string(data)
		}
		return err
	})
	return all, err
}

// Rewrite changes the content of a file.
func (f *Folder) Rewrite(name string, change func([]byte) []byte) error {
	path := filepath.Join(f.Dir, filepath.FromSlash(name))
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, change(data), 0o644)
}
