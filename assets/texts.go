package assets

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
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
	for _, file := range files {
		tags = append(tags, strings.TrimSuffix(file.Name(), path.Ext(file.Name())))
	}
	slices.Sort(tags)
	return tags
}

// TextsFor gives the texts for a locale as LANG or LANGUAGE hold it ("ru_RU.UTF-8", "pt-BR", "de:ru"). The first
// language in it that has a file wins, the more special form before the general one; English if there is none. Only
// that one language is parsed.
func TextsFor(locale string) Texts {
	known := Languages()
	for wish := range strings.SplitSeq(locale, ":") {
		for tag := normal(wish); tag != ""; tag = general(tag) {
			if slices.Contains(known, tag) {
				return Texts{tag, parse(tag), sync.OnceValue(func() map[string]string { return parse(fallback) })}
			}
		}
	}
	return TextsFor(fallback)
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

// parse reads one language. The files are embedded and tested, so a fault in one is a broken build.
func parse(tag string) map[string]string {
	data, err := languages.ReadFile("lang/" + tag + ".json")
	words := map[string]string{}
	if err == nil {
		err = json.Unmarshal(data, &words)
	}
	if err != nil {
		panic(fmt.Sprintf("assets: internal error: language %q: %v", tag, err))
	}
	return words
}

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
