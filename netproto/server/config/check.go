package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"collet/netproto"
	"collet/netproto/release"
)

// Validate checks ranges and forms without disk access. The errors are *Error without file and line, joined.
func (s Settings) Validate() error {
	var faults []error
	for _, check := range []func() (key, fault string){
		s.compatibilityFault, s.metadataFault, s.portFault, s.otherPortsFault, s.portionFault, s.congestionFault, s.spreadFault, s.folderFault, s.entriesFault,
		s.exemptFault, s.releaseFault, s.httpFault, s.signInFault, s.compatFault, s.clusterFault,
	} {
		if key, fault := check(); fault != "" {
			faults = append(faults, &Error{Key: key, Text: fault})
		}
	}
	return errors.Join(slices.Concat(faults, s.numberFaults(), s.timeFaults())...)
}

func (s Settings) compatibilityFault() (key, fault string) {
	v := s.CompatibilityVersion
	switch {
	case s.Release.Folder != "" && v != "":
		fault = "is what the releases in Release.Folder say: leave it out"
	case s.Release.Folder != "":
	case v == "" && s.Compat.Versioned(): // derived from the logic version and the components
	case v == "":
		fault = "is not set: give the compatibility version of the client that you serve, or with signed releases their folder in Release.Folder"
	case len(v) > MaxCompatibility:
		fault = fmt.Sprintf("is %d bytes long, at most %d are allowed", len(v), MaxCompatibility)
	case !utf8.ValidString(v) || strings.ContainsFunc(v, IsControl):
		fault = "must be readable text without control characters"
	}
	return "CompatibilityVersion", fault
}

func (s Settings) metadataFault() (key, fault string) {
	v := s.Network.ForceMetadataVersion
	switch {
	case len(v) > netproto.MaxMetadata:
		fault = fmt.Sprintf("is %d bytes long, at most %d are allowed", len(v), netproto.MaxMetadata)
	case !utf8.ValidString(v) || strings.ContainsFunc(v, IsControl):
		fault = "must be readable text without control characters"
	}
	return "Network.ForceMetadataVersion", fault
}

// IsControl reports whether r is a control character of ASCII.
func IsControl(r rune) bool { return r < ' ' || r == 0x7F }

func (s Settings) portFault() (key, fault string) {
	if p := s.Network.ServerPort; p < 1 || p > 65535 {
		fault = fmt.Sprintf("must be a port between 1 and 65535, the source's default is %d", DefaultPort)
	}
	return "Network.ServerPort", fault
}

func (s Settings) portionFault() (key, fault string) {
	if p := s.Network.UpdateFileMaxPortionSize; p < 1 || p > MaxPortion {
		fault = fmt.Sprintf("must be between 1 and %d bytes, the source's default is %d", MaxPortion, DefaultPortion)
	}
	return "Network.UpdateFileMaxPortionSize", fault
}

func (s Settings) spreadFault() (key, fault string) {
	if n := s.Network.SpreadConnections; n < 1 || n > maxSpread {
		fault = fmt.Sprintf("must be between 1 and %d connections", maxSpread)
	}
	return "Network.SpreadConnections", fault
}

func (s Settings) folderFault() (key, fault string) {
	for _, folder := range []struct{ key, path string }{
		{"Baking.PlatformBinaries", s.Baking.PlatformBinaries},
		{"Baking.ClientResources", s.Baking.ClientResources},
		{"Baking.CacheResources", s.Baking.CacheResources},
	} {
		if folder.path == "" {
			return folder.key, "must name a folder"
		}
	}
	return "", ""
}

func (s Settings) entriesFault() (key, fault string) {
	const name = "Baking.ClientResourceEntries"
	seen := map[string]string{}
	for _, entry := range s.Baking.ClientResourceEntries {
		if err := release.CheckPath(entry + PackExt); err != nil {
			return name, fmt.Sprintf("entry %q: %v", entry, err)
		}
		if strings.HasSuffix(strings.ToLower(entry), PackExt) {
			return name, fmt.Sprintf("entry %q: leave %q out, it is appended", entry, PackExt)
		}
		if other, taken := seen[release.Fold(entry)]; taken {
			return name, fmt.Sprintf("entry %q: is the same file as %q on some systems", entry, other)
		}
		seen[release.Fold(entry)] = entry
	}
	return name, ""
}
