package release

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

const (
	// MaxListing is the size of the largest listing in bytes: MaxSet files with paths of 120 bytes. It is held in memory.
	MaxListing = 64 << 20
	// MaxFile is the size in bytes of the largest file that a listing may name: 1 TiB. A publisher takes files up to MaxObject.
	MaxFile = 1 << 40
	// PlainMode and ProgramMode are the permission bits that a file of a set may have. A release can't set any other
	// bit, such as set-user-id.
	PlainMode   = 0o644
	ProgramMode = 0o755
)

// ProgramHead is how many bytes of a file BeginsProgram needs.
const ProgramHead = 4

// BeginsProgram reports whether a file that begins with head gets ProgramMode where nothing else says so: ELF, a script, and Mach-O for
// one processor or several. Programs of Windows need no permission.
func BeginsProgram(head []byte) bool {
	for _, magic := range []string{"\x7fELF", "#!", "\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xca\xfe\xba\xbe"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	return false
}

// Use is the purpose of a file in a set. The words are stored in listings and never change.
type Use string

const (
	// UseResource is a resource pack, the same for every target.
	UseResource Use = "resource"
	// UseRuntime is a native module, or the description of a program in its place.
	UseRuntime Use = "runtime"
	// UseCompanion is a file that accompanies a module, such as its debug symbols.
	UseCompanion Use = "companion"
	// UseHost belongs to the host program, such as its debug symbols.
	UseHost Use = "host"
)

// Role is the engine generations' value for a use; false for an unknown use.
func (u Use) Role() (Role, bool) {
	switch u {
	case UseResource:
		return Resource, true
	case UseRuntime, UseCompanion, UseHost:
		return Binary, true
	default:
		return 0, false
	}
}

// UseOf derives a use from an engine generation's role: a binary is a runtime if its name is that of a native module of
// any system or of a description, else a companion.
func UseOf(role Role, name string) Use {
	if role == Resource {
		return UseResource
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".so", ".dll", ".dylib", ".program":
		return UseRuntime
	default:
		return UseCompanion
	}
}

// ListedFile is one file of a set. It is a comparable value.
type ListedFile struct {
	Path string // relative; passes CheckPath
	Use  Use
	Size int64  // bytes, at most MaxFile
	Mode uint32 // PlainMode or ProgramMode
	Sum  Digest // SHA-256 of the content
}

// Listing describes a set: its files, sorted by the bytes of their paths. Equal sets have equal canonical bytes, so the
// digest of these identifies the set. See docs/RELEASE-FORMAT.md, "Listing".
type Listing []ListedFile

// NewListing sorts a copy of files. It does not check them; Encode does.
func NewListing(files []ListedFile) Listing {
	l := Listing(slices.Clone(files))
	slices.SortFunc(l, func(a, b ListedFile) int { return cmp.Compare(a.Path, b.Path) })
	return l
}

// ParseListing reads a listing. Any form but the canonical one is a *FormatError; a set that CheckSet rejects is a
// *PathError.
func ParseListing(data []byte) (Listing, error) {
	var l Listing
	if err := readDocument("listing", data, MaxListing, l.code); err != nil {
		return nil, err
	}
	if err := l.check(); err != nil {
		return nil, err
	}
	return l, nil
}

// Encode writes the canonical form. An unsorted listing, or one that ParseListing would reject, is an error.
func (l Listing) Encode() ([]byte, error) {
	if err := l.check(); err != nil {
		return nil, fmt.Errorf("write listing: %w", err)
	}
	return writeDocument("listing", MaxListing, l.code)
}

// Digest is the SHA-256 of the canonical form, which identifies the set.
func (l Listing) Digest() (Digest, error) {
	data, err := l.Encode()
	if err != nil {
		return Digest{}, err
	}
	return sumOf(data), nil
}

// Bytes is the sum of the file sizes.
func (l Listing) Bytes() (sum int64) {
	for _, f := range l {
		sum += f.Size
	}
	return sum
}

// Find finds the file with exactly this path.
func (l Listing) Find(name string) (ListedFile, bool) {
	i, found := slices.BinarySearchFunc(l, name, func(f ListedFile, name string) int { return cmp.Compare(f.Path, name) })
	if !found {
		return ListedFile{}, false
	}
	return l[i], true
}

// Files returns the set as a server lists it, with SHA-256 digests. Index is the position in the listing. The FNV-1a-64
// digests of engine generations are not part of a listing.
func (l Listing) Files() []File {
	files := make([]File, len(l))
	for i, f := range l {
		role, _ := f.Use.Role()
		files[i] = File{Path: f.Path, Size: f.Size, Digest: f.Sum, Role: role, Index: uint32(i)}
	}
	return files
}

// Pack returns the object of a listing and its reference for a head.
func (l Listing) Pack() (object []byte, ref Packed, err error) {
	data, err := l.Encode()
	if err != nil {
		return nil, Packed{}, err
	}
	if object, err = pack(data); err != nil {
		return nil, Packed{}, fmt.Errorf("pack listing: %w", err)
	}
	return object, Packed{Sum: sumOf(data), Size: int64(len(data)), Object: ObjectOf(object)}, nil
}

// UnpackListing unpacks the object of a listing. Bytes that don't match ref are an *ObjectError and are not unpacked; an
// object that does not unpack to the listing of ref is a *FormatError.
func UnpackListing(object []byte, ref Packed) (Listing, error) {
	data, err := unpackVerified("listing", object, ref.Object, min(ref.Size, MaxListing))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) != ref.Size || sumOf(data) != ref.Sum {
		return nil, &FormatError{Document: "listing", Reason: "is not the one that the head names"}
	}
	return ParseListing(data)
}

// check applies the rules for paths to the listing.
func (l Listing) check() error { return CheckSet(l.Files()) }

func (l *Listing) code(c *canon) {
	last := ""
	codeList(c, "listing", (*[]ListedFile)(l), MaxSet, func(c *canon, f *ListedFile) {
		f.code(c)
		if f.Path <= last {
			c.fail("paths are not in order, or one stands twice")
		}
		last = f.Path
	})
}

// code is the layout of one file. The keys are in the order of their bytes.
func (f *ListedFile) code(c *canon) {
	mode, use := uint64(f.Mode), string(f.Use)
	c.literal(`{"mode":`)
	c.number("mode", &mode, 0o7777)
	if mode != PlainMode && mode != ProgramMode {
		c.fail("mode is neither 420 nor 493")
	}
	c.literal(`,"path":`)
	c.text("path", &f.Path, MaxPath, anyText)
	c.literal(`,"role":`)
	c.text("role", &use, maxName, useFault)
	c.literal(`,"sha256":`)
	c.digest("sha256", &f.Sum)
	c.literal(`,"size":`)
	c.size("size", &f.Size, MaxFile)
	c.literal(`}`)
	f.Mode, f.Use = uint32(mode), Use(use)
}

func useFault(s string) string {
	if _, known := Use(s).Role(); !known {
		return "is none of resource, runtime, companion and host"
	}
	return ""
}
