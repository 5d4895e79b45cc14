package publish

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"collet/build/advice"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/platform"
	"collet/platform/interrupt"
)

// Output is a second place for a publication, such as a web server's folder or a bucket. Names are those of the release folder. Put, Size
// and Remove may be called from several goroutines.
type Output interface {
	// String returns the location, without secrets.
	String() string
	// List returns the sizes of all files below a folder.
	List(ctx context.Context, folder string) (map[string]int64, error)
	// Get reads a small file. errors.Is(err, fs.ErrNotExist) holds for a missing one.
	Get(ctx context.Context, name string, limit int64) ([]byte, error)
	// Put replaces a file atomically. lasting says that the file never changes again.
	Put(ctx context.Context, name string, data io.ReaderAt, size int64, lasting bool) error
	// Remove removes a file.
	Remove(ctx context.Context, name string) error
	// Settle returns when all written files are durable.
	Settle(ctx context.Context) error
}

// timestampName is the file that readers fetch first.
const timestampName = "metadata/timestamp.json"

// MirrorSummary is the result of Mirror.
type MirrorSummary struct {
	Files   int   // written
	Bytes   int64 // written
	Removed int
}

// Mirror brings an output to the state of the folder, in the folder's own write order: objects, heads, signed lists, timestamp.json. A file
// with the right size is not written again, because names are digests. Unfinished files of killed publishers are removed first. If remove
// is set, files that the folder lacks are removed last. Mirror refuses an output with a newer list of another publisher.
func (f *Folder) Mirror(ctx context.Context, out Output, remove bool) (s MirrorSummary, err error) {
	r, err := f.reachable(ctx, f.repo.Entries())
	if err != nil {
		return s, err
	}
	newest, err := f.refuseNewer(ctx, out)
	if err != nil {
		return s, err
	}
	wanted := [][]string{slices.Sorted(maps.Keys(r.objects)), slices.Sorted(maps.Keys(r.heads)), nil}
	err = walk(f.fs, "metadata", func(name string, _ fs.DirEntry) error {
		if isPublic(name) && name != timestampName {
			wanted[2] = append(wanted[2], name)
		}
		return nil
	})
	if err != nil {
		return s, advice.Because(err, "", "list the signed lists")
	}
	there := map[string]int64{}
	for _, folder := range []string{"objects", "releases", "metadata", sequelFolder} {
		list, err := out.List(ctx, folder)
		if err != nil {
			return s, advice.Because(err, "", "list %s of %v", folder, out)
		}
		maps.Copy(there, list)
	}
	if err := sweepFrom(ctx, out, there, &s); err != nil {
		return s, err
	}
	for _, names := range wanted {
		if err := f.send(ctx, out, names, there, &s); err != nil {
			return s, err
		}
	}
	if !bytes.Equal(newest, f.timestamp()) {
		if err := f.sendOne(ctx, out, timestampName, false, &s); err != nil {
			return s, err
		}
		if err := out.Settle(ctx); err != nil {
			return s, advice.Because(err, "", "finish %v", out)
		}
	}
	sequels, err := f.sendSequels(ctx, out, there, &s)
	if err != nil || !remove {
		return s, err
	}
	return s, f.removeFrom(ctx, out, append(wanted, sequels), there, &s)
}

// sweepFrom removes unfinished files of killed publishers.
func sweepFrom(ctx context.Context, out Output, there map[string]int64, s *MirrorSummary) error {
	for name := range there {
		if !strings.HasSuffix(name, unfinishedExt) {
			continue
		}
		if err := out.Remove(ctx, name); err != nil {
			return advice.Because(err, "", "remove %s from %v", name, out)
		}
		delete(there, name)
		s.Removed++
	}
	return nil
}

