package archive

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"collet/build/pack/bundle"
)

// linkMode is what links have in a tar; systems ignore it.
const linkMode = 0o777

// TarGz writes a tree into the file out, compressed by gzip
func TarGz(ctx context.Context, tree bundle.Tree, out string, o Options) error {
	return compressed(ctx, tree, out, o, func(w io.Writer) (io.WriteCloser, error) {
		return gzip.NewWriterLevel(w, gzip.DefaultCompression) // no name and no time in its header
	})
}

// TarZst writes a tree into the file out, compressed by zstd.
func TarZst(ctx context.Context, tree bundle.Tree, out string, o Options) error {
	return compressed(ctx, tree, out, o, func(w io.Writer) (io.WriteCloser, error) {
		// One block after the other, so that nothing depends on the number of processors.
		return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1))
	})
}

func compressed(ctx context.Context, tree bundle.Tree, out string, o Options, by func(io.Writer) (io.WriteCloser, error)) error {
	return File(ctx, out, func(f *os.File) error {
		buffered := bufio.NewWriterSize(f, copyBuffer)
		w, err := by(buffered)
		if err != nil {
			return err
		}
		return errors.Join(EncodeTar(ctx, tree, w, o), w.Close(), buffered.Flush())
	})
}

// EncodeTar writes a tree as a tar.
func EncodeTar(ctx context.Context, tree bundle.Tree, out io.Writer, o Options) error {
	tree, err := bundle.NewTree(tree...)
	if err != nil {
		return err
	}
	w, c := tar.NewWriter(out), newCopier(ctx, o)
	for _, e := range tree {
		if err := addTar(w, c, e, o); err != nil {
			return err
		}
	}
	return w.Close()
}

func addTar(w *tar.Writer, c *copier, e bundle.Entry, o Options) (err error) {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: e.Path, Mode: int64(e.Mode.Perm()), ModTime: o.time()}
	if e.Link != "" {
		h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, e.Link, linkMode
		return headerOf(w, h)
	}
	in, size, err := content(e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	h.Size = size
	if err := headerOf(w, h); err != nil {
		return err
	}
	return c.copy(w, e, in, size)
}

func headerOf(w *tar.Writer, h *tar.Header) error {
	if err := w.WriteHeader(h); err != nil {
		return fmt.Errorf("%s: %w", h.Name, err)
	}
	return nil
}
