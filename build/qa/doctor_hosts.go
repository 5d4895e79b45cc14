package qa

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"collet/app/install"
	"collet/platform"
)

// installedMark is the file that an installer leaves beside a host whose folder players can't write to.
const installedMark = "INSTALLED"

// moduleExts are the extensions of modules on all systems.
func moduleExts() []string { return []string{".so", ".dll", ".dylib"} }

// writableRoot is where the client keeps what changes, if that is not beside it: as the settings say, or in the folder of
// this user where the marker of an installer lies (fonline reference, section 3.7). Empty: beside it, or not known.
func writableRoot(fsys platform.FS, asked, game string) string {
	_, err := fsys.Lstat(installedMark)
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

// hostClues are the files that speak for a host of one name.
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

// hostsIn finds hosts by their settings, their modules and what is kept of them, their logs, and programs that have a name
// like one of those. A program alone is a clue only where there is no other.
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
		hosts = selected(fsys)
	}
	if len(hosts) == 0 {
		return programs, nil
	}
	return hosts, nil
}

const (
	// selectorDir is the folder in a writable root with a file for each module that tells where it is.
	selectorDir = "ClientRuntimeHost"
	selectorEnd = ".path"
	// maxSelector is the longest such file in bytes that is read, as the client has it.
	maxSelector = 4096
)

// selected finds hosts in a writable root that holds nothing yet but selectors.
func selected(fsys platform.FS) (hosts hostList) {
	entries, err := fsys.ReadDir(selectorDir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		module, is := strings.CutSuffix(e.Name(), selectorEnd)
		if name, ext := hostOf(module); is && name != "" {
			hosts = hosts.with(name, ext, path.Join(selectorDir, e.Name()))
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

// hostOf is the host that a file name speaks for, and the extension of its module if it tells.
func hostOf(file string) (name, ext string) {
	if base, is := strings.CutSuffix(file, ".toml"); is {
		return base, ""
	}
	file = strings.TrimPrefix(file, install.PartPrefix)
	for _, suffix := range []string{install.StagingSuffix, install.BackupSuffix} {
		file = strings.TrimSuffix(file, suffix)
	}
	if ext := path.Ext(file); slices.Contains(moduleExts(), ext) {
		return strings.TrimSuffix(file, ext), ext
	}
	return "", ""
}

// isProgram reports whether a file may be a host.
func isProgram(name string, info fs.FileInfo) bool {
	return path.Ext(name) == ".exe" || path.Ext(name) == "" && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
