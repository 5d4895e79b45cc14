package area

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Area is the location of an unfilled area in a program. Offset and Capacity are in bytes.
type Area struct {
	Kind     Kind
	Offset   int
	Capacity int
}

// Find finds the first unfilled area of a kind. Its errors are ErrMissing, ErrPackaged and ErrMalformed, in an *Error.
func Find(program []byte, kind Kind) (Area, error) {
	a := Area{Kind: kind, Offset: -1}
	fault := ErrMissing
	switch kind {
	case Resources:
		a.Offset, a.Capacity = findResources(program)
	case Config:
		a.Offset, a.Capacity, fault = findConfig(program)
	case Name:
		a.Offset, a.Capacity, fault = findName(program)
	}
	if a.Offset >= 0 {
		return a, nil
	}
	e := &Error{Kind: kind, Err: fault}
	if name, _, packaged := Packaged(program); packaged && fault == ErrMissing {
		e.Err, e.Detail = ErrPackaged, fmt.Sprintf("it is %q", name)
	}
	return Area{}, e
}

// Packaged finds the name and the settings in a packaged program, without knowing the locations of its areas. In a universal program it
// reads the first part. The result is untrusted.
func Packaged(program []byte) (name, config string, packaged bool) {
	mark := []byte(isPackaged())
	for {
		at := bytes.Index(program, mark)
		if at < 0 {
			return "", "", false
		}
		program = program[at:]
		if name, text, is := cutHeading(program); is && utf8.Valid(text) {
			return name, string(text), true
		}
		program = program[len(mark):]
	}
}

// heading is the first line of a filled config.
func heading(name string, size int) string {
	return fmt.Sprintf("%s %d %s\n", isPackaged(), size, name)
}

// maxHeading is the longest heading in bytes.
const maxHeading = 64 + NameSize

// cutHeading returns the name of a heading and exactly the text after it. is is false without a heading, or with less text than it
// announces.
func cutHeading(b []byte) (name string, text []byte, is bool) {
	line, _, ended := bytes.Cut(b[:min(len(b), maxHeading)], []byte("\n"))
	rest, marked := strings.CutPrefix(string(line), isPackaged()+" ")
	number, name, parted := strings.Cut(rest, " ")
	size, err := strconv.Atoi(number)
	if !ended || !marked || !parted || err != nil || size < 0 || size > min(len(b)-len(line)-1, MaxConfig) || checkName(name) != "" {
		return "", nil, false
	}
	if head := heading(name, size); head != string(line)+"\n" {
		return "", nil, false
	}
	return name, b[len(line)+1:][:size], true
}

func findResources(program []byte) (offset, capacity int) {
	offset = bytes.Index(program, pattern(LeastResources))
	if offset < 0 {
		return -1, 0
	}
	capacity = LeastResources
	step := pattern(ResourcesStep) // both sizes are multiples of the period, so each step begins with the same byte
	for bytes.HasPrefix(program[offset+capacity:], step) {
		capacity += ResourcesStep
	}
	return offset, capacity
}

func findConfig(program []byte) (offset, capacity int, fault error) {
	start, end := configStart(), configEnd()
	offset = bytes.Index(program, []byte(start))
	if offset < 0 {
		return -1, 0, ErrMissing
	}
	last := offset + len(start)
	for last < len(program) && '0' <= program[last] && program[last] <= '9' {
		last++
	}
	if !bytes.HasPrefix(program[last:], []byte(end)) {
		return -1, 0, ErrMalformed
	}
	return offset, last + len(end) - offset, nil
}

func findName(program []byte) (offset, capacity int, fault error) {
	mark := notPackaged()
	offset = bytes.Index(program, []byte(mark))
	if offset < 0 {
		return -1, 0, ErrMissing
	}
	rest := program[offset+len(mark):]
	zeros := NameSize - len(mark)
	if len(rest) < zeros || len(bytes.Trim(rest[:zeros], "\x00")) > 0 {
		return -1, 0, ErrMalformed
	}
	return offset, NameSize, nil
}
