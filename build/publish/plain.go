package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"collet/build/advice"
	"collet/build/publish/cache"
	"collet/build/publish/game"
	"collet/build/publish/parallel"
	"collet/netproto/product"
	"collet/netproto/release"
	"collet/platform"
)

const (
	// plainPrefix begins the names of unused folders of plain files below the private folder: the next ones while they are written, and the
	// previous ones after the exchange.
	plainPrefix = "plain-"
	// formerPlain holds the previous plain files on systems that can't exchange two folders.
	formerPlain = private + "/" + plainPrefix + "former"
)

// plainFiles keeps the plain files up to date, the newest set of the default channel.
type plainFiles struct {
	fs       platform.FS
	releases *releases
	store    *objectStore
	unpacker *unpacker
	digester *digester
	now      func() time.Time
}

// update brings the plain files to the newest set of the default channel that is offered to all clients. The new set is complete on disk, in
// its own folder, before that folder replaces the old one: readers see one or the other.
func (p *plainFiles) update(ctx context.Context) error {
	if !p.releases.settings.Plain {
		return nil
	}
	newest, number := map[string]release.Entry{}, uint64(0)
	for _, e := range p.releases.repo.Entries() {
		if e.Product == p.releases.settings.Product && e.Channel == p.releases.settings.Channel && !e.Hold && !e.Killed && e.Percent == 100 {
			newest[e.Target] = e
			number = max(number, e.Number)
		}
	}
	wanted, b := map[string]release.ListedFile{}, newBlobs(p.unpacker)
	for target, e := range newest {
		if e.Number != number {
			continue // its binaries would not fit the resources of the newest release
		}
		o, err := p.releases.readLists(e)
		if err == nil && describesProgram(o.listing) {
			continue // an engine's client can't run it, and would verify code by a checksum only
		}
		if err == nil {
			err = b.addSet(o.listing, o.sources)
		}
		if err != nil {
			return err
		}
		for _, file := range o.listing {
			if file.Use == release.UseHost {
				continue // an engine's client would replace its own program by it, verified by a checksum only
			}
			role, _ := file.Use.Role()
			wanted[release.PlainPath(role, target, file.Path)] = file
		}
	}
	return p.replace(ctx, b, wanted)
}

// replace replaces the plain files by the wanted ones, named below release.PlainFolder. Other files in the folder are removed.
func (p *plainFiles) replace(ctx context.Context, b *blobs, wanted map[string]release.ListedFile) error {
	began := p.now()
	there, err := game.Plain(p.fs)
	if err != nil {
		return err
	}
	if err := p.digester.addDigests(ctx, p.fs, release.PlainFolder, there); err != nil {
		return err
	}
	stay := map[string]*game.File{}
	for _, file := range there {
		if name := strings.TrimPrefix(file.Name, release.PlainFolder+"/"); wanted[name].Sum == file.Sum {
			stay[name] = file
		}
	}
	if len(stay) == len(wanted) && len(stay) == len(there) {
		return nil
	}
	next := p.unusedName()
	linked, err := p.writeNext(ctx, b, next, wanted, stay)
	if err != nil {
		return errors.Join(err, p.sweep())
	}
	if err := p.swap(ctx, next); err != nil {
		return advice.Because(err, "end the programs that use the folder; the list is signed, and collet release refresh does the rest, with the same --to", "change the plain files in %s", p.fs.Path(release.PlainFolder))
	}
	if err := errors.Join(p.store.sync(), p.sweep()); err != nil {
		return err
	}
	digests := cache.LoadDigests(p.fs, p.fs.Path(release.PlainFolder))
	for _, file := range linked {
		if info, err := p.fs.Lstat(file.Name); err == nil {
			digests.Carry(p.fs.Path(file.Name), file.Info, info, file.Sum, began)
		}
	}
	return digests.Save(p.fs)
}

// unusedName returns a free folder name for unused plain files.
func (p *plainFiles) unusedName() string {
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s/%s%d", private, plainPrefix, n)
		if _, err := p.fs.Lstat(name); err != nil {
			return name
		}
	}
}

