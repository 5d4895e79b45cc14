package abi_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"collet/runtime/abi"
)

// document is where the contract is described for people.
var document = filepath.Join("..", "..", "docs", "ABI.md")

var (
	// structText finds a struct of the header: its body and its name.
	structText = regexp.MustCompile(`(?s)typedef struct \w+ \{\n(.*?)\n\} (\w+);`)
	// fieldText finds a field: declaration, offset, and what the comment says.
	fieldText = regexp.MustCompile(`^ +(.*?); +/\* +(\d+)(?:: (.*?))? \*/$`)
	// fieldName finds the name in a declaration, also in that of a function pointer.
	fieldName = regexp.MustCompile(`(?:\(\*)?(\w+)(?:\)\(.*\))?$`)
)

// fieldRow is a field as the header has it.
type fieldRow struct{ name, declared, offset, says string }

// headerStruct reads one struct out of the header.
func headerStruct(t *testing.T, name string) (rows []fieldRow) {
	t.Helper()
	for _, found := range structText.FindAllStringSubmatch(abi.Header, -1) {
		if found[2] != name {
			continue
		}
		for line := range strings.SplitSeq(found[1], "\n") {
			field := fieldText.FindStringSubmatch(line)
			if field == nil {
				t.Fatalf("%s: a line without offset or comment: %s", name, line)
			}
			rows = append(rows, fieldRow{fieldName.FindStringSubmatch(field[1])[1], field[1], field[2], field[3]})
		}
	}
	return rows
}

// TestHeaderSaysItsOffsets: the numbers in the header's comments are those of the mirror, which are those of the compiler.
func TestHeaderSaysItsOffsets(t *testing.T) {
	if reflect.TypeFor[uintptr]().Size() != 8 {
		t.Skip("the comments are for 64-bit systems")
	}
	for _, s := range structs {
		mirror, rows := reflect.TypeOf(s.mirror), headerStruct(t, s.name)
		if len(rows) != mirror.NumField() {
			t.Fatalf("%s: %d fields in the header, %d in the mirror", s.name, len(rows), mirror.NumField())
		}
		for i, row := range rows {
			if f := mirror.Field(i); row.name != f.Name || row.offset != fmt.Sprint(f.Offset) {
				t.Errorf("%s: the header says %s at %s, the mirror %s at %d", s.name, row.name, row.offset, f.Name, f.Offset)
			}
		}
	}
}

// layouts is the generated part of the document.
func layouts(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	for _, s := range structs {
		fmt.Fprintf(&out, "**%s**, %d bytes\n\n| Offset | Field | Meaning |\n|---|---|---|\n", s.name, s.size)
		for _, row := range headerStruct(t, s.name) {
			fmt.Fprintf(&out, "| %s | `%s` | %s |\n", row.offset, row.declared, strings.TrimSpace(row.says))
		}
		out.WriteString("\n")
	}
	out.WriteString("| Constant | Value |\n|---|---|\n")
	for _, c := range constants {
		fmt.Fprintf(&out, "| `%s` | %d |\n", c.name, c.value)
	}
	return out.String()
}

// TestDocumentIsNotStale holds the document's tables to the header and the mirror.
func TestDocumentIsNotStale(t *testing.T) {
	data, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, begins := strings.Cut(string(data), "<!-- layouts: written by TestDocumentIsNotStale -->\n\n")
	got, _, ends := strings.Cut(rest, "\n<!-- end of layouts -->")
	if !begins || !ends {
		t.Fatal("the document has no place for the tables")
	}
	if want := layouts(t); got != want {
		t.Errorf("the document's tables are stale; they have to be\n\n%s", want)
	}
}

// TestDocumentNamesEveryFault: the document explains every error.
func TestDocumentNamesEveryFault(t *testing.T) {
	data, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range []error{
		abi.ErrRefused, abi.ErrStructSize, abi.ErrZeroABI, abi.ErrWrongABI, abi.ErrNullRun, abi.ErrNullString,
		abi.ErrUnterminated, abi.ErrUnknownKind, abi.ErrNoPath, abi.ErrComponents,
	} {
		if !strings.Contains(string(data), fault.Error()) {
			t.Errorf("the document does not have the words %q", fault)
		}
	}
}
