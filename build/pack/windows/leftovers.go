package windows

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"collet/app/install"
	"collet/build/pack/bundle"
	"collet/netproto/product"
)

// cacheFolder is where a client keeps what it may lose, unless its settings say otherwise (docs/ON-DISK.md).
const cacheFolder = "Cache"

// ownFiles are what a client makes by itself below its folder; docs/ON-DISK.md says what they are. With the marker they lie in the
// player's data folder, but a client that can't use that falls back to its own.
func ownFiles(module string) (list []string) {
	for _, name := range []string{
		install.StateDir + "/journal.0", install.StateDir + "/journal.1", install.StateDir + "/lists.0", install.StateDir + "/lists.1",
		install.StateDir + "/lock", install.StateDir + "/readers", install.StateDir + "/open",
		cacheFolder + "/hashes", cacheFolder + "/blocks", cacheFolder + "/last-update", cacheFolder + "/content", cacheFolder + "/servers",
		"ClientRuntimeHost/" + module + ".path",
	} {
		list = append(list, name, name+".new")
	}
	return list
}

// ownFolders are the folders that hold nothing but a client's own files, at any depth.
func ownFolders() []string { return []string{install.StateDir, cacheFolder + "/release"} }

// removal is one thing that goes, relative to the install folder, with slashes.
type removal struct {
	path string
	kind kindOf
}

type kindOf string

const (
	file   kindOf = "file"
	empty  kindOf = "folder, if nothing is left in it"
	folder kindOf = "folder with all that is in it"
)

// removals lists what uninstalling takes, in order: files, then folders from the deepest up. The install folder itself is not
// among them.
func removals(tree bundle.Tree, base string) []removal {
	var list []removal
	folders := map[string]bool{cacheFolder: true, "ClientRuntimeHost": true}
	for _, e := range tree {
		list = append(list, removal{e.Path, file})
		for _, name := range besides(e.Path) {
			list = append(list, removal{name, file})
		}
		for dir := path.Dir(e.Path); dir != "."; dir = path.Dir(dir) {
			folders[dir] = true
		}
	}
	for _, name := range []string{base + ".log", base + ".log.old"} {
		list = append(list, removal{name, file})
	}
	for _, ext := range []string{".dll", product.DescriptionExt} {
		for _, name := range ownFiles(base + ext) {
			if one := (removal{name, file}); !slices.Contains(list, one) {
				list = append(list, one)
			}
		}
	}
	for _, dir := range ownFolders() {
		list = append(list, removal{dir, folder})
	}
	for _, dir := range deepestFirst(folders) {
		list = append(list, removal{dir, empty})
	}
	return list
}

// besides are the names that an update gives a file on its way in and out.
func besides(name string) []string {
	dir, base := path.Split(name)
	names := []string{dir + install.PartPrefix + base}
	if dir == "" {
		names = append(names, name+install.StagingSuffix, name+install.BackupSuffix)
	}
	if host, is := strings.CutSuffix(name, ".exe"); is && dir == "" {
		names = append(names, host+install.StagingSuffix+".exe")
	}
	return names
}

func deepestFirst(folders map[string]bool) []string {
	var list []string
	for dir := range folders {
		list = append(list, dir)
	}
	slices.SortFunc(list, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(b, "/"), strings.Count(a, "/")), cmp.Compare(a, b))
	})
	return list
}