// writeNext creates the folder next. Unchanged files become hard links to the previous ones, which are not read again here or by a server;
// all others are written. Everything is durable when writeNext returns.
func (p *plainFiles) writeNext(ctx context.Context, b *blobs, next string, wanted map[string]release.ListedFile, stay map[string]*game.File) (linked []*game.File, err error) {
	if err := p.store.makeFolder(next); err != nil {
		return nil, advice.Because(err, room(err), "make the folder %s", next)
	}
	var written []*unfinished
	sync := func() error {
		due := written
		written = nil
		return parallel.Each(ctx, syncBatch/2, len(due), func(_ context.Context, i int) error {
			return errors.Join(due[i].Sync(), due[i].Close())
		})
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		to := path.Join(next, name)
		err := errors.Join(ctx.Err(), p.store.makeFolder(path.Dir(to)))
		if old := stay[name]; err == nil && old != nil && p.fs.Link(old.Name, to) == nil {
			linked = append(linked, old)
			continue
		}
		var u *unfinished
		if err == nil {
			u, err = p.stageFile(ctx, b, wanted[name], to)
		}
		if err == nil {
			if written = append(written, u); len(written) == syncBatch {
				err = sync()
			}
		}
		if err != nil {
			for _, u := range written {
				u.drop()
			}
			return nil, advice.Because(err, room(err), "write %s", to)
		}
	}
	if err := errors.Join(sync(), p.store.sync()); err != nil {
		return nil, advice.Because(err, room(err), "sync the plain files")
	}
	return linked, nil
}

// stageFile writes one file. On return it is still open and not synced.
func (p *plainFiles) stageFile(ctx context.Context, b *blobs, file release.ListedFile, name string) (*unfinished, error) {
	in, err := b.openBlob(ctx, file.Sum)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	created, err := p.fs.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) // never through a link left by a killed publisher
	if err != nil {
		return nil, err
	}
	out := &unfinished{created, p.fs, name}
	_, err = io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{in}, pageFor(file.Size))
	if err == nil {
		err = p.fs.Chmod(name, os.FileMode(file.Mode))
	}
	if err != nil {
		out.drop()
		return nil, err
	}
	return out, nil
}

// swap replaces the plain files by next. On systems without an atomic exchange (Windows, some network file systems) the plain files
// are missing for a moment; mend restores the previous ones if the publisher is killed then.
func (p *plainFiles) swap(ctx context.Context, next string) error {
	p.store.noteFolder(".")
	p.store.noteFolder(private)
	rename := func(from, to string) error {
		return platform.RetryWhileLocked(ctx, func() error { return p.fs.Rename(from, to) })
	}
	switch _, err := p.fs.Lstat(release.PlainFolder); {
	case isMissing(err):
		return rename(next, release.PlainFolder)
	case err != nil:
		return err
	}
	if err := p.fs.Exchange(next, release.PlainFolder); !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if _, err := p.fs.Lstat(formerPlain); err == nil {
		if err := rename(formerPlain, p.unusedName()); err != nil {
			return err
		}
	}
	if err := rename(release.PlainFolder, formerPlain); err != nil {
		return err
	}
	if err := rename(next, release.PlainFolder); err != nil {
		return errors.Join(err, p.fs.Rename(formerPlain, release.PlainFolder))
	}
	return nil
}

// mend completes the interrupted work of a killed publisher.
func (p *plainFiles) mend() error {
	_, err := p.fs.Lstat(release.PlainFolder)
	if isMissing(err) {
		err = p.fs.Rename(formerPlain, release.PlainFolder)
	}
	if err != nil && !isMissing(err) {
		return advice.Because(err, "", "bring back the plain files from %s", p.fs.Path(formerPlain))
	}
	return p.sweep()
}

// sweep removes unused plain files, once a power cut can't bring them back into use. A file that can't be removed because a program
// reads it, as on some network file systems, is removed by the next command.
func (p *plainFiles) sweep() error {
	var unused []string
	_, none := p.fs.Lstat(release.PlainFolder)
	entries, err := p.fs.ReadDir(private)
	for _, e := range entries {
		name := path.Join(private, e.Name())
		if strings.HasPrefix(e.Name(), plainPrefix) && (name != formerPlain || none == nil) {
			unused = append(unused, name)
		}
	}
	if len(unused) > 0 {
		err = errors.Join(err, p.fs.SyncDir("."), p.fs.SyncDir(private))
	}
	if err != nil {
		return advice.Because(err, "", "remove plain files that are not in use")
	}
	for _, name := range unused {
		_ = platform.RemoveFolder(p.fs, name, nil)
	}
	return nil
}

// describesProgram reports whether a set is that of a program.
func describesProgram(l release.Listing) bool {
	return slices.ContainsFunc(l, func(f release.ListedFile) bool {
		return f.Use == release.UseRuntime && strings.HasSuffix(f.Path, product.DescriptionExt)
	})
}
