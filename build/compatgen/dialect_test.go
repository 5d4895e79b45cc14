package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestRealDeclarations checks the files of testdata: there are at least a dozen, with every element and attribute of
// auto-components, each understood without a warning.
func TestRealDeclarations(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "project", "components", "*.xml"))
	if err != nil || len(files) < 12 {
		t.Fatalf("%v: %d files", err, len(files))
	}
	var all strings.Builder
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	listed := map[string]string{
		"Component":         "Name Namespace OverrideComponent OverrideController OverrideInclude OmitFromClientServerVersionHandshake",
		"Include":           "File",
		"ComponentRelation": "Constraint HasController Name Namespace Include",
		"NetworkProperty":   "Type Name Init ReplicateFrom ReplicateTo IsRewindable IsPredictable IsPublic Container Count ExposeToEditor ExposeToScript GenerateEventBindings Description",
		"NetworkInput":      "Type Name Init ExposeToScript Description",
		"ArchetypeProperty": "Type Name Init ExposeToEditor Description",
		"RemoteProcedure":   "Name InvokeFrom HandleOn IsPublic IsReliable GenerateEventBindings Description",
		"Param":             "Type Name",
	}
	for element, attributes := range listed {
		for _, attribute := range strings.Fields(attributes) {
			if _, known := vocabulary[element][attribute]; !known {
				t.Errorf("%s of %s is not understood", attribute, element)
			}
			if !regexp.MustCompile(`<` + element + `\s[^>]*\b` + attribute + `="`).MatchString(all.String()) {
				t.Errorf("no file has %s of %s", attribute, element)
			}
		}
	}
	p, err := openProject(filepath.Join("testdata", "project"))
	if err != nil {
		t.Fatal(err)
	}
	components, warnings, err := p.readComponents()
	if err != nil || len(warnings) != 0 || len(components) != len(files)+1 {
		t.Errorf("%v, %q: %d components of %d XML files and one of JSON", err, warnings, len(components), len(files))
	}
}

