package pack

import (
	"cmp"
	"errors"
	"image"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"collet/netproto/product"
	"collet/netproto/release/trust"
	"collet/runtime/area"
)

// Survey lists files of a project's folder that probably belong into its description. Paths are relative to the folder, with slashes; empty
// if not found.
type Survey struct {
	Name           string
	Icon, Splash   string
	TrustedRoot    string
	ServerSettings string
	Compatibility  string // of the module, as given by the user; empty: an example is written
	Packs          []Pack
	Targets        []Target
	Programs       []Program
}

// Limits of a survey, which is advice only and must be quick.
const (
	maxSurvey      = 20_000    // entries visited
	maxSurveyDepth = 6         // folders below the project's
	maxProgram     = 512 << 20 // bytes read of a program
)

// Look surveys a folder. It follows no links, and skips unreadable files and names that begin with a dot.
func Look(dir string) (Survey, error) {
	full, err := filepath.Abs(dir)
	if err != nil {
		return Survey{}, err
	}
	s := surveyor{dir: full}
	s.Name = NameFrom(filepath.Base(full))
	seen := 0
	err = filepath.WalkDir(full, func(file string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(full, file)
		if relErr != nil || err != nil && rel == "." {
			return errors.Join(err, relErr)
		}
		seen++
		switch name := filepath.ToSlash(rel); {
		case seen > maxSurvey:
			return fs.SkipAll
		case err != nil || name == ".":
			return nil
		case e.IsDir() && (strings.HasPrefix(e.Name(), ".") || strings.Count(name, "/") >= maxSurveyDepth):
			return fs.SkipDir
		case e.IsDir():
			return s.folder(name)
		case e.Type().IsRegular():
			s.file(name)
		}
		return nil
	})
	s.finish()
	return s.Survey, err
}

// surveyor collects a Survey.
type surveyor struct {
	Survey
	dir       string
	libraries []string // native libraries that are not modules
	symbols   []string // .pdb
}

// NameFrom derives a game's base name from the first of some texts that has a letter for it: the game's name, a folder's. Latin letters lose
// their marks; what is no letter of ASCII, digit, dash or underscore after that is left out. "Game" stands in where no text has one.
func NameFrom(texts ...string) string {
	for _, text := range texts {
		name := strings.Map(func(r rune) rune {
			if nameForm.MatchString("a" + string(r)) {
				return r
			}
			return -1
		}, latin.Replace(norm.NFD.String(text)))
		name = strings.TrimLeft(dashes.ReplaceAllString(name, "-"), "0123456789-_")
		if name = strings.TrimRight(name[:min(len(name), maxName)], "-"); name != "" {
			return strings.ToUpper(name[:1]) + name[1:]
		}
	}
	return "Game"
}

// latin are letters that have no form without a mark, and the sign that is a word.
var latin = strings.NewReplacer("ß", "ss", "ẞ", "SS", "æ", "ae", "Æ", "Ae", "œ", "oe", "Œ", "Oe", "ø", "o", "Ø", "O", "ł", "l", "Ł", "L", "đ", "d", "Đ", "D",
	"ð", "d", "Ð", "D", "þ", "th", "Þ", "Th", "ı", "i", "&", "-and-")

var dashes = regexp.MustCompile(`-+`)

// packFolders are the usual folders of resources.
var packFolders = []string{"resources", "packs"}

// folder records a folder of resources without reading it.
func (s *surveyor) folder(name string) error {
	if !slices.Contains(packFolders, strings.ToLower(path.Base(path.Dir(name)))) {
		return nil
	}
	s.Packs = append(s.Packs, Pack{Name: path.Base(name), From: name})
	return fs.SkipDir
}

func (s *surveyor) file(name string) {
	base := strings.ToLower(path.Base(name))
	switch ext := path.Ext(base); {
	case ext == ".png":
		s.picture(name, base)
	case base == "root.json" && s.TrustedRoot == "":
		if data, err := readSome(s.full(name), trust.MaxRoot+1); err == nil && len(data) <= trust.MaxRoot {
			if _, err := trust.InspectRoot(data); err == nil {
				s.TrustedRoot = name
			}
		}
	case base == "collet-server.toml" || base == "server.toml":
		s.ServerSettings = cmp.Or(s.ServerSettings, name)
	case ext == ".zip" && slices.Contains(packFolders, strings.ToLower(path.Base(path.Dir(name)))):
		s.Packs = append(s.Packs, Pack{Name: strings.TrimSuffix(path.Base(name), path.Ext(name)), From: name})
	case ext == pdbExt:
		s.symbols = append(s.symbols, name)
	default:
		s.program(name, base)
	}
}

