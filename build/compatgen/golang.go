package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"collet/netproto/compat"
)

// markPrefix begins a comment that marks a type:
//
//	//compat:component name=Camera id=1 side=server since=6 until=9
//	//compat:rpc component=Camera id=1 name=Shake to=client reliable since=6
//	//compat:input component=Camera
const markPrefix = "//compat:"

// mark is one such comment.
type mark struct {
	what   string
	values map[string]string
	where  string
	obj    *types.TypeName // the type below it
}

// marks are the keys that each kind of mark knows, and whether they have a value.
var marks = map[string]map[string]bool{
	"component": {"name": true, "id": true, "side": true, "since": true, "until": true},
	"rpc":       {"component": true, "id": true, "name": true, "to": true, "reliable": false, "unreliable": false, "since": true, "until": true},
	"input":     {"component": true},
}

// readGo reads the marked types of packages, which are patterns of the go command relative to dir. That the rest of a package
// has errors, for example because the generated table is not there yet, does not matter; that a component does, is an error.
func readGo(dir string, patterns []string) ([]component, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	mode := packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo
	loaded, err := packages.Load(&packages.Config{Mode: mode, Dir: dir}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("load Go packages %q: %w", patterns, err)
	}
	var found []mark
	for _, p := range loaded {
		for _, fault := range p.Errors {
			if fault.Kind == packages.ParseError || len(p.Syntax) == 0 {
				return nil, fmt.Errorf("load Go package %q: %w", p.PkgPath, fault)
			}
		}
		own, err := marksOf(p)
		if err != nil {
			return nil, err
		}
		found = append(found, own...)
	}
	return newGoReader().components(found)
}

// marksOf are the marks of a package. One that stands above something else than a type is an error.
func marksOf(p *packages.Package) (found []mark, err error) {
	for _, file := range p.Syntax {
		used := make(map[*ast.Comment]bool)
		for _, decl := range file.Decls {
			general, is := decl.(*ast.GenDecl)
			if !is || general.Tok != token.TYPE {
				continue
			}
			for _, spec := range general.Specs {
				own, err := marksAbove(p, general, spec.(*ast.TypeSpec), used)
				if err != nil {
					return nil, err
				}
				found = append(found, own...)
			}
		}
		for _, group := range file.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, markPrefix) && !used[c] {
					return nil, fmt.Errorf("%s: %s marks nothing: it stands above a type, in its comment", position(p, c), c.Text)
				}
			}
		}
	}
	return found, nil
}

func position(p *packages.Package, n ast.Node) string {
	at := p.Fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", at.Filename, at.Line)
}

// marksAbove are the marks in the comment of a type; of several types in one declaration, each has its own comment.
func marksAbove(p *packages.Package, general *ast.GenDecl, spec *ast.TypeSpec, used map[*ast.Comment]bool) (found []mark, err error) {
	doc := spec.Doc
	if doc == nil && !general.Lparen.IsValid() {
		doc = general.Doc
	}
	if doc == nil {
		return nil, nil
	}
	for _, c := range doc.List {
		text, is := strings.CutPrefix(strings.TrimRight(c.Text, "\r"), markPrefix)
		if !is {
			continue
		}
		used[c] = true
		m, err := parseMark(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", position(p, c), c.Text, err)
		}
		m.where = position(p, spec)
		if m.obj, is = p.TypesInfo.Defs[spec.Name].(*types.TypeName); !is {
			return nil, fmt.Errorf("%s: type %s has errors: the go command names them", m.where, spec.Name.Name)
		}
		found = append(found, m)
	}
	return found, nil
}

// parseMark reads "component name=Camera id=1".
func parseMark(text string) (mark, error) {
	words := strings.Fields(text)
	if len(words) == 0 || marks[words[0]] == nil {
		return mark{}, errors.New("it is component, rpc or input")
	}
	m := mark{what: words[0], values: map[string]string{}}
	for _, word := range words[1:] {
		key, value, has := strings.Cut(word, "=")
		switch wants, known := marks[m.what][key]; {
		case !known:
			return mark{}, fmt.Errorf("%q is unknown to %s", key, m.what)
		case wants != has || wants && value == "":
			return mark{}, fmt.Errorf("%q has a value where it wants none, or none where it wants one", key)
		}
		if _, twice := m.values[key]; twice {
			return mark{}, fmt.Errorf("%q is there twice", key)
		}
		m.values[key] = value
	}
	return m, nil
}

