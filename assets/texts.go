package assets

import (
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// fallback is used if the user's language has no file, and for texts that a language lacks.
const fallback = "en"

// Texts is the wording of one language. It comes from TextsFor and is safe for concurrent use; the zero value knows no
// text and gives keys back.
type Texts struct {
	language string
	words    map[string]string
	english  func() map[string]string // parsed when a text is missing, which in a complete language never happens
}

// Languages lists the tags of all languages, sorted.
func Languages() []string {
	files, err := languages.ReadDir("lang")
	if err != nil {
		panic(fmt.Sprintf("assets: internal error: %v", err))
	}
	var tags []string
	for _, folder := range files {
		tags = append(tags, folder.Name())
	}
	slices.Sort(tags)
	return tags
}

// TextsFor gives the texts for a locale as LANG or LANGUAGE hold it ("ru_RU.UTF-8", "pt-BR", "de:ru"). The first
// language in it that has a folder wins, the more special form before the general one, and any other form of the same
// language before the next wish ("pt-pt" gets "pt-br"); English if there is none. Only that one language is parsed.
func TextsFor(locale string) Texts { return textsOf(tagOf(locale, Languages())) }

// tagOf is which of the known languages a locale finds.
func tagOf(locale string, known []string) string {
	for wish := range strings.SplitSeq(locale, ":") {
		for tag := normal(wish); tag != ""; tag = general(tag) {
			if slices.Contains(known, tag) {
				return tag
			}
			other := slices.IndexFunc(known, func(k string) bool { return strings.HasPrefix(k, tag+"-") })
			if general(tag) == "" && other >= 0 {
				return known[other]
			}
		}
	}
	return fallback
}

func textsOf(tag string) Texts {
	return Texts{tag, parse(languages, tag, "window"), sync.OnceValue(func() map[string]string { return parse(languages, fallback, "window") })}
}

// normal turns "ru_RU.UTF-8@variant" into "ru-ru".
func normal(locale string) string {
	locale, _, _ = strings.Cut(locale, ".")
	locale, _, _ = strings.Cut(locale, "@")
	return strings.ToLower(strings.ReplaceAll(strings.TrimSpace(locale), "_", "-"))
}

// general drops the last part of a tag: "zh-hant-tw" becomes "zh-hant", "zh" becomes "".
func general(tag string) string {
	return tag[:max(strings.LastIndex(tag, "-"), 0)]
}

// parse reads one file of a language. The files are embedded and tested, so a fault in one is a broken build.
func parse(files embed.FS, tag, part string) map[string]string {
	words := map[string]string{}
	decode(files, tag, part, &words)
	return words
}

func decode(files embed.FS, tag, part string, into any) {
	data, err := files.ReadFile(path.Join("lang", tag, part+".json"))
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		panic(fmt.Sprintf("assets: internal error: language %q: %v", tag, err))
	}
}

// About is what is to be known of a language beside its texts.
type About struct {
	Name string `json:"name"` // as its speakers call it
	NSIS string `json:"nsis"` // as the maker of Windows setups calls it
	LCID string `json:"lcid"` // Windows' number of it, decimal

	// Fonts are the files of a system's own fonts that have its letters, the best first, by GOOS: patterns of path.Match, and the number of
	// the font in a collection behind a #. Absent where the letters are in the window's own font.
	Fonts map[string][]string `json:"fonts,omitempty"`
}

// AboutOf are the facts of one of Languages.
func AboutOf(tag string) (a About) {
	decode(languages, tag, "about", &a)
	return a
}

// Dashboard are the texts of the server's pages in one of Languages.
func Dashboard(tag string) map[string]string { return parse(dashboards, tag, "dashboard") }

// Setup are the texts of installers in one of Languages.
func Setup(tag string) map[string]string { return parse(setups, tag, "setup") }

// Language is the tag of the language, for example "ru".
func (t Texts) Language() string { return t.language }

// Has reports whether there is a text for key.
func (t Texts) Has(key string) bool { _, found := t.findText(key); return found }

func (t Texts) findText(key string) (string, bool) {
	if text, found := t.words[key]; found || t.english == nil {
		return text, found
	}
	text, found := t.english()[key]
	return text, found
}

// Letters are all characters of the texts, each once, in no order: what a font has to have.
func (t Texts) Letters() string {
	seen := map[rune]bool{}
	var all strings.Builder
	for _, text := range t.words {
		for _, r := range text {
			if !seen[r] && unicode.IsGraphic(r) {
				seen[r] = true
				all.WriteRune(r)
			}
		}
	}
	return all.String()
}

// Get is the text for key with its placeholders replaced. args are pairs of a placeholder's name and its value, which
// is formatted as fmt.Sprint does: Get("count", "n", 3, "total", 12). An unknown key comes back as it is, so that what
// is missing can be seen; a placeholder without a value stays.
func (t Texts) Get(key string, args ...any) string {
	text, found := t.findText(key)
	if !found {
		return key
	}
	if len(args) < 2 {
		return text
	}
	var pairs []string
	for i := 0; i+1 < len(args); i += 2 {
		pairs = append(pairs, "{"+fmt.Sprint(args[i])+"}", fmt.Sprint(args[i+1]))
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
