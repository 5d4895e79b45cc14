package publish

import (
	"context"
	"errors"
	"io"
	"os"
	"path"

	"collet/build/advice"
	"collet/netproto/release"
)

// plain brings Resources and PlatformBinaries to the newest set of the usual channel that all clients are offered. Each
// file is replaced at once, the set is not: engine generations ask a server, and that one takes a folder over when it has
// stopped changing. A run that was stopped is mended by the next command that changes something.
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

// plainTo writes what is missing and removes what is too much.
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
	for _, name := range gone {
		if err := f.fs.Remove(name); err != nil {
			return advice.Because(err, "", "remove %s, which is in no release", name)
		}
	}
	for name, file := range wanted {
		if there[name] == file.Sum {
			continue
		}
		if err := f.plainFile(ctx, c, name, file); err != nil {
			return advice.Because(err, room(err), "write %s", name)
		}
	}
	return f.settle()
}

func (f *Folder) plainFile(ctx context.Context, c *contents, name string, file release.ListedFile) error {
	in, err := c.open(ctx, file.Sum)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := f.create()
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{in}, pageFor(file.Size))
	if err == nil {
		err = f.fs.Chmod(out.name, os.FileMode(file.Mode))
	}
	if err != nil {
		out.drop()
		return err
	}
	return f.finishAs(out, name, nil)
}
