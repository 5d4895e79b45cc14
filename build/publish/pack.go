package publish

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"

	"collet/build/advice"
	"collet/build/publish/cache"
	"collet/netproto/chunk"
	"collet/netproto/release"
	"collet/platform"
)

// packer makes whole objects of blobs. It is safe for concurrent use.
type packer struct {
	store     *objectStore
	ledger    *cache.Ledger
	maxBrotli int64 // as chunk.PackObjectOptions takes it
	effort    chunk.Effort
	pool      sync.Pool // of *chunk.ObjectPacker
}

// packWhole makes the whole object of a blob with a number of workers, unless the ledger has it and it exists.
func (p *packer) packWhole(ctx context.Context, b *blobs, sum release.Digest, workers int) (cache.Result, error) {
	if m, known := p.ledger.FindResult(cache.WholeKey(sum)); known && p.store.has(m.Object) {
		p.store.touch(m.Object)
		return m, nil
	}
	in, err := b.openBlob(ctx, sum)
	if err != nil {
		return cache.Result{}, err
	}
	defer in.Close()
	out, err := p.store.create()
	if err != nil {
		return cache.Result{}, err
	}
	length := b.size(sum)
	packer, _ := p.pool.Get().(*chunk.ObjectPacker)
	if packer == nil {
		packer = new(chunk.ObjectPacker)
	}
	defer p.pool.Put(packer)
	encoding, packed, err := packer.Pack(ctx, out, in, length, chunk.PackObjectOptions{MaxBrotli: p.maxBrotli, Workers: workers, Effort: p.effort})
	if err != nil {
		out.drop()
		return cache.Result{}, advice.Because(err, room(err), "pack %s", b.name(sum))
	}
	m := cache.Result{Encoding: release.Encoding(encoding.String())}
	if m.Object, err = sumFile(out, packed); err != nil {
		out.drop()
		return cache.Result{}, advice.Because(err, "", "read back the object of %s", b.name(sum))
	}
	if encoding == chunk.Stored && m.Object.Sum != sum {
		out.drop()
		return cache.Result{}, advice.Wrong("publish when nothing writes there", "%s changed while it was packed", b.name(sum))
	}
	return m, p.store.finish(out, m.Object, func() error { return p.ledger.AddResult(cache.WholeKey(sum), m) })
}

// unpacker decodes whole objects of earlier releases into temporary files, each once. It is safe for concurrent use.
type unpacker struct {
	fs       platform.FS
	mu       sync.Mutex
	unpacked map[release.Digest]bool // blobs below tmpFolder
}

// unpack decodes a whole object into a temporary file and returns its name. The next Open removes it.
func (u *unpacker) unpack(ctx context.Context, s release.Source, length int64) (name string, err error) {
	sum := s.Content
	name = tmpFolder + "/content-" + sum.String()[len("sha256:"):]
	u.mu.Lock()
	known := u.unpacked[sum]
	u.mu.Unlock()
	if known {
		return name, nil
	}
	in, err := openFile(u.fs, s.Whole.Path())
	if err != nil {
		return "", advice.Because(err, "run collet release verify", "object of an earlier release")
	}
	defer in.Close()
	if err := u.fs.MkdirAll(tmpFolder, 0o755); err != nil {
		return "", advice.Because(err, "", "make the folder for unfinished files")
	}
	out, err := u.fs.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
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
		_ = u.fs.Remove(name)
		return "", advice.Because(err, room(err), "unpack object %s", s.Whole.Path())
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.unpacked[sum] = true
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
