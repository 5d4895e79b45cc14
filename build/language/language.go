// Package language checks the languages of Collet's texts: what a folder of assets/lang lacks, and what is wrong in it.
//
//	about.json      the language itself: its names, and fonts of the system where the window's own has not its letters
//	window.json     what players read, in the window and in a terminal
//	dashboard.json  the server's pages; "why: " begins the reasons that settings are refused for, with $1 for what is in them
//	setup.json      installers
//
// English is the measure: a language has the same keys, with the same placeholders. Where a text counts something (".one", ".other"), it
// has the forms that the language has for whole numbers, by CLDR. In the window no noun follows a number, because nouns bend there. Texts
// of the window have lengths that fit, by their kind; app/splash measures them with the real fonts, too.
package language

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/feature/plural"
	tags "golang.org/x/text/language"
	"golang.org/x/text/width"

	"collet/assets"
)

// English is the language that all others are measured by.
const English = "en"

// maxFile is the longest file of a language, in bytes; the longest one has 60 kB.
const maxFile = 1 << 20

// Parts are the files of a language that have texts, without their ending.
func Parts() []string { return []string{"window", "dashboard", "setup"} }

// Problem is something that is missing or wrong.
type Problem struct {
	File    string // as "de/window.json"
	Key     string // empty where it concerns the file
	Missing bool   // the text is not there
	What    string
}

// String is a line for people.
func (p Problem) String() string {
	if p.Key == "" {
		return p.File + ": " + p.What
	}
	return fmt.Sprintf("%s: %q %s", p.File, p.Key, p.What)
}

// Check lists what is missing or wrong in a language, in the order of its files and keys. languages is a folder such as assets/lang. The
// error is a fault of English, or of reading.
func Check(languages fs.FS, tag string) (problems []Problem, err error) {
	parsed, err := tags.Parse(tag)
	if err != nil || strings.ToLower(parsed.String()) != tag {
		return nil, fmt.Errorf("%q is no language: name it as BCP 47 does, in small letters, such as de, pt-br or zh-hans", tag)
	}
	c := &check{tag: tag, forms: wholeForms(parsed)}
	for _, part := range Parts() {
		english, err := readTexts(languages, path.Join(English, part+".json"))
		if err != nil {
			return nil, err
		}
		c.file = path.Join(tag, part+".json")
		own, err := readTexts(languages, c.file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			c.add("", true, fmt.Sprintf("is not there: copy %s/%s.json, which has %d texts, and translate them", English, part, len(english)))
			continue
		case err != nil:
			c.add("", false, err.Error())
			continue
		}
		c.texts(part, english, own)
	}
	c.about(languages)
	return c.found, nil
}

// check is one under way.
type check struct {
	tag   string
	file  string
	forms []string // of nouns after whole numbers
	wide  rune     // a letter that the window's own font has not
	found []Problem
}

func (c *check) add(key string, missing bool, what string) {
	c.found = append(c.found, Problem{File: c.file, Key: key, Missing: missing, What: what})
}