// sendSequels writes changed sequels, last of all: they are useless without the new timestamp.
func (f *Folder) sendSequels(ctx context.Context, out Output, there map[string]int64, s *MirrorSummary) (names []string, err error) {
	err = walk(f.fs, sequelFolder, func(name string, _ fs.DirEntry) error {
		if isPublic(name) {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return nil, advice.Because(err, "", "list %s", sequelFolder)
	}
	for _, name := range names {
		same, err := f.sameThere(ctx, out, name, there)
		if err == nil && !same {
			err = f.sendOne(ctx, out, name, false, s)
		}
		if err != nil {
			return names, err
		}
	}
	if err := out.Settle(ctx); err != nil {
		return names, advice.Because(err, "", "finish %v", out)
	}
	return names, nil
}

// sameThere compares a file with the output's copy.
func (f *Folder) sameThere(ctx context.Context, out Output, name string, there map[string]int64) (bool, error) {
	if n, found := there[name]; !found || n != size(f.fs, name) {
		return false, nil
	}
	theirs, err := out.Get(ctx, name, release.MaxSequel)
	if isMissing(err) {
		return false, nil
	}
	if err != nil {
		return false, advice.Because(err, "", "read %s of %v", name, out)
	}
	ours, err := platform.ReadFile(f.fs, name, release.MaxSequel)
	if err != nil {
		return false, advice.Because(err, "", "read %s", name)
	}
	return bytes.Equal(ours, theirs), nil
}

// timestamp returns the folder's own timestamp.json.
func (f *Folder) timestamp() []byte {
	data, err := platform.ReadFile(f.fs, timestampName, trust.MaxTimestamp)
	if err != nil {
		return nil
	}
	return data
}

// refuseNewer compares the output's timestamp with the folder's and returns it.
func (f *Folder) refuseNewer(ctx context.Context, out Output) ([]byte, error) {
	data, err := out.Get(ctx, timestampName, trust.MaxTimestamp)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, advice.Because(err, "", "read the signed list of %v", out)
	}
	var theirs, ours struct{ Signed struct{ Version int64 } }
	if err := json.Unmarshal(data, &theirs); err != nil {
		return nil, advice.Because(err, "remove it if nobody uses it", "%s of %v", timestampName, out)
	}
	if err := json.Unmarshal(f.timestamp(), &ours); err != nil {
		return nil, advice.Because(err, "", "read our own signed list")
	}
	if theirs.Signed.Version > ours.Signed.Version {
		return nil, advice.Wrong("fetch that release folder and publish from it", "%v has version %d of the signed list, newer than %d here: somebody else publishes there", out, theirs.Signed.Version, ours.Signed.Version)
	}
	return data, nil
}

// send writes the files that the output lacks, several at a time, and makes them durable.
func (f *Folder) send(ctx context.Context, out Output, names []string, there map[string]int64, s *MirrorSummary) error {
	var missing []string
	total := int64(0)
	for _, name := range names {
		n := size(f.fs, name)
		if have, found := there[name]; !found || have != n {
			missing = append(missing, name)
			total += n
		}
	}
	if len(missing) == 0 {
		return nil
	}
	f.meter.start("upload", "", total)
	var files, sent atomic.Int64
	err := spread(ctx, max(uploads, f.workers()), len(missing), func(ctx context.Context, i int) error {
		var one MirrorSummary
		err := f.sendOne(ctx, out, missing[i], true, &one)
		files.Add(int64(one.Files))
		sent.Add(one.Bytes)
		f.meter.add(one.Bytes, missing[i])
		return err
	})
	s.Files, s.Bytes = s.Files+int(files.Load()), s.Bytes+sent.Load()
	if err != nil {
		return err
	}
	if err := out.Settle(ctx); err != nil {
		return advice.Because(err, room(err), "finish %v", out)
	}
	return nil
}

// uploads is the number of concurrent writes, since a store takes tens of milliseconds to answer each.
const uploads = 8

func (f *Folder) sendOne(ctx context.Context, out Output, name string, lasting bool, s *MirrorSummary) error {
	in, err := openFile(f.fs, name)
	if err != nil {
		return advice.Because(err, "", "read %s", name)
	}
	defer in.Close()
	n := size(f.fs, name)
	if err := out.Put(ctx, name, in, n, lasting); err != nil {
		return advice.Because(err, "run the same command again: it goes on where it stopped", "write %s to %v", name, out)
	}
	s.Files++
	s.Bytes += n
	return nil
}

// removeFrom removes files that the folder lacks.
func (f *Folder) removeFrom(ctx context.Context, out Output, wanted [][]string, there map[string]int64, s *MirrorSummary) error {
	keep := map[string]bool{timestampName: true}
	for _, names := range wanted {
		for _, name := range names {
			keep[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if keep[name] || !isPublic(name) {
			continue
		}
		if err := out.Remove(ctx, name); err != nil {
			return advice.Because(err, "", "remove %s from %v", name, out)
		}
		s.Removed++
	}
	return nil
}

// folderOutput is a folder of a web server.
type folderOutput struct {
	fs    platform.FS
	dirty dirty
	n     number
}

// FolderOutput is an output in a folder. fsys stays the caller's.
func FolderOutput(fsys platform.FS) Output { return &folderOutput{fs: fsys} }

func (o *folderOutput) String() string { return o.fs.Path(".") }

// List implements Output.
func (o *folderOutput) List(_ context.Context, folder string) (map[string]int64, error) {
	list := map[string]int64{}
	err := walk(o.fs, folder, func(name string, e fs.DirEntry) error {
		info, err := e.Info()
		if err == nil {
			list[name] = info.Size()
		}
		return err
	})
	return list, err
}

// Get implements Output.
func (o *folderOutput) Get(_ context.Context, name string, limit int64) ([]byte, error) {
	return platform.ReadFile(o.fs, name, limit)
}

// Put implements Output.
func (o *folderOutput) Put(ctx context.Context, name string, data io.ReaderAt, size int64, _ bool) error {
	if err := o.dirty.folder(o.fs, path.Dir(name)); err != nil {
		return err
	}
	tmp := fmt.Sprintf("%s.%d%s", name, o.n.n.Add(1), unfinishedExt)
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

// Remove implements Output.
func (o *folderOutput) Remove(_ context.Context, name string) error { return o.fs.Remove(name) }

// Settle implements Output.
func (o *folderOutput) Settle(context.Context) error { return o.dirty.settle(o.fs) }

// OpenOutput opens the output named by a setting or flag: an address that begins with s3://, or a folder, which is created.
func OpenOutput(name string, getenv func(string) string) (Output, io.Closer, error) {
	if strings.HasPrefix(name, s3Scheme) {
		out, err := openS3(name, getenv)
		return out, io.NopCloser(nil), err
	}
	if err := makeOutside(name); err != nil {
		return nil, nil, advice.Because(err, "", "make the folder %s", name)
	}
	dir, err := platform.OpenDir(name)
	if err != nil {
		return nil, nil, advice.Because(err, "", "open the folder %s", name)
	}
	return FolderOutput(dir), dir, nil
}
