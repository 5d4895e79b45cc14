package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collet/netproto/compat"
	"collet/platform/testlevel"
)

// model is a component as a test draws it: what is on the wire, and nothing else.
type model struct {
	name       string
	properties []modelValue
	inputs     []modelValue
	archetypes []modelValue
	calls      []modelCall
}

type modelValue struct{ name, typ, container, count, from, to, since, until string }

type modelCall struct {
	name, from, to, reliable, since, until string
	parameters                             []modelValue
}

// drawer draws models and ways to write them.
type drawer struct{ *rand.Rand }

func (d drawer) of(words ...string) string { return words[d.IntN(len(words))] }

// marks draws a span, mostly none.
func (d drawer) marks() (since, until string) {
	switch d.IntN(6) {
	case 0:
		return "7", ""
	case 1:
		return "", "7"
	case 2:
		return "5", "9"
	default:
		return "", ""
	}
}

func (d drawer) values(kind string, most int) (values []modelValue) {
	for i := range d.IntN(most + 1) {
		v := modelValue{name: fmt.Sprintf("%s%d", kind, i), typ: d.of("bool", "float", "uint8_t", "AZ::u64", "AZStd::string", "Point", "std::vector<Point>", "Team", "std::map<uint8_t,float>")}
		if kind != "Param" && d.IntN(3) == 0 {
			v.container, v.count = d.of("Array", "Vector"), fmt.Sprint(1+d.IntN(5))
		}
		v.since, v.until = d.marks()
		if kind == "Prop" {
			v.from, v.to = d.of("Authority", "Autonomous"), d.of("Client", "Server", "Authority")
		}
		values = append(values, v)
	}
	return values
}

func (d drawer) component(name string) model {
	m := model{name: name, properties: d.values("Prop", 4), inputs: d.values("In", 3), archetypes: d.values("Arch", 3)}
	for i := range d.IntN(4) {
		c := modelCall{name: fmt.Sprintf("Call%d", i), from: d.of("Authority", "Autonomous"), to: d.of("Client", "Server"), reliable: d.of("true", "false"), parameters: d.values("Param", 3)}
		c.since, c.until = d.marks()
		m.calls = append(m.calls, c)
	}
	return m
}

// write writes a model as XML in one of the many ways that mean the same.
func (d drawer) write(m model) string {
	var members [][]string // by kind: the order between kinds is free
	list := func(element string, values []modelValue) {
		var texts []string
		for _, v := range values {
			texts = append(texts, d.tag(element, nil, "Type", v.typ, "Name", v.name, "Container", v.container, "Count", v.count, "ReplicateFrom", v.from, "ReplicateTo", v.to, "Since", v.since, "Until", v.until))
		}
		if element == "ArchetypeProperty" {
			d.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
		}
		members = append(members, texts)
	}
	list("NetworkProperty", m.properties)
	list("NetworkInput", m.inputs)
	list("ArchetypeProperty", m.archetypes)
	var calls []string
	for _, c := range m.calls {
		var inside []string
		for _, p := range c.parameters {
			inside = append(inside, d.tag("Param", nil, "Type", p.typ, "Name", p.name, "Since", p.since, "Until", p.until))
		}
		calls = append(calls, d.tag("RemoteProcedure", inside, "Name", c.name, "InvokeFrom", c.from, "HandleOn", c.to, "IsReliable", c.reliable, "Since", c.since, "Until", c.until))
	}
	members = append(members, calls)
	var inside []string
	for len(members) > 0 { // take the next of any kind
		i := d.IntN(len(members))
		if len(members[i]) == 0 {
			members = slices.Delete(members, i, i+1)
			continue
		}
		inside, members[i] = append(inside, members[i][0]), members[i][1:]
		if d.IntN(4) == 0 {
			inside = append(inside, d.of("<!-- x -->", `<Include File="a.h"/>`, `<ComponentRelation Constraint="Weak" Name="N"/>`))
		}
	}
	return d.tag("Component", inside, "Name", m.name, "Namespace", "Drawn")
}