func (s *surveyor) full(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

// picture records a picture named splash as the splash. The icon is the first square picture, or the first one named icon.
func (s *surveyor) picture(name, base string) {
	if strings.HasPrefix(base, "splash") && s.Splash == "" {
		s.Splash = name
		return
	}
	f, err := os.Open(s.full(name))
	if err != nil {
		return
	}
	defer f.Close()
	c, _, err := image.DecodeConfig(f)
	if err == nil && c.Width == c.Height && c.Width >= minIcon && c.Width <= maxIcon && (s.Icon == "" || strings.HasPrefix(base, "icon") && !strings.HasPrefix(path.Base(s.Icon), "icon")) {
		s.Icon = name
	}
}

// program classifies programs and libraries of all systems. Those with a settings area are hosts and modules.
func (s *surveyor) program(name, base string) {
	targets := builtFor(s.full(name))
	for _, t := range targets {
		switch library := strings.EqualFold(path.Ext(base), t.LibraryExt()); {
		case strings.HasPrefix(base, "collet-server") && !library:
			s.Programs = append(s.Programs, Program{Target: string(t), From: name})
		case !s.hasAreas(name) && library:
			s.libraries = append(s.libraries, name)
		case !s.hasAreas(name):
		case library:
			s.target(t).Module = cmp.Or(s.target(t).Module, name)
		default:
			s.target(t).Host = cmp.Or(s.target(t).Host, name)
		}
	}
}

// hasAreas reports whether a program has areas for packaging.
func (s *surveyor) hasAreas(name string) bool {
	info, err := os.Stat(s.full(name))
	if err != nil || info.Size() > maxProgram {
		return false
	}
	data, err := os.ReadFile(s.full(name))
	if err != nil {
		return false
	}
	_, err = area.Find(data, area.Config)
	return err == nil
}

// target returns the entry of a target, and adds it if it is new.
func (s *surveyor) target(t product.Target) *Target {
	i := slices.IndexFunc(s.Targets, func(o Target) bool { return o.Name == string(t) })
	if i < 0 {
		i, s.Targets = len(s.Targets), append(s.Targets, Target{Name: string(t)})
	}
	return &s.Targets[i]
}

// finish adds symbols and companions to the targets, and drops targets without a module.
func (s *surveyor) finish() {
	s.Targets = slices.DeleteFunc(s.Targets, func(t Target) bool { return t.Module == "" })
	slices.SortFunc(s.Targets, func(a, b Target) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Programs, func(a, b Program) int { return cmp.Compare(a.Target, b.Target) })
	s.Programs = slices.CompactFunc(s.Programs, func(a, b Program) bool { return a.Target == b.Target })
	s.Packs = distinct(s.Packs)
	for i := range s.Targets {
		t := &s.Targets[i]
		if product.Target(t.Name).System() == product.Windows {
			t.HostPDB, t.ModulePDB = s.symbolsOf(t.Host), s.symbolsOf(t.Module)
			t.NoSymbols = t.ModulePDB == ""
		}
		for _, l := range s.libraries {
			if path.Dir(l) == path.Dir(cmp.Or(t.Host, t.Module)) && slices.Contains(builtFor(s.full(l)), product.Target(t.Name)) {
				t.Companions = append(t.Companions, l)
			}
		}
	}
}

// symbolsOf finds game.pdb or game.dll.pdb beside game.dll.
func (s *surveyor) symbolsOf(program string) string {
	bare := strings.TrimSuffix(program, path.Ext(program))
	for _, name := range s.symbols {
		if program != "" && (strings.EqualFold(name, program+pdbExt) || strings.EqualFold(name, bare+pdbExt)) {
			return name
		}
	}
	return ""
}

// distinct drops packs with duplicate names.
func distinct(packs []Pack) (list []Pack) {
	seen := map[string]bool{}
	for _, p := range packs {
		if !seen[folded(p.Name)] && len(list) < maxPacks {
			list = append(list, p)
		}
		seen[folded(p.Name)] = true
	}
	return list
}
