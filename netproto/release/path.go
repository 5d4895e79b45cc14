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
	// MaxPath is the length of the longest path in bytes. Windows without long-path support allows 260 characters for
	// the whole absolute path. 240 leaves little for the prefix, but works on every file system below a short root.
	MaxPath = 240
	// MaxSet is the largest number of files in one list. It bounds the memory that a peer can claim.
	MaxSet = 200_000
)

// PathError names a rejected path and the reason. It is always the fault of the path's sender.
type PathError struct {
	Path   string
	Reason string
}

func (e *PathError) Error() string { return fmt.Sprintf("path %q: %s", e.Path, e.Reason) }

// CheckPath accepts only paths that name the same file below a folder on Windows, Linux and macOS. A path is valid
// UTF-8, relative, slash-separated and at most MaxPath bytes long. It has no drive, no reserved device name, and no
// character that Windows rejects or that is invisible. No element is empty, "." or "..", or ends in a dot or a space.
// Names that Windows could take for the short form of another (PROGRA~1) are rejected, and so are elements that begin
// with "~", which are our scratch files. A path must be in Unicode's composed form (NFC), because macOS takes other
// spellings for the same name. The error is a *PathError.
func CheckPath(path string) error {
	if reason := pathFault(path); reason != "" {
		return &PathError{Path: path, Reason: reason}
	}
	return nil
}

// IsMisspelled reports whether the only fault of a path is a form other than NFC. Such names come from disks with
// another normalization, not from an attack: that file is left out, and the rest of the list is valid.
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
		return "" // the usual case; the rest is slow
	case strings.ContainsRune(`\:*?"<>|`, r):
		return fmt.Sprintf("contains %q, which Windows refuses", r)
	case r != ' ' && !unicode.IsPrint(r):
		return fmt.Sprintf("contains %U, which can't be seen or means nothing", r)
	default:
		return ""
	}
}

// maxDevice is the length in bytes of the longest device name: six letters, some of two bytes in lower case.
const maxDevice = 12

// isDevice reports whether Windows opens the name as a device, which it does in any folder and with any extension.
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

// isShortName reports whether a name has the shape of a short name that Windows generates for old programs: a tilde and
// digits at the end, or before the first dot. Such a name may open a file with another name.
func isShortName(element string) bool {
	base, _, _ := strings.Cut(element, ".")
	digits := base[strings.LastIndexByte(base, '~')+1:]
	return digits != "" && len(digits) < len(base) && strings.Trim(digits, "0123456789") == ""
}

// Fold maps paths to the same text if they are one file on a system that ignores case or normalization. It is Unicode's full
// case folding in form NFC. "Straße" and "STRASSE" are equal, "ﬁ" and "fi", the Greek letters with tonos and with oxia.
func Fold(path string) string {
	if !strings.ContainsFunc(path, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return strings.ToLower(path)
	}
	// Full folding separates letters that simple case mapping unites, such as the dotless i and the I: Windows maps.
	folded := cases.Fold().String(strings.Map(func(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }, norm.NFD.String(path)))
	return norm.NFC.String(strings.ReplaceAll(folded, "i\u0307", "i"))
}

// CheckSet checks every path. It rejects a list in which two paths are one file on some system, or in which one path is
// a parent folder of another. The error is a *PathError.
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
	free := "" // a folder with no file in its path
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

// parentIn finds a path of seen that equals a folded folder or one of its parents; folders end in a slash. Folding keeps
// the slashes between elements, so the text before a slash is a folded folder.
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
