package catalogue

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/rs/zerolog"

	"collet/netproto"
	"collet/netproto/server/config"
	"collet/platform/text"
)

// metadataOf is the metadata version for G2b clients: the forced one of the settings, or else that of the packs. Packs with
// different versions come from different bakes and are refused, unless a version is forced. A file in another layout, as in old
// packs of G1, counts as no version. Without any version it is empty, and such a client compares that with its own.
func metadataOf(set config.Settings, found []*File, log zerolog.Logger) (string, error) {
	forced := set.Network.ForceMetadataVersion
	version, owner, apart := "", (*File)(nil), false
	for _, f := range found {
		if f.Target != "" {
			continue
		}
		got, err := f.readMetadata()
		switch {
		case errors.Is(err, netproto.ErrNoMetadata):
		case err != nil:
			log.Warn().Err(err).Str("file", f.Path).Msg("The metadata version of a pack can't be read")
		case forced != "" && got != forced:
			apart = true
			log.Warn().Str("file", f.Path).Msgf("Metadata version %s is forced; the pack has %s", text.Quote(forced), text.Quote(got))
		case forced == "" && owner != nil && got != version:
			return "", &Error{Subject: "resource pack", Path: f.path,
				Err:  fmt.Errorf("has metadata version %s, and %q has %s", text.Quote(got), owner.path, text.Quote(version)),
				Hint: "they were baked apart: publish packs that were baked together, or set Network.ForceMetadataVersion"}
		default:
			version, owner = got, f
		}
	}
	if owner != nil && !apart {
		log.Info().Msgf("Client data packs match: metadata version %s", text.Quote(version))
	}
	return cmp.Or(forced, version), nil
}

// readMetadata reads the metadata version of a loaded pack.
func (f *File) readMetadata() (string, error) {
	switch {
	case f.InMemory:
		return netproto.PackMetadata(bytes.NewReader(f.Data), f.Size)
	case f.in != nil:
		return netproto.PackMetadata(io.NewSectionReader(f.in, 0, f.Size), f.Size)
	}
	in, err := os.Open(f.path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	return netproto.PackMetadata(io.NewSectionReader(in, 0, f.Size), f.Size)
}
