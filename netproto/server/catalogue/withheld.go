package catalogue

import (
	"slices"

	"collet/netproto/compat"
)

// A target is withheld if no release of it is for all players: each one is killed, held, or rolled out in part. Only the signed list says
// which client may have which of them. So a client that reads the list is judged by everything but its release, and selects by itself. Any
// other client is told to come back later, and an engine's client, which has no word for that, that there is no module for it.

// Withholds reports whether no release of a target is for all players.
func (c *Catalogue) Withholds(target string) bool { return slices.Contains(c.withheld, target) }

// Withheld are the targets of which no release is for all players, sorted.
func (c *Catalogue) Withheld() []string { return c.withheld }

// SnapshotFor is the snapshot that judges a client: s, or for a withheld target a changed copy. readsList says that the client selects
// its release by the signed list.
func (c *Catalogue) SnapshotFor(s *compat.Snapshot, h compat.Hello, readsList bool) *compat.Snapshot {
	if !c.Withholds(h.Target) {
		return s
	}
	own := *s
	own.Targets = map[string]compat.Target{h.Target: {Store: s.Targets[h.Target].Store, Payloads: s.Targets[h.Target].Payloads}}
	own.Content = ""
	switch {
	case !readsList:
		own.Maintenance, own.Targeted, own.AllowFetch = true, nil, false
	case !s.Versioned:
		own.Compatibility = h.Build.Compatibility
	}
	return &own
}
