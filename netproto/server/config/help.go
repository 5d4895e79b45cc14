package config

import (
	"fmt"
	"io"
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
		fmt.Fprintf(&b, "Compatibility store:   %s\n", s.Compat.Store)
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
