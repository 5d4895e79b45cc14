package verify

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// fact is a property of a member, as people read it.
type fact struct{ name, value string }

// member is one thing in an archive.
type member struct {
	name  string
	facts []fact
	body  io.Reader // nil where there are no bytes; good until the next member is asked for
	bytes bool      // the body is nothing to look into, whatever it begins with
}

// members gives one member after the other, and io.EOF at the end.
type members func() (member, error)

// kinds are the formats that can be looked into, by how they begin. Those that can't be told by their first bytes have a function.
var kinds = []struct {
	name   string
	offset int // of the mark
	mark   string
	open   func(content) (members, error)
}{
	{"zip", 0, "PK\x03\x04", zipMembers},
	{"gzip", 0, "\x1f\x8b", gzipMembers},
	{"zstd", 0, "\x28\xb5\x2f\xfd", zstdMembers},
	{"tar", 257, "ustar", tarMembers},
	{"ar", 0, "!<arch>\n", arMembers},
	{"rpm", 0, "\xed\xab\xee\xdb", rpmMembers},
	{"rpm header", 0, "\x8e\xad\xe8\x01", tagMembers},
	{"cpio", 0, "070701", cpioMembers},
	{"PE", 0, "MZ", peMembers},
	{"ELF", 0, "\x7fELF", elfMembers},
}

// inside compares two archives of one kind; nil is that it found no difference, or can't look.
func (c *comparer) inside(place []string, a, b content) (*Difference, error) {
	for _, k := range kinds {
		if !a.has(k.offset, k.mark) {
			continue
		}
		if !b.has(k.offset, k.mark) {
			return nil, nil
		}
		nextA, errA := k.open(a)
		nextB, errB := k.open(b)
		if err := errors.Join(errA, errB); err != nil {
			return nil, err
		}
		return c.members(place, nextA, nextB)
	}
	return nil, nil
}

func (c content) has(offset int, mark string) bool {
	head := c.head(offset + len(mark))
	return len(head) > offset && bytes.Equal(head[offset:], []byte(mark))
}

// members compares one member after the other.
func (c *comparer) members(place []string, nextA, nextB members) (*Difference, error) {
	for range maxMembers {
		a, errA := nextA()
		b, errB := nextB()
		switch {
		case errA == io.EOF && errB == io.EOF:
			return nil, nil
		case errA != nil && errA != io.EOF || errB != nil && errB != io.EOF:
			return nil, errors.Join(errA, errB)
		case errA == io.EOF || errB == io.EOF:
			return &Difference{Place: place, What: "next member", A: nameOr(a, errA), B: nameOr(b, errB)}, nil
		case a.name != b.name:
			return &Difference{Place: place, What: "next member", A: a.name, B: b.name}, nil
		}
		if d, err := c.member(append(slices.Clip(place), a.name), a, b); d != nil || err != nil {
			return d, err
		}
	}
	return nil, fmt.Errorf("more than %d members", maxMembers)
}

func nameOr(m member, end error) string {
	if end != nil {
		return "the end"
	}
	return m.name
}

func (c *comparer) member(place []string, a, b member) (d *Difference, err error) {
	for i := range min(len(a.facts), len(b.facts)) {
		if x, y := a.facts[i], b.facts[i]; x.value != y.value {
			return &Difference{Place: place, What: x.name, A: x.value, B: y.value}, nil
		}
	}
	if a.body == nil || b.body == nil {
		return nil, nil
	}
	x, err := c.spool(a.body)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, x.close()) }()
	y, err := c.spool(b.body)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, y.close()) }()
	if a.bytes {
		return c.plain(place, x.content, y.content)
	}
	return c.contents(place, x.content, y.content)
}

// listed are members that are known from the beginning.
func listed(all []member) members {
	return func() (member, error) {
		if len(all) == 0 {
			return member{}, io.EOF
		}
		m := all[0]
		all = all[1:]
		return m, nil
	}
}
