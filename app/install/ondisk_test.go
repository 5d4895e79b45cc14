package install

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"collet/app/diskfault"
	"collet/netproto/release"
)

// tables reads the tables of docs/ON-DISK.md: for the first word of their heading, the cells of each row without code
// marks. Tables with the same first word are concatenated.
func tables(t *testing.T) map[string][][]string {
	t.Helper()
	f, err := os.Open("../../docs/ON-DISK.md")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	found, heading := map[string][][]string{}, ""
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line, is := strings.CutPrefix(lines.Text(), "| ")
		switch cells := strings.Split(strings.TrimSuffix(line, " |"), " | "); {
		case strings.HasPrefix(line, "|--"):
		case !is:
			heading = ""
		case heading == "":
			heading = cells[0]
		default:
			cells[0] = strings.Trim(cells[0], "`")
			found[heading] = append(found[heading], cells)
		}
	}
	return found
}

func firstCells(rows [][]string) (cells []string) {
	for _, row := range rows {
		cells = append(cells, row[0])
	}
	return cells
}

func TestDocumentedNames(t *testing.T) {
	n := Names{Runtime: "Lathe", Ext: ".so", Resources: "Resources", Cache: "Cache"}
	m := entry{Kind: Module, Live: n.Library()}
	c := entry{Kind: Companion, Live: n.Library() + symbolsExt}
	p := entry{Kind: Pack, Live: path.Join(n.Resources, "Core.zip")}
	aside := p
	aside.Aside = true
	seventh := &mover{journal: &Journal{Number: 7}}
	want := []string{
		m.Live, m.staged(), m.backup(), m.part(), c.Live, c.staged(), c.part(), n.hostSymbols(), p.Live, p.part(), p.backup(), aside.part(),
		slotName(0), slotName(1), listsName(0), listsName(1),
		path.Join(StateDir, LockFile), path.Join(StateDir, KeptFile), path.Join(StateDir, ReadersFile), path.Join(StateDir, OpenFile),
		path.Join(seventh.recycled(dropped), "Resources/Old.zip"), path.Join(seventh.recycled(movedAside), "Resources/Mod.zip"),
		path.Join(n.Cache, CacheFile), path.Join(n.Cache, CacheFile) + ".new", path.Join(n.Cache, blocksDir),
	}
	if got := firstCells(tables(t)["Name"]); !slices.Equal(got, want) {
		t.Errorf("docs/ON-DISK.md has the names\n%q, the code\n%q", got, want)
	}
}

func TestDocumentedProgram(t *testing.T) {
	e := entry{Kind: Module, Live: ProgramNames("Lathe", "", "").Library()}
	want := []string{e.Live, e.staged(), e.backup(), e.part(), programView{}.at(slotName(0))}
	if got := firstCells(tables(t)["Of the program"]); !slices.Equal(got, want) {
		t.Errorf("docs/ON-DISK.md has the names\n%q, the code\n%q", got, want)
	}
}

