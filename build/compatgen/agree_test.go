package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"collet/netproto/compat"
)

// line is one component as an output has it.
type line struct {
	id    uint64
	hash  string
	since string
	at    string
}

// found are the components in a text by a pattern with the groups name, id, hash, since and at.
func found(t *testing.T, text string, pattern *regexp.Regexp) map[string]line {
	t.Helper()
	all := make(map[string]line)
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		group := func(name string) string { return m[pattern.SubexpIndex(name)] }
		id, err := strconv.ParseUint(group("id"), 10, 16)
		if err != nil {
			t.Fatal(err)
		}
		all[group("name")] = line{id, group("hash"), group("since"), group("at")}
	}
	return all
}

var (
	inGo = regexp.MustCompile(`Entry: compat\.Entry\{Name: "(?P<name>[^"]+)", WireID: (?P<id>\d+), Hash: 0x(?P<hash>[0-9a-f]{16}), ChangedAt: (?P<at>\d+), Since: (?P<since>\d+)\}`)
	inC  = regexp.MustCompile(`\{UINT64_C\(0x(?P<hash>[0-9a-f]{16})\), INT64_C\((?P<at>\d+)\), (?P<since>\d+), (?P<id>\d+), 0, "(?P<name>[^"]+)", 0\}`)
)

// TestOutputsAgree: the table for Go, the header for C, the manifest and the lock say the same of each component, and the set hash in all
// of them is that of what they list, in each logic version that the project goes through.
func TestOutputsAgree(t *testing.T) {
	t.Parallel()
	dir := harbour(t)
	for _, logic := range []int{7, 8} {
		if logic == 8 {
			put(t, dir, map[string]string{"components/Buoy.json": `{"Component": {"Name": "Buoy", "NetworkProperty": [{"Type": "bool", "Name": "Lit", "Since": 8}]}}`})
			change(t, filepath.Join(dir, projectFile), `"logic": 7`, `"logic": 8`)
		}
		mustAt(t, epoch(fmt.Sprint(1770000000+logic)), "gen", dir)
		m, err := compat.ParseManifest([]byte(readText(t, filepath.Join(dir, "manifest.json"))))
		if err != nil {
			t.Fatal(err)
		}
		want := make(map[string]line)
		for _, e := range m.Entries {
			want[e.Name] = line{uint64(e.WireID), hexHash(e.Hash), fmt.Sprint(e.Since), fmt.Sprint(e.ChangedAt)}
		}
		if len(want) < 12 || compat.SetHash(m.Entries) != m.Build.Components {
			t.Fatalf("%d components, set %016x", len(want), m.Build.Components)
		}
		table, header := readText(t, filepath.Join(dir, "compat_gen.go")), readText(t, filepath.Join(dir, "components.h"))
		if got := found(t, table, inGo); !maps.Equal(got, want) {
			t.Errorf("logic %d: Go has %v, the manifest %v", logic, got, want)
		}
		if got := found(t, header, inC); !maps.Equal(got, want) {
			t.Errorf("logic %d: C has %v, the manifest %v", logic, got, want)
		}
		locked := lockOf(t, dir)
		for name, l := range want {
			if part := locked.Components[name]; part.Gone || uint64(part.ID) != l.id || part.Hash != l.hash || fmt.Sprint(part.SinceLogic) != l.since || fmt.Sprint(part.ChangedAt) != l.at {
				t.Errorf("logic %d: the lock has %s as %+v, the manifest as %+v", logic, name, part, l)
			}
		}
		set := hexHash(m.Build.Components)
		if !strings.Contains(table, "0x"+set+" // hash over") || !strings.Contains(header, "UINT64_C(0x"+set+")") || !strings.Contains(header, fmt.Sprintf("LOGIC_VERSION %d\n", logic)) {
			t.Errorf("logic %d: the set %s is not everywhere", logic, set)
		}
	}
}

// TestOutputsDoNotDependOnThePlace: another folder, another order of files on disk and another name of the machine's temporary folder
// give the same bytes.
func TestOutputsDoNotDependOnThePlace(t *testing.T) {
	t.Parallel()
	first := harbour(t)
	must(t, "gen", first)
	second := filepath.Join(t.TempDir(), "a folder with blanks", "ümlaut")
	from := filepath.Join("testdata", "project")
	var names []string
	if err := filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(names)
	for _, name := range names {
		inside, err := filepath.Rel(from, name)
		if err != nil {
			t.Fatal(err)
		}
		put(t, second, map[string]string{filepath.ToSlash(inside): readText(t, name)})
	}
	must(t, "gen", second)
	for _, output := range []string{"compat_gen.go", "components.h", "manifest.json", "compat.lock"} {
		if a, b := readText(t, filepath.Join(first, output)), readText(t, filepath.Join(second, output)); a != b {
			t.Errorf("%s differs:\n%s\n%s", output, a, b)
		}
	}
}

// TestHalfFiles: a declaration that was cut off anywhere, as by a full disk, is refused and never taken for a smaller one.
func TestHalfFiles(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Boat.AutoComponent.xml", "Bridge.json"} {
		whole := strings.TrimSpace(readText(t, filepath.Join("testdata", "project", "components", name)))
		for n := range len(whole) {
			d := &dialect{known: map[string]*typ{}, unknown: map[string]*typ{}}
			if err := d.readComponent(name, []byte(whole[:n])); err == nil {
				t.Fatalf("%s: its first %d bytes are taken:\n%s", name, n, whole[:n])
			} else if !strings.Contains(err.Error(), name) {
				t.Fatalf("%s, %d bytes: %v", name, n, err)
			}
		}
	}
	lock := `{"format": 1, "logic": 7, "released": [], "components": {"A": {"id": 1, "hash": "00", "since_logic": 0, "changed_at": 0, "changed_seq": 0}}}`
	path := filepath.Join(t.TempDir(), "compat.lock")
	for n := range len(lock) {
		if err := os.WriteFile(path, []byte(lock[:n]), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := openLock(path); err == nil {
			t.Fatalf("a lock of %d bytes is taken", n)
		}
	}
}

