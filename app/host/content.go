package host

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"collet/app/install"
	"collet/app/update"
	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/release"
	"collet/platform"
)

// contentFile holds, in the cache folder, which packs the last update left here: one line, the identity by which a server asks for
// them. It is only ever a saving, because packs are compared one by one before a game starts, whatever a server makes of it.
const contentFile = "content"

func (d *disk) contentName() string {
	return path.Join(filepath.ToSlash(d.settings.Baking.CacheResources), contentFile)
}

// content is the identity of the packs that are here; empty before the first update.
func (d *disk) content() string {
	if d.fs == nil {
		return ""
	}
	data, err := platform.ReadFile(d.fs, d.contentName(), netproto.MaxContent+1)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			d.log.Debug().Err(err).Msg("which packs are here can't be read")
		}
		return ""
	}
	text := strings.TrimSuffix(string(data), "\n")
	if len(text) > netproto.MaxContent || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7F }) {
		return ""
	}
	return text
}

// keepContent notes which packs are here now.
func (d *disk) keepContent(identity string) {
	if d.fs == nil || identity == d.content() {
		return
	}
	err := d.fs.MkdirAll(path.Dir(d.contentName()), 0o755)
	if err == nil {
		err = platform.WriteHint(d.fs, d.contentName(), []byte(identity+"\n"))
	}
	if err != nil {
		d.log.Debug().Err(err).Msg("which packs are here can't be written")
	}
}

// contentOf is the identity of the packs among files; unknown where one has no SHA-256, as with the engine's generations.
func contentOf(files []release.File) (identity string, known bool) {
	var packs []compat.Pack
	for _, f := range files {
		if f.Role != release.Resource {
			continue
		}
		sum, known := f.Digest.SHA256()
		if !known {
			return "", false
		}
		packs = append(packs, compat.Pack{Path: f.Path, Size: f.Size, Sum: sum})
	}
	return compat.DerivedContent(packs), true
}

// current reports whether the packs that a server offered are live now.
func (d *disk) current(s update.Status) bool {
	return s.Outcome == update.ResourcesReady && !s.HeldBack && s.Judgement.Plays() && d.dir != nil && d.dir.State() != install.Prepared
}

// settleContent notes what an update left here, files being all that the server offered. A server that names packs by their own
// identity and offers others ends in ContentMismatch: no client plays with the half of a publication (compat reference, section 3.5, verdict 1);
// patiently asks again after a pause. Where releases are signed the signature says what belongs together, and what a server beside the
// mirrors names is not held against it: releases that roll out to some are not those of the server.
func (u *updates) settleContent(files []release.File, status update.Status) update.Status {
	identity, known := contentOf(files)
	if !u.current(status) || !known {
		return status
	}
	served := u.met.told.Content
	switch {
	case !u.signed.on() && compat.IsDerivedContent(served) && served != identity:
		u.log.Error().Str("offered", identity).Str("named", served).Msg("the server's packs are not those that it speaks of")
		status.Outcome = update.ContentMismatch
		return status
	case served != "" && !compat.IsDerivedContent(served):
		identity = served
	}
	u.keepContent(identity)
	return status
}
