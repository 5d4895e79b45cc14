package wrap

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"image"
	_ "image/png" // icons
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"collet/build/pack"
	"collet/build/pack/icon"
	"collet/build/pack/pe"
	"collet/netproto/product"
)

// Limits of what is read, and of texts in a description.
const (
	maxInfo    = 256 << 10 // bytes of a file with texts
	maxPicture = 16 << 20  // bytes of a picture
	maxLine    = 100       // bytes of a text
)

// defaultVersion is the version of a game that does not state one.
const defaultVersion = "0.1.0"

// identify fills in names, version and icon. targets is not empty.
func (t *tree) identify(g *Game, e engine, targets []Target, o Options) {
	first := targets[0]
	entry, ofProgram := t.desktopEntry(), t.windowsIdentity(targets)
	info := t.engineIdentity(first)
	fallback, from := t.fallback(first.Program, o)
	for _, one := range []struct{ text, from string }{
		{info.name, info.file}, {entry.name, entry.file}, {ofProgram.Name, "resources of the program"}, {fallback, from},
	} {
		if text := line(one.text); text != "" {
			g.NiceName, g.NameFrom = text, one.from
			break
		}
	}
	if g.NiceName == "" {
		g.NiceName, g.NameFrom = "Game", "nothing"
	}
	g.Name = pack.NameFrom(strings.ReplaceAll(g.NiceName, " ", "-"), fallback, stem(first.Program))
	g.Publisher, g.Summary = line(cmp.Or(info.publisher, ofProgram.Publisher)), strings.TrimRight(line(entry.comment), ".")
	g.Version = version(cmp.Or(info.version, ofProgram.Version))
	t.findIcon(g, first, entry, ofProgram)
}

// fallback is a name for a game that states none, and where it comes from: the program, the folder, the only other program, or the folder above.
func (t *tree) fallback(program string, o Options) (name, from string) {
	if name = stem(program); !generic.MatchString(name) {
		return name, "the program's name"
	}
	if !genericFolder.MatchString(o.Folder) {
		return o.Folder, "the folder's name"
	}
	var others []string
	for _, f := range t.files {
		if f.startable() && f.kind == executable && !generic.MatchString(stem(f.path)) {
			others = append(others, f.path)
		}
	}
	if len(others) == 1 {
		return stem(others[0]), "the name of " + others[0]
	}
	if o.Above != "" && !genericFolder.MatchString(o.Above) {
		return o.Above, "the name of the folder above"
	}
	return o.Folder, "the folder's name"
}

// genericFolder are names of folders that say nothing of the game.
var genericFolder = regexp.MustCompile(`(?i)^(builds?|bin|dist|out|output|releases?|exports?|games?|target|src|work|te?mp|desktop|downloads?|documents?|[/\\.]|` +
	`(linux|windows|win|mac(os)?|osx)?[-_ ]?(x86[-_]?64|x?(86|64|32)|amd64|arm64|universal|desktop|build|player|noeditor)?)$`)

// generic are names of programs that say nothing of the game.
var generic = regexp.MustCompile(`(?i)^(game|start|run|play|launch(er)?|main|nw|electron|love|renpy|rpg_rt|player|app)$`)

// line is a text if it can stand in one line of a description, otherwise empty.
func line(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > maxLine || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return ""
	}
	return text
}

// versionForm is the beginning of a version.
var versionForm = regexp.MustCompile(`^v?((?:0|[1-9][0-9]{0,3})(?:\.(?:0|[1-9][0-9]{0,3})){1,3})`)

// version is the numbers at the beginning of a text, or the default.
func version(text string) string {
	if m := versionForm.FindStringSubmatch(strings.TrimSpace(text)); m != nil && strings.Trim(m[1], "0.") != "" {
		return m[1]
	}
	return defaultVersion
}

// texts are what a file of the engine says of the game.
type texts struct{ name, publisher, version, file string }

var (
	loveTitle = regexp.MustCompile(`\bt(?:\.window)?\.title\s*=\s*["']([^"'\n]+)["']`)
	plistName = regexp.MustCompile(`<key>CFBundle(?:Display)?Name</key>\s*<string>([^<&]+)</string>`)
	renpyName = regexp.MustCompile(`(?m)^define config\.name = _?\(?["']([^"'\n]+)["']`)
	iniTitle  = regexp.MustCompile(`(?mi)^(?:Title|GameTitle)\s*=\s*([^\r\n]+)`)

	systemName = regexp.MustCompile(`"gameTitle"\s*:\s*"([^"\\]+)"`)
)

