package wrap

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"text/template"
	"time"

	"collet/build/pack"
	"collet/netproto/product"
	"collet/platform/text"
)

// Line is one finding for people.
type Line struct{ What, Found, Change string }

// Place is where a game and its description lie, and what can't be detected.
type Place struct {
	Folder string // the game's folder, relative to that of the description, with slashes
	Icon   string // the icon's file, relative to the description; Prepare fills it in
	URL    string // the folder on a web server from which players get releases
}

// RootFile is the file of the trusted root beside the description, and IconFile that of an icon that was made.
const (
	RootFile = "root.json"
	IconFile = "collet-icon.png"
)

// configText is the description of a game that was wrapped.
//
//go:embed config.toml
var configText string

// Config returns the text of collet.toml. random makes the upgrade code, by which installers know the game for ever.
func (g Game) Config(p Place, random io.Reader, now time.Time) (string, error) {
	code, err := pack.NewGUID(random)
	if err != nil {
		return "", err
	}
	if p.Folder == "." { // what lies beside the description is not the game
		g.Exclude = append(append([]string{}, g.Exclude...), "/"+RootFile, "/"+IconFile)
	}
	g.Targets = slices.Clone(g.Targets)
	for i := range g.Targets {
		g.Targets[i].Folder = path.Join(p.Folder, g.Targets[i].Folder)
	}
	lower := strings.ToLower(g.Name)
	tmpl, err := template.New("").Funcs(template.FuncMap{"q": quote, "list": quoteAll}).Parse(configText)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = tmpl.Execute(&out, struct {
		Game
		Place
		ID, Product, UpgradeCode, Time string
	}{g, p, "org.example." + strings.Trim(strings.ReplaceAll(lower, "_", "-"), "-"), lower, code, now.UTC().Truncate(24 * time.Hour).Format(time.RFC3339)})
	return out.String(), err
}

// quote is a text as a basic string of TOML, of which those of JSON are a part.
func quote(text string) (string, error) {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(text)
	return strings.TrimSuffix(out.String(), "\n"), err
}

func quoteAll(list []string) (string, error) {
	quoted := make([]string, len(list))
	for i, text := range list {
		var err error
		if quoted[i], err = quote(text); err != nil {
			return "", err
		}
	}
	return "[" + strings.Join(quoted, ", ") + "]", nil
}

// Lines returns what was found, one line each, with the key or flag that changes it.
func (g Game) Lines(p Place) (lines []Line) {
	add := func(what, change, found string, args ...any) {
		lines = append(lines, Line{what, fmt.Sprintf(found, args...), change})
	}
	add("engine", "", "%s", g.Engine)
	add("name", "game.nice-name, --name", "%s (from %s)", g.NiceName, g.NameFrom)
	add("base name", "game.name", "%s", g.Name)
	add("version", "game.version", "%s", g.Version)
	for _, t := range g.Targets {
		command := strings.Join(append(append([]string{}, t.Wrapper...), t.Program), " ")
		add(string(t.Name), "target.program, --program", "%s in %s: %s", command, path.Join(p.Folder, t.Folder), t.Why)
		if t.Name.System() == product.MacOS && len(t.Wrapper) == 0 && !strings.Contains(t.Program, ".app/") {
			add("", "", "without a bundle (.app) it has no icon on macOS")
		}
	}
	add("ready", "program.ready-window, program.ready-seconds", "with its first window, or after 10 s")
	if len(g.Keep) > 0 {
		add("keep", "files.keep, --keep", "%s: placed once, then the player's", listed(g.Keep))
	}
	add("exclude", "files.exclude, --exclude", "%s", listed(g.Exclude))
	for i, one := range g.Unfit {
		if i == maxUnfit {
			add("", "", "and %d more", len(g.Unfit)-i)
			break
		}
		add("left out", "", "%s; release publish would refuse it", one.What)
	}
	if len(g.Unfit) > 0 {
		add("", "files.exclude", "the game may need them: rename them, or put the files themselves in their place")
	}
	if g.Copies > 0 {
		add("links", "files.exclude", "players get %d files as copies, because links to folders lead to them", g.Copies)
	}
	if g.Packs > 0 {
		add("packs", "", "%s in %d data files of 1 MiB or more", text.Bytes(g.PackBytes), g.Packs)
	}
	if g.Advice != "" {
		add("advice", "", "%s", g.Advice)
	}
	if g.IconFrom != "" {
		add("icon", "game.icon", "%s", g.IconFrom)
	} else {
		add("icon", "game.icon", "none found; Collet's stands in for it")
	}
	if pack.IsExample(p.URL) {
		add("address", "client.urls, --url", "%s: an EXAMPLE; no player can update from it", p.URL)
	} else {
		add("address", "client.urls, --url", "%s", p.URL)
	}
	return lines
}
