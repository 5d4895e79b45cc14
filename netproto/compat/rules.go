package compat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// rulesFormat is the format of Rules. A document of another one is refused: its reader would judge otherwise than its server.
const rulesFormat = 1

// Rules are what clients may know of how a server judges: a client that reaches no server comes to the same judgement with them.
// They travel as a signed document beside the lists of releases (docs/RELEASE-FORMAT.md).
//
// Of the snapshot the document has all that Evaluate reads but Developers and RetryAfter, which follows from Until, and what clients are
// told. What belongs to people or accounts has no place in it: developers, floors, tokens, comments, the history.
type Rules struct {
	Protocol uint32 // version of C1 that the server speaks
	Snapshot Snapshot
}

// rulesDocument is the document.
type rulesDocument struct {
	Format        int                    `json:"format"`
	Protocol      uint32                 `json:"protocol"`
	Revision      uint64                 `json:"revision"`
	Compatibility string                 `json:"compatibility,omitzero"`
	Custom        bool                   `json:"custom,omitzero"`
	Content       string                 `json:"content,omitzero"`
	Versioned     bool                   `json:"versioned,omitzero"`
	Supported     Range                  `json:"supported"`
	Active        Range                  `json:"active"`
	Components    hexHash                `json:"components,omitzero"`
	Baselines     map[int32]hexHash      `json:"baselines,omitempty"`
	Build         rulesBuild             `json:"build"`
	Policy        Policy                 `json:"policy,omitzero"`
	Development   bool                   `json:"development,omitzero"`
	PatchRules    []PatchRule            `json:"patch_rules,omitempty"`
	Redirect      *Endpoint              `json:"redirect,omitzero"`
	Maintenance   bool                   `json:"maintenance,omitzero"`
	Targeted      []string               `json:"maintenance_targets,omitempty"`
	AllowFetch    bool                   `json:"allow_download,omitzero"`
	Until         time.Time              `json:"until,omitzero"`
	Targets       map[string]rulesTarget `json:"targets,omitempty"`
	StoreURLs     map[string]string      `json:"store_urls,omitempty"`
	Messages      map[string]string      `json:"messages,omitempty"`
}

// rulesBuild is a Build in the document.
type rulesBuild struct {
	Logic      int32   `json:"logic"`
	Components hexHash `json:"components,omitzero"`
	fileBuild
}

// rulesTarget is a Target in the document.
type rulesTarget struct {
	Store    bool           `json:"store,omitzero"`
	Content  string         `json:"content,omitzero"`
	Payloads []rulesPayload `json:"payloads,omitempty"`
}

// rulesPayload is what the judgement reads of a Payload.
type rulesPayload struct {
	Logic      int32   `json:"logic"`
	Patch      uint32  `json:"patch,omitzero"`
	Components hexHash `json:"components,omitzero"`
	Undeclared bool    `json:"undeclared,omitzero"`
}

// Encode is the document: equal rules are equal bytes.
func (r Rules) Encode() ([]byte, error) {
	s := &r.Snapshot
	d := rulesDocument{
		Format: rulesFormat, Protocol: r.Protocol, Revision: s.Revision, Compatibility: s.Compatibility, Custom: s.Custom, Content: s.Content,
		Versioned: s.Versioned, Supported: s.Supported, Active: s.Active, Components: hexHash(s.Components), Baselines: map[int32]hexHash{},
		Build:  rulesBuild{s.Build.Logic, hexHash(s.Build.Components), fileBuild{s.Build.Time, s.Build.Seq, s.Build.ID, s.Build.Branch, s.Build.Compatibility}},
		Policy: s.Policy, Development: s.Development, PatchRules: s.PatchRules, Redirect: s.Redirect,
		Maintenance: s.Maintenance, Targeted: s.Targeted, AllowFetch: s.AllowFetch, Until: s.Until.UTC(),
		Targets: map[string]rulesTarget{}, StoreURLs: s.StoreURLs, Messages: s.Messages,
	}
	for logic, sum := range s.Baselines {
		d.Baselines[logic] = hexHash(sum)
	}
	for name, t := range s.Targets {
		target := rulesTarget{Store: t.Store, Content: t.Content}
		for _, p := range t.Payloads {
			target.Payloads = append(target.Payloads, rulesPayload{p.Logic, p.Patch, hexHash(p.Components), p.Undeclared})
		}
		d.Targets[name] = target
	}
	var document bytes.Buffer
	enc := json.NewEncoder(&document)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(d); err != nil {
		return nil, fmt.Errorf("public rules: %w", err)
	}
	return document.Bytes(), nil
}

// ParseRules reads a document that Encode wrote; the caller bounds its size. Whatever a reader does not know is an error, because it could
// change the judgement.
func ParseRules(document []byte) (Rules, error) {
	var d rulesDocument
	dec := json.NewDecoder(bytes.NewReader(document))
	var known struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(document, &known); err != nil {
		return Rules{}, fmt.Errorf("public rules: %w", err)
	}
	if known.Format != rulesFormat {
		return Rules{}, fmt.Errorf("public rules: format %d, and this program knows %d", known.Format, rulesFormat)
	}
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		return Rules{}, fmt.Errorf("public rules: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Rules{}, errors.New("public rules: something follows the document")
	}
	switch d.Policy {
	case "", PolicyOff, PolicyWarn, PolicyEnforce:
	default:
		return Rules{}, fmt.Errorf("public rules: unknown policy %.20q", d.Policy)
	}
	b := d.Build
	s := Snapshot{
		Revision: d.Revision, Compatibility: d.Compatibility, Custom: d.Custom, Content: d.Content,
		Versioned: d.Versioned, Supported: d.Supported, Active: d.Active, Components: uint64(d.Components), Baselines: map[int32]uint64{},
		Build:  Build{b.Logic, uint64(b.Components), b.Time, b.Seq, b.ID, b.Branch, b.Compatibility},
		Policy: d.Policy, Development: d.Development, PatchRules: d.PatchRules, Redirect: d.Redirect,
		Maintenance: d.Maintenance, Targeted: d.Targeted, AllowFetch: d.AllowFetch, Until: d.Until,
		Targets: map[string]Target{}, StoreURLs: d.StoreURLs, Messages: d.Messages,
	}
	for logic, sum := range d.Baselines {
		s.Baselines[logic] = uint64(sum)
	}
	for name, t := range d.Targets {
		target := Target{Store: t.Store, Content: t.Content}
		for _, p := range t.Payloads {
			target.Payloads = append(target.Payloads, Payload{Logic: p.Logic, Patch: p.Patch, Components: uint64(p.Components), Undeclared: p.Undeclared})
		}
		s.Targets[name] = target
	}
	return Rules{Protocol: d.Protocol, Snapshot: s}, nil
}
