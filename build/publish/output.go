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

// folderOutput is a folder of a web server.
type folderOutput struct {
	fs    platform.FS
	dirty dirty
	n     number
}

// FolderOutput is an output in a folder. fsys stays the caller's.
func FolderOutput(fsys platform.FS) places.Output { return &folderOutput{fs: fsys} }

func (o *folderOutput) String() string { return o.fs.Path(".") }

// List implements places.Output.
func (o *folderOutput) List(_ context.Context, folder string) (map[string]int64, error) {
	list := map[string]int64{}
	err := platform.Walk(o.fs, folder, func(name string, e fs.DirEntry) error {
		info, err := e.Info()
		if err == nil {
			list[name] = info.Size()
		}
		return err
	}, nil)
	return list, err
}

// Get implements places.Output.
func (o *folderOutput) Get(_ context.Context, name string, limit int64) ([]byte, error) {
	return platform.ReadFile(o.fs, name, limit)
}

// Put implements places.Output.
func (o *folderOutput) Put(ctx context.Context, name string, data io.ReaderAt, size int64, _ bool) error {
	if err := o.dirty.folder(o.fs, path.Dir(name)); err != nil {
		return err
	}
	tmp := fmt.Sprintf("%s.%d%s", name, o.n.n.Add(1), places.UnfinishedExt)
	out, err := o.fs.OpenFile(tmp, createFlags, 0o644)
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
		err = o.fs.Rename(tmp, name)
	}
	if err != nil {
		_ = o.fs.Remove(tmp)
	}
	return err
}

// Remove implements places.Output.
func (o *folderOutput) Remove(_ context.Context, name string) error { return o.fs.Remove(name) }

// Sync implements places.Output.
func (o *folderOutput) Sync(context.Context) error { return o.dirty.syncAll(o.fs) }

// OpenOutput opens the output named by a setting or flag: an address that begins with s3://, github:// or oci://, or a folder, which is
// created. notice tells people why an upload waits.
func OpenOutput(name string, getenv func(string) string, notice func(string)) (places.Output, io.Closer, error) {
	var out places.Output
	var err error
	switch scheme, _, _ := strings.Cut(name, "://"); {
	case scheme == name:
		return openFolderOutput(name)
	case scheme == "s3":
		out, err = upload.OpenS3(name, getenv)
	case scheme == string(location.GitHub):
		out, err = upload.OpenGitHub(name, getenv, notice)
	case scheme == string(location.Registry):
		out, err = upload.OpenRegistry(name)
	default:
		err = advice.Wrong("want a folder, s3://…, github://… or oci://…", "%q is no place for a copy", name)
	}
	if err != nil {
		return nil, nil, err
	}
	if closer, is := out.(io.Closer); is {
		return out, closer, nil
	}
	return out, io.NopCloser(nil), nil
}

// openFolderOutput opens a folder, and creates it if necessary.
func openFolderOutput(name string) (places.Output, io.Closer, error) {
	if err := os.MkdirAll(name, 0o755); err != nil {
		return nil, nil, advice.Because(err, "", "make the folder %s", name)
	}
	dir, err := platform.OpenDir(name)
	if err != nil {
		return nil, nil, advice.Because(err, "", "open the folder %s", name)
	}
	return FolderOutput(dir), dir, nil
}