// engineIdentity reads the file in which the engine has the game's name.
func (t *tree) engineIdentity(target Target) texts {
	for _, name := range t.match(`[^/]+_Data/app\.info|.*\.app/Contents/Resources/Data/app\.info`) {
		if company, product, ok := strings.Cut(string(readSome(t.fsys, name, maxInfo)), "\n"); ok {
			return texts{name: strings.TrimSpace(product), publisher: strings.TrimSpace(company), file: name}
		}
	}
	for _, one := range []struct {
		files string
		form  *regexp.Regexp
	}{
		{`(www/)?data/System\.json`, systemName},
		{`game/options\.rpy`, renpyName},
		{`(Game|RPG_RT)\.ini`, iniTitle},
		{`conf\.lua`, loveTitle},
		{`[^/]+\.app/Contents/Info\.plist`, plistName},
	} {
		for _, name := range t.match(one.files) {
			if m := one.form.FindSubmatch(readSome(t.fsys, name, maxInfo)); m != nil {
				return texts{name: string(m[1]), file: name}
			}
		}
	}
	for _, name := range t.match(`package\.json|resources/app/package\.json`) {
		var doc struct{ Name, ProductName, Version string }
		if json.Unmarshal(readSome(t.fsys, name, maxInfo), &doc) == nil && doc.Name+doc.ProductName != "" {
			return texts{name: cmp.Or(doc.ProductName, doc.Name), version: doc.Version, file: name}
		}
	}
	return texts{}
}

// entry is a .desktop file.
type entry struct{ file, name, comment, exec, icon string }

// desktopEntry reads the only .desktop file of the tree; empty without one.
func (t *tree) desktopEntry() (e entry) {
	files := t.match(`(.*/)?[^/]+\.desktop`)
	if len(files) != 1 {
		return entry{}
	}
	e.file = files[0]
	group := ""
	scanner := bufio.NewScanner(bytes.NewReader(readSome(t.fsys, e.file, maxInfo)))
	for scanner.Scan() {
		key, value, _ := strings.Cut(scanner.Text(), "=")
		value = strings.TrimSpace(value)
		switch key = strings.TrimSpace(key); {
		case strings.HasPrefix(key, "["):
			group = key
		case group != "[Desktop Entry]" || value == "":
		case key == "Name":
			e.name = value
		case key == "Comment":
			e.comment = value
		case key == "Exec":
			e.exec = path.Base(strings.Trim(strings.Fields(value)[0], `"`))
		case key == "Icon":
			e.icon = value
		}
	}
	return e
}

// windowsIdentity reads the resources of the program for Windows.
func (t *tree) windowsIdentity(targets []Target) pe.Identity {
	i := slices.IndexFunc(targets, func(one Target) bool { return one.Name.System() == product.Windows })
	if i < 0 {
		return pe.Identity{}
	}
	f, err := t.fsys.Open(targets[i].Program)
	if err != nil {
		return pe.Identity{}
	}
	defer f.Close()
	in, canSeek := f.(io.ReadSeeker)
	if !canSeek {
		return pe.Identity{}
	}
	id, err := pe.ReadIdentity(in)
	if err != nil {
		return pe.Identity{}
	}
	return id
}

// iconFiles are where games have a picture that stands for them, best first.
var iconFiles = []string{
	`(.*/)?icons/hicolor/(256x256|512x512|1024x1024|128x128)/apps/[^/]+\.png`, `[^/]+_Data/Resources/UnityPlayer\.png`, `game/gui/window_icon\.png`,
	`(www/)?icon/icon\.png`, `assets/icon\.png`, `resources/app/(.*/)?icon\.png`, `icon[^/]*\.png`, `(.*/)?share/pixmaps/[^/]+\.png`, `(.*/)?(icon|logo)[^/]*\.png`,
}

// maxIcon is the largest side of a picture that a description may name, in pixels.
const maxIcon = 2048

// findIcon finds the game's picture, and makes an icon of it if it can't be used as it is.
func (t *tree) findIcon(g *Game, target Target, e entry, ofProgram pe.Identity) {
	names := []string{stem(target.Program) + ".png"}
	if e.icon != "" {
		names = append(t.match(`(.*/)?`+regexp.QuoteMeta(path.Base(e.icon))+`(\.png)?`), names...)
	}
	for _, pattern := range iconFiles {
		names = append(names, t.match(pattern)...)
	}
	var best image.Image
	for _, name := range names {
		if path.Ext(name) != ".png" {
			continue
		}
		content := readSome(t.fsys, name, maxPicture)
		config, _, err := image.DecodeConfig(bytes.NewReader(content))
		switch side := config.Width; {
		case err != nil || max(config.Width, config.Height) > icon.MaxSide:
		case side == config.Height && side >= icon.MinSide && side <= maxIcon:
			g.Icon, g.IconFrom = path.Join(target.Folder, name), path.Join(target.Folder, name)
			return
		case best == nil || side > best.Bounds().Dx():
			if picture, _, err := image.Decode(bytes.NewReader(content)); err == nil {
				best, g.IconFrom = picture, path.Join(target.Folder, name)
			}
		}
	}
	if ofProgram.Icon != nil && (best == nil || ofProgram.Icon.Bounds().Dx() > best.Bounds().Dx()) {
		best, g.IconFrom = ofProgram.Icon, "resources of the program"
	}
	if best == nil {
		return
	}
	if png, err := icon.Fit(best); err == nil {
		g.IconPNG = png
	} else {
		g.IconFrom = ""
	}
}