// TestT2XMLEdits is the table of edits of XML files: formatting, comments, line endings, documentation and the order of
// attributes never change a hash; a nested type, an order that is on the wire, or a number always does, and is named.
func TestT2XMLEdits(t *testing.T) {
	t.Parallel()
	before := hashes(t, harbour(t))
	const cargo, boat, market = "Harbour.CargoComponent", "Harbour.BoatComponent", "Harbour.MarketComponent"
	for name, row := range map[string]struct {
		file, old, new string
		changes        []string
	}{
		"CRLF":                  {"Boat", "\n", "\r\n", nil},
		"tabs":                  {"Boat", "    <", "\t<", nil},
		"one line":              {"Boat", "\n", " ", nil},
		"byte order mark":       {"Boat", `<?xml version="1.0"?>`, "\ufeff" + `<?xml version="1.0"?>`, nil},
		"declaration":           {"Boat", `<?xml version="1.0"?>`, `<?xml version="1.0" encoding="UTF-8"?>`, nil},
		"comment":               {"Boat", `<RemoteProcedure Name="Collide"`, `<!-- more --><RemoteProcedure Name="Collide"`, nil},
		"quotes":                {"Boat", `Name="Heading"`, `Name='Heading'`, nil},
		"entity":                {"Boat", `Name="Heading"`, `Name="&#72;eading"`, nil},
		"end tags":              {"Boat", `<Param Type="float" Name="Loudness"/>`, `<Param Type="float" Name="Loudness"></Param>`, nil},
		"order of attributes":   {"Boat", `Type="float" Name="Heading"`, `Name="Heading" Type="float"`, nil},
		"blank at the end":      {"Boat", `Name="Heading"`, `Name="Heading "`, nil},
		"description":           {"Boat", `Description="Radians from north"`, `Description="something else"`, nil},
		"include":               {"Boat", `File="AzCore/Math/Vector3.h"`, `File="elsewhere.h"`, nil},
		"relation":              {"Boat", `Constraint="Required"`, `Constraint="Weak"`, nil},
		"initial value":         {"Boat", `Init="12.0f"`, `Init="13.0f"`, nil},
		"events":                {"Boat", `GenerateEventBindings="true" Description="Everybody`, `GenerateEventBindings="false" Description="Everybody`, nil},
		"rewinding":             {"Boat", `IsRewindable="true"`, `IsRewindable="false"`, nil},
		"prediction":            {"Boat", `IsPredictable="true"`, `IsPredictable="false"`, nil},
		"public":                {"Boat", `IsPublic="true"`, `IsPublic="false"`, nil},
		"editor":                {"Boat", `ExposeToEditor="true"`, `ExposeToEditor="false"`, nil},
		"override":              {"Boat", `OverrideController="true"`, `OverrideController="false"`, nil},
		"project's attribute":   {"Crane", ` Owner="harbour team"`, ``, nil},
		"default written":       {"Tide", `Container="Object" `, ``, nil},
		"default direction":     {"Tide", `ReplicateFrom="Authority" ReplicateTo="Client" `, ``, nil},
		"constness":             {"Captain", `const AZStd::string&amp;`, `AZStd::string`, nil},
		"std for AZStd":         {"Captain", `AZStd::string`, `std::string`, nil},
		"blanks in a type":      {"Radio", `&lt;uint8_t, 960&gt;`, ` &lt; uint8_t,960 &gt; `, nil},
		"order of archetypes":   {"Boat", archetypes, swapped(archetypes), nil},
		"order of two calls":    {"Cargo", calls, swapped(calls), []string{cargo}},
		"order of properties":   {"Boat", `Name="Velocity"`, `Name="Heading2"`, []string{boat}},
		"order of inputs":       {"Boat", inputs, swapped(inputs), []string{boat}},
		"order of parameters":   {"Market", parameters, swapped(parameters), []string{market}},
		"name of a call":        {"Boat", `Name="Collide"`, `Name="Crash"`, []string{boat}},
		"type":                  {"Boat", `Type="float" Name="Heading"`, `Type="double" Name="Heading"`, []string{boat}},
		"from":                  {"Boat", `ReplicateFrom="Autonomous" ReplicateTo="Authority"`, `ReplicateFrom="Authority" ReplicateTo="Authority"`, []string{boat}},
		"to":                    {"Market", `ReplicateTo="Autonomous"`, `ReplicateTo="Client"`, []string{market}},
		"who invokes":           {"Boat", `InvokeFrom="Autonomous"`, `InvokeFrom="Client"`, []string{boat}},
		"who handles":           {"Radio", `HandleOn="Autonomous"`, `HandleOn="Client"`, []string{"Harbour.RadioComponent"}},
		"reliability":           {"Boat", `IsReliable="false"`, `IsReliable="true"`, []string{boat}},
		"container":             {"Cargo", `Container="Array"`, `Container="Vector"`, []string{cargo}},
		"count":                 {"Cargo", `Count="16"`, `Count="17"`, []string{cargo}},
		"archetype's type":      {"Boat", `Type="float" Name="MaxSpeed"`, `Type="double" Name="MaxSpeed"`, []string{boat}},
		"another parameter":     {"Boat", `<Param Type="float" Name="Loudness"/>`, `<Param Type="float" Name="Loudness"/><Param Type="bool" Name="Twice"/>`, []string{boat}},
		"number of a property":  {"Ferry", `Number="3"`, `Number="4"`, []string{"Harbour.FerryComponent"}},
		"name space":            {"Tide", `Namespace="Harbour"`, `Namespace="Sea"`, []string{"Harbour.TideComponent", "Sea.TideComponent"}},
		"nested name space":     {"Tide", `Namespace="Harbour"`, `Namespace="Sea::Deep"`, []string{"Harbour.TideComponent", "Sea.Deep.TideComponent"}},
		"length of a string":    {"Captain", `&lt;32&gt;`, `&lt;33&gt;`, []string{"Harbour.CaptainComponent"}},
		"a member that is left": {"Market", ` Until="7"`, ``, []string{market}},
		"one that comes later":  {"Boat", `Name="TurnRate"`, `Name="TurnRate" Since="8"`, []string{boat}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := harbour(t)
			path := filepath.Join(dir, "components", row.file+".AutoComponent.xml")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			edited := strings.ReplaceAll(string(data), row.old, row.new)
			if name == "order of properties" {
				edited = strings.NewReplacer(`Name="Velocity"`, `Name="Heading"`, `Name="Heading"`, `Name="Velocity"`).Replace(string(data))
			}
			if edited == string(data) {
				t.Fatal("the edit changes nothing")
			}
			put(t, dir, map[string]string{"components/" + row.file + ".AutoComponent.xml": edited})
			if got := differing(before, hashes(t, dir)); !slices.Equal(got, row.changes) {
				t.Errorf("%v changed, want %v", got, row.changes)
			}
		})
	}
}

