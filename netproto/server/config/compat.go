package config

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"collet/netproto"
	"collet/netproto/compat"
)

// Compat has the compatibility settings that are fixed at start; an operator does not change them at run time. If all are empty
// the server has no logic versions and compares only compatibility versions.
type Compat struct {
	// Store is the file with the operator's settings, the audit log and the players' floors. Without it nothing can be changed at
	// run time, and there are no floors.
	Store string
	// Supported is the range of logic versions that the server's code can serve, like "5-8" or "7". Empty: no logic versions.
	Supported string
	// Logic is the server's own logic version, within Supported; empty is that of Manifest, or else the newest supported one.
	Logic string
	// Manifest is the file that compatgen wrote for the server's own build: its components, build time and source revision.
	Manifest string
	// Baselines is a folder with the manifests of released logic versions, as compatgen release writes them.
	Baselines string
	// Payloads is a folder with native modules for older logic versions: <logic>/<target>/<file>, each with its sidecar.
	Payloads string
	// Build overrides the build's name in Manifest: at most compat.MaxBuildID bytes.
	Build string
	// Branch overrides the build's branch in Manifest: at most compat.MaxBranch bytes.
	Branch string
	// Content is the identity of the served packs, at most netproto.MaxContent bytes; ContentOfPacks derives it from the packs.
	// Clients that send another identity, or none, are told to fetch packs first. Empty: not compared.
	Content string
	// Development marks a developer's server: differences are shown, and no client's build is replaced.
	Development bool
	// Lax allows a server for players to run without enforcing components.
	Lax bool
	// FloorsByAPI restricts raising floors to the API. Otherwise a client that may play raises the floor of the account that it
	// names, without proof of ownership.
	FloorsByAPI bool
	// Hosts are this server's public "host:port" names. A redirect to one of them is refused.
	Hosts []string
}

// ContentOfPacks as Compat.Content stands for the identity derived from the offered packs (compat.DerivedContent).
const ContentOfPacks = "packs"

// Versioned reports whether the server has logic versions.
func (c Compat) Versioned() bool { return c.Supported != "" }

// SupportedRange parses Supported.
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

// compatFault checks the compatibility settings.
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

// compatLayer is one layer of Compat.
type compatLayer struct {
	Store, Supported, Logic, Manifest, Baselines, Payloads, Build, Branch, Content *string
	Development, Lax, FloorsByAPI                                                  *bool
	Hosts                                                                          *[]string
}

func (s sources) applyCompat(set *Compat, l *compatLayer, prefix string) {
	setValue(s, prefix, "Compat.Store", &set.Store, l.Store)
	setValue(s, prefix, "Compat.Supported", &set.Supported, l.Supported)
	setValue(s, prefix, "Compat.Logic", &set.Logic, l.Logic)
	setValue(s, prefix, "Compat.Manifest", &set.Manifest, l.Manifest)
	setValue(s, prefix, "Compat.Baselines", &set.Baselines, l.Baselines)
	setValue(s, prefix, "Compat.Payloads", &set.Payloads, l.Payloads)
	setValue(s, prefix, "Compat.Build", &set.Build, l.Build)
	setValue(s, prefix, "Compat.Branch", &set.Branch, l.Branch)
	setValue(s, prefix, "Compat.Content", &set.Content, l.Content)
	setValue(s, prefix, "Compat.Development", &set.Development, l.Development)
	setValue(s, prefix, "Compat.Lax", &set.Lax, l.Lax)
	setValue(s, prefix, "Compat.FloorsByAPI", &set.FloorsByAPI, l.FloorsByAPI)
	setValue(s, prefix, "Compat.Hosts", &set.Hosts, l.Hosts)
}
