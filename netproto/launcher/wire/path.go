package wire

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"collet/netproto/release"
)

// StateFolder is the folder below the root of a device that holds its cache and files under way. No path of a peer may lead
// into it, and no layout has anything of it.
const StateFolder = ".collet-remote"

// CheckPath accepts the paths that a peer may name. Paths that release.CheckPath takes are fine everywhere. On systems where
// nothing else has another meaning, other names that a working copy may have are taken, too; never one that is empty,
// absolute, longer than MaxPath, with a drive, a backslash, a control character or an empty, "." or ".." element, not valid
// UTF-8, a device name of Windows, or below StateFolder (Remote launcher protocol, section 5.4). The error is a *PathError.
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

// unsafeFault is what makes a path unsafe on any system.
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

// longestReserved is the most bytes that a device's name has: six letters, some of two bytes in lower case.
const longestReserved = 12

// isReserved asks the rules of releases about what stands before the first dot, where that has only letters, digits and $:
// then being a device is all that they can have against it.
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