// Neighbours whose order is changed.
const (
	archetypes = `<ArchetypeProperty Type="float" Name="MaxSpeed" Init="12.0f" ExposeToEditor="true" Description="Metres per second"/>
    <ArchetypeProperty Type="float" Name="TurnRate" Init="0.4f" ExposeToEditor="true" Description="Radians per second"/>`
	inputs = `<NetworkInput Type="float" Name="Engine" Init="0.0f" ExposeToScript="true" Description="0 to 1"/>
    <NetworkInput Type="bool" Name="Anchor" Init="false" ExposeToScript="false" Description=""/>`
	calls = `<RemoteProcedure Name="Load" InvokeFrom="Autonomous" HandleOn="Authority" IsPublic="true" IsReliable="true" GenerateEventBindings="false" Description="">
    <Param Type="Harbour::Order" Name="Order"/>
  </RemoteProcedure>
  <RemoteProcedure Name="Unload" InvokeFrom="Autonomous" HandleOn="Authority" IsPublic="true" IsReliable="true" GenerateEventBindings="false" Description="">
    <Param Type="uint16_t" Name="Slot"/>
  </RemoteProcedure>`
	parameters = `<Param Type="Harbour::Good" Name="Good"/>
    <Param Type="uint32_t" Name="Amount"/>`
)

// swapped exchanges two neighbours.
func swapped(two string) string {
	half := strings.Index(two[1:], "<"+strings.Fields(two)[0][1:]+" ") + 1
	return two[half:] + "\n" + two[:half]
}

// TestT2NestedTypes checks that a change inside a declared type reaches every component that uses it, and no other.
func TestT2NestedTypes(t *testing.T) {
	t.Parallel()
	before := hashes(t, harbour(t))
	vector := []string{"Harbour.BoatComponent", "Harbour.CaptainComponent", "Harbour.CraneComponent", "Harbour.RopeComponent", "Harbour.WindComponent"}
	crate := []string{"Harbour.CargoComponent", "Harbour.MarketComponent"}
	for name, row := range map[string]struct {
		file, old, new string
		changes        []string
	}{
		"field's type": {"math.xml", `<Field Type="float" Name="Z"/>
  </Type>
  <Type Name="AZ::Quaternion">`, `<Field Type="double" Name="Z"/>
  </Type>
  <Type Name="AZ::Quaternion">`, vector},
		"deeper":        {"math.xml", `Name="Scale"`, `Name="Size"`, []string{"Harbour.CraneComponent"}},
		"through lists": {"harbour.xml", `Type="uint32_t" Name="Amount"`, `Type="uint64_t" Name="Amount"`, crate},
		"another name":  {"harbour.xml", `Is="uint8_t" Description="0 port, 1 starboard"`, `Is="int8_t"`, []string{"Harbour.BridgeComponent", "Harbour.RopeComponent"}},
		"a number":      {"harbour.xml", `Number="2"`, `Number="5"`, crate},
		"documentation": {"harbour.xml", `Description="0 port, 1 starboard"`, `Description=""`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := harbour(t)
			change(t, filepath.Join(dir, "shapes", row.file), row.old, row.new)
			if got := differing(before, hashes(t, dir)); !slices.Equal(got, row.changes) {
				t.Errorf("%v changed, want %v", got, row.changes)
			}
		})
	}
}

