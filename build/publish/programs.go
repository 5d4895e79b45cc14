package publish

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"collet/build/advice"
	"collet/netproto/product"
	"collet/netproto/release"
	"collet/platform"
	"collet/runtime/program"
)

// Games that are programs. A target's set has a description in the place of a native module, and the program among its resources:
//
//	Resources/**                    for every target
//	PlatformResources/<target>/**   for one target; players have both in the same folder
//	PlatformBinaries/<target>/<Base>.program

// readPlatformResources reads the resources of single targets.
func (g *game) readPlatformResources() error {
	common := map[string]string{}
	for _, f := range g.common {
		common[release.Fold(f.path)] = f.name
	}
	return walkAll(g.fs, platformResources, func(name string, e fs.DirEntry) error {
		target, rel, deep := strings.Cut(strings.TrimPrefix(name, platformResources+"/"), "/")
		if !deep || isLeftover(rel) {
			g.ignored = append(g.ignored, name)
			return nil
		}
		if !g.takes(name, rel) {
			return nil
		}
		if other, twice := common[release.Fold(rel)]; twice {
			g.unfit = append(g.unfit, advice.Wrong("remove one of them", "%s and %s are one file of a player", g.fs.Path(other), g.fs.Path(name)))
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return advice.Because(err, "", "look at %s", g.fs.Path(name))
		}
		g.targets[target] = append(g.targets[target], &found{name: name, path: rel, use: release.UseResource, info: info})
		return nil
	}, g.leaveOut)
}

// isLeftover reports whether a system has left a file behind. All other names that begin with a dot can be a program's own.
func isLeftover(name string) bool {
	base := name[strings.LastIndexByte(name, '/')+1:]
	return slices.Contains([]string{".DS_Store", "Thumbs.db", "desktop.ini"}, base) || strings.HasPrefix(base, "._")
}

// isProgram reports whether a target's set is that of a program.
func (g *game) isProgram(target string) bool {
	return slices.ContainsFunc(g.targets[target], func(f *found) bool {
		return f.use == release.UseResource || strings.HasSuffix(f.path, product.DescriptionExt)
	})
}

// markExecutables finds the resources of programs that a system can run: those with the right to be run, and those that begin like a program
// or a script.
func (g *game) markExecutables() error {
	for _, target := range g.names() {
		if !g.isProgram(target) {
			continue
		}
		for _, f := range g.files(target) {
			if f.use != release.UseResource || f.mode != 0 {
				continue
			}
			f.mode = release.PlainMode
			runs := f.info.Mode()&0o111 != 0
			if !runs {
				var err error
				if runs, err = beginsLikeProgram(g.fs, f.name); err != nil {
					return advice.Because(err, "", "read %s", g.fs.Path(f.name))
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
	in, err := openFile(fsys, name)
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

// addDescriptions adds the descriptions that follow from the other files, and checks all descriptions.
func (p *publication) addDescriptions(ctx context.Context) error {
	for _, target := range p.game.names() {
		if p.request.Describe != nil {
			if err := p.describe(ctx, target); err != nil {
				return err
			}
		}
		for _, f := range p.game.targets[target] {
			if f.use != release.UseResource && strings.HasSuffix(f.path, product.DescriptionExt) {
				if err := p.game.checkDescription(target, f); err != nil {
					return err
				}
			}
		}
	}
	p.game.findHosts() // a host may lie beside a description that was just added
	return nil
}

// describe adds the descriptions of one target.
func (p *publication) describe(ctx context.Context, target string) error {
	set, err := p.game.setOf(target)
	if err != nil {
		return err
	}
	names, err := p.request.Describe(target, set)
	if err != nil {
		return err
	}
	for _, name := range names {
		f := &found{name: name, path: name[strings.LastIndexByte(name, '/')+1:], use: release.UseRuntime}
		if f.info, err = p.game.fs.Lstat(name); err == nil {
			f.sum, err = p.digester.digestOf(ctx, p.game.fs, f)
		}
		if err != nil {
			return advice.Because(err, "", "description %s", name)
		}
		p.game.targets[target] = append(p.game.targets[target], f)
	}
	return nil
}

// checkDescription checks that a target's set has what a description names, and that the program can be run.
func (g *game) checkDescription(target string, file *found) error {
	name := g.fs.Path(file.name)
	text, err := platform.ReadFile(g.fs, file.name, program.MaxDescription)
	if err != nil {
		return advice.Because(err, "", "read %s", name)
	}
	d, err := program.Parse(text)
	if err != nil {
		return advice.Because(err, "let collet make it: name the program in collet.toml", "%s", name)
	}
	set := map[string]*found{}
	for _, f := range g.files(target) {
		if f.use == release.UseResource {
			set[f.path] = f
		}
	}
	if set[d.Program] == nil {
		return advice.Wrong(fmt.Sprintf("put it into %s/%s", platformResources, target), "%s names the executable %s, which is not there", name, d.Program)
	}
	set[d.Program].mode = release.ProgramMode
	g.compatibility[target] = d.Compatibility
	if len(d.Wrapper) == 0 {
		g.programs[target] = append(g.programs[target], d.Program)
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

// describesProgram reports whether a set is that of a program.
func describesProgram(l release.Listing) bool {
	return slices.ContainsFunc(l, func(f release.ListedFile) bool {
		return f.Use == release.UseRuntime && strings.HasSuffix(f.Path, product.DescriptionExt)
	})
}
