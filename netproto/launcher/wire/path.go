package wire

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"collet/netproto/release"
)

// StateFolder is the folder below the root of a device that holds its cache and its scratch files. No path of a peer may
// lead into it, and no layout contains it.
const StateFolder = ".collet-remote"

// CheckPath accepts the paths that a peer may name. Paths that release.CheckPath accepts are valid on every system. On
// systems without special names, other names of a working copy are valid, too. Always rejected are: empty, absolute, or
// longer than MaxPath; a drive, a backslash, a control character, or an empty, "." or ".." element; invalid UTF-8; a
// device name of Windows; anything below StateFolder (docs/PROTOCOL.md, "What a device of ours does"). The error is a *PathError.
func CheckPath(path string) error {
	if reason := pathFault(path); reason != "" {
		return &PathError{Path: path, Reason: reason}
	}
	return nil
}

func pathFault(path string) string {
	first, _, _ := strings.Cut(path, "/")
	if strings.EqualFold(first, StateFolder) {
		return "lies where unfinished files are kept"
	}
	err := release.CheckPath(path)
	if err == nil {
		return ""
	}
	if portableOnly {
		return err.(*PathError).Reason
	}
	return unsafeFault(path)
}

// unsafeFault says why a path is unsafe on every system, or is empty.
func unsafeFault(path string) string {
	switch {
	case path == "":
		return "is empty"
	case len(path) > MaxPath:
		return fmt.Sprintf("is longer than %d bytes", MaxPath)
	case !utf8.ValidString(path):
		return "is not valid UTF-8"
	case path[0] == '/':
		return "is absolute"
	case len(path) > 1 && path[1] == ':':
		return "names a drive"
	case strings.ContainsRune(path, '\\'):
		return "contains a backslash"
	case strings.ContainsFunc(path, isControl):
		return "contains a control character"
	}
	for element := range strings.SplitSeq(path, "/") {
		if reason := unsafeElement(element); reason != "" {
			return reason
		}
	}
	return ""
}

func isControl(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }

func unsafeElement(element string) string {
	switch {
	case element == "":
		return "has an empty element"
	case element == "." || element == "..":
		return "has an element that leaves the folder"
	case isReserved(element):
		return "has an element that is a device name on Windows"
	}
	return ""
}

// longestReserved is the length in bytes of the longest device name: six letters, some of two bytes in lower case.
const longestReserved = 12

// isReserved applies the rules of releases to the part before the first dot, if that has only letters, digits and $:
// then the only possible objection is a device name.
func isReserved(element string) bool {
	base, _, _ := strings.Cut(element, ".")
	base = strings.TrimRight(base, " ")
	if base == "" || len(base) > longestReserved || strings.ContainsFunc(base, notInReserved) {
		return false
	}
	return release.CheckPath(base) != nil
}

func notInReserved(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("$¹²³ıſK", r))
}