// TestLockRemembers is the table of what a lock says of one component after a gen, by what it said before.
func TestLockRemembers(t *testing.T) {
	t.Parallel()
	old := lockedPart{ID: 4, Hash: hexHash(compat.ComponentHash("form")), SinceLogic: 3, ChangedAt: 100, ChangedSeq: 10}
	now := stamp{at: 900, seq: 90}
	gone := old
	gone.Gone = true
	for name, row := range map[string]struct {
		before *lockedPart
		span   compat.Span
		form   string // empty: the version does not see it
		want   lockedPart
	}{
		"unchanged":                     {&old, compat.Span{}, "form", old},
		"changed":                       {&old, compat.Span{}, "other", lockedPart{4, hexHash(compat.ComponentHash("other")), 3, 900, 90, false}},
		"new":                           {nil, compat.Span{}, "form", lockedPart{4, old.Hash, 7, 900, 90, false}},
		"new, and the source says when": {nil, compat.Span{Since: 6}, "form", lockedPart{4, old.Hash, 6, 900, 90, false}},
		"back again":                    {&gone, compat.Span{}, "form", lockedPart{4, old.Hash, 3, 900, 90, false}},
		"not yet seen":                  {nil, compat.Span{Since: 8}, "", lockedPart{4, "", 8, 900, 90, false}},
		"seen no longer":                {&old, compat.Span{Until: 7}, "", lockedPart{4, "", 3, 900, 90, false}},
	} {
		l := &lock{Format: lockFormat, Logic: 6, Released: []int32{5}, Components: map[string]lockedPart{"Other": {ID: 1}}}
		if row.before != nil {
			l.Components["A"] = *row.before
		}
		text, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		forms := map[string]string{}
		if row.form != "" {
			forms["A"] = row.form
		}
		n := l.nextLock([]component{{name: "A", span: row.span}}, map[string]uint16{"A": 4}, forms, 7, now)
		if got := n.Components["A"]; got != row.want || !n.Components["Other"].Gone || n.Logic != 7 || !slices.Equal(n.Released, []int32{5}) {
			t.Errorf("%s: %+v, want %+v; %+v", name, got, row.want, n)
		}
		if again, err := json.Marshal(l); err != nil || string(again) != string(text) {
			t.Errorf("%s: the lock before was written to: %s", name, again)
		}
	}
}

// TestPlacesOfFaults: whatever is wrong with a number, a span or a type is told with the file, the line and the element.
func TestPlacesOfFaults(t *testing.T) {
	t.Parallel()
	for want, row := range map[string][2]string{
		`a.decl:1: Component: Since="0"`:                            {`<Component Name="A" Since="0"/>`},
		`a.decl:1: Component: Until="soon"`:                         {`<Component Name="A" Until="soon"/>`},
		`a.decl:1: Component: OmitFromClientServerVersionHandshake`: {`<Component Name="A" OmitFromClientServerVersionHandshake="yes"/>`},
		`a.decl:2: NetworkInput: Since="-1"`:                        {"<Component Name=\"A\">\n<NetworkInput Type=\"bool\" Name=\"I\" Since=\"-1\"/></Component>"},
		`a.decl:3: Param: Until="x"`:                                {"<Component Name=\"A\">\n<RemoteProcedure Name=\"R\">\n<Param Type=\"bool\" Name=\"P\" Until=\"x\"/></RemoteProcedure></Component>"},
		`a.decl:3: Param: type "int": its width`:                    {"<Component Name=\"A\">\n<RemoteProcedure Name=\"R\">\n<Param Type=\"int\" Name=\"P\"/></RemoteProcedure></Component>"},
		`a.decl:2: RemoteProcedure: InvokeFrom="Nobody"`:            {"<Component Name=\"A\">\n<RemoteProcedure Name=\"R\" InvokeFrom=\"Nobody\"/></Component>"},
		`a.decl:1: ArchetypeProperty: type "long": its width`:       {`<Component Name="A"><ArchetypeProperty Type="long" Name="P"/></Component>`},
		`Field: Number="0"`:                                         {`<Component Name="A"/>`, `<Types><Type Name="V"><Field Type="bool" Name="F" Number="0"/></Type></Types>`},
		`Field: Since="0"`:                                          {`<Component Name="A"/>`, `<Types><Type Name="V"><Field Type="bool" Name="F" Since="0"/></Type></Types>`},
		`Type: "A B" is no name`:                                    {`<Component Name="A"/>`, `<Types><Type Name="A B"/></Types>`},
		`Types: attribute "Version" is unknown`:                     {`<Component Name="A"/>`, `<Types Version="1"/>`},
		`rpc "R": "P" is declared twice`:                            {`<Component Name="A"><RemoteProcedure Name="R"><Param Type="bool" Name="P"/><Param Type="bool" Name="P"/></RemoteProcedure></Component>`},
		`"P": since=4 until=4 is a span`:                            {`<Component Name="A"><RemoteProcedure Name="R"><Param Type="bool" Name="P" Since="4" Until="4"/></RemoteProcedure></Component>`},
		`line 1: "P" is a list of something else than objects`:      {`{"Component": {"Name": "A", "P": [[]]}}`},
		"looking for beginning of value":                            {`{"Component": {"Name": }}`},
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := buildTable(oneComponent(t, row[0], row[1]), stamp{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}
