package area

import (
	"bytes"
)

// Area is where an unfilled area lies in a program. Offset and Capacity are in bytes.
type Area struct {
	Kind     Kind
	Offset   int
	Capacity int
}

// Find finds an area that was not filled yet: the first one. Its errors are ErrMissing and ErrMalformed, in an *Error.
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
	if a.Offset < 0 {
		return Area{}, &Error{Kind: kind, Err: fault}
	}
	return a, nil
}

func findResources(program []byte) (offset, capacity int) {
	offset = bytes.Index(program, pattern(LeastResources))
	if offset < 0 {
		return -1, 0
	}
	capacity = LeastResources
	step := pattern(ResourcesStep) // both sizes are multiples of the period, so it begins alike everywhere
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
