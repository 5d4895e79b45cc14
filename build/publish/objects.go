package publish

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"sync/atomic"

	"collet/build/advice"
	"collet/netproto/chunk"
	"collet/netproto/release"
	"collet/platform"
)

// number numbers the unfinished files of one process.
type number struct{ n atomic.Int64 }

// openFile opens a file for reading.
func openFile(fsys platform.FS, name string) (platform.File, error) {
	return fsys.OpenFile(name, os.O_RDONLY, 0)
}

// has reports whether the folder holds an object with the expected size.
func (f *Folder) has(o release.Object) bool { return !o.IsZero() && size(f.fs, o.Path()) == o.Size }

// unfinished is an object being written.
type unfinished struct {
	platform.File
	fs   platform.FS
	name string
}

// create opens a new unfinished object.
func (f *Folder) create() (*unfinished, error) {
	if err := f.fs.MkdirAll(tmpFolder, 0o755); err != nil {
		return nil, advice.Because(err, "", "make the folder for unfinished files")
	}
	name := fmt.Sprintf("%s/object-%d", tmpFolder, f.serial.n.Add(1))
	out, err := f.fs.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o644)
	if err != nil {
		return nil, advice.Because(err, "", "begin an object")
	}
	return &unfinished{out, f.fs, name}, nil
}

// drop discards an unfinished object.
func (u *unfinished) drop() {
	u.Close()
	_ = u.fs.Remove(u.name) // otherwise the next start removes it
}

// finish gives the object its name, in a batch with others, at settle at the latest. Syncs in parallel cost a journaling file system little
// more than one. then is called when the object is durable under its name.
func (f *Folder) finish(u *unfinished, o release.Object, then func() error) error {
	return f.finishAs(u, o.Path(), then)
}

// finishAs is finish under any name.
func (f *Folder) finishAs(u *unfinished, name string, then func() error) error {
	f.mu.Lock()
	f.waiting = append(f.waiting, waiting{u, name, then})
	var due []waiting
	if len(f.waiting) >= syncBatch {
		due, f.waiting = f.waiting, nil
	}
	f.mu.Unlock()
	return f.name(due)
}

// syncBatch is the number of files synced together. They stay open until then, and systems allow some hundreds of open files.
const syncBatch = 64

// waiting is a complete file without its final name.
type waiting struct {
	file *unfinished
	name string
	then func() error
}

// name syncs files and renames them to their final names.
func (f *Folder) name(due []waiting) error {
	return spread(context.Background(), syncBatch/2, len(due), func(_ context.Context, i int) error {
		w := due[i]
		err := w.file.Sync()
		if e := w.file.Close(); err == nil {
			err = e
		}
		if err == nil {
			err = f.place(w.file.name, w.name)
		}
		if err != nil {
			_ = f.fs.Remove(w.file.name)
			return advice.Because(err, room(err), "write %s", w.name)
		}
		if w.then != nil {
			return w.then()
		}
		return nil
	})
}

// room returns advice for a full disk.
func room(err error) string {
	if platform.IsDiskFull(err) {
		return "make room and run the same command again: it goes on where it stopped"
	}
	return ""
}

// place renames a finished file.
func (f *Folder) place(from, to string) error {
	if err := f.dirty.folder(f.fs, path.Dir(to)); err != nil {
		return err
	}
	f.dirty.note(path.Dir(from)) // a rename between two folders is durable when both are synced
	return f.fs.Rename(from, to)
}

// touch lets settle sync the name of an existing object, because an interrupted run may not have synced it.
func (f *Folder) touch(o release.Object) { f.touched(o.Path()) }

func (f *Folder) touched(name string) { f.dirty.note(path.Dir(name)) }

// settle makes all new objects and heads durable, including their names.
func (f *Folder) settle() error {
	f.mu.Lock()
	due := f.waiting
	f.waiting = nil
	f.mu.Unlock()
	if err := f.name(due); err != nil {
		return err
	}
	if err := f.dirty.settle(f.fs); err != nil {
		return advice.Because(err, room(err), "sync the release folder")
	}
	return nil
}

// sumFile computes the object of a file.
func sumFile(file io.ReaderAt, size int64) (release.Object, error) {
	h := release.SHA256.NewHash()
	if _, err := io.CopyBuffer(h, io.NewSectionReader(file, 0, size), pageFor(size)); err != nil {
		return release.Object{}, err
	}
	return release.Object{Sum: release.SHA256.SumOf(h), Size: size}, nil
}

// put writes bytes as an object, unless it exists.
func (f *Folder) put(data []byte) (release.Object, error) {
	o := release.ObjectOf(data)
	return o, f.putAs(data, o, o.Path())
}

// putAs writes bytes under a name.
func (f *Folder) putAs(data []byte, o release.Object, name string) error {
	if size(f.fs, name) == o.Size {
		f.touched(name)
		return nil
	}
	u, err := f.create()
	if err != nil {
		return err
	}
	if _, err := u.Write(data); err != nil {
		u.drop()
		return advice.Because(err, room(err), "write %s", name)
	}
	return f.finishAs(u, name, nil)
}

