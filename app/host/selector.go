package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/rs/zerolog"

	"collet/app/install"
	"collet/platform"
)

// The selector is a small file in the writable root that names the live module: one absolute path and a newline. The engine's own
// host uses the same file. A portable client has no selector.
const (
	// selectorDir is the folder of the selectors, in the writable root.
	selectorDir = "ClientRuntimeHost"
	// maxSelector is the largest selector in bytes, its newline included.
	maxSelector = 4096
)

// selectorName is the selector of a module, in the writable root.
func selectorName(module string) string { return path.Join(selectorDir, module+".path") }

// parseSelector checks a selector's content: it may only name a module of this name in one of the folders.
func parseSelector(data []byte, module string, folders ...string) (string, error) {
	name, found := strings.CutSuffix(string(data), "\n")
	switch {
	case len(data) > maxSelector:
		return "", fmt.Errorf("longer than %d bytes", maxSelector)
	case !found:
		return "", errors.New("does not end in a newline")
	case strings.ContainsAny(name, "\x00\r\n"):
		return "", errors.New("has more than one path in it")
	case !filepath.IsAbs(name):
		return "", fmt.Errorf("%q is not an absolute path", name)
	case filepath.Base(name) != module:
		return "", fmt.Errorf("%q is not called %s", name, module)
	}
	for _, folder := range folders {
		if _, inside := platform.Below(folder, name); inside {
			return filepath.Clean(name), nil
		}
	}
	return "", fmt.Errorf("%q lies outside of the game's folders", name)
}

// readSelector returns the module that the selector names. It is empty without a selector, or if neither the module nor its staged
// successor exists. Links that lead out of the folders are not followed.
func readSelector(r paths, module string) (string, error) {
	if r.portable() {
		return "", nil
	}
	data, err := platform.OpenDir(r.data)
	if err != nil {
		return "", err
	}
	defer data.Close()
	text, err := platform.ReadFile(data, selectorName(module), maxSelector)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	name, err := parseSelector(text, module, r.data, r.install)
	if err != nil {
		return "", fmt.Errorf("selector %q: %w", data.Path(selectorName(module)), err)
	}
	if !isModule(r.data, name) && !isModule(r.install, name) {
		return "", nil
	}
	return name, nil
}

// isModule reports whether a folder has the module or its staged successor.
func isModule(folder, name string) bool {
	rel, inside := platform.Below(folder, name)
	if !inside {
		return false
	}
	root, err := platform.OpenDir(folder)
	if err != nil {
		return false
	}
	defer root.Close()
	for _, suffix := range []string{"", install.StagingSuffix} {
		if info, err := root.Stat(rel + suffix); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// writeSelector writes the selector atomically: a crash leaves the old selector or the new one.
func writeSelector(r paths, module, name string) error {
	text := name + "\n"
	if _, err := parseSelector([]byte(text), module, r.data, r.install); err != nil {
		return fmt.Errorf("selector: %w", err)
	}
	data, err := platform.OpenDir(r.data)
	if err != nil {
		return err
	}
	if err = data.MkdirAll(selectorDir, 0o755); err == nil {
		err = platform.WriteFile(data, selectorName(module), []byte(text))
	}
	return errors.Join(err, data.Close())
}

// modules are the possible paths of the module.
type modules struct {
	paths paths
	name  string // of the module's file
	log   zerolog.Logger
}

// modules are those of the game's module.
func (s *setup) modules() modules { return modules{s.paths, s.base + s.moduleExt(), s.log} }

// own is the module's path in the writable root, delivered the one beside the host.
func (m modules) own() string { return filepath.Join(m.paths.data, m.name) }
func (m modules) delivered() string {
	return filepath.Join(m.paths.install, m.name)
}

// isRegular reports whether a module has one of these paths. A game that asks for a reload of itself knows only the path beside its
// host.
func (m modules) isRegular(module string) bool { return module == m.own() || module == m.delivered() }

// library is the path of the live module: in the writable root, else the delivered one. If neither exists it is the path in the
// writable root.
func (m modules) library() string {
	if !exists(m.own()) && exists(m.delivered()) {
		return m.delivered()
	}
	return m.own()
}

// exists reports whether name is a file or folder. A name that can't be examined counts as existing: loading it reports the error.
func exists(name string) bool {
	info, err := os.Stat(name)
	return !errors.Is(err, fs.ErrNotExist) && (err != nil || info.Mode().IsRegular() || info.IsDir())
}

// selected is the existing module that the selector names, or "".
func (m modules) selected() string {
	name, err := readSelector(m.paths, m.name)
	if err != nil {
		m.log.Warn().Err(err).Msg("selector ignored")
		return ""
	}
	if !exists(name) {
		return "" // only its staged successor exists, or the selector is empty
	}
	return name
}

// reselect makes the selector name the live module. After a swap it always does. Otherwise it only corrects a selector that names a
// regular path; a selector with another path was written on purpose, and a missing one stays missing. An error is only a warning,
// because the next start corrects the selector.
func (m modules) reselect(swapped bool) {
	if m.paths.portable() {
		return
	}
	name, live := m.selected(), m.library()
	if name == live || !swapped && (name == "" || !m.isRegular(name)) || !exists(live) {
		return
	}
	if err := writeSelector(m.paths, m.name, live); err != nil {
		m.log.Warn().Err(err).Msg("selector not written")
		return
	}
	m.log.Info().Str("file", live).Msg("selector written")
}
