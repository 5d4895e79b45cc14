package config

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"collet/netproto"
	"collet/netproto/compat"
)

// Compat are the settings about compatibility that a configuration decides, and that no operator changes while the server runs.
// All empty, the server knows no logic versions: it compares compatibility versions and nothing else.
type Compat struct {
	// Store is the file in which the operator's settings, the audit log and the floors of players are kept. Without one nothing can
	// be changed while the server runs, and there are no floors.
	Store string
	// Supported is the range of logic versions that the server's code can serve, like "5-8" or "7". Empty: there are none.
	Supported string
	// Logic is the server's own logic version, within Supported; empty is that of Manifest, or else the newest supported one.
	Logic string
	// Manifest is the file that compatgen wrote for the server's own build: its components, and when and from what it was built.
	Manifest string
	// Baselines is a folder with the manifests of released logic versions, as compatgen release writes them.
	Baselines string
	// Payloads is a folder with native modules for older logic versions: <logic>/<target>/<file>, each with its sidecar.
	Payloads string
	// Build names the server's build, in place of what Manifest says: at most compat.MaxBuildID bytes.
	Build string
	// Branch is its branch, at most compat.MaxBranch bytes.
	Branch string
	// Content is the identity of the packs that are served, at most netproto.MaxContent bytes; ContentOfPacks is what they are by
	// themselves. Clients that name another one, or none, are told to fetch packs first. Empty: not compared.
	Content string
	// Development says that this is a developer's server: differences are shown, and no client's build is replaced.
	Development bool
	// Lax allows the server to run without enforcing components though it is no developer's.
	Lax bool
	// FloorsByAPI leaves it to the API to raise floors. Otherwise a client that is let in raises that of the account which it says
	// is its own, without a proof.
	FloorsByAPI bool
	// Hosts are "host:port" by which clients know this server, so that a redirect to itself is refused.
	Hosts []string
}

// ContentOfPacks as Compat.Content stands for the identity that the packs on offer have by themselves (compat.DerivedContent).
const ContentOfPacks = "packs"

// Versioned reports whether the server has logic versions.
func (c Compat) Versioned() bool { return c.Supported != "" }

// SupportedRange reads Supported.
func (c Compat) SupportedRange() (compat.Range, error) {
	low, high, several := strings.Cut(c.Supported, "-")
	if !several {
		high = low
	}
	from, errFrom := strconv.ParseInt(strings.TrimSpace(low), 10, 32)
	to, errTo := strconv.ParseInt(strings.TrimSpace(high), 10, 32)
	if errFrom != nil || errTo != nil || from < 0 || from > to {
		return compat.Range{}, fmt.Errorf(`%q is no range of logic versions, like "5-8" or "7"`, c.Supported)
	}
	return compat.Range{Min: int32(from), Max: int32(to)}, nil
}

// compatFault checks what is said about compatibility.
func (s Settings) compatFault() (key, fault string) {
	c := s.Compat
	for _, needs := range []struct{ key, value string }{
		{"Compat.Manifest", c.Manifest}, {"Compat.Baselines", c.Baselines}, {"Compat.Payloads", c.Payloads},
	} {
		if needs.value != "" && !c.Versioned() {
			return needs.key, "needs Compat.Supported, the range of logic versions that the server can serve"
		}
	}
	switch {
	case len(c.Build) > compat.MaxBuildID:
		return "Compat.Build", fmt.Sprintf("is %d bytes long, at most %d are allowed", len(c.Build), compat.MaxBuildID)
	case len(c.Branch) > compat.MaxBranch:
		return "Compat.Branch", fmt.Sprintf("is %d bytes long, at most %d are allowed", len(c.Branch), compat.MaxBranch)
	case len(c.Content) > netproto.MaxContent:
		return "Compat.Content", fmt.Sprintf("is %d bytes long, at most %d are allowed", len(c.Content), netproto.MaxContent)
	case c.Logic != "" && !c.Versioned():
		return "Compat.Logic", "needs Compat.Supported"
	case !c.Versioned():
		return "", ""
	case c.Store == "":
		return "Compat.Store", "is not set: give a file in which the operator's settings are kept"
	}
	supported, err := c.SupportedRange()
	if err != nil {
		return "Compat.Supported", err.Error()
	}
	if own, err := strconv.ParseInt(c.Logic, 10, 32); c.Logic != "" && (err != nil || !supported.Has(int32(own))) {
		return "Compat.Logic", fmt.Sprintf("is not in Compat.Supported, which is %v", supported)
	}
	return "", ""
}

// resolve joins relative paths to base. An empty one stays empty.
func (c *Compat) resolve(base string) {
	for _, name := range []*string{&c.Store, &c.Manifest, &c.Baselines, &c.Payloads} {
		if *name != "" && !filepath.IsAbs(*name) {
			*name = filepath.Join(base, *name)
		}
	}
}

// compatLayer is what a part of a settings file says about Compat.
type compatLayer struct {
	Store, Supported, Logic, Manifest, Baselines, Payloads, Build, Branch, Content *string
	Development, Lax, FloorsByAPI                                                  *bool
	Hosts                                                                          *[]string
}

func (s sources) applyCompat(set *Compat, l *compatLayer, prefix string) {
	take(s, prefix, "Compat.Store", &set.Store, l.Store)
	take(s, prefix, "Compat.Supported", &set.Supported, l.Supported)
	take(s, prefix, "Compat.Logic", &set.Logic, l.Logic)
	take(s, prefix, "Compat.Manifest", &set.Manifest, l.Manifest)
	take(s, prefix, "Compat.Baselines", &set.Baselines, l.Baselines)
	take(s, prefix, "Compat.Payloads", &set.Payloads, l.Payloads)
	take(s, prefix, "Compat.Build", &set.Build, l.Build)
	take(s, prefix, "Compat.Branch", &set.Branch, l.Branch)
	take(s, prefix, "Compat.Content", &set.Content, l.Content)
	take(s, prefix, "Compat.Development", &set.Development, l.Development)
	take(s, prefix, "Compat.Lax", &set.Lax, l.Lax)
	take(s, prefix, "Compat.FloorsByAPI", &set.FloorsByAPI, l.FloorsByAPI)
	take(s, prefix, "Compat.Hosts", &set.Hosts, l.Hosts)
}
