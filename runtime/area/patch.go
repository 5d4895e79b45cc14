package area

import (
	"bytes"
	"debug/macho"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Contents is the contents of a program's areas. The zero value is that of an unpackaged program.
type Contents struct {
	Resources []byte // a zip; empty for none
	Config    string // settings in TOML, UTF-8; may be empty
	Name      string // packaged name of the program, 1 to MaxName bytes; not empty means that it is packaged
}

// With returns the contents with more lines at the end of the config, such as "ForceOpenGL = 1". These are top-level settings, so the
// config must not open a TOML table: it uses dotted names, as in ClientNetwork.ServerHost = "…".
func (c Contents) With(lines ...string) Contents {
	for _, line := range lines {
		if c.Config != "" && !strings.HasSuffix(c.Config, "\n") {
			c.Config += "\n"
		}
		c.Config += line + "\n"
	}
	return c
}

// Patch fills all three areas of a program in place. After an error none is filled. Its errors name the area: ErrMissing, ErrPackaged,
// ErrTooLong, ErrMalformed, ErrContent.
//
// In a universal Mach-O it fills the areas of each processor. A program for macOS must be signed again afterwards.
func Patch(program []byte, c Contents) error {
	writes, err := planWrites(program, c)
	for _, w := range writes {
		copy(program[w.offset:], w.bytes)
	}
	return err
}

// write is bytes to write at an offset.
type write struct {
	offset int
	bytes  []byte
}

// planWrites returns the writes for all areas, or an error.
func planWrites(program []byte, c Contents) ([]write, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	parts, err := programs(program)
	if err != nil {
		return nil, err
	}
	var writes []write
	for _, part := range parts {
		for _, kind := range Kinds {
			a, err := Find(program[part.from:part.to], kind)
			if err != nil {
				return nil, withWanted(err, c.Size(kind))
			}
			filled := c.fillArea(a)
			if filled == nil {
				return nil, &Error{Kind: kind, Wanted: c.Size(kind), Capacity: a.Capacity, Err: ErrTooLong}
			}
			writes = append(writes, write{part.from + a.Offset, filled})
		}
	}
	return writes, nil
}

func withWanted(err error, wanted int) error {
	if e := new(Error); errors.As(err, &e) {
		e.Wanted = wanted
	}
	return err
}

// span is a part of a file.
type span struct{ from, to int }

// programs are the programs in a file: the whole file, or the parts of a universal Mach-O.
func programs(program []byte) ([]span, error) {
	if !bytes.HasPrefix(program, []byte{0xCA, 0xFE, 0xBA, 0xBE}) {
		return []span{{0, len(program)}}, nil
	}
	fat, err := macho.NewFatFile(bytes.NewReader(program))
	if err != nil {
		return nil, fmt.Errorf("universal program: %w", err)
	}
	var parts []span
	for _, arch := range fat.Arches {
		from, to := uint64(arch.Offset), uint64(arch.Offset)+uint64(arch.Size)
		if to > uint64(len(program)) {
			return nil, fmt.Errorf("universal program: the part for %v ends at %d, behind the end of the file", arch.Cpu, to)
		}
		parts = append(parts, span{int(from), int(to)})
	}
	return parts, nil
}

// Size is the number of bytes that the contents need in an area, with length prefix, heading or final zero.
func (c Contents) Size(kind Kind) int {
	switch kind {
	case Resources:
		return lengthSize + len(c.Resources)
	case Config:
		return len(heading(c.Name, len(c.Config))) + len(c.Config)
	default:
		return len(c.Name) + 1
	}
}

// fillArea returns the bytes of a whole area; nil if the contents don't fit.
func (c Contents) fillArea(a Area) []byte {
	if c.Size(a.Kind) > a.Capacity {
		return nil
	}
	b := make([]byte, 0, a.Capacity)
	rest := byte(filler)
	switch a.Kind {
	case Resources:
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(c.Resources))), c.Resources...)
	case Config:
		b = append(append(b, heading(c.Name, len(c.Config))...), c.Config...)
	case Name:
		b, rest = append(b, c.Name...), 0
	}
	return append(b, bytes.Repeat([]byte{rest}, a.Capacity-len(b))...)
}

// check rejects contents that could be written but not read back.
func (c Contents) check() error {
	refuse := func(kind Kind, detail string) error {
		return &Error{Kind: kind, Wanted: c.Size(kind), Err: ErrContent, Detail: detail}
	}
	switch fault := checkName(c.Name); {
	case len(c.Name) > MaxName:
		return &Error{Kind: Name, Wanted: c.Size(Name), Capacity: NameSize, Err: ErrTooLong}
	case fault != "":
		return refuse(Name, fault)
	case len(c.Config) > MaxConfig:
		return &Error{Kind: Config, Wanted: c.Size(Config), Err: ErrTooLong}
	case !utf8.ValidString(c.Config) || strings.ContainsRune(c.Config, 0):
		return refuse(Config, "settings are UTF-8 without zeros")
	case len(c.Resources) > MaxProgram:
		return &Error{Kind: Resources, Wanted: c.Size(Resources), Err: ErrTooLong}
	}
	return nil
}

// checkName returns why a name is invalid; empty if it is valid.
func checkName(name string) string {
	switch {
	case name == "":
		return "a package has a name"
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Sprintf("%q is not text of one line", name)
	case len(name) > MaxName:
		return fmt.Sprintf("a name has at most %d bytes", MaxName)
	case strings.Contains(name, notPackaged()):
		return "a name can't hold the marker"
	default:
		return ""
	}
}
