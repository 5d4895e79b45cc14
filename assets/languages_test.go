package assets_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"collet/app/update"
	"collet/assets"
)

// files reads all languages as they lie in the folder, so that the tests also see what embedding would hide.
func files(t *testing.T) map[string]map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("lang", "*.json"))
	if err != nil || len(names) < 2 {
		t.Fatalf("languages in the folder: %q, %v", names, err)
	}
	all := map[string]map[string]string{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		words := map[string]string{}
		if err := json.Unmarshal(data, &words); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if want := strings.Count(string(data), "\n\t\""); len(words) != want {
			t.Errorf("%s has %d entries for %d keys: a key stands there twice", name, want, len(words))
		}
		all[strings.TrimSuffix(filepath.Base(name), ".json")] = words
	}
	return all
}

var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

func TestEveryLanguageHasEveryTextWithTheSamePlaceholders(t *testing.T) {
	all := files(t)
	if tags := slices.Sorted(maps.Keys(all)); !slices.Equal(tags, assets.Languages()) {
		t.Errorf("embedded are %q, in the folder %q", assets.Languages(), tags)
	}
	for tag, words := range all {
		for key, english := range all["en"] {
			text, found := words[key]
			if !found {
				t.Errorf("%s lacks %q", tag, key)
				continue
			}
			want, got := placeholder.FindAllString(english, -1), placeholder.FindAllString(text, -1)
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(want, got) {
				t.Errorf("%s: %q has the placeholders %q, English has %q", tag, key, got, want)
			}
		}
		for key := range words {
			if _, found := all["en"][key]; !found {
				t.Errorf("%s has %q, which English has not", tag, key)
			}
		}
	}
}

func TestTextsAreTidy(t *testing.T) {
	for tag, words := range files(t) {
		for key, text := range words {
			if text == "" || strings.TrimSpace(text) != text || strings.Contains(text, "  ") {
				t.Errorf("%s: %q is empty or has stray spaces: %q", tag, key, text)
			}
			if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%s: %q holds a character that can't be printed: %q", tag, key, text)
			}
			rest := placeholder.ReplaceAllString(text, "")
			if strings.ContainsAny(rest, "{}%") {
				t.Errorf("%s: %q has a broken placeholder: %q", tag, key, text)
			}
		}
	}
}

// A Russian text without a Russian letter was forgotten. Texts that are only placeholders and marks have no letters.
func TestRussianIsTranslated(t *testing.T) {
	for key, text := range files(t)["ru"] {
		words := placeholder.ReplaceAllString(text, "")
		if strings.ContainsFunc(words, unicode.IsLetter) && !strings.ContainsFunc(words, func(r rune) bool { return unicode.Is(unicode.Cyrillic, r) }) {
			t.Errorf("%q is %q", key, text)
		}
	}
}

// Nouns bend after numbers, in Russian in three ways. So no text may have a word after a number other than a unit or
// a word that never bends.
func TestNoNounFollowsANumber(t *testing.T) {
	unbending := map[string][]string{
		"en": {"B", "KB", "MB", "GB", "TB", "s", "min", "h", "d", "of", "left"},
		"ru": {"Б", "КБ", "МБ", "ГБ", "ТБ", "с", "мин", "ч", "дн", "из"},
	}
	number := regexp.MustCompile(`\{(n|total|code)\}\s*(\pL*)`)
	for tag, words := range files(t) {
		seen := 0
		for key, text := range words {
			for _, match := range number.FindAllStringSubmatch(text, -1) {
				seen++
				if match[2] != "" && !slices.Contains(unbending[tag], match[2]) {
					t.Errorf("%s: %q has %q after a number", tag, key, match[2])
				}
			}
		}
		if seen < 8 {
			t.Errorf("%s: only %d numbers found", tag, seen)
		}
	}
}

func TestEveryEndHasItsTexts(t *testing.T) {
	for tag := range files(t) {
		texts := assets.TextsFor(tag)
		for _, end := range update.Ends() {
			keys := []string{end.Key + ".title", end.Key + ".body"}
			if end.Shown() {
				keys = append(keys, end.Key+".next")
			}
			for _, action := range end.Actions {
				keys = append(keys, "button."+string(action))
				if action == update.Store || action == update.Website {
					keys = append(keys, end.Key+".next_"+string(action))
				}
			}
			for _, key := range keys {
				if !texts.Has(key) {
					t.Errorf("%s lacks %q for %s %s", tag, key, end.Outcome, end.Cause)
				}
			}
		}
	}
}

// Every key that stands in the code as a constant exists. Keys that are put together are covered by the tests of the
// package that does so.
func TestEveryKeyInTheCodeExists(t *testing.T) {
	texts := assets.TextsFor("en")
	found := map[string]bool{}
	err := filepath.WalkDir("..", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		tree, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil // another test's business
		}
		for key := range keysIn(tree) {
			found[key] = true
			if !texts.Has(key) {
				t.Errorf("%s asks for %q, which no language has", name, key)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 20 {
		t.Errorf("only %d keys found in the code; the search is broken", len(found))
	}
}

// looksLikeKey matches what stands in a call of Get and has the shape of a key.
var looksLikeKey = regexp.MustCompile(`^[a-z]+(\.[a-z_]+)*$`)

// keysIn yields the constant first arguments of all calls of a method Get in a file that imports this package, and all
// of its other constants that have the shape of a key with a dot and a known beginning.
func keysIn(tree *ast.File) map[string]bool {
	keys := map[string]bool{}
	if !slices.ContainsFunc(tree.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"collet/assets"` }) && tree.Name.Name != "assets" {
		return keys
	}
	beginning := regexp.MustCompile(`^(phase|wait|note|button|details|report|end|differ|bar|left|time|size|word|next|headless|retry|page)\.[a-z_.]*[a-z]$`)
	ast.Inspect(tree, func(n ast.Node) bool {
		if call, is := n.(*ast.CallExpr); is && len(call.Args) > 0 {
			method, is := call.Fun.(*ast.SelectorExpr)
			if key, constant := constantOf(call.Args[0]); is && constant && method.Sel.Name == "Get" && looksLikeKey.MatchString(key) {
				keys[key] = true
			}
		}
		if key, constant := constantOf(n); constant && beginning.MatchString(key) {
			keys[key] = true
		}
		return true
	})
	return keys
}

func constantOf(n ast.Node) (string, bool) {
	literal, is := n.(*ast.BasicLit)
	if !is || literal.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}