// number is a whole number of a mark, or the fallback.
func (m mark) number(key string, least, most, fallback int) (int, error) {
	text, there := m.values[key]
	if !there {
		return fallback, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s: %s=%s: a number from %d to %d is wanted", m.where, key, text, least, most)
	}
	return n, nil
}

func (m mark) span() (s compat.Span, err error) {
	since, err := m.number("since", 1, 1<<31-1, 0)
	if err != nil {
		return s, err
	}
	until, err := m.number("until", 1, 1<<31-1, 0)
	return compat.Span{Since: int32(since), Until: int32(until)}, err
}

// name is the mark's own name, or that of its type.
func (m mark) name() string {
	if name, there := m.values["name"]; there {
		return name
	}
	return m.obj.Name()
}

// components puts components together with the inputs and calls that name them.
func (r *goReader) components(found []mark) ([]component, error) {
	var all []component
	places := make(map[string]int)
	for _, m := range found {
		if m.what != "component" {
			continue
		}
		c, err := r.component(m)
		if err != nil {
			return nil, err
		}
		places[c.name] = len(all)
		all = append(all, c)
	}
	for _, m := range found {
		if m.what == "component" {
			continue
		}
		place, known := places[m.values["component"]]
		if !known {
			return nil, fmt.Errorf("%s: %s names component %q, which no type here is", m.where, m.what, m.values["component"])
		}
		members, err := r.belongings(m)
		if err != nil {
			return nil, err
		}
		all[place].members = append(all[place].members, members...)
	}
	return all, nil
}

// component is a marked struct with its properties.
func (r *goReader) component(m mark) (c component, err error) {
	c = component{name: m.name(), where: m.where}
	if c.id, err = m.number("id", 0, 1<<16-1, noID); err != nil {
		return c, err
	}
	if c.span, err = m.span(); err != nil {
		return c, err
	}
	switch side := m.values["side"]; side {
	case "", "both":
	case "server":
		c.serverOnly = true
	default:
		return c, fmt.Errorf("%s: side=%s: it is server or both", m.where, side)
	}
	c.members, err = r.membersOf(m, kindProperty)
	return c, err
}

// belongings are the inputs of a marked struct, or the call that it is the arguments of.
func (r *goReader) belongings(m mark) ([]member, error) {
	if m.what == "input" {
		return r.membersOf(m, kindInput)
	}
	call := member{kind: kindRPC, name: m.name()}
	var err error
	if call.number, err = m.number("id", 1, 1<<16-1, 0); err == nil && call.number == 0 {
		err = fmt.Errorf("%s: rpc %s has no id: its number is on the wire", m.where, call.name)
	}
	if err != nil {
		return nil, err
	}
	if call.span, err = m.span(); err != nil {
		return nil, err
	}
	_, reliable := m.values["reliable"]
	_, unreliable := m.values["unreliable"]
	to := m.values["to"]
	switch {
	case to != "client" && to != "server":
		return nil, fmt.Errorf("%s: rpc %s: to=%s: it goes to=client or to=server", m.where, call.name, to)
	case reliable && unreliable:
		return nil, fmt.Errorf("%s: rpc %s is reliable and unreliable", m.where, call.name)
	}
	call.extras = []string{to, reliability(reliable)}
	call.args, err = r.partsOf(m)
	return []member{call}, err
}

func reliability(reliable bool) string {
	if reliable {
		return "reliable"
	}
	return "unreliable"
}

// membersOf are the fields of a marked struct as members.
func (r *goReader) membersOf(m mark, k kind) (members []member, err error) {
	parts, err := r.partsOf(m)
	for _, p := range parts {
		members = append(members, member{kind: k, number: p.number, name: p.name, typ: p.typ, span: p.span})
	}
	return members, err
}

// partsOf are the fields of a marked struct.
func (r *goReader) partsOf(m mark) ([]part, error) {
	s, is := m.obj.Type().Underlying().(*types.Struct)
	if !is {
		return nil, fmt.Errorf("%s: %s is marked, but it is no struct", m.where, m.obj.Name())
	}
	parts, err := r.readFields(s)
	if err != nil {
		return nil, fmt.Errorf("%s: %s%w", m.where, m.obj.Name(), err)
	}
	return parts, nil
}
