package chunk

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"collet/platform/interrupt"
)

// UnpackObject unpacks a whole object into the size bytes of a file. Object and file must have exactly the expected
// length: anything shorter or longer is a *DamageError, and at most size bytes are written. Errors of in and out are
// returned unchanged. Memory is MaxWindow and at most 16 MB, whatever the object declares. The caller checks the digests
// of the object and of the file. For many objects use an Unpacker.
func UnpackObject(ctx context.Context, out io.Writer, in io.Reader, e Encoding, size int64) error {
	return new(Unpacker).Unpack(ctx, out, in, e, size)
}

// Unpacker is UnpackObject for many objects, one after the other. It keeps decoders and buffers, about 20 MB at most;
// for small objects making them costs more than decoding. The zero value is ready. One goroutine uses it at a time.
type Unpacker struct {
	in     *bufio.Reader
	out    []byte
	zstd   *zstd.Decoder
	brotli *brotli.Reader
}

// keptObject is the size in bytes of the largest file after which a zstd decoder is kept: a decoder holds the window and
// the decoded data, and for larger files its construction is cheap in comparison.
const keptObject = 8 << 20

// Unpack is UnpackObject.
func (u *Unpacker) Unpack(ctx context.Context, out io.Writer, in io.Reader, e Encoding, size int64) error {
	if u.in == nil {
		u.in, u.out = bufio.NewReaderSize(nil, objectBuffer), make([]byte, objectBuffer)
	}
	u.in.Reset(interrupt.Reader(ctx, in))
	defer u.in.Reset(nil)
	r := &objectReader{r: u.in}
	var err error
	switch e {
	case Stored:
		err = u.copyExactly(out, io.LimitReader(r, size), size, r)
	case Zstd:
		err = u.unpackZstd(out, r, size)
	case Brotli:
		err = u.unpackBrotli(out, r, size, brotliSegment)
	default:
		err = r.damage("it is of %v, which this version doesn't know", e)
	}
	if err != nil {
		return err
	}
	switch _, err := r.r.Peek(1); err {
	case io.EOF:
		return nil
	case nil:
		return r.damage("bytes behind the object's end")
	default:
		return err
	}
}

// objectBuffer is the size of one read, and of one write, in bytes.
const objectBuffer = 128 << 10

// objectReader counts the bytes read of an object and records the error of its reader, to distinguish it from damage.
type objectReader struct {
	r   *bufio.Reader
	at  int64
	err error
}

func (o *objectReader) Read(p []byte) (int, error) {
	n, err := o.r.Read(p)
	o.at += int64(n)
	if err != nil && err != io.EOF {
		o.err = err
	}
	return n, err
}

func (o *objectReader) damage(format string, args ...any) error {
	return &DamageError{What: "object", Offset: o.at, Why: fmt.Sprintf(format, args...)}
}

// fault attributes a decoder's error: to the reader, or to the bytes.
func (o *objectReader) fault(err error) error {
	if o.err != nil {
		return o.err
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return o.damage("it ends too early")
	}
	return o.damage("it does not decode: %v", err)
}

// copyExactly copies the size bytes of decoded to out, and rejects fewer or more.
func (u *Unpacker) copyExactly(out io.Writer, decoded io.Reader, size int64, in *objectReader) error {
	for left := size; ; {
		n, err := decoded.Read(u.out)
		if int64(n) > left {
			return in.damage("it holds more than the %d bytes it should", size)
		}
		if _, err := out.Write(u.out[:n]); err != nil {
			return err
		}
		left -= int64(n)
		if err == io.EOF && left == 0 {
			return nil
		}
		if err != nil {
			return in.fault(err)
		}
	}
}

