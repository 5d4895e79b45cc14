package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"collet/app/install"
	"collet/app/update"
	"collet/netproto"
	"collet/netproto/compat"
)

// consistent corrects the outcome of an update from a G2b server. Such a server names the metadata version of its packs. Installed
// packs with another version come from another bake, most probably in the middle of a publication: ContentMismatch. Servers of other
// generations name no version.
func (u *updates) consistent(s *source, status update.Status) update.Status {
	client := s.session()
	if status.Outcome != update.ResourcesReady || status.Blocked || client == nil || status.Judgement.Verdict == compat.UpdateBinaries {
		return status
	}
	if pack, version, found := contradiction(u.packFolders(), client.Metadata()); found {
		u.log.Error().Str("file", pack).Str("metadata", version).Str("server", client.Metadata()).Msg("the server's packs are not those that it speaks of")
		status.Outcome = update.ContentMismatch
	}
	return status
}

// contradiction finds a pack whose metadata version differs from the announced one. A pack in a later folder replaces one of the same
// name in an earlier folder. Packs without a readable version are skipped. An empty announced version matches all packs.
func contradiction(folders []string, announced string) (pack, version string, found bool) {
	if announced == "" {
		return "", "", false
	}
	seen := map[string]bool{}
	for i := len(folders) - 1; i >= 0; i-- {
		entries, err := os.ReadDir(folders[i])
		if err != nil {
			continue
		}
		for _, e := range entries {
			if seen[e.Name()] || !e.Type().IsRegular() || strings.HasPrefix(e.Name(), install.PartPrefix) {
				continue
			}
			seen[e.Name()] = true
			if got, err := packMetadata(filepath.Join(folders[i], e.Name())); err == nil && got != announced {
				return e.Name(), got, true
			}
		}
	}
	return "", "", false
}

// packMetadata reads one pack's metadata version.
func packMetadata(name string) (version string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	return netproto.PackMetadata(f, info.Size())
}
