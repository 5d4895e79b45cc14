package release

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	// HeadFormat is the format version of heads.
	HeadFormat = 1
	// MaxHead is the size of the largest head in bytes. It has room for every patch, note and mirror that the other caps
	// allow; a head is read into memory at once.
	MaxHead = 64 << 10
	// MaxPatches is the largest number of releases that a head has patches from.
	MaxPatches = 64
	// MaxChanges is the size in bytes of the largest delta index (Head.Changes): 100 000 files. It is held in memory.
	MaxChanges = 8 << 20
	// MaxNotes is the largest number of languages with release notes.
	MaxNotes = 64
	// MaxNote is the largest text of release notes in bytes: some forty screens.
	MaxNote = 64 << 10
	// MaxMirrors is the largest number of mirrors.
	MaxMirrors = 16
	// maxName, maxText and maxURL are the lengths in bytes of texts in a head.
	maxName = 64
	maxText = 256
	maxURL  = 512
	// maxComponents is the longest hash of a component set in hex digits: 64 bytes, that of SHA-512.
	maxComponents = 128
	// publishedForm is the one valid form of a time.
	publishedForm = "2006-01-02T15:04:05Z"
)

// ErrNewFormat says that a document has the format of a later program. The player needs a full package of the game.
var ErrNewFormat = errors.New("release is in a format that this program does not know; install the latest full package")

// Head describes one release for one channel and target: names, requirements, content, and where to fetch it. It is a
// value; the caller owns its slices and maps. See docs/RELEASE-FORMAT.md, "Head".
type Head struct {
	Product string // letters, digits, dot, dash and underscore, as are Channel and Target
	Channel string
	Target  string // product.Target
	Number  uint64 // from 1 to MaxNumber; only rises within product, channel and target
	Version string // for people

	Compatibility string    // the native module's compatibility version; may be empty
	Logic         uint32    // logic version
	Components    string    // hash of the component set in lower-case hex; may be empty
	HostABI       uint32    // the oldest compatible host ABI of the module
	HostBuild     uint64    // the oldest build of the host that can install this release; 0 for any
	Published     time.Time // UTC, whole seconds

	Bytes int64 // sum of the sizes of the set's files
	Count int   // number of the set's files

	Listing Packed            // the set of files
	Sources Object            // where to fetch files without a patch: a packed Sources
	Changes Object            // delta index of recent changes of both, see delta.EncodeChanges; zero if absent
	Patches []PatchRef        // sorted by From; each From once
	Notes   map[string]Object // release notes as plain text, by language tag
	Mirrors []string          // http and https addresses of release folders, best first
}

// PatchRef is a set patch: Object turns the set with the listing From into this release.
type PatchRef struct {
	From   Digest // SHA-256 of the canonical listing of the old set
	Object Object
}

// ParseHead reads a head. Any form but the canonical one is a *FormatError; a head of a later format is ErrNewFormat.
func ParseHead(data []byte) (Head, error) {
	var h Head
	err := readDocument("head", data, MaxHead, h.code)
	if err != nil {
		if laterFormat(data) {
			err = ErrNewFormat
		}
		return Head{}, err
	}
	return h, nil
}

// laterFormat reports whether data, which ParseHead could not read, is a head of a later format.
func laterFormat(data []byte) bool {
	var peek struct {
		Format uint64 `json:"format"`
	}
	return len(data) <= MaxHead && json.Unmarshal(data, &peek) == nil && peek.Format > HeadFormat
}

// Encode writes the canonical form. Patches may be in any order. A head that ParseHead would reject is an error.
func (h Head) Encode() ([]byte, error) {
	h.Patches = slices.Clone(h.Patches)
	slices.SortFunc(h.Patches, comparePatches)
	return writeDocument("head", MaxHead, h.code)
}

func comparePatches(a, b PatchRef) int { return cmp.Compare(a.From.Hex(), b.From.Hex()) }

// PatchFrom finds the patch from the set with this listing.
func (h Head) PatchFrom(listing Digest) (Object, bool) {
	for _, p := range h.Patches {
		if p.From == listing {
			return p.Object, true
		}
	}
	return Object{}, false
}

// Note selects the release notes for a language tag such as "pt-BR": those of exactly that tag, else of the tag without
// its last parts ("pt"), else English, else the alphabetically first tag. Case is ignored. It returns the selected tag,
// and false if there are no notes.
func (h Head) Note(language string) (tag string, note Object, found bool) {
	tags := slices.Sorted(maps.Keys(h.Notes))
	wanted := []string{language}
	for base := language; strings.Contains(base, "-"); {
		base = base[:strings.LastIndexByte(base, '-')]
		wanted = append(wanted, base)
	}
	for _, want := range append(wanted, "en") {
		for _, tag := range tags {
			if strings.EqualFold(tag, want) {
				return tag, h.Notes[tag], true
			}
		}
	}
	if len(tags) == 0 {
		return "", Object{}, false
	}
	return tags[0], h.Notes[tags[0]], true
}