// fieldsOf are the JSON names of a struct's fields.
func fieldsOf(v any) (names []string) {
	kind := reflect.TypeOf(v)
	for i := range kind.NumField() {
		name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

func TestDocumentedFields(t *testing.T) {
	want := slices.Concat(fieldsOf(record{}), fieldsOf(Try{}), fieldsOf(lists{}), fieldsOf(entry{}), fieldsOf(undo{}))
	if got := firstCells(tables(t)["Field"]); !slices.Equal(got, want) {
		t.Errorf("docs/ON-DISK.md has the fields\n%q, the code\n%q", got, want)
	}
}

// constants are the values of a type's string constants in this package, in the order of the source.
func constants(t *testing.T, file, typeName string) (values []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is {
			return true
		}
		if id, is := spec.Type.(*ast.Ident); is && id.Name == typeName {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
		return true
	})
	return values
}

func TestDocumentedStatesAndKinds(t *testing.T) {
	states := constants(t, "journal.go", "State")
	if i := slices.Index(states, string(None)); i >= 0 {
		states[i] = "(no journal)"
	}
	if got := firstCells(tables(t)["State"]); !slices.Equal(got, states) || len(states) != 7 {
		t.Errorf("docs/ON-DISK.md has the states\n%q, the code\n%q", got, states)
	}
	kinds := constants(t, "entry.go", "Kind")
	rows := tables(t)["Kind"]
	if got := firstCells(rows); !slices.Equal(got, kinds) || len(kinds) != 3 {
		t.Fatalf("docs/ON-DISK.md has the kinds\n%q, the code\n%q", got, kinds)
	}
	for _, row := range rows {
		e := entry{Kind: Kind(row[0]), Live: "name"}
		way := "`" + e.part() + "` → "
		if e.ready() != e.part() {
			way += "`" + e.ready() + "` → "
		}
		way += "`name`, its predecessor to `" + e.backup() + "`"
		if !strings.HasPrefix(row[1], way) {
			t.Errorf("docs/ON-DISK.md leads a %s by %s, the code by %s", e.Kind, row[1], way)
		}
	}
}

func TestDocumentedLimits(t *testing.T) {
	want := [][]string{
		{"journal slot", fmt.Sprintf("%d MiB", maxJournal>>20)},
		{"lists", fmt.Sprintf("%d MiB", maxLists>>20)},
		{"hash cache", fmt.Sprintf("%d MiB", maxCache>>20)},
		{"lines of the hash cache", fmt.Sprint(maxLines)},
		{"free space beside a download", fmt.Sprintf("%d MiB", diskfault.Reserve>>20)},
		{"age of a believed time", coarse.String()},
		{"age with an inode", tick.String()},
		{"failed starts of a pending set", fmt.Sprint(MaxFailed)},
		{"silent starts of a pending set", fmt.Sprint(maxSilent)},
		{"swaps of a set without a proof", fmt.Sprint(maxSwaps)},
		{"sets that are remembered", fmt.Sprint(maxTries)},
		{"cause of a failed start", fmt.Sprintf("%d bytes", maxCause)},
		{"transactions whose dropped files are kept", fmt.Sprint(keptRecycled)},
	}
	for i, row := range tables(t)["Limit"] {
		if i >= len(want) || !slices.Equal(row[:2], want[i]) {
			t.Errorf("docs/ON-DISK.md says %v", row)
		}
	}
	if got := len(tables(t)["Limit"]); got != len(want) {
		t.Errorf("%d limits, want %d", got, len(want))
	}
}

// texts are the values of a file's string constants, by name. Of a sum of two only the first is used.
func texts(t *testing.T, file string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if spec, is := n.(*ast.ValueSpec); is && len(spec.Values) == 1 {
			value := spec.Values[0]
			if sum, is := value.(*ast.BinaryExpr); is {
				value = sum.X
			}
			if literal, is := value.(*ast.BasicLit); is && literal.Kind == token.STRING {
				values[spec.Names[0].Name], err = strconv.Unquote(literal.Value)
			}
		}
		return err == nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// TestDocumentedRelease compares the documented names in Cache/release with those in app/acquire, app/download and the
// client.
func TestDocumentedRelease(t *testing.T) {
	known, spool, scratch := texts(t, "../acquire/installed.go"), texts(t, "../download/spool.go"), texts(t, "../acquire/scratch.go")
	kept, expanded := texts(t, "../download/pieces.go"), texts(t, "../acquire/execute_expanded.go")
	const digits = "<64 hex>"
	want := []string{
		"trust/…", "trust/…" + release.UnverifiedSuffix, known["installFile"], known["setsFile"],
		digits + known["listingSuffix"], digits + known["headSuffix"],
		known["spoolFolder"] + "/" + digits + release.UnverifiedSuffix, known["spoolFolder"] + "/" + digits + spool["recordSuffix"],
		known["spoolFolder"] + "/" + digits + spool["cameSuffix"], kept["piecesFile"] + release.UnverifiedSuffix,
		expanded["formFolder"] + "/<number>" + release.UnverifiedSuffix, scratch["scratchFileName"] + release.UnverifiedSuffix,
	}
	if got := firstCells(tables(t)["In `Cache/release`"]); !slices.Equal(got, want) {
		t.Errorf("docs/ON-DISK.md has\n%q, the code\n%q", got, want)
	}
}

func TestDocumentedLocks(t *testing.T) {
	want := []string{path.Join(StateDir, LockFile), path.Join(StateDir, ReadersFile)}
	if got := firstCells(tables(t)["Lock"]); !slices.Equal(got, want) {
		t.Errorf("docs/ON-DISK.md has the locks\n%q, the code\n%q", got, want)
	}
}
