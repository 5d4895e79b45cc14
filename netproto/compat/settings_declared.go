package compat

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// MaxVersions is how many logic versions a build may support: clients of a hundred releases ago are more than any game keeps.
const MaxVersions = 100

// Declared is the data of a build and its configuration, which is fixed while the server runs. It is immutable once passed on.
type Declared struct {
	Versioned     bool             // the server has a logic version; without one there are no ranges, and only strings are compared
	Supported     Range            // supported by its code
	Build         Build            // of the server; Components is the set hash of its own declarations
	Compatibility string           // the game's own compatibility version; empty derives one, which takes a logic version
	Content       string           // identity of the packs that are served; empty is unknown
	Baselines     map[int32]uint64 // set hash of each logic version that was released; 0 is unknown
	Targets       map[string]Target
	Manifest      *Manifest // of the server's own components; nil is unknown. The judgement has no use for it
	Development   bool      // this is a developer's server
	Lax           bool      // allows a server for players to run without enforcing components
	Own           []string  // "host:port" of each address where clients reach this server; a redirect there would never end
}

// Check is nil or a *SettingsError that names every mistake of what a build says about itself.
func (d Declared) Check() error {
	c := checker{d: d}
	if s := d.Supported; d.Versioned {
		c.need(s.Min >= 0 && s.Min <= s.Max, "supported", "%d to %d is no range of logic versions, which begin at 0", s.Min, s.Max)
		c.need(int64(s.Max)-int64(s.Min) < MaxVersions, "supported", "%s are more than %d logic versions", s, MaxVersions)
		c.need(s.Has(d.Build.Logic), "logic", "the build's own logic version %d is not in the supported range %s", d.Build.Logic, s)
		_, _, derived := ParseDerived(d.Compatibility)
		c.need(!derived, "compatibility", "%q looks like one that is derived, and clients would be judged by what it seems to say", d.Compatibility)
	}
	c.need(len(d.Build.ID) <= MaxBuildID && showable(d.Build.ID), "build.id", "%q has more than %d bytes, or some that can't be shown", d.Build.ID, MaxBuildID)
	c.need(len(d.Build.Branch) <= MaxBranch && showable(d.Build.Branch), "build.branch", "%q has more than %d bytes, or some that can't be shown", d.Build.Branch, MaxBranch)
	if len(c.mistakes) == 0 {
		return nil
	}
	return &SettingsError{Mistakes: c.mistakes}
}

// supported is the supported range for people.
func (d Declared) supported() string {
	if !d.Versioned {
		return "(none, it has no logic version)"
	}
	return d.Supported.String()
}

// CompatibilityVersion is the string that clients are compared with, and whether it is the game's own.
func (d Declared) CompatibilityVersion() (version string, custom bool) {
	if d.Compatibility != "" || !d.Versioned {
		return d.Compatibility, true
	}
	return Derived(d.Build.Logic, d.Build.Components), false
}

// Snapshot is what handshakes are judged by under these settings, as of now. It shares nothing with s or d. The settings must have
// passed Check.
func (d Declared) Snapshot(s Settings, now time.Time) *Snapshot {
	snapshot := d.snapshot(s)
	snapshot.RetryAfter = retryAfter(snapshot.Until, now)
	return snapshot
}

// snapshot is all of a snapshot that no clock has a part in.
func (d Declared) snapshot(s Settings) *Snapshot {
	version, custom := d.CompatibilityVersion()
	s = s.clone()
	snapshot := &Snapshot{
		Revision: s.Revision, Compatibility: version, Custom: custom, Content: d.Content,
		Versioned: d.Versioned, Supported: d.Supported, Active: s.Active(), Components: d.Build.Components,
		Baselines: d.baselines(), Build: d.Build,
		Policy: s.Components, Manifest: s.Manifest, Development: d.Development,
		PatchRules: s.PatchRules, Maintenance: s.Maintenance.Enabled, Targeted: s.Maintenance.Targets,
		AllowFetch: s.Maintenance.AllowDownload, Until: s.Maintenance.Until,
		Targets: d.targets(), StoreURLs: s.StoreURLs, Messages: s.Messages,
		Developers: make(map[string]bool, len(s.Developers)),
	}
	snapshot.Build.Compatibility = version
	for _, account := range s.Developers {
		snapshot.Developers[account] = true
	}
	if r := s.Redirect; r.Enabled {
		snapshot.Redirect = &Endpoint{Host: r.Host, Port: r.Port, TLS: r.TLS, BaseURL: r.BaseURL}
	}
	return snapshot
}

// baselines are the known ones of those that are declared, and the server's own: it speaks what it was built from, whatever was
// released.
func (d Declared) baselines() map[int32]uint64 {
	all := make(map[int32]uint64, len(d.Baselines)+1)
	for logic, sum := range d.Baselines {
		if sum != 0 {
			all[logic] = sum
		}
	}
	if d.Versioned && d.Build.Components != 0 {
		all[d.Build.Logic] = d.Build.Components
	}
	return all
}

// targets are copies whose modules are in the order in which they are offered.
func (d Declared) targets() map[string]Target {
	all := maps.Clone(d.Targets)
	for name, t := range all {
		t.Payloads = slices.Clone(t.Payloads)
		slices.SortStableFunc(t.Payloads, func(a, b Payload) int {
			return cmp.Or(cmp.Compare(b.Logic, a.Logic), cmp.Compare(b.Patch, a.Patch))
		})
		all[name] = t
	}
	return all
}

// missingBaselines are the active logic versions with unknown components.
func (s *Snapshot) missingBaselines() (missing []int32) {
	for logic := s.Active.Min; s.Versioned && logic <= s.Active.Max; logic++ {
		if s.Baselines[logic] == 0 {
			missing = append(missing, logic)
		}
	}
	return missing
}

// Unserved is a target that has modules, of which none can be offered.
type Unserved struct {
	Target string `json:"target"`
	Why    string `json:"why"`
}

// Unserved are the targets that have modules, of which none can be offered to clients; operators are warned about them (boot rule
// B7). They are sorted by name.
func (s *Snapshot) Unserved() (all []Unserved) {
	for _, name := range sortedKeys(s.Targets) {
		t, reasons := s.Targets[name], map[string]int{}
		for i := range t.Payloads {
			reasons[s.payloadRejection(name, &t.Payloads[i])]++
		}
		if t.Store || len(t.Payloads) == 0 || reasons[""] > 0 {
			continue
		}
		texts := []string{}
		for _, reason := range sortedKeys(reasons) {
			texts = append(texts, fmt.Sprintf("%d %s", reasons[reason], reason))
		}
		all = append(all, Unserved{Target: name, Why: "of its modules " + strings.Join(texts, ", ")})
	}
	return all
}

// ranges are versions in order, for people: "5, 7-9".
func ranges(versions []int32) string {
	var texts []string
	for i := 0; i < len(versions); {
		r := Range{Min: versions[i], Max: versions[i]}
		for i++; i < len(versions) && versions[i] == r.Max+1; i++ {
			r.Max = versions[i]
		}
		texts = append(texts, r.String())
	}
	return strings.Join(texts, ", ")
}
