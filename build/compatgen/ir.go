package main

import (
	"cmp"
	"fmt"
	"slices"

	"collet/netproto/compat"
)

// component is one declaration, from Go or from a file.
type component struct {
	name       string
	id         int // noID: it gets one from the lock
	serverOnly bool
	span       compat.Span
	members    []member
	where      string // file and line, for messages only
}

const noID = -1

// kind is what a member is. The words stand in canonical forms.
type kind string

const (
	kindProperty  kind = "prop"
	kindInput     kind = "input"
	kindArchetype kind = "archetype"
	kindRPC       kind = "rpc"
)

// kindOrder is how the kinds follow each other in a form.
var kindOrder = []kind{kindProperty, kindInput, kindArchetype, kindRPC}

// member is a part of a component.
type member struct {
	kind   kind
	number int // on the wire; 0: its place among the visible ones is, and of an archetype its name
	name   string
	typ    *typ // nil for a call
	span   compat.Span
	extras []string // attributes that are on the wire, each written out in full
	args   []part   // of a call
}

// part is a field of a struct or an argument of a call.
type part struct {
	number int // on the wire; 0: its place among the visible ones is
	name   string
	typ    *typ
	span   compat.Span
}

// shape is what a type is made of. The words stand in canonical forms.
type shape string

const (
	shapeBasic  shape = "basic"  // word says which
	shapeOpaque shape = "opaque" // named by word, with an unknown structure
	shapeNamed  shape = "named"  // named by word, and items[0] is what it stands for
	shapeStruct shape = "struct"
	shapeText   shape = "str"   // of at most count bytes
	shapeList   shape = "list"  // of items[0]; count is the largest length, 0 is any
	shapeArray  shape = "array" // count times items[0]
	shapeMap    shape = "map"   // from items[0] to items[1]
	shapeOpt    shape = "opt"   // items[0] or nothing
)

// typ is a type. Named types may lead back to themselves.
type typ struct {
	shape  shape
	word   string
	count  int64
	items  []*typ
	fields []part
}

func basic(word string) *typ { return &typ{shape: shapeBasic, word: word} }

// checkComponent rejects an ambiguous component: invalid names, and numbers or names that are used twice.
func (c *component) checkComponent() error {
	if err := compat.CheckName(c.name); err != nil {
		return fmt.Errorf("%s: component: %w", c.where, err)
	}
	if err := c.span.Check(); err != nil {
		return fmt.Errorf("%s: component %s: %w", c.where, c.name, err)
	}
	names := make(map[string]bool)
	byKind := make(map[kind][]part)
	for _, m := range c.members {
		what := fmt.Sprintf("%s: component %s: %s %q", c.where, c.name, m.kind, m.name)
		if err := m.checkMember(); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if name := string(m.kind) + " " + m.name; names[name] {
			return fmt.Errorf("%s: it is declared twice", what)
		} else {
			names[name] = true
		}
		byKind[m.kind] = append(byKind[m.kind], part{number: m.number, name: m.name})
	}
	for _, k := range kindOrder {
		if err := checkParts(byKind[k]); err != nil {
			return fmt.Errorf("%s: component %s: %s %w", c.where, c.name, k, err)
		}
	}
	return nil
}

func (m *member) checkMember() error {
	if err := compat.CheckName(m.name); err != nil {
		return err
	}
	if err := m.span.Check(); err != nil {
		return err
	}
	return checkParts(m.args)
}

// checkParts rejects arguments or fields that share a number or a name.
func checkParts(parts []part) error {
	numbers, names := make(map[int]string), make(map[string]bool)
	for _, p := range parts {
		if err := compat.CheckName(p.name); err != nil {
			return err
		}
		if err := p.span.Check(); err != nil {
			return fmt.Errorf("%q: %w", p.name, err)
		}
		if other, taken := numbers[p.number]; taken && p.number != 0 {
			return fmt.Errorf("%q and %q have the number %d", other, p.name, p.number)
		}
		if (p.number == 0) != (parts[0].number == 0) {
			return fmt.Errorf("%q and %q: one has a number and one has none", parts[0].name, p.name)
		}
		if names[p.name] {
			return fmt.Errorf("%q is declared twice", p.name)
		}
		numbers[p.number], names[p.name] = p.name, true
	}
	return nil
}

// checkSet rejects components that share a name or an id.
func checkSet(all []component) error {
	names, ids := make(map[string]string), make(map[int]string)
	for i := range all {
		c := &all[i]
		if err := c.checkComponent(); err != nil {
			return err
		}
		if other, taken := names[c.name]; taken {
			return fmt.Errorf("%s: component %s is declared already at %s", c.where, c.name, other)
		}
		if other, taken := ids[c.id]; taken && c.id != noID {
			return fmt.Errorf("%s: component %s has the id %d of %s", c.where, c.name, c.id, other)
		}
		names[c.name], ids[c.id] = c.where, c.name
	}
	if len(all) > compat.MaxEntries {
		return fmt.Errorf("%d components are more than the %d of a manifest", len(all), compat.MaxEntries)
	}
	return nil
}

// visible are the members that a version sees, in the order of a form: by kind, then by number or place, archetypes by name.
func visible(members []member, logic int32) (seen []member) {
	for _, k := range kindOrder {
		first := len(seen)
		for _, m := range members {
			if m.kind != k || !compat.Visible(m.span, logic) {
				continue
			}
			if m.number == 0 && k != kindArchetype {
				m.number = len(seen) - first + 1
			}
			seen = append(seen, m)
		}
		slices.SortFunc(seen[first:], func(a, b member) int { return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.name, b.name)) })
	}
	return seen
}

// visibleParts are the fields or arguments that a version sees, by number or place.
func visibleParts(parts []part, logic int32) (seen []part) {
	for _, p := range parts {
		if !compat.Visible(p.span, logic) {
			continue
		}
		if p.number == 0 {
			p.number = len(seen) + 1
		}
		seen = append(seen, p)
	}
	slices.SortFunc(seen, func(a, b part) int { return cmp.Compare(a.number, b.number) })
	return seen
}
