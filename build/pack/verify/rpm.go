package verify

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// Layout of an rpm: a lead, a header of signatures that is filled up to 8 bytes, a header of facts, the payload. A header is
// 16 bytes with two numbers, 16 bytes for each tag, and their values.
const (
	rpmLead     = 96
	rpmHeader   = 16
	rpmTag      = 16
	rpmMaxTags  = 1 << 16
	rpmMaxStore = 256 << 20
)

func rpmMembers(c content) (members, error) {
	signature, err := rpmHeaderSize(c, rpmLead)
	if err != nil {
		return nil, err
	}
	facts := rpmLead + (signature+7)/8*8
	size, err := rpmHeaderSize(c, facts)
	if err != nil {
		return nil, err
	}
	return listed([]member{
		{name: "lead", body: c.part(0, rpmLead).reader()},
		{name: "payload", body: c.part(facts+size, c.size).reader()}, // the headers have digests of it
		{name: "header", body: c.part(facts, size).reader()},
		{name: "signature header", body: c.part(rpmLead, facts-rpmLead).reader()},
	}), nil
}

func rpmHeaderSize(c content, at int64) (int64, error) {
	tags, store, err := rpmNumbers(c.part(at, rpmHeader))
	return rpmHeader + tags*rpmTag + store, err
}

// rpmNumbers are how many tags a header has, and the bytes of their values.
func rpmNumbers(c content) (tags, store int64, err error) {
	h := c.head(rpmHeader)
	if len(h) < rpmHeader || string(h[:4]) != "\x8e\xad\xe8\x01" {
		return 0, 0, errors.New("no header of an rpm")
	}
	tags, store = int64(binary.BigEndian.Uint32(h[8:])), int64(binary.BigEndian.Uint32(h[12:]))
	if tags > rpmMaxTags || store > rpmMaxStore {
		return 0, 0, errors.New("an rpm's header is too large")
	}
	return tags, store, nil
}

// tagMembers are the values of a header, in the order in which they lie there.
func tagMembers(c content) (members, error) {
	tags, store, err := rpmNumbers(c)
	if err != nil {
		return nil, err
	}
	index := c.part(rpmHeader, tags*rpmTag).head(int(tags * rpmTag))
	type value struct{ tag, kind, at, count uint32 }
	var values []value
	for e := range slices.Chunk(index, rpmTag) {
		if len(e) == rpmTag {
			number := func(i int) uint32 { return binary.BigEndian.Uint32(e[i:]) }
			values = append(values, value{number(0), number(4), number(8), number(12)})
		}
	}
	slices.SortStableFunc(values, func(a, b value) int { return int(int64(a.at) - int64(b.at)) })
	all := make([]member, len(values))
	for i, v := range values {
		end := store
		if i+1 < len(values) {
			end = int64(values[i+1].at)
		}
		body := c.part(rpmHeader+tags*rpmTag+int64(v.at), end-int64(v.at))
		all[i] = member{name: fmt.Sprintf("tag %d", v.tag), body: body.reader(), facts: []fact{
			{"type", strconv.Itoa(int(v.kind))}, {"values", strconv.Itoa(int(v.count))},
		}}
	}
	return listed(all), nil
}

// Layout of a member of a cpio archive as rpm has it ("newc"): 110 bytes of hexadecimal text, the name, the bytes, both filled
// up to 4.
const (
	cpioHeader  = 110
	cpioEnd     = "TRAILER!!!"
	cpioMaxName = 4096
)

func cpioMembers(c content) (members, error) {
	at := int64(0)
	return func() (member, error) {
		h := c.part(at, cpioHeader).head(cpioHeader)
		if len(h) < cpioHeader {
			return member{}, io.ErrUnexpectedEOF
		}
		field := func(i int) int64 {
			n, err := strconv.ParseUint(string(h[6+8*i:14+8*i]), 16, 32)
			if err != nil {
				return -1
			}
			return int64(n)
		}
		size, named := field(6), field(11)
		if size < 0 || named < 1 || named > cpioMaxName {
			return member{}, errors.New("a member's size is no number")
		}
		name := string(c.part(at+cpioHeader, named-1).head(int(named)))
		if name == cpioEnd {
			return member{}, io.EOF
		}
		from := (at + cpioHeader + named + 3) / 4 * 4
		m := member{name: name, body: c.part(from, size).reader(), facts: []fact{
			{"mode", strconv.FormatInt(field(1), 8)}, {"owner", fmt.Sprintf("%d/%d", field(2), field(3))},
			{"time", strconv.FormatInt(field(5), 10)}, {"inode", strconv.FormatInt(field(0), 10)},
		}}
		at = (from + size + 3) / 4 * 4
		return m, nil
	}, nil
}