// packWhole makes the whole object of a blob, unless the ledger has it and it exists.
func (f *Folder) packWhole(ctx context.Context, c *contents, sum release.Digest) (made, error) {
	if m, known := f.ledger.find(wholeKey(sum)); known && f.has(m.object) {
		f.touch(m.object)
		return m, nil
	}
	in, err := c.open(ctx, sum)
	if err != nil {
		return made{}, err
	}
	defer in.Close()
	out, err := f.create()
	if err != nil {
		return made{}, err
	}
	length := c.size(sum)
	packer, _ := f.packers.Get().(*chunk.ObjectPacker)
	if packer == nil {
		packer = new(chunk.ObjectPacker)
	}
	defer f.packers.Put(packer)
	encoding, packed, err := packer.Pack(ctx, out, in, length, chunk.PackObjectOptions{MaxBrotli: f.maxBrotli(), Workers: 1})
	if err != nil {
		out.drop()
		return made{}, advice.Because(err, room(err), "pack %s", c.name(sum))
	}
	m := made{encoding: release.Encoding(encoding.String())}
	if m.object, err = sumFile(out, packed); err != nil {
		out.drop()
		return made{}, advice.Because(err, "", "read back the object of %s", c.name(sum))
	}
	if encoding == chunk.Stored && m.object.Sum != sum {
		out.drop()
		return made{}, advice.Wrong("publish when nothing writes there", "%s changed while it was packed", c.name(sum))
	}
	return m, f.finish(out, m.object, func() error { return f.ledger.add(wholeKey(sum), m) })
}

// maxBrotli returns Settings.Brotli in bytes, as chunk.PackObjectOptions takes it.
func (f *Folder) maxBrotli() int64 {
	if f.settings.Brotli == 0 {
		return -1
	}
	return f.settings.Brotli << 20
}

// unpack decodes a whole object into a temporary file and returns its name. The next Open removes it.
func (f *Folder) unpack(ctx context.Context, s release.Source, length int64) (name string, err error) {
	sum := s.Content
	name = tmpFolder + "/content-" + sum.String()[len("sha256:"):]
	f.mu.Lock()
	known := f.unpacked[sum]
	f.mu.Unlock()
	if known {
		return name, nil
	}
	in, err := openFile(f.fs, s.Whole.Path())
	if err != nil {
		return "", advice.Because(err, "run collet release verify", "object of an earlier release")
	}
	defer in.Close()
	if err := f.fs.MkdirAll(tmpFolder, 0o755); err != nil {
		return "", advice.Because(err, "", "make the folder for unfinished files")
	}
	out, err := f.fs.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return "", advice.Because(err, "", "unpack a content of an earlier release")
	}
	h := release.SHA256.NewHash()
	err = unpackTo(ctx, io.MultiWriter(out, h), in, s, length)
	if e := out.Close(); err == nil {
		err = e
	}
	if err == nil && release.SHA256.SumOf(h) != sum {
		err = fmt.Errorf("it unpacks to something else than %v", sum)
	}
	if err != nil {
		_ = f.fs.Remove(name)
		return "", advice.Because(err, room(err), "unpack object %s", s.Whole.Path())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unpacked[sum] = true
	return name, nil
}

// unpackTo decodes a whole object.
func unpackTo(ctx context.Context, out io.Writer, in io.Reader, s release.Source, length int64) error {
	encoding, known := chunk.ParseEncoding(string(s.Encoding))
	if !known {
		return fmt.Errorf("encoding %q is not known", s.Encoding)
	}
	return chunk.UnpackObject(ctx, out, in, encoding, length)
}

// verifyWhole checks that a whole object matches its name and decodes to its blob.
func verifyWhole(ctx context.Context, in io.ReaderAt, s release.Source, length int64) error {
	o, err := sumFile(in, s.Whole.Size)
	if err != nil {
		return err
	}
	if o != s.Whole {
		return &release.ObjectError{Object: s.Whole, Reason: "has the digest " + o.Sum.String()}
	}
	h := release.SHA256.NewHash()
	if err := unpackTo(ctx, h, io.NewSectionReader(in, 0, s.Whole.Size), s, length); err != nil {
		return err
	}
	if got := release.SHA256.SumOf(h); got != s.Content {
		return fmt.Errorf("object %s unpacks to %v instead of %v", s.Whole.Path(), got, s.Content)
	}
	return nil
}

// verifyBytes checks an object's digest only.
func verifyBytes(in io.ReaderAt, o release.Object) error {
	got, err := sumFile(in, o.Size)
	if err == nil && got != o {
		err = &release.ObjectError{Object: o, Reason: "has the digest " + got.Sum.String()}
	}
	return err
}
