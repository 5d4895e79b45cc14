package area

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// Set is the bytes of a program's own three areas, each from its first byte to its last.
type Set struct {
	Resources []byte
	Config    []byte
	Name      []byte
}

// Read returns the contents of a set. In an unpackaged program packaged is false and the contents are empty. An unfilled area beside a
// filled one is ErrPartly; an area that is neither as built nor as packaged is ErrDamaged; both in an *Error.
//
// The contents share the memory of the set.
func (s Set) Read() (c Contents, packaged bool, err error) {
	var there [3]bool
	if c.Resources, there[0], err = readResources(s.Resources); err != nil {
		return Contents{}, false, err
	}
	if c.Config, there[1], err = readConfig(s.Config); err != nil {
		return Contents{}, false, err
	}
	if c.Name, there[2], err = readName(s.Name); err != nil {
		return Contents{}, false, err
	}
	if there == [3]bool{} {
		return Contents{}, false, nil
	}
	sizes := [3]int{len(s.Resources), len(s.Config), len(s.Name)}
	for i, filled := range there {
		if !filled {
			return Contents{}, false, &Error{Kind: Kinds[i], Capacity: sizes[i], Err: ErrPartly}
		}
	}
	return c, true, nil
}

func readResources(b []byte) (zip []byte, filled bool, err error) {
	if bytes.HasPrefix(b, pattern(min(len(b), period))) {
		return nil, false, nil
	}
	if len(b) >= lengthSize {
		if n := binary.LittleEndian.Uint32(b); uint64(n) <= uint64(len(b)-lengthSize) {
			return b[lengthSize : lengthSize+int(n) : lengthSize+int(n)], true, nil
		}
	}
	return nil, false, &Error{Kind: Resources, Capacity: len(b), Err: ErrDamaged, Detail: "more bytes are announced than there are"}
}

func readConfig(b []byte) (text string, filled bool, err error) {
	if bytes.HasPrefix(b, []byte(configStart())) {
		return "", false, nil
	}
	_, content, headed := cutHeading(b)
	if !headed { // as written by the engine's packer
		content = bytes.TrimRight(b, string(rune(filler)))
	}
	if !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0 {
		return "", false, &Error{Kind: Config, Capacity: len(b), Err: ErrDamaged, Detail: "it is no text"}
	}
	return string(content), true, nil
}

func readName(b []byte) (name string, filled bool, err error) {
	if bytes.HasPrefix(b, []byte(notPackaged())) {
		return "", false, nil
	}
	text, rest, ended := bytes.Cut(b, []byte{0})
	if !ended || len(bytes.Trim(rest, "\x00")) > 0 || checkName(string(text)) != "" {
		return "", false, &Error{Kind: Name, Capacity: len(b), Err: ErrDamaged, Detail: "it is no name"}
	}
	return string(text), true, nil
}
