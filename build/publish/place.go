package publish

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"collet/build/advice"
	"collet/build/publish/places"
	"collet/build/publish/upload"
	"collet/netproto/release/location"
	"collet/platform"
	"collet/platform/interrupt"
)

// folderPlace is a place in a folder, as of a web server.
type folderPlace struct {
	fs    platform.FS
	dirty dirty
	n     number
}

// FolderPlace is the place in a folder. fsys stays the caller's.
func FolderPlace(fsys platform.FS) places.Place { return &folderPlace{fs: fsys} }

func (p *folderPlace) String() string { return p.fs.Path(".") }

// List implements places.Place.
func (p *folderPlace) List(_ context.Context, folder string) (map[string]int64, error) {
	list := map[string]int64{}
	err := platform.Walk(p.fs, folder, func(name string, e fs.DirEntry) error {
		info, err := e.Info()
		if err == nil {
			list[name] = info.Size()
		}
		return err
	}, nil)
	return list, err
}

// Get implements places.Place.
func (p *folderPlace) Get(_ context.Context, name string, limit int64) ([]byte, error) {
	return platform.ReadFile(p.fs, name, limit)
}

// Put implements places.Place.
func (p *folderPlace) Put(ctx context.Context, name string, data io.ReaderAt, size int64, _ bool) error {
	if err := p.dirty.folder(p.fs, path.Dir(name)); err != nil {
		return err
	}
	tmp := fmt.Sprintf("%s.%d%s", name, p.n.n.Add(1), places.UnfinishedExt)
	out, err := p.fs.OpenFile(tmp, createFlags, 0o644)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{out}, interrupt.Reader(ctx, io.NewSectionReader(data, 0, size)), pageFor(size))
	if err == nil {
		err = out.Sync()
	}
	if e := out.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = p.fs.Rename(tmp, name)
	}
	if err != nil {
		_ = p.fs.Remove(tmp)
	}
	return err
}

// Remove implements places.Place.
func (p *folderPlace) Remove(_ context.Context, name string) error { return p.fs.Remove(name) }

// Sync implements places.Place.
func (p *folderPlace) Sync(context.Context) error { return p.dirty.syncAll(p.fs) }

// OpenPlace opens the place named by a setting or flag: an address that begins with s3://, github:// or oci://, or a folder, which is
// created. notice tells people why an upload waits.
func OpenPlace(name string, getenv func(string) string, notice func(string)) (places.Place, io.Closer, error) {
	var place places.Place
	var err error
	switch scheme, _, _ := strings.Cut(name, "://"); {
	case scheme == name:
		return openFolderPlace(name)
	case scheme == "s3":
		place, err = upload.OpenS3(name, getenv)
	case scheme == string(location.GitHub):
		place, err = upload.OpenGitHub(name, getenv, notice)
	case scheme == string(location.Registry):
		place, err = upload.OpenRegistry(name)
	default:
		err = advice.Wrong("want a folder, s3://…, github://… or oci://…", "%q is no place for a publication", name)
	}
	if err != nil {
		return nil, nil, err
	}
	if closer, is := place.(io.Closer); is {
		return place, closer, nil
	}
	return place, io.NopCloser(nil), nil
}

// openFolderPlace opens a folder, and creates it if necessary.
func openFolderPlace(name string) (places.Place, io.Closer, error) {
	if err := os.MkdirAll(name, 0o755); err != nil {
		return nil, nil, advice.Because(err, "", "make the folder %s", name)
	}
	dir, err := platform.OpenDir(name)
	if err != nil {
		return nil, nil, advice.Because(err, "", "open the folder %s", name)
	}
	return FolderPlace(dir), dir, nil
}
