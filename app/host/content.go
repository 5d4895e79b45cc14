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

// contentFile, in the cache folder, holds the identity of the installed packs as one line, for the next announcement. It only saves
// work: packs are compared one by one before a game starts, whatever the server answers.
const contentFile = "content"

func (d *disk) contentName() string {
	return path.Join(filepath.ToSlash(d.settings.Baking.CacheResources), contentFile)
}

// content is the identity of the installed packs; empty before the first update.
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

// keepContent records the identity of the installed packs.
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

// contentOf is the identity of the packs among files. It is unknown if a pack has no SHA-256, as with the engine's generations.
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

// current reports whether the offered packs are live now.
func (d *disk) current(s update.Status) bool {
	return s.Outcome == update.ResourcesReady && !s.Blocked && s.Judgement.Plays() && d.dir != nil && d.dir.State() != install.Prepared
}

// checkAndRecordContent records the identity of the installed packs; files are all that the server offered. If the server names packs by
// their derived identity and offers others, the outcome is ContentMismatch: a client must not play with half of a publication.
// repeatWhilePublishing asks again after a pause. With signed releases the signature defines the set, and the server's identity is not checked: a release
// that is rolled out to some clients differs from the server's.
func (u *updates) checkAndRecordContent(files []release.File, status update.Status) update.Status {
	identity, known := contentOf(files)
	if !u.current(status) || !known {
		return status
	}
	served := u.reply.tags.Content
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
