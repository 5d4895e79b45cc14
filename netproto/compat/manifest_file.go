package compat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// fileManifest is a manifest in a file: what compatgen writes beside its table, what a package carries, and what a baseline is.
type fileManifest struct {
	Logic      int32       `json:"logic"`
	Set        hexHash     `json:"set_hash"`
	Build      *fileBuild  `json:"build,omitempty"`
	Components []fileEntry `json:"components"`
}

type fileBuild struct {
	Time          int64  `json:"time,omitempty"`
	Seq           uint64 `json:"seq,omitempty"`
	ID            string `json:"id,omitempty"`
	Branch        string `json:"branch,omitempty"`
	Compatibility string `json:"compatibility,omitempty"`
}

type fileEntry struct {
	Name      string  `json:"name"`
	ID        uint16  `json:"id"`
	Hash      hexHash `json:"hash"`
	ChangedAt int64   `json:"changed_at,omitempty"`
	Since     int32   `json:"since,omitempty"`
}

// hexHash is a hash of 64 bits as 16 lower-case hex digits: a JSON number would lose bits in other programs.
type hexHash uint64

// MarshalText writes the digits.
func (h hexHash) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%016x", uint64(h)), nil }

// UnmarshalText takes exactly what MarshalText writes.
func (h *hexHash) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 16, 64)
	if *h = hexHash(n); err != nil || fmt.Sprintf("%016x", n) != string(text) {
		return fmt.Errorf("%.20q is no hash of 16 hex digits in lower case", text)
	}
	return nil
}

// EncodeManifest is m as a file: indented JSON with a newline at its end, the same bytes for the same manifest. Only a manifest
// of ManifestFull can be a file.
func EncodeManifest(m *Manifest) ([]byte, error) {
	if !m.named() {
		return nil, &ManifestError{What: "mode", Why: "only a manifest with names can be a file"}
	}
	if err := m.Check(); err != nil {
		return nil, err
	}
	f := fileManifest{Logic: m.Build.Logic, Set: hexHash(m.Build.Components), Components: make([]fileEntry, 0, len(m.Entries))}
	if b := (fileBuild{m.Build.Time, m.Build.Seq, m.Build.ID, m.Build.Branch, m.Build.Compatibility}); b != (fileBuild{}) {
		f.Build = &b
	}
	for _, e := range m.Entries {
		f.Components = append(f.Components, fileEntry{e.Name, e.WireID, hexHash(e.Hash), e.ChangedAt, e.Since})
	}
	data, err := json.MarshalIndent(f, "", "  ")
	return append(data, '\n'), err
}

// ParseManifest reads what EncodeManifest writes. Unknown keys, two documents, more than MaxManifestFile bytes, and everything
// that Manifest.Check refuses are errors.
func ParseManifest(data []byte) (Manifest, error) {
	if len(data) > MaxManifestFile {
		return Manifest{}, &ManifestError{What: "file", Why: fmt.Sprintf("%d bytes are more than %d", len(data), MaxManifestFile)}
	}
	var f fileManifest
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return Manifest{}, &ManifestError{What: "file", Why: err.Error()}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Manifest{}, &ManifestError{What: "file", Why: "something follows the manifest"}
	}
	if len(f.Components) > MaxEntries {
		return Manifest{}, &ManifestError{What: "entries", Why: fmt.Sprintf("%d are more than %d", len(f.Components), MaxEntries)}
	}
	m := Manifest{Mode: ManifestFull, Build: Build{Logic: f.Logic, Components: uint64(f.Set)}}
	if f.Build != nil {
		b := *f.Build
		m.Build.Time, m.Build.Seq, m.Build.ID, m.Build.Branch, m.Build.Compatibility = b.Time, b.Seq, b.ID, b.Branch, b.Compatibility
	}
	for _, e := range f.Components {
		m.Entries = append(m.Entries, Entry{Name: e.Name, WireID: e.ID, Hash: uint64(e.Hash), ChangedAt: e.ChangedAt, Since: e.Since})
	}
	slices.SortFunc(m.Entries, m.compare)
	return m, m.Check()
}
