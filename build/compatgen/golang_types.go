package main

import (
	"errors"
	"fmt"
	"go/types"
	"reflect"

	"collet/netproto/compat"
)

// goReader turns Go types into types of the canonical form.
type goReader struct {
	seen map[types.Type]*typ // named types, so that one that leads back to itself ends
}

func newGoReader() *goReader { return &goReader{seen: map[types.Type]*typ{}} }

// goWords are the kinds of a fixed width (docs/COMPATIBILITY.md), by what Go calls them.
var goWords = map[types.BasicKind]string{
	types.Bool: "bool", types.String: "str",
	types.Int8: "i8", types.Int16: "i16", types.Int32: "i32", types.Int64: "i64",
	types.Uint8: "u8", types.Uint16: "u16", types.Uint32: "u32", types.Uint64: "u64",
	types.Float32: "f32", types.Float64: "f64",
}

// readType turns a type, or says why it can't be on a wire.
func (r *goReader) readType(t types.Type) (*typ, error) {
	switch t := t.(type) {
	case *types.Alias:
		return r.readType(types.Unalias(t))
	case *types.Named:
		return r.readNamed(t)
	case *types.Basic:
		if word, fixed := goWords[t.Kind()]; fixed {
			return basic(word), nil
		}
		if t.Kind() == types.Invalid {
			return nil, errors.New(": its type has errors: the go command names them")
		}
		return nil, fmt.Errorf(": %s has no fixed width: take one of bool, string, int8 to int64, uint8 to uint64, float32, float64", t)
	case *types.Pointer:
		return r.readItems(shapeOpt, 0, t.Elem())
	case *types.Slice:
		return r.readItems(shapeList, 0, t.Elem())
	case *types.Array:
		return r.readItems(shapeArray, t.Len(), t.Elem())
	case *types.Map:
		return r.readItems(shapeMap, 0, t.Key(), t.Elem())
	case *types.Struct:
		fields, err := r.readFields(t)
		return &typ{shape: shapeStruct, fields: fields}, err
	default:
		return nil, fmt.Errorf(": %s can't be on a wire", t)
	}
}

// readItems is a type made of others.
func (r *goReader) readItems(s shape, count int64, items ...types.Type) (*typ, error) {
	made := &typ{shape: s, count: count}
	for _, item := range items {
		inner, err := r.readType(item)
		if err != nil {
			return nil, err
		}
		made.items = append(made.items, inner)
	}
	return made, nil
}

// readNamed reads a named type, without its package: moving it changes nothing. It is recorded before it is complete, because it
// may refer to itself.
func (r *goReader) readNamed(t *types.Named) (*typ, error) {
	if known, is := r.seen[t]; is {
		return known, nil
	}
	made := &typ{shape: shapeNamed, word: t.Obj().Name()}
	r.seen[t] = made
	under, err := r.readType(t.Underlying())
	if err != nil {
		delete(r.seen, t)
		return nil, err
	}
	made.items = []*typ{under}
	return made, nil
}

// readFields are the members of a struct. Where some fields have numbers, the others are no members; where none has, the exported
// ones are, in their order, because then that is what the wire has.
func (r *goReader) readFields(s *types.Struct) (parts []part, err error) {
	numbered := false
	for i := range s.NumFields() {
		_, tagged := reflect.StructTag(s.Tag(i)).Lookup(compat.TagKey)
		numbered = numbered || tagged
	}
	for i := range s.NumFields() {
		f := s.Field(i)
		m, known, err := compat.ParseMember(reflect.StructTag(s.Tag(i)))
		if !numbered && f.Exported() {
			m, known = compat.Member{Number: len(parts) + 1}, true
		}
		if err != nil {
			return nil, fmt.Errorf(".%s: %w", f.Name(), err)
		}
		if !known {
			continue
		}
		t, err := r.readType(f.Type())
		if err != nil {
			return nil, fmt.Errorf(".%s%w", f.Name(), err)
		}
		parts = append(parts, part{number: m.Number, name: f.Name(), typ: t, span: m.Span})
	}
	if len(parts) == 0 && s.NumFields() > 0 {
		return nil, fmt.Errorf(`: none of its fields is a member: tag them like %s:"1"`, compat.TagKey)
	}
	if err := checkParts(parts); err != nil {
		return nil, fmt.Errorf(": %w", err)
	}
	return parts, nil
}
