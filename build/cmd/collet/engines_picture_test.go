package main

import (
	"fmt"
	"html"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collet/build/pack"
	"collet/platform"
	"collet/runtime/program"
)

// role is what becomes of a file of a build.
type role struct{ class, label string }

var (
	roleProgram = role{"program", "started by the host"}
	roleCode    = role{"code", "code"}
	roleData    = role{"data", "data"}
	roleKeep    = role{"keep", "the player's own"}
	roleOut     = role{"out", "not released"}
)

// picture is the build of an engine's page, with the role that each file has in what the project publishes.
type picture struct {
	engine string
	roles  map[string]role // by path
	starts []start
}

// start is what players of a target start.
type start struct{ target, path, command, ready string }

// readPicture asks the packager what it would publish of a project, and finds each file of the layout in that.
func readPicture(t *testing.T, dir, engine, tree string) picture {
	t.Helper()
	p, err := pack.LoadUnrooted(filepath.Join(dir, "collet.toml"), os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	offer, err := p.Offer(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	offered := map[string]fs.FileMode{} // by path in the folder that is published
	err = platform.Walk(offer, ".", func(name string, e fs.DirEntry) error {
		info, err := e.Info()
		if err == nil {
			offered[name] = info.Mode()
		}
		return err
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pic := picture{engine: engine, roles: map[string]role{}}
	folders := make([]string, len(p.Builds())) // of the builds' games, from the layout's
	for i, b := range p.Builds() {
		if filepath.IsAbs(b.Folder) {
			b.Folder, err = filepath.Rel(dir, b.Folder)
			if err != nil {
				t.Fatal(err)
			}
		}
		folders[i] = filepath.ToSlash(b.Folder)
		command := strings.Join(append(b.Launch.Wrapper, path.Base(b.Program)), " ")
		d := start{string(b.Target), path.Join(folders[i], b.Program), command, "ready after some seconds"}
		if b.Launch.ReadyWindow == nil || *b.Launch.ReadyWindow {
			d.ready = "ready with its first window"
		}
		pic.starts = append(pic.starts, d)
	}
	for line := range strings.Lines(tree) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), "  ")
		pic.roles[name] = roleOut
		for i, b := range p.Builds() {
			rel, inside := strings.CutPrefix(name, folders[i]+"/")
			if !inside {
				continue
			}
			folder := path.Join("PlatformResources", string(b.Target))
			mode, isThere := offered[path.Join(folder, rel)]
			_, isKept := offered[path.Join(folder, program.Kept{Path: rel}.Shipped())]
			switch {
			case rel == b.Program:
				pic.roles[name] = roleProgram
			case isKept:
				pic.roles[name] = roleKeep
			case !isThere || pic.roles[name] == roleProgram:
			case mode&0o111 != 0:
				pic.roles[name] = roleCode
			default:
				pic.roles[name] = roleData
			}
		}
	}
	return pic
}

// row is a line of the picture: a file, or a folder with the folders that have nothing beside it in one line.
type row struct {
	name  string
	depth int
	role  role // of a file
}

// rows lists files below their folders, in the order of their names.
func rows(files []string, roles map[string]role, folder string, depth int) (list []row) {
	var below []string
	for _, f := range files {
		if strings.HasPrefix(f, folder) {
			below = append(below, f[len(folder):])
		}
	}
	for i := 0; i < len(below); {
		first, _, isFolder := strings.Cut(below[i], "/")
		if !isFolder {
			list = append(list, row{first, depth, roles[folder+first]})
			i++
			continue
		}
		first += "/"
		next := i
		for next < len(below) && strings.HasPrefix(below[next], first) {
			next++
		}
		inner := rows(files, roles, folder+first, depth+1)
		if inner[0].role == (role{}) && !slices.ContainsFunc(inner[1:], func(r row) bool { return r.depth == depth+1 }) {
			inner[0].name, inner[0].depth = first+inner[0].name, depth // the only folder in this one
			for k := range inner[1:] {
				inner[k+1].depth--
			}
			list = append(list, inner...)
		} else {
			list = append(list, row{name: first, depth: depth})
			list = append(list, inner...)
		}
		i = next
	}
	return list
}

// Lengths of the picture, in its own units.
const (
	pictureWidth = 900
	rowHeight    = 24
	rowsTop      = 58
	cardLeft     = 610
	cardHeight   = 84
)

const pictureStyle = `<style>
  text { font: 13px "DejaVu Sans", Verdana, sans-serif; fill: #1c2430; }
  .h { font-weight: bold; font-size: 15px; }
  .c { font-family: "DejaVu Sans Mono", Menlo, monospace; font-size: 12.5px; }
  .s { font-size: 12px; fill: #46505e; }
  .band { fill: #f4f1ea; stroke: #b9ae99; }
  .box { fill: #ffffff; stroke: #5b6778; stroke-width: 1.5; }
  .program { fill: #f6c667; } .code { fill: #bcd3ee; } .data { fill: #d5e8cf; } .keep { fill: #e9c9dd; } .out { fill: #e2e2e2; }
  .line { fill: none; stroke: #b57a12; stroke-width: 2; marker-end: url(#a); }
</style>
<defs><marker id="a" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 10 5 0 10z" fill="#b57a12"/></marker></defs>
`

// svg draws the build at the left, and at the right what players of each target start.
func (p picture) svg() string {
	files := make([]string, 0, len(p.roles))
	for name := range p.roles {
		files = append(files, name)
	}
	slices.Sort(files)
	list := rows(files, p.roles, "", 0)
	height := max(rowsTop+len(list)*rowHeight, rowsTop+len(p.starts)*(cardHeight+12)) + 14
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-labelledby="t">
<title id="t">%s: the files of a build, what becomes of each, and what players start</title>
`, pictureWidth, height, html.EscapeString(p.engine))
	b.WriteString(pictureStyle)
	fmt.Fprintf(&b, `<rect class="band" x="8" y="8" width="580" height="%d" rx="12"/><text class="h" x="24" y="36">Your build</text>
`, height-16)
	fmt.Fprintf(&b, `<rect class="band" x="%d" y="8" width="%d" height="%d" rx="12"/><text class="h" x="%d" y="36">Players start</text>
`, cardLeft-10, pictureWidth-cardLeft+2, height-16, cardLeft+6)
	var folders []string
	lines := map[string]int{} // the middle of a file's line, by path
	for i, r := range list {
		y := rowsTop + i*rowHeight
		folders = append(folders[:r.depth], r.name)
		name := html.EscapeString(r.name)
		fmt.Fprintf(&b, `<text class="c" x="%d" y="%d">%s</text>`, 24+18*r.depth, y+16, name)
		if r.role != (role{}) {
			fmt.Fprintf(&b, `<rect class="%s" x="440" y="%d" width="136" height="20" rx="10"/><text class="s" x="508" y="%d" text-anchor="middle">%s</text>`,
				r.role.class, y+1, y+15, r.role.label)
			lines[strings.Join(folders, "")] = y + 11
		}
		b.WriteString("\n")
	}
	for i, d := range p.starts {
		y := rowsTop + i*(cardHeight+12)
		fmt.Fprintf(&b, `<rect class="box" x="%d" y="%d" width="%d" height="%d" rx="8"/>`, cardLeft+6, y, pictureWidth-cardLeft-30, cardHeight)
		for _, text := range []struct {
			class, text string
			below       int
		}{{"h", d.target, 25}, {"c", d.command, 48}, {"s", d.ready, 69}} {
			fmt.Fprintf(&b, `<text class="%s" x="%d" y="%d">%s</text>`, text.class, cardLeft+20, y+text.below, html.EscapeString(text.text))
		}
		b.WriteString("\n")
		if from := lines[d.path]; from != 0 {
			fmt.Fprintf(&b, `<path class="line" d="M578 %d C596 %[1]d 592 %d %d %[2]d"/>`+"\n", from, y+cardHeight/2, cardLeft+4)
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}