// tag writes an element: attributes in any order, blanks and line ends of any kind, words that say nothing.
func (d drawer) tag(element string, inside []string, attributes ...string) string {
	var words []string
	for i := 0; i < len(attributes); i += 2 {
		if attributes[i+1] != "" {
			value := strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(attributes[i+1])
			quote := d.of(`"`, `'`)
			words = append(words, attributes[i]+d.of("=", " = ")+quote+value+quote)
		}
	}
	if element == "NetworkProperty" && d.IntN(2) == 0 {
		words = append(words, `Description="`+d.of("a", "b", "&amp;")+`"`, `Init="`+d.of("0", "1")+`"`)
	}
	d.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	blank := d.of(" ", "\n\t", "\r\n  ")
	text := "<" + element + blank + strings.Join(words, blank)
	if len(inside) == 0 {
		return text + d.of("/>", " />", "></"+element+">")
	}
	return text + ">" + blank + strings.Join(inside, blank) + "</" + element + blank + ">"
}

const drawnTypes = `<Types><Type Name="Point"><Field Type="float" Name="X"/><Field Type="float" Name="Y"/></Type><Type Name="Team" Is="int8_t"/></Types>`

// formOf reads a declaration and gives its form in a version.
func formOf(t *testing.T, text string, logic int32) string {
	t.Helper()
	d := &dialect{known: map[string]*typ{}, unknown: map[string]*typ{}}
	if err := d.readTypes("types", []byte(drawnTypes)); err != nil {
		t.Fatal(err)
	}
	if err := d.resolveTypes(); err != nil {
		t.Fatal(err)
	}
	if err := d.readComponent("drawn", []byte(text)); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := d.components[0].checkComponent(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return d.components[0].form(logic)
}

// seen is what of a model a version has, written plainly: two models that it can't tell apart have one text.
func seen(m model, logic int32) string {
	visible := func(since, until string) bool {
		var s compat.Span
		fmt.Sscan(since, &s.Since)
		fmt.Sscan(until, &s.Until)
		return compat.Visible(s, logic)
	}
	var b strings.Builder
	values := func(kind string, all []modelValue) {
		for _, v := range all {
			if visible(v.since, v.until) {
				v.since, v.until = "", ""
				fmt.Fprintf(&b, "%s %q\n", kind, v)
			}
		}
	}
	fmt.Fprintln(&b, m.name)
	values("property", m.properties)
	values("input", m.inputs)
	values("archetype", m.archetypes)
	for _, c := range m.calls {
		if visible(c.since, c.until) {
			fmt.Fprintf(&b, "call %q\n", []string{c.name, c.from, c.to, c.reliable})
			values("parameter", c.parameters)
		}
	}
	return b.String()
}

// TestT2ManyWays draws components and writes each in many ways: all have one form in each version, and two components have one
// form exactly where a version can't tell them apart.
func TestT2ManyWays(t *testing.T) {
	t.Parallel()
	d := drawer{rand.New(rand.NewPCG(6, 3))}
	forms, texts := map[string]string{}, map[string]string{}
	drawn := 200 / testlevel.Stride(10, 20)
	for range drawn {
		m := d.component("C")
		for _, logic := range []int32{4, 6, 7, 9} {
			form, plain := formOf(t, d.write(m), logic), seen(m, logic)
			for range 4 {
				if text := d.write(m); formOf(t, text, logic) != form {
					t.Fatalf("in version %d one way gives\n%s\nand\n%s\ngives\n%s", logic, form, text, formOf(t, text, logic))
				}
			}
			if other, known := forms[plain]; known && other != form {
				t.Fatalf("version %d sees\n%sas\n%s\nand as\n%s", logic, plain, form, other)
			}
			if other, known := texts[form]; known && other != plain {
				t.Fatalf("one form, %s, for\n%s\nand\n%s", form, plain, other)
			}
			forms[plain], texts[form] = form, plain
		}
	}
	if len(forms) < drawn {
		t.Errorf("only %d different forms were drawn", len(forms))
	}
}

// TestT14Histories plays random histories of a project: components come, change, are renamed and go, versions are released. At
// every step an id belongs to one name for ever, dates change exactly with hashes, and what check says is what a slow look at
// the baselines says.
func TestT14Histories(t *testing.T) {
	testlevel.Slow(t)
	t.Parallel()
	for seed := range uint64(4 / testlevel.Stride(4, 4)) {
		d := drawer{rand.New(rand.NewPCG(6, seed))}
		dir := layOut(t, map[string]string{"t.types": drawnTypes})
		logic, now := int32(1), int64(1_700_000_000)
		models := map[string]model{"C0": d.component("C0")}
		owners := map[uint16]string{}
		shipped := map[int32]map[string]uint64{}
		for step := range 25 {
			d.edit(models)
			if now += 1000; d.IntN(4) == 0 && len(shipped) > 0 {
				logic++
			}
			files := map[string]string{projectFile: fmt.Sprintf(`{"logic": %d, "supported_min": %d, "declarations": ["*.decl"], "types": ["*.types"]}`, logic, max(1, logic-1))}
			for name, m := range models {
				files[name+".decl"] = d.write(m)
			}
			folder := layOut(t, files)
			carry(t, dir, folder)
			before, err := openLock(filepath.Join(folder, "compat.lock"))
			if err != nil {
				t.Fatal(err)
			}
			mustAt(t, epoch(fmt.Sprint(now)), "gen", folder)
			if step%testlevel.Stride(5, 5) == 0 {
				if said := must(t, "gen", folder); said != "" {
					t.Fatalf("seed %d, step %d: a second gen says %s", seed, step, said)
				}
			}
			checkLock(t, before, folder, owners, now)
			want := 0
			current := hashes(t, folder)
			for version, set := range shipped {
				if version >= max(1, logic-1) {
					made, err := buildTable(folder, stamp{})
					if err != nil {
						t.Fatal(err)
					}
					_, forms, err := made.manifestOf(made.ids(), version)
					if err != nil {
						t.Fatal(err)
					}
					view := make(map[string]uint64)
					for name, form := range forms {
						view[name] = compat.ComponentHash(form)
					}
					want += len(differing(view, set))
				}
			}
			said, _, err := compatgen(t, "check", folder)
			if got := strings.Count(said, "\n"); got != want || (err == nil) != (want == 0) {
				t.Fatalf("seed %d, step %d, logic %d: %d differences, and check says %v:\n%s", seed, step, logic, want, err, said)
			}
			if want == 0 && d.IntN(2) == 0 && shipped[logic] == nil {
				must(t, "release", folder)
				shipped[logic] = current
			}
			dir = folder
		}
	}
}

// edit changes a set of models at random.
func (d drawer) edit(models map[string]model) {
	name := fmt.Sprintf("C%d", d.IntN(6))
	m, there := models[name]
	switch {
	case !there:
		models[name] = d.component(name)
	case d.IntN(3) == 0 && len(models) > 1:
		delete(models, name)
	case d.IntN(2) == 0 && len(m.properties) > 1:
		m.properties = slices.Clone(m.properties)
		m.properties[0], m.properties[1] = m.properties[1], m.properties[0]
		models[name] = m
	}
}

// carry takes what is committed from one folder to the next.
func carry(t *testing.T, from, to string) {
	t.Helper()
	for _, pattern := range []string{"compat.lock", "t.types", "baselines/*.json"} {
		found, err := filepath.Glob(filepath.Join(from, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			data, err := readFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name, err := filepath.Rel(from, path)
			if err != nil {
				t.Fatal(err)
			}
			put(t, to, map[string]string{filepath.ToSlash(name): string(data)})
		}
	}
}

// checkLock holds a lock to the one before.
func checkLock(t *testing.T, before *lock, folder string, owners map[uint16]string, now int64) {
	t.Helper()
	after, err := openLock(filepath.Join(folder, "compat.lock"))
	if err != nil {
		t.Fatal(err)
	}
	for name, part := range after.Components {
		if owner, taken := owners[part.ID]; taken && owner != name {
			t.Fatalf("%s has the id %d, which %s had", name, part.ID, owner)
		}
		owners[part.ID] = name
		old, known := before.Components[name]
		same := known && old.Hash == part.Hash && (!old.Gone || part.Gone)
		switch {
		case part.Gone && (!known || old.Hash != part.Hash || old.ChangedAt != part.ChangedAt):
			t.Fatalf("%s is gone, and was %+v, is %+v", name, old, part)
		case same && old.ChangedAt != part.ChangedAt, !same && part.ChangedAt != now:
			t.Fatalf("%s was %+v, is %+v, now is %d", name, old, part, now)
		}
	}
}
