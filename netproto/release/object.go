package release

import (
	"fmt"
	"math/bits"

	"github.com/klauspost/compress/zstd"
)

const (
	// MaxObject is the size in bytes of the largest object: 64 GiB. A publisher refuses larger files of a game, although a listing may name
	// them (MaxFile): their whole objects may be larger than this.
	MaxObject = 64 << 30
	// packWindow is the compression window of a packed document in bytes. It bounds the memory for unpacking.
	packWindow = 4 << 20
)

// Object is a reference to a file of the folder objects/ by the SHA-256 and size of its bytes. The zero value is no object.
type Object struct {
	Sum  Digest // SHA-256
	Size int64  // bytes, at most MaxObject
}

// IsZero reports whether this is no object.
func (o Object) IsZero() bool { return o.Sum.IsZero() }

// Path is the path of the object below the release folder: objects/<2 hex>/<64 hex>.
func (o Object) Path() string {
	digits := o.Sum.Hex()
	return "objects/" + digits[:2] + "/" + digits
}

// HeadPath is the path of a head below the release folder: releases/<64 hex>.release.
func (o Object) HeadPath() string { return "releases/" + o.Sum.Hex() + ".release" }

// Verify checks data against size and digest. The error is an *ObjectError.
func (o Object) Verify(data []byte) error {
	if int64(len(data)) != o.Size {
		return &ObjectError{Object: o, Reason: fmt.Sprintf("has %d bytes", len(data))}
	}
	if got := sumOf(data); got != o.Sum {
		return &ObjectError{Object: o, Reason: "has the digest " + got.String()}
	}
	return nil
}

// ObjectOf is the reference to data.
func ObjectOf(data []byte) Object { return Object{Sum: sumOf(data), Size: int64(len(data))} }

// ObjectError says that bytes are not those of the requested object. It is the fault of their sender.
type ObjectError struct {
	Object Object
	Reason string
}

func (e *ObjectError) Error() string {
	return fmt.Sprintf("object %s of %d bytes: %s", e.Object.Sum, e.Object.Size, e.Reason)
}

// Packed is a reference to a document inside an object compressed with zstd. Sum and Size are the document's own.
type Packed struct {
	Sum    Digest // SHA-256 of the document
	Size   int64  // bytes of the document
	Object Object // the object in objects/
}

// Hex is the hex form without the algorithm.
func (d Digest) Hex() string { return fmt.Sprintf("%x", d.sum[:d.Algorithm.size()]) }

func sumOf(data []byte) Digest {
	h := SHA256.NewHash()
	h.Write(data)
	return SHA256.SumOf(h)
}

func (o *Object) code(c *canon, field string, limit int64) {
	c.literal(`{"sha256":`)
	c.digest(field+" sha256", &o.Sum)
	c.literal(`,"size":`)
	c.size(field+" size", &o.Size, limit)
	c.literal(`}`)
}

func (p *Packed) code(c *canon, field string, limit int64) {
	c.literal(`{"packed":`)
	p.Object.code(c, field+" packed", packBound(limit))
	c.literal(`,"sha256":`)
	c.digest(field+" sha256", &p.Sum)
	c.literal(`,"size":`)
	c.size(field+" size", &p.Size, limit)
	c.literal(`}`)
}

// packBound is the size of the largest packed form of a document: zstd adds little to incompressible data.
func packBound(size int64) int64 { return size + size>>7 + 1024 }

// pack compresses a document as small as zstd can. That is not its highest level, because digests don't repeat. With one
// version of the library, equal documents give equal results.
func pack(document []byte) ([]byte, error) {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(windowFor(len(document))), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, err
	}
	packed := w.EncodeAll(document, nil)
	return packed, w.Close()
}

// windowFor is the smallest window that holds n bytes, at most packWindow. The encoder allocates and clears two of it, but
// what it writes is the same in every window that holds all.
func windowFor(n int) int {
	return min(max(1<<bits.Len(uint(n)), zstd.MinWindowSize), packWindow)
}

// unpack unpacks a document of at most limit bytes, or of one window if that is more. Its memory is bounded by both together.
func unpack(packed []byte, limit int64) ([]byte, error) {
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(packWindow),
		zstd.WithDecoderMaxMemory(uint64(max(limit, packWindow))))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.DecodeAll(packed, nil)
}

// unpackVerified verifies and unpacks the object of a document.
func unpackVerified(document string, packed []byte, from Object, limit int64) ([]byte, error) {
	if err := from.Verify(packed); err != nil {
		return nil, err
	}
	data, err := unpack(packed, limit)
	if err != nil {
		return nil, &FormatError{Document: document, Reason: "can't be unpacked: " + err.Error()}
	}
	return data, nil
}