// oneComponent is a project of one XML or JSON file, with some types.
func oneComponent(t *testing.T, declaration, types string) string {
	t.Helper()
	if types == "" {
		types = "<Types/>"
	}
	return layOut(t, map[string]string{"a.decl": declaration, "t.types": types, projectFile: `{"logic": 7, "declarations": ["*.decl"], "types": ["*.types"]}`})
}

// TestJSONIsXML checks that both ways to write a declaration give the same form.
func TestJSONIsXML(t *testing.T) {
	t.Parallel()
	x := oneComponent(t, `<Component Name="A" Namespace="N" Id="5"><NetworkProperty Type="bool" Name="P" Container="Array" Count="3" IsPublic="true"/>
		<RemoteProcedure Name="R" IsReliable="true"><Param Type="float" Name="X"/><Param Type="float" Name="Y"/></RemoteProcedure></Component>`, "")
	j := oneComponent(t, `{"Component": {"RemoteProcedure": {"Param": [{"Type": "float", "Name": "X"}, {"Name": "Y", "Type": "float"}], "IsReliable": true, "Name": "R"},
		"NetworkProperty": [{"Type": "bool", "Name": "P", "Container": "Array", "Count": 3, "IsPublic": true}], "Id": 5, "Name": "A", "Namespace": "N"}}`, "")
	a, err := buildTable(x, stamp{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := buildTable(j, stamp{})
	if err != nil {
		t.Fatal(err)
	}
	const want = `(component "N.A" (prop 1 "P" (array 3 bool) (from Authority) (to Client)) (rpc 1 "R" (from Authority) (to Client) reliable (arg 1 "X" f32) (arg 2 "Y" f32)))`
	if a.forms["N.A"] != want || b.forms["N.A"] != want || a.manifest.Entries[0] != b.manifest.Entries[0] || a.manifest.Entries[0].WireID != 5 {
		t.Errorf("%s\n%s\nwant\n%s", a.forms["N.A"], b.forms["N.A"], want)
	}
}

// TestTypesOfC is the table of C++ types and their forms.
func TestTypesOfC(t *testing.T) {
	t.Parallel()
	const types = `<Types><Type Name="V"><Field Type="float" Name="X"/></Type><Type Name="N::E" Is="uint8_t"/><Type Name="Known"/>
		<Type Name="Tree"><Field Type="AZStd::vector&lt;Tree&gt;" Name="Children"/></Type></Types>`
	for name, want := range map[string]string{
		"bool": "bool", "float": "f32", "double": "f64", "int8_t": "i8", "AZ::u64": "u64", "std::int16_t": "i16", "AZStd::string": "str", "::int8_t": "i8",
		"V": `(named "V" (struct (f 1 "X" f32)))`, "const V&": `(named "V" (struct (f 1 "X" f32)))`, "V const &": `(named "V" (struct (f 1 "X" f32)))`, "V&&": `(named "V" (struct (f 1 "X" f32)))`,
		"N::E": `(named "N.E" u8)`, "Known": `(opaque "Known")`, "Other::Thing": `(opaque "Other.Thing")`,
		"std::vector<bool>": "(list bool)", "AZStd::array<N::E, 3>": `(array 3 (named "N.E" u8))`, "AZStd::fixed_vector<bool,9>": "(list 9 bool)",
		"AZStd::fixed_string<64>": "(str 64)", "std::optional<float>": "(opt f32)", "AZStd::map<int8_t, std::vector<bool>>": "(map i8 (list bool))",
		"Ring<V, 4>": `(opaque "Ring" 4 (named "V" (struct (f 1 "X" f32))))`, "Tree": `(named "Tree" (struct (f 1 "Children" (list (back 1)))))`,
	} {
		d := &dialect{known: map[string]*typ{}, unknown: map[string]*typ{}}
		if err := d.readTypes("t", []byte(types)); err != nil {
			t.Fatal(err)
		}
		if err := d.resolveTypes(); err != nil {
			t.Fatal(err)
		}
		got, err := d.parseType(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		w := writer{logic: 1}
		if w.writeType(got); w.b.String() != want {
			t.Errorf("%s is %s, want %s", name, &w.b, want)
		}
		unknown := strings.HasPrefix(name, "Other") || strings.HasPrefix(name, "Ring")
		if warned := len(d.warnings()) > 0; warned != unknown {
			t.Errorf("%s: warnings %q", name, d.warnings())
		}
	}
	for name, want := range map[string]string{
		"int": "width depends", "unsigned": "width depends", "std::size_t": "width depends", "V*": "a pointer", "": "no name", "a b": `"b" follows`, "V<": "no name", "V<bool": "do not end",
		"V<bool>>": `">" follows`, "const": "no name", "a:b": "no name", strings.Repeat("A<", 20) + "bool" + strings.Repeat(">", 20): "nested deeper",
	} {
		d := &dialect{known: map[string]*typ{}, unknown: map[string]*typ{}}
		if got, err := d.parseType(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %q", name, got, err, want)
		}
	}
}

// TestDialectRefuses is the table of files that are refused, and what is said about them.
func TestDialectRefuses(t *testing.T) {
	t.Parallel()
	inside := func(members string) string { return `<Component Name="A">` + members + `</Component>` }
	for want, row := range map[string][2]string{
		`attribute "Nam" is unknown`:                       {`<Component Nam="A"/>`},
		`a.decl:2: NetworkProperty: attribute "Tpye"`:      {inside("\n" + `<NetworkProperty Tpye="bool" Name="P"/>`)},
		"Property: it is not allowed in Component":         {inside(`<Property/>`)},
		"Param: it is not allowed in NetworkProperty":      {inside(`<NetworkProperty Type="bool" Name="P"><Param/></NetworkProperty>`)},
		"the root element is Component2, want Component":   {`<Component2/>`},
		"XML syntax error":                                 {`<Component`},
		"0 root elements":                                  {`<!-- nothing -->`},
		"2 root elements":                                  {`<Component Name="A"/><Component Name="B"/>`},
		"the text \"words\" stands between":                {inside(`words`)},
		`two attributes "Name"`:                            {`<Component Name="A" Name="B"/>`},
		"a name has 1 to 128 bytes":                        {`<Component/>`},
		`"A B" is no name`:                                 {`<Component Name="A B"/>`},
		`prop "": a name has`:                              {inside(`<NetworkProperty Type="bool"/>`)},
		`prop "P": it is declared twice`:                   {inside(strings.Repeat(`<NetworkProperty Type="bool" Name="P"/>`, 2))},
		`type "": it is no name`:                           {inside(`<NetworkProperty Name="P"/>`)},
		`ReplicateFrom="Host": one of Authority`:           {inside(`<NetworkProperty Type="bool" Name="P" ReplicateFrom="Host"/>`)},
		`Container="Set": one of Object`:                   {inside(`<NetworkProperty Type="bool" Name="P" Container="Set"/>`)},
		`Count="many": a number`:                           {inside(`<NetworkProperty Type="bool" Name="P" Count="many"/>`)},
		`IsReliable="perhaps" is neither`:                  {inside(`<RemoteProcedure Name="R" IsReliable="Perhaps"/>`)},
		`Number="0": a number from 1`:                      {inside(`<NetworkProperty Type="bool" Name="P" Number="0"/>`)},
		`"P" and "Q" have the number 1`:                    {inside(`<NetworkProperty Type="bool" Name="P" Number="1"/><NetworkProperty Type="bool" Name="Q" Number="1"/>`)},
		`"P" and "Q": one has a number and one has none`:   {inside(`<NetworkProperty Type="bool" Name="P" Number="1"/><NetworkProperty Type="bool" Name="Q"/>`)},
		"since=9 until=8 is a span":                        {inside(`<NetworkProperty Type="bool" Name="P" Since="9" Until="8"/>`)},
		`Side="client": one of both, server`:               {`<Component Name="A" Side="client"/>`},
		`Id="70000": a number`:                             {`<Component Name="A" Id="70000"/>`},
		"type V is declared twice":                         {inside(""), `<Types><Type Name="V"/><Type Name="V"/></Types>`},
		"type V has fields and is another type":            {inside(""), `<Types><Type Name="V" Is="bool"><Field Type="bool" Name="F"/></Type></Types>`},
		"type A stands for itself":                         {inside(""), `<Types><Type Name="A" Is="A"/></Types>`},
		"its width depends on the compiler":                {inside(""), `<Types><Type Name="A" Is="int"/></Types>`},
		`"F" is declared twice`:                            {inside(""), `<Types><Type Name="A"><Field Type="bool" Name="F"/><Field Type="bool" Name="F"/></Type></Types>`},
		"unexpected EOF":                                   {`{"Component"`},
		`"Name" is there twice`:                            {`{"Component": {"Name": "A", "Name": "B"}}`},
		`"Name" is null`:                                   {`{"Component": {"Name": null}}`},
		`line 2: "NetworkProperty" is a list of something`: {"{\"Component\": {\"Name\": \"A\",\n\"NetworkProperty\": [1]}}"},
		"the document has one key":                         {`{"Component": {"Name": "A"}, "Other": {}}`},
		"something follows the document":                   {`{"Component": {"Name": "A"}} {}`},
		"elements are nested deeper than 16":               {strings.Repeat(`{"a":`, 20) + "1" + strings.Repeat("}", 20)},
		"are nested deeper than 16":                        {strings.Repeat(`<a>`, 20) + strings.Repeat(`</a>`, 20)},
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := buildTable(oneComponent(t, row[0], row[1]), stamp{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}

// TestUnknownTypes checks that an undeclared type causes a warning, and an error in a strict project.
func TestUnknownTypes(t *testing.T) {
	t.Parallel()
	const source = `<Component Name="A"><NetworkProperty Type="Game::Secret" Name="P"/></Component>`
	dir := oneComponent(t, source, "")
	if _, notes, err := compatgen(t, "gen", dir); err != nil || !strings.Contains(notes, "type Game::Secret is not declared") {
		t.Errorf("%v: %q", err, notes)
	}
	put(t, dir, map[string]string{projectFile: `{"logic": 7, "declarations": ["*.decl"], "strict_types": true}`})
	if _, _, err := compatgen(t, "gen", dir); err == nil || !strings.Contains(err.Error(), "type Game::Secret is not declared") {
		t.Errorf("%v", err)
	}
}

// TestServerSide checks that what clients never see does not count for them, under either name of it.
func TestServerSide(t *testing.T) {
	t.Parallel()
	for _, attribute := range []string{` OmitFromClientServerVersionHandshake="true"`, ` Side="server"`} {
		made, err := buildTable(oneComponent(t, `<Component Name="A"`+attribute+`/>`, ""), stamp{})
		if err != nil || len(made.manifest.Entries) != 0 || made.manifest.Build.Components != 0x30cc2710ed48aa5c || made.lock.Components["A"].ID != 1 {
			t.Errorf("%s: %v, %+v", attribute, err, made)
		}
	}
}

// FuzzDeclaration checks that no file takes the tool down, and that what is taken has a form which is taken apart again.
func FuzzDeclaration(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "project", "components", "*"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d := &dialect{known: map[string]*typ{}, unknown: map[string]*typ{}}
		if d.readComponent("f", data) != nil {
			return
		}
		c := d.components[0]
		if c.checkComponent() != nil {
			return
		}
		form := c.form(7)
		if strings.Count(form, "(") != strings.Count(form, ")") || strings.Contains(form, "  ") || strings.ContainsAny(form, "\n\r\t") {
			t.Fatalf("the form is %q", form)
		}
		again := strings.Split(formatLines(form), "\n")
		for i := range again {
			again[i] = strings.TrimLeft(again[i], " ")
		}
		if strings.Join(again, " ") != form {
			t.Fatalf("in lines it is another form: %q", again)
		}
	})
}
