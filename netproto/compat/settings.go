package compat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"
)

// MaxSettings is how many bytes a document of settings may have: all that Check lets pass fits, however much of it
// has to be escaped.
const MaxSettings = 256 << 10

// Settings are the settings that an operator changes while the server runs: the document in docs/COMPATIBILITY.md. A
// value is immutable once passed on; a change is another value with another revision. Valid values depend on the build: see
// Check.
type Settings struct {
	Revision    uint64              `json:"revision"`   // 1 and up, one more with each change
	ActiveMin   int32               `json:"active_min"` // logic versions that may connect; both are NoLogic where the server has none
	ActiveMax   int32               `json:"active_max"`
	Components  Policy              `json:"components"`
	Manifest    ManifestMode        `json:"manifest"`
	AutoUpgrade bool                `json:"auto_upgrade"` // a start raises ActiveMax to what the build supports
	PatchRules  []PatchRule         `json:"patch_rules"`
	Redirect    RedirectSettings    `json:"redirect"`
	Maintenance MaintenanceSettings `json:"maintenance"`
	StoreURLs   map[string]string   `json:"store_urls"` // by the target's name or a pattern of path.Match
	Messages    map[string]string   `json:"messages"`   // by the popup's key: the body to show in place of ours
	Developers  []string            `json:"developers"` // account ids that pass maintenance and floors, and nothing else
}

// RedirectSettings name the server for clients that are too new for this one.
type RedirectSettings struct {
	Enabled bool   `json:"enabled"`
	Host    string `json:"host"`
	Port    uint16 `json:"port"`
	TLS     bool   `json:"tls"`
	BaseURL string `json:"base_url"` // where that server's packs are
}

// MaintenanceSettings close the server for players. Nothing but an operator ends maintenance: Until is only what players are told.
type MaintenanceSettings struct {
	Enabled       bool      `json:"enabled"`
	Until         time.Time `json:"until,omitzero"` // zero is unknown
	AllowDownload bool      `json:"allow_download"` // files may be fetched meanwhile
	Targets       []string  `json:"targets"`        // patterns of path.Match over the target's name; none is all
}

// Active is the range of logic versions that may connect.
func (s Settings) Active() Range { return Range{Min: s.ActiveMin, Max: s.ActiveMax} }

// Defaults are the settings of a server that has none stored: everything it supports may connect (boot rule B1). A developer's
// server warns of differences and shows them in full; any other enforces equality and tells nothing.
func Defaults(d Declared) Settings {
	s := Settings{
		Revision: 1, ActiveMin: NoLogic, ActiveMax: NoLogic, Components: PolicyEnforce, Manifest: ManifestNone,
		Maintenance: MaintenanceSettings{AllowDownload: true},
	}
	if d.Versioned {
		s.ActiveMin, s.ActiveMax = d.Supported.Min, d.Supported.Max
	}
	if d.Development {
		s.Components, s.Manifest, s.AutoUpgrade = PolicyWarn, ManifestFull, true
	}
	return s
}

// ParseSettings reads a document that Encode wrote or an operator did. Keys that it doesn't know are an error, so that a typing
// mistake is never a silent default; keys that are missing keep the value that base has. A list or a map takes the place of that of
// base; in a map an entry without a text, "" or null, is as if it were left out.
func ParseSettings(document []byte, base Settings) (Settings, error) {
	if len(document) > MaxSettings {
		return Settings{}, fmt.Errorf("settings: %d bytes, at most %d are read", len(document), MaxSettings)
	}
	s := base
	s.PatchRules, s.Developers, s.Maintenance.Targets, s.StoreURLs, s.Messages = nil, nil, nil, nil, nil // a list replaces a list
	dec := json.NewDecoder(bytes.NewReader(document))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return Settings{}, fmt.Errorf("settings: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Settings{}, errors.New("settings: there is more than one document")
	}
	for _, texts := range []map[string]string{s.StoreURLs, s.Messages} {
		maps.DeleteFunc(texts, func(_, text string) bool { return text == "" })
	}
	return s.filled(base), nil
}

// filled is s with what base has in place of each list and map that was not given.
func (s Settings) filled(base Settings) Settings {
	if s.PatchRules == nil {
		s.PatchRules = base.PatchRules
	}
	if s.Developers == nil {
		s.Developers = base.Developers
	}
	if s.Maintenance.Targets == nil {
		s.Maintenance.Targets = base.Maintenance.Targets
	}
	if s.StoreURLs == nil {
		s.StoreURLs = base.StoreURLs
	}
	if s.Messages == nil {
		s.Messages = base.Messages
	}
	return s.canonical()
}

// Encode is the document in its one form: equal settings are equal bytes, and empty lists are written as such.
func (s Settings) Encode() []byte {
	var document bytes.Buffer
	enc := json.NewEncoder(&document)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s.canonical()); err != nil { // a time out of the range of RFC 3339, which Check refuses
		panic(fmt.Sprintf("compat: settings that were not checked: %v", err))
	}
	return document.Bytes()
}

// canonical is s with times in UTC and whole seconds, and no list or map that is nil.
func (s Settings) canonical() Settings {
	s = s.clone()
	if m := &s.Maintenance; !m.Until.IsZero() {
		m.Until = m.Until.UTC().Truncate(time.Second)
	}
	return s
}

// clone shares nothing with s. No list or map of it is nil.
func (s Settings) clone() Settings {
	s.PatchRules = append([]PatchRule{}, s.PatchRules...)
	s.Developers = append([]string{}, s.Developers...)
	s.Maintenance.Targets = append([]string{}, s.Maintenance.Targets...)
	s.StoreURLs, s.Messages = copied(s.StoreURLs), copied(s.Messages)
	return s
}

func copied(m map[string]string) map[string]string {
	c := make(map[string]string, len(m))
	maps.Copy(c, m)
	return c
}
