package windows

import (
	"embed"
	"slices"
	"strings"

	"collet/assets"
)

// templates are the scripts of installers with gaps for a game's names and files.
//
//go:embed installer
var templates embed.FS

// english is the default language of installers.
const english = "en"

// languages are the languages of installers by their tags, the default one first.
func languages() []string {
	others := slices.DeleteFunc(assets.Languages(), func(tag string) bool { return tag == english })
	return append([]string{english}, others...)
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
