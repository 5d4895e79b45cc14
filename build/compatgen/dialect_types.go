package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"collet/netproto/compat"
)

// readTypes reads a file of types:
//
//	<Types>
//	  <Type Name="AZ::Vector3"><Field Type="float" Name="X"/>…</Type>
//	  <Type Name="Team" Is="uint8_t"/>
//	</Types>
//
// A type with neither fields nor Is never changes its structure: its form is its name, without a warning.
func (d *dialect) readTypes(file string, data []byte) error {
	r, err := d.openFile(file, data, "Types")
	if err != nil {
		return err
	}
	for _, e := range r.children {
		t := r.child(e)
		name := t.attrText("Name", "")
		if err := compat.CheckName(dottedName(name)); err != nil {
			return t.fault("%w", err)
		}
		if _, twice := d.known[name]; twice {
			return t.fault("type %s is declared twice", name)
		}
		d.known[name] = &typ{shape: shapeNamed, word: dottedName(name)}
		d.inside = append(d.inside, pending{e, file, d.known[name]})
	}
	return nil
}

// resolveTypes reads the structure of the declared types. All of their names must be known.
func (d *dialect) resolveTypes() error {
	for _, p := range d.inside {
		r := &reading{element: p.e, file: p.file, d: d}
		is, alias := r.attr("Is")
		switch {
		case alias && len(r.children) > 0:
			return r.fault("type %s has fields and is another type", p.named.word)
		case alias:
			inner, err := d.parseType(is)
			if err != nil {
				return r.fault("%w", err)
			}
			p.named.items = []*typ{inner}
		case len(r.children) > 0:
			fields, err := r.readFields()
			if err != nil {
				return err
			}
			p.named.items = []*typ{{shape: shapeStruct, fields: fields}}
		default:
			*p.named = typ{shape: shapeOpaque, word: p.named.word}
		}
	}
	return d.checkEndless()
}

// readFields are the fields of a declared type, in their order or by their numbers.
func (r *reading) readFields() (fields []part, err error) {
	for _, e := range r.children {
		f := r.child(e)
		field := part{name: dottedName(f.attrText("Name", ""))}
		n, err := f.attrNumber("Number", 1, compat.MaxWireNumber, 0)
		if err != nil {
			return nil, err
		}
		field.number = int(n)
		if field.typ, err = f.attrType(); err != nil {
			return nil, err
		}
		if field.span, err = f.attrSpan(); err != nil {
			return nil, err
		}
		fields = append(fields, field)
	}
	if err := checkParts(fields); err != nil {
		return nil, r.fault("%w", err)
	}
	return fields, nil
}

// checkEndless rejects a type that is only an alias of itself.
func (d *dialect) checkEndless() error {
	for name, start := range d.known {
		for t, steps := start, 0; t.shape == shapeNamed; steps++ {
			if steps > len(d.known) {
				return fmt.Errorf("type %s stands for itself", name)
			}
			t = t.items[0]
		}
	}
	return nil
}

// cWords are the types of C++ that have a fixed width, by every name that declarations use for them.
var cWords = map[string]string{
	"bool": "bool", "float": "f32", "double": "f64",
	"int8_t": "i8", "int16_t": "i16", "int32_t": "i32", "int64_t": "i64", "uint8_t": "u8", "uint16_t": "u16", "uint32_t": "u32", "uint64_t": "u64",
	"AZ::s8": "i8", "AZ::s16": "i16", "AZ::s32": "i32", "AZ::s64": "i64", "AZ::u8": "u8", "AZ::u16": "u16", "AZ::u32": "u32", "AZ::u64": "u64",
	"string": "str",
}

// cLoose are types whose width depends on the compiler.
var cLoose = []string{"char", "short", "int", "long", "unsigned", "signed", "size_t", "wchar_t", "auto", "void"}

// parseType reads a type of C++, as declarations name them: "const AZStd::vector<AZ::Vector3>&". Constness and references are
// not on the wire.
func (d *dialect) parseType(text string) (*typ, error) {
	p := &typeParser{d: d, rest: text}
	t, err := p.readType(0)
	if err == nil && p.skipBlanks() != "" {
		err = fmt.Errorf("%q follows the type", p.rest)
	}
	if err != nil {
		return nil, fmt.Errorf("type %q: %w", text, err)
	}
	return t, nil
}

type typeParser struct {
	d    *dialect
	rest string
}