// unpackZstd writes the size bytes of the single frame in in. openFrame checks the memory that the frame declares.
func (u *Unpacker) unpackZstd(out io.Writer, in *objectReader, size int64) error {
	frame, err := openFrame(in, size)
	if err != nil {
		return err
	}
	dec := u.zstd
	u.zstd = nil
	if dec == nil {
		dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(MaxWindow), zstd.WithDecoderMaxMemory(math.MaxInt64))
		if err != nil {
			return err
		}
	}
	if err = dec.Reset(frame); err == nil {
		err = u.copyExactly(out, dec, size, in)
	}
	if err != nil || size > keptObject {
		dec.Close()
		return checkEnd(err, frame)
	}
	u.zstd = dec
	return checkEnd(dec.Reset(nil), frame)
}

// checkEnd is err, or the error of a frame with surplus data.
func checkEnd(err error, frame *zstdFrame) error {
	if err == nil && !frame.ended {
		return frame.in.damage("its frame goes on behind its content")
	}
	return err
}

// zstdFrame returns the bytes of one frame and then io.EOF, so that a decoder doesn't read beyond it. It parses only the block headers.
type zstdFrame struct {
	in       *objectReader
	head     []byte // bytes to return first
	block    [3]byte
	left     int64 // bytes left of the current block
	checksum int64 // bytes behind the last block
	last     bool
	ended    bool
}

// maxFrameHeader is the size of the largest frame header in bytes (RFC 8878, section 3.1.1).
const maxFrameHeader = 18

// maxBlock is the largest block of a frame in bytes (RFC 8878, section 3.1.1.2.4).
const maxBlock = 128 << 10

// openFrame reads a frame's header. It rejects frames that PackObject does not make: the content size must be present
// and right, without a dictionary, and with a window of at most MaxWindow.
func openFrame(in *objectReader, size int64) (*zstdFrame, error) {
	head, err := in.r.Peek(maxFrameHeader)
	if err != nil && err != io.EOF {
		return nil, err
	}
	var h zstd.Header
	if err := h.Decode(head); err != nil {
		return nil, in.damage("it has no frame: %v", err)
	}
	switch {
	case h.Skippable || !h.HasFCS || h.FrameContentSize != uint64(size):
		return nil, in.damage("its frame states %d bytes of content instead of %d", h.FrameContentSize, size)
	case h.DictionaryID != 0:
		return nil, in.damage("its frame needs dictionary %d", h.DictionaryID)
	case h.SingleSegment && size > MaxWindow, h.WindowSize > MaxWindow:
		return nil, in.damage("its frame needs a window of %d bytes, %d are allowed", max(h.WindowSize, uint64(size)), MaxWindow)
	}
	f := &zstdFrame{in: in, left: int64(h.HeaderSize)}
	if h.HasCheckSum {
		f.checksum = 4
	}
	return f, nil
}

func (f *zstdFrame) Read(p []byte) (int, error) {
	if len(f.head) == 0 && f.left == 0 {
		if err := f.nextBlock(); err != nil {
			return 0, err
		}
	}
	if len(f.head) > 0 {
		n := copy(p, f.head)
		f.head = f.head[n:]
		return n, nil
	}
	n, err := f.in.Read(p[:min(int64(len(p)), f.left)])
	f.left -= int64(n)
	if err == io.EOF && f.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// nextBlock advances to the next block, the checksum or the end.
func (f *zstdFrame) nextBlock() error {
	if f.last {
		f.left, f.checksum = f.checksum, 0
		if f.left == 0 {
			f.ended = true
			return io.EOF
		}
		return nil
	}
	var b [4]byte
	if _, err := io.ReadFull(f.in, b[:3]); err != nil {
		return unexpectedEOF(err)
	}
	v := binary.LittleEndian.Uint32(b[:])
	f.last = v&1 != 0
	f.left = int64(v >> 3)
	if f.left > maxBlock {
		return errBlock
	}
	if v>>1&3 == 1 { // RLE block: one byte, repeated
		f.left = 1
	}
	f.head = f.block[:copy(f.block[:], b[:])]
	return nil
}

var errBlock = errors.New("a block of more than 128 KiB")
