package catalogue

import (
	"context"
	"errors"
	"slices"

	"github.com/rs/zerolog"

	"collet/netproto/server/config"
)

// OpenIdle opens a catalogue that serves no files, from validated settings. Of plain files only names and sidecars are read. A
// release folder is opened as by a server, because its signed lists describe its files.
func OpenIdle(ctx context.Context, set config.Settings, log zerolog.Logger) (*Catalogue, error) {
	var c *Catalogue
	var err error
	if set.Release.Folder != "" {
		c, err = openRelease(ctx, set, nil, log)
	} else {
		c, err = listPlain(set)
	}
	if err != nil {
		return nil, err
	}
	if set.Release.Folder == "" && set.Compat.Content == config.ContentOfPacks {
		set.Compat.Content = ""
	}
	c.idle = set.Release.Folder == ""
	if err := c.declareBuild(ctx, set); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// listPlain lists the files of Baking's folders without reading them.
func listPlain(set config.Settings) (*Catalogue, error) {
	packs, packsFault := findPacks(set.Baking, zerolog.Nop())
	binaries, binariesFault := findBinaries(set.Baking.PlatformBinaries)
	if err := errors.Join(packsFault, binariesFault); err != nil {
		return nil, err
	}
	if set.Compat.Versioned() {
		binaries = withoutSidecars(binaries)
	}
	return assemble(set, slices.Concat(packs, binaries))
}
