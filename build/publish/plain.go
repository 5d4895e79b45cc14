package publish

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path"
	"slices"

	"collet/build/advice"
	"collet/netproto/release"
)

// plain brings Resources and PlatformBinaries to the newest set of the usual channel that all clients are offered. The set is
// complete on the disk before the first of its files gets its name; then only names change, one after another. A run that was
// stopped before that leaves the old set, and one that was stopped while names changed is mended by the next command that
// changes something.
func (f *Folder) plain(ctx context.Context) error {
	if !f.settings.Plain {
		return nil
	}
	newest, number := map[string]release.Entry{}, uint64(0)
	for _, e := range f.repo.Entries() {
		if e.Product == f.settings.Product && e.Channel == f.settings.Channel && !e.Hold && !e.Killed && e.Percent == 100 {
			newest[e.Target] = e
			number = max(number, e.Number)
		}
	}
	wanted, c := map[string]release.ListedFile{}, newContents(f)
	for target, e := range newest {
		if e.Number != number {
			continue // its binaries would not fit the resources of the newest release
		}
		o, err := f.readOrigin(e)
		if err == nil {
			err = c.addSet(o.listing, o.sources)
		}
		if err != nil {
			return err
		}
		for _, file := range o.listing {
			switch file.Use {
			case release.UseResource:
				wanted[path.Join(resources, file.Path)] = file
			case release.UseHost: // an engine's client would replace its own program by it, and only a checksum would vouch for that
			default:
				wanted[path.Join(binaries, target, file.Path)] = file
			}
		}
	}
	return f.plainTo(ctx, c, wanted)
}

// plainTo writes what is missing, and then removes what is too much and gives the new files their names.
func (f *Folder) plainTo(ctx context.Context, c *contents, wanted map[string]release.ListedFile) error {
	g := &game{fs: f.fs, targets: map[string][]*found{}}
	if err := errors.Join(g.readResources(), g.readBinaries()); err != nil {
		return err
	}
	if err := f.hash(ctx, g); err != nil {
		return err
	}
	there, gone := map[string]release.Digest{}, []string(nil)
	for _, file := range g.all() {
		there[file.name] = file.sum
		if _, stays := wanted[file.name]; !stays {
			gone = append(gone, file.name)
		}
	}
	staged, err := f.stagePlain(ctx, c, wanted, there)
	if err != nil {
		return err
	}
	for _, name := range gone {
		if err := f.fs.Remove(name); err != nil {
			return advice.Because(err, "", "remove %s, which is in no release", name)
		}
	}
	for _, w := range staged {
		if err := f.place(w.file.name, w.name); err != nil {
			return advice.Because(err, room(err), "write %s", w.name)
		}
	}
	return f.settle()
}

// stagePlain writes the wanted files that are not there, whole and synced, without their names. What an error leaves of them the
// next Open removes.
func (f *Folder) stagePlain(ctx context.Context, c *contents, wanted map[string]release.ListedFile, there map[string]release.Digest) (staged []waiting, err error) {
	synced := 0
	sync := func() error {
		due := staged[synced:]
		synced = len(staged)
		return spread(ctx, syncBatch/2, len(due), func(_ context.Context, i int) error {
			return errors.Join(due[i].file.Sync(), due[i].file.Close())
		})
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if there[name] == wanted[name].Sum {
			continue
		}
		u, err := f.stageFile(ctx, c, wanted[name])
		if err == nil {
			if staged = append(staged, waiting{file: u, name: name}); len(staged)-synced == syncBatch {
				err = sync()
			}
		}
		if err != nil {
			for _, w := range staged[synced:] {
				w.file.drop()
			}
			return nil, advice.Because(err, room(err), "write %s", name)
		}
	}
	if err := sync(); err != nil {
		return nil, advice.Because(err, room(err), "sync the plain files")
	}
	return staged, nil
}

// stageFile writes one file without its name.
func (f *Folder) stageFile(ctx context.Context, c *contents, file release.ListedFile) (*unfinished, error) {
	in, err := c.open(ctx, file.Sum)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	out, err := f.create()
	if err != nil {
		return nil, err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{in}, pageFor(file.Size))
	if err == nil {
		err = f.fs.Chmod(out.name, os.FileMode(file.Mode))
	}
	if err != nil {
		out.drop()
		return nil, err
	}
	return out, nil
}
