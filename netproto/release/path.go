package release

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

const (
	// MaxPath is the longest path in bytes. Windows without long-path support allows 260 characters for the whole
	// absolute path; 240 leaves the prefix little, but every file system takes it below a short root.
	MaxPath = 240
	// MaxSet is the largest number of files in one list: a peer can't make us hold more.
	MaxSet = 200_000
)

// PathError says which path was refused and why. It is always the fault of whoever sent the path.
type PathError struct {
	Path   string
	Reason string
}

func (e *PathError) Error() string { return fmt.Sprintf("path %q: %s", e.Path, e.Reason) }

// CheckPath accepts only paths that name one and the same file below a folder on Windows, Linux and macOS: valid UTF-8,
// relative, slash-separated, at most MaxPath bytes, no empty, "." or ".." element, no drive, no reserved device name, no
// character that Windows refuses or that can't be seen, no element that ends in a dot or a space. Names that Windows
// would take for the short form of another (PROGRA~1) and elements that begin with "~" (those are our parts) are refused
// too. A path must be in Unicode's composed form (NFC): macOS takes the other spellings of a name for the same name. The
// error is a *PathError.
func CheckPath(path string) error {
	if reason := pathFault(path); reason != "" {
		return &PathError{Path: path, Reason: reason}
	}
	return nil
}

// IsMisspelled reports whether all that CheckPath has against a path is that its letters are not in the form NFC. Such names come
// from disks that spell them otherwise, not from an attack: the one file is left out, and the rest of the list is fine.
func IsMisspelled(path string) bool {
	return CheckPath(path) != nil && CheckPath(norm.NFC.String(path)) == nil
}

func pathFault(path string) string {
	switch {
	case path == "":
		return "is empty"
	case len(path) > MaxPath:
		return fmt.Sprintf("is longer than %d bytes", MaxPath)
	case !utf8.ValidString(path):
		return "is not valid UTF-8"
	case strings.HasPrefix(path, "/"):
		return "is absolute"
	}
	for element := range strings.SplitSeq(path, "/") {
		if reason := elementFault(element); reason != "" {
			return reason
		}
	}
	if !norm.NFC.IsNormalString(path) {
		r, _ := utf8.DecodeRuneInString(path[norm.NFC.QuickSpanString(path):])
		return fmt.Sprintf("has a letter, at %U, that can be spelled in another way (it is not in Unicode's form NFC)", r)
	}
	return ""
}

func elementFault(element string) string {
	switch {
	case element == "":
		return "has an empty element"
	case element == "." || element == "..":
		return "has an element that leaves the folder"
	case strings.HasPrefix(element, "~"):
		return "has an element that begins with ~, which marks unfinished files"
	case strings.HasSuffix(element, ".") || strings.HasSuffix(element, " "):
		return "has an element that ends in a dot or a space, which Windows drops"
	case isDevice(element):
		return "has an element that is a device name on Windows"
	case isShortName(element):
		return "has an element that is the short form of another name on Windows"
	}
	for _, r := range element {
		if reason := runeFault(r); reason != "" {
			return reason
		}
	}
	return ""
}

func runeFault(r rune) string {
	switch {
	case r < utf8.RuneSelf && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z'):
		return "" // nearly all are, and the rest takes longer
	case strings.ContainsRune(`\:*?"<>|`, r):
		return fmt.Sprintf("contains %q, which Windows refuses", r)
	case r != ' ' && !unicode.IsPrint(r):
		return fmt.Sprintf("contains %U, which can't be seen or means nothing", r)
	default:
		return ""
	}
}

// maxDevice is the most bytes that a device's name has: six letters, of which some can be two bytes of lower case.
const maxDevice = 12

// isDevice knows the names that Windows opens as devices in any folder and with any extension.
func isDevice(element string) bool {
	base, _, _ := strings.Cut(element, ".")
	if base = strings.TrimRight(base, " "); len(base) > maxDevice {
		return false
	}
	switch base = strings.ToUpper(base); base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$":
		return true
	}
	for _, prefix := range []string{"COM", "LPT"} {
		rest, found := strings.CutPrefix(base, prefix)
		if found && len([]rune(rest)) == 1 && strings.ContainsAny(rest, "0123456789¹²³") {
			return true
		}
	}
	return false
}

// isShortName knows the shape of the names that Windows makes up for programs of old: a tilde and digits at the end, or
// before the first dot. Such a name may open a file that is called otherwise.
func isShortName(element string) bool {
	base, _, _ := strings.Cut(element, ".")
	digits := base[strings.LastIndexByte(base, '~')+1:]
	return digits != "" && len(digits) < len(base) && strings.Trim(digits, "0123456789") == ""
}

// Fold is the form under which two paths are one file on a system that ignores case, or how a letter is spelled: Unicode's
// full case folding in form NFC. "Straße" and "STRASSE" are one, "ﬁ" and "fi", the Greek letters with tonos and with oxia.
func Fold(path string) string {
	if !strings.ContainsFunc(path, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return strings.ToLower(path)
	}
	// Full folding leaves letters apart that simple case mapping unites, such as the dotless i and the I: Windows maps.
	folded := cases.Fold().String(strings.Map(func(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }, norm.NFD.String(path)))
	return norm.NFC.String(strings.ReplaceAll(folded, "i\u0307", "i"))
}

// CheckSet checks every path and refuses a list in which two paths are one file on some system, or in which one path is
// a folder on the way to another. The error is a *PathError.
func CheckSet(files []File) error {
	if len(files) > MaxSet {
		return &PathError{Path: files[MaxSet].Path, Reason: fmt.Sprintf("is file number %d; a list may hold %d", MaxSet+1, MaxSet)}
	}
	seen := make(map[string]string, len(files)) // the path of each folded one
	all := make([]string, len(files))           // folded
	for i, f := range files {
		if err := CheckPath(f.Path); err != nil {
			return err
		}
		all[i] = Fold(f.Path)
		if other, taken := seen[all[i]]; taken {
			return &PathError{Path: f.Path, Reason: fmt.Sprintf("is the same file as %q on some systems", other)}
		}
		seen[all[i]] = f.Path
	}
	free := "" // a folder on the way to which there is no file
	for i, f := range files {
		folder := all[i][:strings.LastIndexByte(all[i], '/')+1]
		if folder == free {
			continue
		}
		if parent, taken := parentIn(seen, folder); taken {
			return &PathError{Path: f.Path, Reason: fmt.Sprintf("needs a folder where %q is a file", parent)}
		}
		free = folder
	}
	return nil
}

// parentIn finds a path of seen that is a folded folder, or one above it; folders end in a slash. Folding keeps slashes where
// they are between elements, so what stands before one is the folded folder.
func parentIn(seen map[string]string, folded string) (string, bool) {
	for i := range len(folded) {
		if folded[i] != '/' {
			continue
		}
		if parent, taken := seen[folded[:i]]; taken {
			return parent, true
		}
	}
	return "", false
}
