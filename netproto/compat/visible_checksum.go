package compat

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"math"
	"reflect"
	"slices"
)

// maxDepth is how deep values may be nested: a pointer that leads back to itself ends as an error, not as an endless loop.
const maxDepth = 64

// ValueError is a value that has no checksum: a program's mistake, not a peer's.
type ValueError struct {
	Path string // to the member, as "State.Members[2].Gold"
	Why  string
}

func (e *ValueError) Error() string { return fmt.Sprintf("checksum of %s: %s", e.Path, e.Why) }

// below names what the path goes on from.
func (e *ValueError) below(path string) *ValueError {
	e.Path = path + e.Path
	return e
}

// Checksum is a hash over a value as a logic version sees it: members that the version does not have don't count, and neither
// do fields that are no members. So two ends that play by different builds agree on the state that both know. Members count in
// the order of their numbers; their names do not. In a struct without tags all exported fields are members, in their order. v is a struct with `wire` tags, or a pointer to one; it may nest structs,
// pointers, slices, arrays, maps, strings, and numbers of a fixed width. -0 counts as 0, and all NaN are one. The error is a
// *ValueError.
func Checksum(v any, logic int32) (uint64, error) {
	value := reflect.ValueOf(v)
	for value.Kind() == reflect.Pointer && !value.IsNil() {
		value = value.Elem()
	}
	if value.Kind() != reflect.Struct {
		return 0, &ValueError{Path: fmt.Sprintf("%T", v), Why: "it is no struct with members"}
	}
	c := checksum{logic: logic, sum: sha256.New(), members: make(map[reflect.Type][]field)}
	c.addText(valuePrefix)
	if err := c.addValue(value, 0); err != nil {
		return 0, err.below(value.Type().Name())
	}
	return first64(c.sum.Sum(nil)), nil
}

// kinds are what stands before a value, by its type. The numbers are in games' own code and never change (docs/COMPATIBILITY.md,
// "Members that come and go").
var kinds = map[reflect.Kind]uint64{
	reflect.Bool: 1, reflect.Int8: 3, reflect.Int16: 4, reflect.Int32: 5, reflect.Int64: 6,
	reflect.Uint8: 8, reflect.Uint16: 9, reflect.Uint32: 10, reflect.Uint64: 11, reflect.Float32: 13, reflect.Float64: 14,
	reflect.Array: 17, reflect.Map: 21, reflect.Pointer: 22, reflect.Slice: 23, reflect.String: 24, reflect.Struct: 25,
}

// checksum is one under way. Each piece begins with what it is and how much follows, so that no two values have one text.
type checksum struct {
	logic   int32
	sum     hash.Hash
	members map[reflect.Type][]field // what was found out of types so far
	buf     [8]byte
}

func (c *checksum) addNumber(n uint64) {
	binary.BigEndian.PutUint64(c.buf[:], n)
	c.sum.Write(c.buf[:])
}

func (c *checksum) addText(s string) {
	c.addNumber(uint64(len(s)))
	c.sum.Write([]byte(s))
}

// addValue counts a value. The kind stands before it.
func (c *checksum) addValue(v reflect.Value, depth int) *ValueError {
	if depth > maxDepth {
		return &ValueError{Why: fmt.Sprintf("it is nested deeper than %d", maxDepth)}
	}
	c.addNumber(kinds[v.Kind()])
	switch v.Kind() {
	case reflect.Bool, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		c.addNumber(bits(v))
	case reflect.String:
		c.addText(v.String())
	case reflect.Pointer:
		if v.IsNil() {
			c.addNumber(0)
			return nil
		}
		c.addNumber(1)
		return c.addValue(v.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		c.addNumber(uint64(v.Len()))
		for i := range v.Len() {
			if err := c.addValue(v.Index(i), depth+1); err != nil {
				return err.below(fmt.Sprintf("[%d]", i))
			}
		}
	case reflect.Map:
		return c.addMap(v, depth)
	case reflect.Struct:
		return c.addStruct(v, depth)
	default:
		return &ValueError{Why: v.Type().String() + " has no fixed width on the wire"}
	}
	return nil
}

// bits is a number or a truth as 64 bits, the same for values that compare equal.
func bits(v reflect.Value) uint64 {
	switch {
	case v.Kind() == reflect.Bool:
		if v.Bool() {
			return 1
		}
		return 0
	case v.CanInt():
		return uint64(v.Int())
	case v.CanUint():
		return v.Uint()
	case math.IsNaN(v.Float()):
		return math.Float64bits(math.NaN())
	default:
		return math.Float64bits(v.Float() + 0) // -0 + 0 is 0
	}
}

// addMap counts a map by the sums of its pairs, sorted: a map has no order.
func (c *checksum) addMap(v reflect.Value, depth int) *ValueError {
	var pairs [][]byte
	for key, value := range v.Seq2() {
		pair := checksum{logic: c.logic, sum: sha256.New(), members: c.members}
		for _, part := range [...]reflect.Value{key, value} {
			if err := pair.addValue(part, depth+1); err != nil {
				return err.below(fmt.Sprintf("[%v]", key))
			}
		}
		pairs = append(pairs, pair.sum.Sum(nil))
	}
	slices.SortFunc(pairs, bytes.Compare)
	c.addNumber(uint64(len(pairs)))
	for _, pair := range pairs {
		c.sum.Write(pair)
	}
	return nil
}

// addStruct counts the members that the version sees, by their numbers.
func (c *checksum) addStruct(v reflect.Value, depth int) *ValueError {
	members, known := c.members[v.Type()]
	if !known {
		var err error
		if members, err = membersOf(v.Type()); err != nil {
			return &ValueError{Why: err.Error()}
		}
		members = slices.DeleteFunc(members, func(m field) bool { return !Visible(m.Span, c.logic) })
		c.members[v.Type()] = members
	}
	c.addNumber(uint64(len(members)))
	for _, m := range members {
		c.addNumber(uint64(m.Number))
		if err := c.addValue(v.Field(m.index), depth+1); err != nil {
			return err.below("." + v.Type().Field(m.index).Name)
		}
	}
	return nil
}

// field is a member and which field of its struct it is.
type field struct {
	Member
	index int
}

// membersOf are the members of a struct by their numbers. Where no field has a tag, the exported ones are members in their
// order, as compatgen takes them.
func membersOf(t reflect.Type) (members []field, err error) {
	tagged := false
	for i := range t.NumField() {
		_, is := t.Field(i).Tag.Lookup(TagKey)
		tagged = tagged || is
	}
	taken := make(map[int]string)
	for i := range t.NumField() {
		f := t.Field(i)
		m, known, err := ParseMember(f.Tag)
		if !tagged && f.IsExported() {
			m, known = Member{Number: len(members) + 1}, true
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		case !known:
			continue
		case taken[m.Number] != "":
			return nil, fmt.Errorf("fields %s and %s have the number %d", taken[m.Number], f.Name, m.Number)
		}
		taken[m.Number] = f.Name
		members = append(members, field{m, i})
	}
	if len(members) == 0 && t.NumField() > 0 {
		return nil, fmt.Errorf("none of the fields of %s is a member: tag them like %s:\"1\"", t, TagKey)
	}
	slices.SortFunc(members, func(a, b field) int { return cmp.Compare(a.Number, b.Number) })
	return members, nil
}
