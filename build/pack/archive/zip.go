package archive

import (
	"archive/zip"
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"collet/build/pack/bundle"
	"collet/netproto/deflate"
)

// Numbers of the zip format (APPNOTE.TXT 6.3, sections 4.4 and 4.5).
const (
	zipUTF8      = 1 << 11     // flag: the name is UTF-8
	zipLater     = 1 << 3      // flag: sizes and checksum follow the data
	zipLevel     = 6           // of compression: level 9 takes clients three times as long and saves half a percent
	zipMemLevel  = 8           // zlib's usual one
	zipVersion10 = 10          // needed for what is stored
	zipVersion20 = 20          // needed for deflate
	zipVersion45 = 45          // needed for sizes of 4 GiB and more
	zipUnix      = 3 << 8      // made by: attributes are Unix's
	zip64Extra   = 1           // extra field with long sizes
	zipLong      = 1<<32 - 1   // a size that says that the extra field has it
	unixRegular  = 0o100000    // type in Unix's attributes
	unixLink     = 0o120000    // type of a symbolic link
	firstYear    = 1980        // of the clock of a zip
	lastYear     = 1980 + 0x7F // of the same
)

// Zip writes a tree into the file out.
func Zip(ctx context.Context, tree bundle.Tree, out string, o Options) error {
	return File(ctx, out, func(f *os.File) error { return EncodeZip(ctx, tree, f, o) })
}

// EncodeZip writes a tree as a zip.
func EncodeZip(ctx context.Context, tree bundle.Tree, out io.Writer, o Options) error {
	tree, err := bundle.NewTree(tree...)
	if err != nil {
		return err
	}
	if year := o.time().Year(); year < firstYear || year > lastYear {
		return fmt.Errorf("a zip can't say the year %d: want %d to %d", year, firstYear, lastYear)
	}
	buffered := bufio.NewWriterSize(out, copyBuffer)
	z := zipper{w: zip.NewWriter(buffered), copier: newCopier(ctx, o), o: o}
	defer func() { z.open.stop() }()
	z.w.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		z.open = startEncoder(w)
		return z.open, nil
	})
	for _, e := range tree {
		if err := z.addEntry(e); err != nil {
			return err
		}
	}
	return errors.Join(z.w.Close(), buffered.Flush())
}

type zipper struct {
	w *zip.Writer
	*copier
	o    Options
	open *encoder // of the last compressed entry; nil before
}

// encoder compresses what is written to it, as zlib does. So a publisher finds how to make the same bytes again, and an update of a compressed
// pack costs what its changes cost. It is not safe for concurrent use.
type encoder struct {
	*io.PipeWriter
	run sync.WaitGroup
	err error // of the compression
}

// startEncoder starts the goroutine that compresses to out. Close and stop wait for it.
func startEncoder(out io.Writer) *encoder {
	in, pipe := io.Pipe()
	e := &encoder{PipeWriter: pipe}
	e.run.Go(func() {
		e.err = deflate.Encode(out, in, deflate.Params{Level: zipLevel, MemLevel: zipMemLevel})
		in.CloseWithError(e.err)
	})
	return e
}

// Close ends the entry.
func (e *encoder) Close() error {
	e.PipeWriter.Close()
	e.run.Wait()
	return e.err
}

// stop ends an entry that failed; it does nothing after Close.
func (e *encoder) stop() {
	if e != nil {
		e.CloseWithError(io.ErrUnexpectedEOF)
		e.run.Wait()
	}
}

// addEntry writes one entry. Empty files and links are stored in any case.
func (z *zipper) addEntry(e bundle.Entry) (err error) {
	if e.Link != "" {
		e.Data, e.From = []byte(e.Link), ""
	}
	in, size, err := content(e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if z.o.Deflate && e.Link == "" && size > 0 {
		return z.deflate(e, in, size)
	}
	return z.store(e, in, size)
}

func (z *zipper) deflate(e bundle.Entry, in io.Reader, size int64) error {
	h := z.header(e)
	h.Method, h.Flags, h.ReaderVersion = zip.Deflate, zipUTF8|zipLater, zipVersion20
	w, err := z.w.CreateHeader(h)
	if err != nil {
		return err
	}
	return z.copy(w, e, in, size)
}

// store reads a file twice, the first time for its checksum, which stands in front of the data.
func (z *zipper) store(e bundle.Entry, in io.Reader, size int64) (err error) {
	sum, err := z.checksum(e, size)
	if err != nil {
		return err
	}
	h := z.header(e)
	h.CRC32, h.CompressedSize64, h.UncompressedSize64 = sum, uint64(size), uint64(size)
	if size >= zipLong {
		h.ReaderVersion, h.Extra = zipVersion45, longSizes(size)
	}
	raw, err := z.w.CreateRaw(h)
	if err != nil {
		return err
	}
	h.Extra = nil // the local header is written; the directory's own has other fields, and the writer makes them
	check := crc32.NewIEEE()
	if err := z.copy(io.MultiWriter(raw, check), e, in, size); err != nil {
		return err
	}
	if check.Sum32() != sum {
		return changed(e)
	}
	return nil
}

func (z *zipper) checksum(e bundle.Entry, size int64) (sum uint32, err error) {
	if e.From == "" {
		return crc32.ChecksumIEEE(e.Data), nil
	}
	in, _, err := content(e)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	quiet := copier{z.ctx, func(int64) {}, z.buf}
	h := crc32.NewIEEE()
	err = quiet.copy(h, e, in, size)
	return h.Sum32(), err
}

// header has what does not depend on the content.
func (z *zipper) header(e bundle.Entry) *zip.FileHeader {
	kind, mode := uint32(unixRegular), e.Mode
	if e.Link != "" {
		kind, mode = unixLink, fs.ModePerm
	}
	date, clock := dosTime(z.o.time())
	return &zip.FileHeader{
		Name: e.Path, Method: zip.Store, Flags: zipUTF8,
		CreatorVersion: zipUnix | zipVersion20, ReaderVersion: zipVersion10,
		//lint:ignore SA1019 the newer field would add an extended time, and be ignored by CreateRaw.
		ModifiedDate: date, ModifiedTime: clock,
		ExternalAttrs: (kind | uint32(mode.Perm())) << 16,
	}
}

// dosTime is a time in UTC as a zip has it.
func dosTime(t time.Time) (date, clock uint16) {
	return uint16(t.Day() + int(t.Month())<<5 + (t.Year()-firstYear)<<9), uint16(t.Second()/2 + t.Minute()<<5 + t.Hour()<<11)
}

// longSizes is the extra field of a local header whose file has 4 GiB or more.
func longSizes(size int64) []byte {
	extra := binary.LittleEndian.AppendUint16(nil, zip64Extra)
	extra = binary.LittleEndian.AppendUint16(extra, 16)
	extra = binary.LittleEndian.AppendUint64(extra, uint64(size))
	return binary.LittleEndian.AppendUint64(extra, uint64(size))
}
