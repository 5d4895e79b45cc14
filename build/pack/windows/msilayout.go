package windows

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
)

// wxsFolder is a folder with what lies in it.
type wxsFolder struct {
	ID, Name string
	Files    []wxsFile
	Folders  []*wxsFolder
}

type wxsFile struct {
	ID, GUID, Name, Staged string
	Host                   *wxs // of the host, what belongs to it
}

// shortID is an identifier for a path: letters and digits that stay the same in every version.
func shortID(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:10])
}

// lay makes the tree of folders and components, and of folders in which only an updater puts something.
func (p *msiProduct) lay(base string) {
	p.folderIDs = map[string]string{"": "INSTALLDIR"}
	folders := map[string]*wxsFolder{"": {ID: "INSTALLDIR", Name: base}}
	p.Folder = folders[""]
	var at func(dir string) *wxsFolder
	at = func(dir string) *wxsFolder {
		if dir == "." || dir == "/" {
			dir = ""
		}
		if f := folders[dir]; f != nil {
			return f
		}
		f := &wxsFolder{ID: "d_" + shortID(dir), Name: path.Base(dir)}
		folders[dir], p.folderIDs[dir] = f, f.ID
		parent := at(path.Dir(dir))
		parent.Folders = append(parent.Folders, f)
		return f
	}
	scope := "user"
	if p.Machine {
		scope = "machine"
	}
	for i, e := range p.tree {
		f := wxsFile{ID: shortID(e.Path), GUID: derived(p.UpgradeCode, "component/"+scope+"/"+e.Path), Name: path.Base(e.Path), Staged: stagedName(i)}
		if e.Path == p.Program {
			f.Host = &p.wxs
			p.hostIdentifier = f.ID
		}
		folder := at(path.Dir(e.Path))
		folder.Files = append(folder.Files, f)
		p.Components = append(p.Components, "c_"+f.ID)
	}
	p.removals = p.deep(p.removals)
	for _, r := range p.removals {
		at(path.Dir(r.path))
		if r.kind == empty {
			at(r.path)
		}
	}
}

// deep replaces what Windows Installer can't do, remove a folder with all that is in it, by files and folders that are known to
// be there (docs/ON-DISK.md), the deepest first. Patterns follow names, for what a name can't be known of.
func (p *msiProduct) deep(list []removal) (out []removal) {
	for _, r := range list {
		if r.kind != folder {
			out = append(out, r)
			continue
		}
		folders := map[string]bool{r.path: true}
		for _, sub := range []string{"trust", "spool", "previous", "parts", "host", "packs"} {
			folders[path.Join(r.path, sub)] = true
		}
		for _, e := range p.tree {
			for _, sub := range []string{"previous", "parts"} {
				name := path.Join(r.path, sub, e.Path)
				out = append(out, removal{name, file})
				for dir := path.Dir(name); dir != r.path; dir = path.Dir(dir) {
					folders[dir] = true
				}
			}
		}
		for _, dir := range deepestFirst(folders) {
			out = append(out, removal{dir + "/*", file}, removal{dir, empty})
		}
	}
	return out
}
