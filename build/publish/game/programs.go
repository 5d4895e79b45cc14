package game

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"collet/build/advice"
	"collet/netproto/product"
	"collet/netproto/release"
	"collet/platform"
	"collet/runtime/program"
)

// readPlatformResources reads the resources of single targets.
func (g *Folder) readPlatformResources() error {
	common := map[string]string{}
	for _, f := range g.common {
		common[release.Fold(f.Path)] = f.Name
	}
	return platform.Walk(g.FS, platformResources, func(name string, e fs.DirEntry) error {
		target, rel, deep := strings.Cut(strings.TrimPrefix(name, platformResources+"/"), "/")
		if !deep || isLeftover(rel) {
			g.Ignored = append(g.Ignored, name)
			return nil
		}
		if !g.takes(name, rel) {
			return nil
		}
		if other, twice := common[release.Fold(rel)]; twice {
			g.unfit = append(g.unfit, advice.Wrong("remove one of them", "%s and %s are one file of a player", g.FS.Path(other), g.FS.Path(name)))
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return advice.Because(err, "", "look at %s", g.FS.Path(name))
		}
		g.targets[target] = append(g.targets[target], &File{Name: name, Path: rel, use: release.UseResource, Info: info})
		return nil
	}, g.leaveOut)
}

// isLeftover reports whether a system has left a file behind. All other names that begin with a dot can be a program's own.
func isLeftover(name string) bool {
	base := name[strings.LastIndexByte(name, '/')+1:]
	return slices.Contains([]string{".DS_Store", "Thumbs.db", "desktop.ini"}, base) || strings.HasPrefix(base, "._")
}

// IsProgram reports whether a target's set is that of a program.
func (g *Folder) IsProgram(target string) bool {
	return slices.ContainsFunc(g.targets[target], func(f *File) bool {
		return f.use == release.UseResource || strings.HasSuffix(f.Path, product.DescriptionExt)
	})
}

// markExecutables finds the resources of programs that a system can run: those with the right to be run, and those that begin like a program
// or a script.
func (g *Folder) markExecutables() error {
	for _, target := range g.Targets() {
		if !g.IsProgram(target) {
			continue
		}
		for _, f := range g.Files(target) {
			if f.use != release.UseResource || f.mode != 0 {
				continue
			}
			f.mode = release.PlainMode
			runs := f.Info.Mode()&0o111 != 0
			if !runs {
				var err error
				if runs, err = beginsLikeProgram(g.FS, f.Name); err != nil {
					return advice.Because(err, "", "read %s", g.FS.Path(f.Name))
				}
			}
			if runs {
				f.mode = release.ProgramMode
			}
		}
	}
	return nil
}

// beginsLikeProgram reports whether a file begins like one that a Unix system can run: ELF, Mach-O for one processor or several, a script.
func beginsLikeProgram(fsys platform.FS, name string) (bool, error) {
	in, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return false, err
	}
	defer in.Close()
	head := make([]byte, release.ProgramHead)
	n, err := io.ReadFull(in, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return false, err
	}
	return release.BeginsProgram(head[:n]), nil
}

// AddDescription adds a file that was made after the folder was read: the description of a target's program. Its digest is the caller's to
// fill in.
func (g *Folder) AddDescription(target, name string) (*File, error) {
	info, err := g.FS.Lstat(name)
	if err != nil {
		return nil, err
	}
	f := &File{Name: name, Path: path.Base(name), Info: info, use: release.UseRuntime}
	g.targets[target] = append(g.targets[target], f)
	return f, nil
}

// CheckDescriptions checks the descriptions of a target's programs, and takes from them what a release says about those.
func (g *Folder) CheckDescriptions(target string) error {
	for _, f := range g.targets[target] {
		if f.use != release.UseResource && strings.HasSuffix(f.Path, product.DescriptionExt) {
			if err := g.checkDescription(target, f); err != nil {
				return err
			}
		}
	}
	g.findHosts(target) // a host may lie beside a description that was added
	return nil
}

// checkDescription checks that a target's set has what a description names, and that the program can be run.
func (g *Folder) checkDescription(target string, file *File) error {
	name := g.FS.Path(file.Name)
	text, err := platform.ReadFile(g.FS, file.Name, program.MaxDescription)
	if err != nil {
		return advice.Because(err, "", "read %s", name)
	}
	d, err := program.Parse(text)
	if err != nil {
		return advice.Because(err, "let collet make it: name the program in collet.toml", "%s", name)
	}
	set := map[string]*File{}
	for _, f := range g.Files(target) {
		if f.use == release.UseResource {
			set[f.Path] = f
		}
	}
	if set[d.Program] == nil {
		return advice.Wrong(fmt.Sprintf("put it into %s/%s", platformResources, target), "%s names the executable %s, which is not there", name, d.Program)
	}
	set[d.Program].mode = release.ProgramMode
	g.Compatibility[target] = d.Compatibility
	if len(d.Wrapper) == 0 {
		g.Programs[target] = append(g.Programs[target], d.Program)
	}
	for _, k := range d.Keep {
		if set[k.Shipped()] == nil {
			return advice.Wrong(fmt.Sprintf("put it into %s/%s", platformResources, target), "%s names the file %s, which is not there", name, k.Shipped())
		}
		if set[k.Path] != nil {
			return advice.Wrong("remove the second one", "%s says that players keep %s, and the release has it as %s and as %s", name, k.Path, k.Shipped(), k.Path)
		}
	}
	return nil
}
