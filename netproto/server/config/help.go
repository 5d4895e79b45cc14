package config

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Describe writes the reference of the settings file: every name with its default and its meaning.
func Describe(w io.Writer) error {
	fmt.Fprintln(w, "\nSettings in FILE:")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, k := range kinds() {
		fmt.Fprintf(table, "  %s\t%s\t%s\n", k.name, k.standard, k.help)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "  [SubConfig.NAME] holds any of these again; Parent = \"OTHER\" lays it over [SubConfig.OTHER].")
	return err
}

// part describes how the node takes part in its cluster.
func (c Cluster) part() string {
	switch {
	case c.External():
		return "a client of the NATS servers " + strings.Join(c.Servers, ", ")
	case slices.ContainsFunc(c.Peers, func(peer string) bool { return strings.HasPrefix(peer, c.Name+"=") }):
		return "one of the members " + strings.Join(c.Peers, ", ")
	}
	return "no member; asks the members " + strings.Join(c.Peers, ", ")
}

// Summary describes the settings in a few lines; address is where the server would listen.
func (s Settings) Summary(address string) string {
	compression := "zlib for clients of the engine"
	if s.Network.DisableZlibCompression {
		compression = "none"
	}
	var b strings.Builder
	if s.Release.Folder == "" {
		fmt.Fprintf(&b, "Compatibility version: %s\n", s.CompatibilityVersion)
	}
	if s.Compat.Versioned() {
		fmt.Fprintf(&b, "Logic versions:        %s\n", s.Compat.Supported)
	}
	if s.Compat.Store != "" {
		fmt.Fprintf(&b, "Compatibility store:   %s\n", s.Compat.Store)
	}
	if s.Cluster.Name != "" {
		fmt.Fprintf(&b, "Cluster:               node %s, %s\n", s.Cluster.Name, s.Cluster.part())
	}
	fmt.Fprintf(&b, "Address:               %s\n", address)
	if s.Release.Folder == "" {
		fmt.Fprintf(&b, "Client resources:      %s\n", s.Baking.ClientResources)
		fmt.Fprintf(&b, "Platform binaries:     %s\n", s.Baking.PlatformBinaries)
	} else {
		fmt.Fprintf(&b, "Release folder:        %s\n", s.Release.Folder)
		fmt.Fprintf(&b, "Channel:               %s\n", s.Release.Channel)
	}
	fmt.Fprintf(&b, "Files are served from: %s\n", s.Storage())
	fmt.Fprintf(&b, "Portion:               at most %d bytes\n", s.Network.UpdateFileMaxPortionSize)
	fmt.Fprintf(&b, "Compression:           %s\n\n", compression)
	return b.String()
}
