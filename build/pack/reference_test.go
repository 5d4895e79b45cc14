package pack_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"

	"strings"
	"testing"

	"collet/build/pack"
)

var update = flag.Bool("update", false, "rewrite the golden files instead of comparing with them")

// The reference stands between these lines.
const (
	referenceStart = "<!-- made by go test ./build/pack -run Reference -update, from the types -->\n"
	referenceEnd   = "<!-- until here -->\n"
)

// comments are those of the types and of their fields, by Type and Type.Field.
func comments(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "project_types.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, decl := range file.Decls {
		general, is := decl.(*ast.GenDecl)
		if !is {
			continue
		}
		for _, spec := range general.Specs {
			ts := spec.(*ast.TypeSpec)
			found[ts.Name.Name] = strings.Join(strings.Fields(general.Doc.Text()), " ")
			for _, f := range ts.Type.(*ast.StructType).Fields.List {
				found[ts.Name.Name+"."+f.Names[0].Name] = strings.TrimSpace(f.Comment.Text())
			}
		}
	}
	return found
}

// reference is the table of all keys.
func reference(t *testing.T) string {
	t.Helper()
	said, table, tables := comments(t), "\x00", map[string]string{}
	var b strings.Builder
	for _, k := range pack.Keys() {
		if k.Kind == "tables" || k.Kind == "table" && said[k.Type+"."+k.Field] == "" {
			continue // it has a heading of its own
		}
		if k.Table != table {
			heading := "[" + k.Table + "]"
			if k.Many {
				heading = "[" + heading + "]"
			}
			table = k.Table
			if first, again := tables[k.Type]; again {
				fmt.Fprintf(&b, "\n### %s\n\n`%s` has the keys of `%s`. What it leaves out is as there.\n", heading, heading, first)
				continue
			}
			tables[k.Type] = heading
			fmt.Fprintf(&b, "\n### %s\n\n`%s` %s\n\n| Key | Value | What it says |\n|---|---|---|\n", heading, heading, strings.TrimPrefix(said[k.Type], k.Type+" "))
		}
		if strings.Trim(tables[k.Type], "[]") != k.Table {
			continue // told already
		}
		text := said[k.Type+"."+k.Field]
		if text == "" {
			t.Errorf("%s.%s has no comment", k.Type, k.Field)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Name, k.Kind, strings.ReplaceAll(text, "|", `\|`))
	}
	return b.String()
}

func TestReference(t *testing.T) {
	t.Parallel()
	page := filepath.Join("..", "..", "docs", "PACKAGING.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), referenceStart)
	old, after, ends := strings.Cut(rest, referenceEnd)
	if !found || !ends {
		t.Fatalf("%s has no place for the reference", page)
	}
	want := reference(t) + "\n"
	if *update {
		if err := os.WriteFile(page, []byte(before+referenceStart+want+referenceEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != want {
		t.Errorf("the reference in %s is not what the types say; write it anew with go test ./build/pack -run Reference -update", page)
	}
}

// TestKeys holds what is said of the types to what they are.
func TestKeys(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, k := range pack.Keys() {
		name := k.Table + "." + k.Name
		if k.Name == "" || seen[name] {
			t.Errorf("%s.%s: its name %q is empty or taken", k.Type, k.Field, name)
		}
		seen[name] = true
		if strings.ToLower(k.Name) != k.Name || strings.Contains(k.Name, "_") {
			t.Errorf("%s is not in kebab case", name)
		}
	}
	for _, name := range []string{".game", "game.uri-scheme", "resources.pack", "resources.pack.server-only", "variant.build.module-pdb", "signing.windows.pkcs12-env", "client.settings"} {
		if !seen[name] {
			t.Errorf("there is no %s", name)
		}
	}
}
