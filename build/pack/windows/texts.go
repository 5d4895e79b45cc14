package windows

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// templates are the scripts of installers with gaps for a game's names and files, and the texts that players read.
//
//go:embed installer
var templates embed.FS

// words are the texts of one language: keys as in texts.<language>.json.
type words map[string]string

// languages are the languages of installers by their tags, English first: the first one is the default.
func languages() (tags []string, texts map[string]words, err error) {
	names, err := fs.Glob(templates, "installer/texts.*.json")
	if err != nil {
		return nil, nil, err
	}
	texts = map[string]words{}
	for _, name := range names {
		data, err := templates.ReadFile(name)
		if err != nil {
			return nil, nil, err
		}
		w := words{}
		if err := json.Unmarshal(data, &w); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		tag := strings.Split(path.Base(name), ".")[1]
		tags = append(tags, tag)
		texts[tag] = w
	}
	slices.SortStableFunc(tags, func(a, b string) int {
		switch {
		case a == "en":
			return -1
		case b == "en":
			return 1
		}
		return strings.Compare(a, b)
	})
	return tags, texts, nil
}

// nsisVariables are what placeholders of a text become that only a running setup knows.
func nsisVariables() map[string]string {
	return map[string]string{"installed": "$Installed", "folder": "$INSTDIR"}
}

// inControl reports whether a text stands in a control of a window, where "&" marks the next letter. Boxes don't know that.
func inControl(key string) bool {
	return strings.HasPrefix(key, "options.") || key == "start" || key == "keeps"
}

// nsisText is the NSIS string of a text: placeholders filled with what is known now, or with variables.
func nsisText(key, text, game, version string) string {
	if inControl(key) {
		game = ampersands(game)
	}
	replace := []string{"{game}", escaped(game), "{version}", escaped(version)}
	for name, variable := range nsisVariables() {
		replace = append(replace, "{"+name+"}", variable)
	}
	return `"` + strings.NewReplacer(replace...).Replace(escaped(text)) + `"`
}

// escaped is a text inside of an NSIS string, whatever quotes stand around it. Behind a dollar a brace would begin
// the name of something that the script defines, and a backslash an escape.
func escaped(text string) string {
	text = strings.NewReplacer("${", "$$${U+7B}", `$\`, "$$${U+5C}", "$", "$$", `"`, `$\"`, "'", `$\'`, "`", "$\\`", "\n", `$\n`, "\r", `$\r`, "\t", `$\t`).Replace(text)
	return text
}

// quoted is a whole NSIS string. Variables named after the text stay variables.
func quoted(text string, variables ...string) string {
	text = escaped(text)
	for _, v := range variables {
		if rest, found := strings.CutPrefix(text, escaped(v)); found {
			text = v + rest
		}
	}
	return `"` + text + `"`
}

// ampersands doubles "&", which in names of windows and in buttons marks the next letter.
func ampersands(text string) string { return strings.ReplaceAll(text, "&", "&&") }