// wholeForms are the forms that a language has for whole numbers, sorted.
func wholeForms(tag tags.Tag) []string {
	names := map[plural.Form]string{plural.Other: "other", plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many"}
	found := map[string]bool{}
	for n := range 1000 {
		found[names[plural.Cardinal.MatchPlural(tag, n, 0, 0, 0, 0)]] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// readTexts reads a flat object of texts. A key that is there twice is an error.
func readTexts(languages fs.FS, name string) (map[string]string, error) {
	data, err := readFile(languages, name)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	texts := map[string]string{}
	if err := json.Unmarshal(data, &texts); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	seen := map[string]bool{}
	for token, err := dec.Token(); err == nil; token, err = dec.Token() {
		if key, is := token.(string); is {
			if seen[key] {
				return nil, fmt.Errorf("%s: %q is there twice", name, key)
			}
			seen[key] = true
			if _, err := dec.Token(); err != nil { // the text
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return texts, nil
}

func readFile(languages fs.FS, name string) ([]byte, error) {
	f, err := languages.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s: more than %d bytes", name, maxFile)
	}
	return data, err
}

// texts compares a file with the English one.
func (c *check) texts(part string, english, own map[string]string) {
	wanted := wantedKeys(english, c.forms)
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		text, there := own[key]
		if !there {
			c.add(key, true, fmt.Sprintf("is missing; English has %q", wanted[key]))
			continue
		}
		c.text(part, key, wanted[key], text)
	}
	for _, key := range slices.Sorted(maps.Keys(own)) {
		if _, known := wanted[key]; !known {
			c.add(key, false, "is a key that English has not, or a form that the language has not")
		}
	}
	if part == "window" && len(c.forms) > 1 {
		c.numbers(own)
	}
}

// wantedKeys are the keys that a language has, each with the English text: those of English, but the language's own forms where English
// counts.
func wantedKeys(english map[string]string, forms []string) map[string]string {
	wanted := map[string]string{}
	for key, text := range english {
		stem, counts := stemOf(english, key)
		if !counts {
			wanted[key] = text
			continue
		}
		for _, form := range forms {
			wanted[stem+"."+form] = english[stem+".other"]
			if own, there := english[stem+"."+form]; there {
				wanted[stem+"."+form] = own
			}
		}
	}
	return wanted
}

// stemOf is a key without its form, and whether it is one of a text that counts.
func stemOf(english map[string]string, key string) (stem string, counts bool) {
	for _, form := range []string{".one", ".other"} {
		if stem, is := strings.CutSuffix(key, form); is {
			_, counts = english[stem+".one"]
			return stem, counts
		}
	}
	return key, false
}

// reason begins the key of one.
const reason = "why: "

var (
	braces  = regexp.MustCompile(`\{\w+\}`)
	dollars = regexp.MustCompile(`\$\d`)
	word    = regexp.MustCompile(`\pL+`)
)

// text checks one text beside the English one.
func (c *check) text(part, key, english, text string) {
	gap := braces
	if strings.HasPrefix(key, reason) {
		gap = dollars
	}
	want, got := gap.FindAllString(english, -1), gap.FindAllString(text, -1)
	slices.Sort(want)
	slices.Sort(got)
	rest := gap.ReplaceAllString(text, "")
	switch {
	case text == "" || strings.TrimSpace(text) != text || strings.Contains(text, "  "):
		c.add(key, false, fmt.Sprintf("is empty or has stray blanks: %q", text))
	case strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsPrint(r) && (r != '\n' || part != "setup") && r != '\u00A0' && r != '\u202F'
	}):
		c.add(key, false, fmt.Sprintf("has a character that can't be shown: %q", text))
	case strings.ContainsAny(rest, "{}"):
		c.add(key, false, fmt.Sprintf("has a broken placeholder: %q", text))
	case !slices.Equal(slices.Compact(want), slices.Compact(got)):
		c.add(key, false, fmt.Sprintf("has the placeholders %q, English has %q", got, want))
	case c.tag != English && text == english && !strings.HasPrefix(key, reason) && len(word.FindAllString(braces.ReplaceAllString(text, ""), -1)) > 2:
		c.add(key, false, fmt.Sprintf("is not translated: %q", text))
	case part == "setup" && strings.Contains(english, "&") != strings.Contains(text, "&"):
		c.add(key, false, fmt.Sprintf("marks no letter with &, or one where English marks none: %q", text))
	case part == "window" && Columns(text) > columnsOf(key):
		c.add(key, false, fmt.Sprintf("has %d columns, and %d fit: %q", Columns(text), columnsOf(key), text))
	}
	if at := strings.IndexFunc(text, func(r rune) bool { return part == "window" && !inWindowFont(r) }); at >= 0 && c.wide == 0 {
		c.wide = []rune(text[at:])[0]
	}
}

// columnsOf is how many columns a text of the window may have, by its kind. A column is half of a wide letter. The window has 552 units
// between its margins (app/splash), so a letter of a body has some 8 of them. A row of buttons may break, a label can't.
func columnsOf(key string) int {
	kind, _, _ := strings.Cut(key, ".")
	switch {
	case kind == "button":
		return 34
	case kind == "phase" || kind == "wait":
		return 56 // a headline of one line
	case strings.HasSuffix(key, ".title"):
		return 46 // larger letters
	case kind == "bar" || kind == "left" || kind == "count":
		return 32 // beside others in one line
	default:
		return 360 // three to six lines of a body that scrolls
	}
}

// Columns is how wide a text is where letters of East Asia have two columns and others one. Placeholders have none.
func Columns(text string) (n int) {
	for _, r := range braces.ReplaceAllString(text, "") {
		n++
		if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
			n++
		}
	}
	return n
}

// inWindowFont reports whether the font in the client has a letter: it has the Latin, Greek and Cyrillic ones.
func inWindowFont(r rune) bool {
	return r < 0x0530 || unicode.Is(unicode.Latin, r) || r >= 0x2000 && r < 0x2100
}

// numbers wants no word behind a number but units, which are those of the language's own texts for sizes and times.
func (c *check) numbers(texts map[string]string) {
	number := regexp.MustCompile(`\{(n|total|done|code)\}\s*(\pL*)`)
	units := map[string]bool{"": true}
	for key, text := range texts {
		if strings.HasPrefix(key, "size.") || strings.HasPrefix(key, "time.") {
			for _, found := range number.FindAllStringSubmatch(text, -1) {
				units[found[2]] = true
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		for _, found := range number.FindAllStringSubmatch(texts[key], -1) {
			if !units[found[2]] {
				c.add(key, false, fmt.Sprintf("has the word %q behind a number, where nouns bend: put the number last, as in \"File {n} of {total}\"", found[2]))
			}
		}
	}
}

// about checks about.json.
func (c *check) about(languages fs.FS) {
	c.file = path.Join(c.tag, "about.json")
	data, err := readFile(languages, c.file)
	if errors.Is(err, fs.ErrNotExist) {
		c.add("", true, "is not there: copy "+English+"/about.json, and write the language's names into it")
		return
	}
	var a assets.About
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err == nil {
		err = dec.Decode(&a)
	}
	if err != nil {
		c.add("", false, err.Error())
		return
	}
	for _, field := range [][2]string{{"name", a.Name}, {"nsis", a.NSIS}, {"lcid", a.LCID}} {
		if field[1] == "" {
			c.add(field[0], true, "is missing")
		}
	}
	for _, system := range []string{"darwin", "linux", "windows"} {
		if c.wide != 0 && len(a.Fonts[system]) == 0 {
			c.add("fonts", true, fmt.Sprintf("names no fonts of %s: the window's own font lacks letters such as %q", system, c.wide))
		}
		for _, pattern := range a.Fonts[system] {
			if _, err := path.Match(pattern, ""); err != nil {
				c.add("fonts", false, fmt.Sprintf("%q: %v", pattern, err))
			}
		}
	}
}

// Tags are the languages of a folder, sorted.
func Tags(languages fs.FS) (all []string, err error) {
	entries, err := fs.ReadDir(languages, ".")
	for _, e := range entries {
		if e.IsDir() {
			all = append(all, e.Name())
		}
	}
	return all, err
}
