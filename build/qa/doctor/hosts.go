package doctor

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"collet/app/install"
	"collet/build/qa/fileset"
	"collet/netproto/product"
	"collet/platform"
)

// InstalledMark is the installer's marker file beside a host in a folder that players can't write to.
const InstalledMark = "INSTALLED"

// ModuleExts are the extensions of modules on all systems.
func ModuleExts() []string { return []string{".so", ".dll", ".dylib", product.DescriptionExt} }

// writableRoot returns the client's writable root if it is another folder: the one in the settings, or this user's folder if an installer's
// marker is present. Empty: the same folder, or unknown.
func writableRoot(fsys platform.FS, asked, game string) string {
	_, err := fsys.Lstat(InstalledMark)
	switch {
	case asked == "" && err != nil:
		return ""
	case asked == "" || asked == "*":
		folder, err := platform.DataFolder(os.Getenv)
		if err != nil {
			return ""
		}
		return filepath.Join(folder, game)
	case filepath.IsAbs(asked):
		return asked
	default:
		return fsys.Path(asked)
	}
}

// hostClues are the files that indicate a host of one name.
type hostClues struct {
	name, ext string
	files     []string
}

type hostList []hostClues

func (l hostList) names() (names []string) {
	for _, h := range l {
		names = append(names, h.name)
	}
	return names
}

// hostsIn finds hosts by their settings, modules, kept modules and logs, and by programs with one of those names. A program alone is a clue
// only if there are no others.
func hostsIn(fsys platform.FS) (hosts hostList, err error) {
	entries, err := fsys.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var programs hostList
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		if name, ext := hostOf(e.Name()); name != "" {
			hosts = hosts.with(name, ext, e.Name())
		} else if info, err := e.Info(); err == nil && isProgram(e.Name(), info) {
			programs = programs.with(strings.TrimSuffix(e.Name(), ".exe"), "", e.Name())
		}
	}
	if len(hosts) == 0 {
		hosts = hostsOfSelectors(fsys)
	}
	if len(hosts) == 0 {
		return programs, nil
	}
	return hosts, nil
}

const (
	selectorEnd = ".path"
	// maxSelector is the client's limit for a selector file in bytes.
	maxSelector = 4096
)

// hostsOfSelectors finds hosts in a writable root that holds only selectors yet.
func hostsOfSelectors(fsys platform.FS) (hosts hostList) {
	entries, err := fsys.ReadDir(fileset.SelectorDir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		module, is := strings.CutSuffix(e.Name(), selectorEnd)
		if name, ext := hostOf(module); is && name != "" {
			hosts = hosts.with(name, ext, path.Join(fileset.SelectorDir, e.Name()))
		}
	}
	return hosts
}

func (l hostList) with(name, ext, file string) hostList {
	at := slices.IndexFunc(l, func(h hostClues) bool { return h.name == name })
	if at < 0 {
		at, l = len(l), append(l, hostClues{name: name})
	}
	l[at].files = append(l[at].files, file)
	if ext != "" {
		l[at].ext = ext
	}
	return l
}

// hostOf returns the host that a file name indicates, and the extension of its module if known.
func hostOf(file string) (name, ext string) {
	if base, is := strings.CutSuffix(file, ".toml"); is {
		return base, ""
	}
	file = strings.TrimPrefix(file, install.PartPrefix)
	for _, suffix := range []string{install.StagingSuffix, install.BackupSuffix} {
		file = strings.TrimSuffix(file, suffix)
	}
	if ext := path.Ext(file); slices.Contains(ModuleExts(), ext) {
		return strings.TrimSuffix(file, ext), ext
	}
	return "", ""
}

// isProgram reports whether a file may be a host.
func isProgram(name string, info fs.FileInfo) bool {
	return path.Ext(name) == ".exe" || path.Ext(name) == "" && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
