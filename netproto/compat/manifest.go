package compat

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// What a manifest may be, at both ends of a connection and on disk (docs/COMPATIBILITY.md).
const (
	MaxEntries      = 4096      // components; an engine game has a few hundred
	MaxName         = 128       // bytes of a component's name
	MaxManifest     = 256 << 10 // bytes of a manifest on the wire
	MaxManifestFile = 4 << 20   // bytes of a manifest in a file: 4 096 entries with the longest names and every number written out
	MaxBuildID      = 64        // bytes of Build.ID
	MaxBranch       = 32        // bytes of Build.Branch
)

// ManifestMode is how a server shows its components. The texts are part of settings, the numbers of the wire protocol.
type ManifestMode string

const (
	ManifestNone   ManifestMode = "none"
	ManifestHashes ManifestMode = "hashes" // names are hashed: only an end with the component can recognise it
	ManifestFull   ManifestMode = "full"
)

// Entry is one component of a manifest.
type Entry struct {
	Name      string // ASCII letters, digits, '_', '.', '-'; empty where only NameHash was told
	NameHash  uint64 // NameHash(Name) in a manifest of ManifestHashes, otherwise 0
	WireID    uint16
	Hash      uint64 // ComponentHash of its canonical form; never 0
	ChangedAt int64  // seconds since 1970 of the commit that last changed the declaration; 0 is unknown
	Since     int32  // logic version that brought the component; 0 is from the beginning
}

// Manifest is what one end says of the components that both ends share. Its zero value tells nothing.
type Manifest struct {
	Mode    ManifestMode // what Entries tell; empty is ManifestFull
	Build   Build        // whose components these are: Build.Logic, and Build.Components, the hash over all of them
	Entries []Entry      // none with ManifestNone; sorted by the bytes of the name, with ManifestHashes by NameHash
}

// ManifestError is a manifest that breaks the rules. Where a peer sent it, it is the peer's fault.
type ManifestError struct {
	What string // which part of it
	Why  string
}

func (e *ManifestError) Error() string {
	return fmt.Sprintf("component manifest: %s: %s", e.What, e.Why)
}

// Seal sorts the entries, puts the hash over them into the build, and checks the whole. It changes only m.
func (m *Manifest) Seal() error {
	slices.SortFunc(m.Entries, m.compare)
	m.Build.Components = SetHash(m.Entries)
	return m.Check()
}

// Check refuses what no honest end sends: entries that are too many, unsorted, twice there, share an id, have a name that is
// none or no hash; names where there are to be hashes or the other way round; and a hash over all that is not that of the
// named entries. The error is a *ManifestError.
func (m *Manifest) Check() error {
	switch m.Mode {
	case ManifestNone:
		if len(m.Entries) != 0 {
			return &ManifestError{What: "entries", Why: "there are some, but the mode says that none are told"}
		}
		return checkBuild(m.Build)
	case ManifestHashes, ManifestFull, "":
	default:
		return &ManifestError{What: "mode", Why: fmt.Sprintf("%q is not none, hashes or full", m.Mode)}
	}
	if len(m.Entries) > MaxEntries {
		return &ManifestError{What: "entries", Why: fmt.Sprintf("%d are more than %d", len(m.Entries), MaxEntries)}
	}
	if err := m.checkEntries(); err != nil {
		return err
	}
	if sum := SetHash(m.Entries); m.named() && sum != m.Build.Components {
		return &ManifestError{What: "set hash", Why: fmt.Sprintf("%016x is told, but the entries have %016x", m.Build.Components, sum)}
	}
	return checkBuild(m.Build)
}

func (m *Manifest) named() bool { return m.Mode == ManifestFull || m.Mode == "" }

func (m *Manifest) compare(a, b Entry) int {
	if m.named() {
		return strings.Compare(a.Name, b.Name)
	}
	return cmp.Compare(a.NameHash, b.NameHash)
}

func (m *Manifest) checkEntries() error {
	ids := make(map[uint16]string, len(m.Entries))
	for i, e := range m.Entries {
		what := "entry " + e.label()
		switch other, taken := ids[e.WireID]; {
		case m.named() && CheckName(e.Name) != nil:
			return &ManifestError{What: fmt.Sprintf("entry %d", i), Why: CheckName(e.Name).Error()}
		case m.named() != (e.NameHash == 0), m.named() != (e.Name != ""):
			return &ManifestError{What: fmt.Sprintf("entry %d", i), Why: "its name is not told in the way that the mode says"}
		case e.Hash == 0:
			return &ManifestError{What: what, Why: "it has no hash"}
		case i > 0 && m.compare(m.Entries[i-1], e) >= 0:
			return &ManifestError{What: what, Why: "it is there twice, or before its place in the order"}
		case taken:
			return &ManifestError{What: what, Why: fmt.Sprintf("its id %d is that of %s", e.WireID, other)}
		}
		ids[e.WireID] = e.label()
	}
	return nil
}

func checkBuild(b Build) error {
	switch {
	case len(b.ID) > MaxBuildID:
		return &ManifestError{What: "build id", Why: fmt.Sprintf("%d bytes are more than %d", len(b.ID), MaxBuildID)}
	case len(b.Branch) > MaxBranch:
		return &ManifestError{What: "branch", Why: fmt.Sprintf("%d bytes are more than %d", len(b.Branch), MaxBranch)}
	default:
		return nil
	}
}

// label is how people call an entry: by its name, or by the hash of it.
func (e Entry) label() string {
	if e.Name != "" {
		return e.Name
	}
	return fmt.Sprintf("#%016x", e.NameHash)
}

// CheckName refuses what is no name of a component or of a member (docs/COMPATIBILITY.md).
func CheckName(name string) error {
	if name == "" || len(name) > MaxName {
		return fmt.Errorf("a name has 1 to %d bytes, this one has %d", MaxName, len(name))
	}
	for i := range len(name) {
		c := name[i]
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '_' && c != '.' && c != '-' {
			return fmt.Errorf("%q is no name: ASCII letters, digits, '_', '.' and '-' make one", name)
		}
	}
	return nil
}

// As is what of m may be told in a mode: everything, hashes instead of names, or only the build. Entries with hashed names
// are new; m stays as it is. It can't bring back names that m itself does not have.
func (m *Manifest) As(mode ManifestMode) Manifest {
	told := Manifest{Mode: mode, Build: m.Build}
	switch {
	case mode == ManifestNone || m.Mode == ManifestNone:
		told.Mode = ManifestNone
	case mode == ManifestHashes && m.named():
		told.Entries = make([]Entry, len(m.Entries))
		for i, e := range m.Entries {
			e.Name, e.NameHash = "", NameHash(e.Name)
			told.Entries[i] = e
		}
		slices.SortFunc(told.Entries, told.compare)
	default:
		told.Mode, told.Entries = m.Mode, m.Entries
	}
	return told
}
