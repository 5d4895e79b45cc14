package assets_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"collet/app/update"
	"collet/assets"
)

func TestEveryEndHasItsTexts(t *testing.T) {
	for _, tag := range assets.Languages() {
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
		if entry != nil && entry.IsDir() && entry.Name() == "dashboard" {
			return filepath.SkipDir // its texts are other ones
		}
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