// code is the layout of a head. The keys are in the order of their bytes.
func (h *Head) code(c *canon) {
	format, count := uint64(HeadFormat), uint64(h.Count)
	c.literal(`{"bytes":`)
	c.size("bytes", &h.Bytes, MaxNumber)
	if !c.reading && !h.Changes.IsZero() || c.reading && c.follows(`,"changes":`) {
		c.literal(`,"changes":`)
		h.Changes.code(c, "changes", MaxChanges)
	}
	c.literal(`,"channel":`)
	c.text("channel", &h.Channel, maxName, nameFault)
	c.literal(`,"compatibility":`)
	c.text("compatibility", &h.Compatibility, maxText, anyText)
	c.literal(`,"components":`)
	c.text("components", &h.Components, maxComponents, hexFault)
	c.literal(`,"count":`)
	c.number("count", &count, MaxSet)
	c.literal(`,"format":`)
	c.number("format", &format, HeadFormat)
	if format != HeadFormat {
		c.fail("format 0 does not exist")
	}
	c.literal(`,"hostABI":`)
	c.number32("hostABI", &h.HostABI)
	c.literal(`,"hostBuild":`)
	c.number("hostBuild", &h.HostBuild, MaxNumber)
	c.literal(`,"listing":`)
	h.Listing.code(c, "listing", MaxListing)
	c.literal(`,"logic":`)
	c.number32("logic", &h.Logic)
	c.literal(`,"mirrors":`)
	codeList(c, "mirrors", &h.Mirrors, MaxMirrors, func(c *canon, s *string) { c.text("mirror", s, maxURL, urlFault) })
	c.literal(`,"notes":`)
	h.codeNotes(c)
	c.literal(`,"number":`)
	c.number("number", &h.Number, MaxNumber)
	if h.Number == 0 {
		c.fail("number 0 does not exist")
	}
	c.literal(`,"patches":`)
	h.codePatches(c)
	c.literal(`,"product":`)
	c.text("product", &h.Product, maxName, nameFault)
	c.literal(`,"published":`)
	h.codePublished(c)
	c.literal(`,"sources":`)
	h.Sources.code(c, "sources", packBound(MaxSources))
	c.literal(`,"target":`)
	c.text("target", &h.Target, maxName, nameFault)
	c.literal(`,"version":`)
	c.text("version", &h.Version, maxText, filledText)
	c.literal(`}`)
	h.Count = int(count)
}

// codeNotes codes an object with sorted language tags as keys.
func (h *Head) codeNotes(c *canon) {
	type note struct {
		tag  string
		text Object
	}
	var notes []note
	for _, tag := range slices.Sorted(maps.Keys(h.Notes)) {
		notes = append(notes, note{tag, h.Notes[tag]})
	}
	c.literal("{")
	for i := 0; c.err == nil; i++ {
		if c.reading && c.follows("}") || !c.reading && i == len(notes) {
			break
		}
		if i > 0 {
			c.literal(",")
		}
		if c.reading {
			notes = append(notes, note{})
		}
		c.text("language", &notes[i].tag, maxName, tagFault)
		if i > 0 && notes[i].tag <= notes[i-1].tag {
			c.fail("languages are not in order")
		}
		if i == MaxNotes {
			c.fail(fmt.Sprintf("notes in more than %d languages", MaxNotes))
		}
		c.literal(":")
		notes[i].text.code(c, "note", MaxNote)
	}
	c.literal("}")
	if !c.reading || len(notes) == 0 {
		return
	}
	h.Notes = make(map[string]Object, len(notes))
	for _, n := range notes {
		h.Notes[n.tag] = n.text
	}
}

func (h *Head) codePatches(c *canon) {
	codeList(c, "patches", &h.Patches, MaxPatches, func(c *canon, p *PatchRef) {
		c.literal(`{"from":`)
		c.digest("patch from", &p.From)
		c.literal(`,"patch":`)
		p.Object.code(c, "patch", MaxObject)
		c.literal(`}`)
	})
	for i := 1; i < len(h.Patches) && c.err == nil; i++ {
		if comparePatches(h.Patches[i-1], h.Patches[i]) >= 0 {
			c.fail("patches are not in order, or two have the same beginning")
		}
	}
}

func (h *Head) codePublished(c *canon) {
	text := h.Published.UTC().Format(publishedForm)
	if !c.reading && !h.Published.Equal(h.Published.Truncate(time.Second)) {
		c.fail("published is no whole second")
	}
	c.text("published", &text, len(publishedForm), func(s string) string {
		at, err := time.Parse(publishedForm, s)
		if err != nil || at.Format(publishedForm) != s {
			return "is no time like " + publishedForm
		}
		h.Published = at
		return ""
	})
}

func anyText(string) string { return "" }

func filledText(s string) string {
	if s == "" {
		return "is empty"
	}
	return ""
}

// nameFault restricts a name to characters with the same meaning in a path, an address and a command line.
func nameFault(s string) string {
	for _, r := range s {
		if !isNameRune(r) {
			return fmt.Sprintf("contains %q; letters, digits, dot, dash and underscore are allowed", r)
		}
	}
	if s == "" || s[0] == '.' || s[0] == '-' {
		return "is empty or begins with a dot or a dash"
	}
	return ""
}

func isNameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_'
}

func tagFault(s string) string {
	if nameFault(s) != "" || strings.ContainsAny(s, "._") {
		return `is no language tag like "de" or "pt-BR"`
	}
	return ""
}

func hexFault(s string) string {
	if len(s)%2 != 0 || strings.Trim(s, "0123456789abcdef") != "" {
		return "is not lower-case hex"
	}
	return ""
}

func urlFault(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" || u.String() != s {
		return "is no plain http or https address"
	}
	return ""
}

// FindKilled looks for a killed entry of the release that e offers, whose like is in no channel offered again: e itself, or one of the same
// target with the same files, version and time. head reads the head of an entry.
func FindKilled(entries []Entry, e Entry, head func(Entry) (Head, error)) (killed Entry, found bool, err error) {
	h, err := head(e)
	if err != nil {
		return Entry{}, false, err
	}
	for _, other := range entries {
		if !other.Killed || other.Product != e.Product || other.Target != e.Target {
			continue
		}
		was, err := head(other)
		if err != nil {
			return Entry{}, false, err
		}
		if other == e || was.Listing.Sum == h.Listing.Sum && was.Version == h.Version && was.Published.Equal(h.Published) {
			return other, true, nil
		}
	}
	return Entry{}, false, nil
}