// skipBlanks skips blanks and returns the rest.
func (p *typeParser) skipBlanks() string {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	return p.rest
}

// readWord reads an identifier with its namespaces.
func (p *typeParser) readWord() string {
	p.skipBlanks()
	n := 0
	for n < len(p.rest) && (p.rest[n] == '_' || p.rest[n] == ':' || p.rest[n]|0x20 >= 'a' && p.rest[n]|0x20 <= 'z' || p.rest[n] >= '0' && p.rest[n] <= '9') {
		n++
	}
	word := p.rest[:n]
	p.rest = p.rest[n:]
	return word
}

func (p *typeParser) takeSign(sign string) bool {
	rest, is := strings.CutPrefix(p.skipBlanks(), sign)
	if is {
		p.rest = rest
	}
	return is
}

func (p *typeParser) readType(depth int) (*typ, error) {
	name := p.readWord()
	if name == "const" {
		name = p.readWord()
	}
	name = strings.TrimPrefix(name, "::")
	switch {
	case depth > maxDepth:
		return nil, fmt.Errorf("it is nested deeper than %d", maxDepth)
	case compat.CheckName(dottedName(name)) != nil || strings.Contains(dottedName(name), ":"):
		return nil, errors.New("it is no name of a type")
	}
	t, err := p.readRooted(name, depth)
	if err != nil {
		return nil, err
	}
	if rest, is := strings.CutPrefix(p.skipBlanks(), "const"); is {
		p.rest = rest
	}
	for p.takeSign("&") {
	}
	if p.takeSign("*") {
		return nil, errors.New("a pointer can't be on a wire")
	}
	return t, nil
}

// readRooted reads what follows a name: the arguments of a template, or nothing.
func (p *typeParser) readRooted(name string, depth int) (*typ, error) {
	if p.takeSign("<") {
		return p.readTemplate(name, depth)
	}
	short := strings.TrimPrefix(strings.TrimPrefix(name, "std::"), "AZStd::")
	if word, fixed := cWords[short]; fixed {
		return basic(word), nil
	}
	for _, loose := range cLoose {
		if short == loose {
			return nil, errors.New("its width depends on the compiler: take one of a fixed width, as int32_t")
		}
	}
	return p.d.findType(name), nil
}

// readTemplate reads arguments, which are types and numbers. Standard containers have their form on the wire. The form of a game's
// own template is its name with its arguments.
func (p *typeParser) readTemplate(name string, depth int) (*typ, error) {
	var items []*typ
	var count int64
	for {
		if n, is := p.readNumber(); is {
			count = n
		} else if item, err := p.readType(depth + 1); err != nil {
			return nil, err
		} else {
			items = append(items, item)
		}
		if p.takeSign(">") {
			break
		}
		if !p.takeSign(",") {
			return nil, errors.New("its template arguments do not end")
		}
	}
	short := strings.TrimPrefix(strings.TrimPrefix(name, "std::"), "AZStd::")
	shapes := map[string]struct {
		shape shape
		items int
	}{"vector": {shapeList, 1}, "fixed_vector": {shapeList, 1}, "array": {shapeArray, 1}, "map": {shapeMap, 2}, "unordered_map": {shapeMap, 2}, "optional": {shapeOpt, 1}}
	known, is := shapes[short]
	switch {
	case short == "fixed_string" && len(items) == 0:
		return &typ{shape: shapeText, count: count}, nil
	case is && len(items) == known.items:
		return &typ{shape: known.shape, count: count, items: items}, nil
	}
	if _, declared := p.d.known[name]; !declared {
		p.d.findType(name)
	}
	return &typ{shape: shapeOpaque, word: dottedName(name), count: count, items: items}, nil
}

func (p *typeParser) readNumber() (int64, bool) {
	p.skipBlanks()
	n := len(p.rest) - len(strings.TrimLeft(p.rest, "0123456789"))
	v, err := strconv.ParseInt(p.rest[:n], 10, 64)
	if err != nil {
		return 0, false
	}
	p.rest = p.rest[n:]
	return v, true
}

// findType is a declared type. The form of an undeclared type is its name; it is recorded for a warning.
func (d *dialect) findType(name string) *typ {
	if t, known := d.known[name]; known {
		return t
	}
	if _, seen := d.unknown[name]; !seen {
		d.unknown[name] = &typ{shape: shapeOpaque, word: dottedName(name)}
	}
	return d.unknown[name]
}
