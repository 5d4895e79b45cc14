package chunk

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// A pack is a concatenation of packed chunks, in the order in which the publisher read them, file after file. So
// neighbouring missing chunks are contiguous. A packed chunk is a zstd frame whose raw dictionary, number 1, is its context:
// the whole chunks directly before it in the index's file, which a client has just written. A chunk costs nearly as little
// as inside a solid stream (a fifth less than alone on packs of text), and every sequence of missing chunks is one range.
const (
	// maxContext is the size of the largest context, 128 KiB. On stored packs of text 64 KiB cost 5 % more and 256 KiB 5
	// % less; but packing time is proportional, and an edit makes the publisher store the following chunks again, as far
	// as the context reaches.
	maxContext = 128 << 10
	// contextDictionary is the number of the raw dictionary in the frames.
	contextDictionary = 1
)

// worthPacking reports whether packing saves enough to be worth decoding: one byte in 32.
func worthPacking(size, packed int) bool { return packed < size-size/32 }

// chunkEncoder packs chunks sequentially. It belongs to one goroutine.
type chunkEncoder struct {
	probe, plain, context *zstd.Encoder
	out                   bytes.Buffer
	effort                Effort
}

func newChunkEncoder(effort Effort) (*chunkEncoder, error) {
	e, level := &chunkEncoder{effort: effort}, zstd.SpeedBetterCompression
	switch effort {
	case EffortFast:
		level = zstd.SpeedFastest
	case EffortBalanced:
		level = zstd.SpeedDefault
	}
	for _, made := range []struct {
		enc   **zstd.Encoder
		level zstd.EncoderLevel
	}{{&e.probe, zstd.SpeedFastest}, {&e.plain, level}, {&e.context, level}} {
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(made.level), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true), zstd.WithWindowSize(2*maxContext))
		if err != nil {
			return nil, err
		}
		*made.enc = enc
	}
	return e, nil
}

func (e *chunkEncoder) close() error {
	return errors.Join(e.probe.Close(), e.plain.Close(), e.context.Close())
}

// encode returns the packed form of data, or data itself if packing isn't worth it. A quick test without context comes
// first: compressed data is then stored at once.
func (e *chunkEncoder) encode(data, context []byte) ([]byte, error) {
	if probe := e.probe.EncodeAll(data, nil); !worthPacking(len(data), len(probe)) && len(data) >= MinChunk {
		return data, nil
	}
	var packed []byte
	if len(context) == 0 {
		packed = e.plain.EncodeAll(data, nil)
	} else {
		e.out.Reset()
		context = context[max(0, len(context)-e.effort.contextOf()):] // matches count back from the chunk, so the rest may be missing
		if err := e.context.ResetWithOptions(&e.out, zstd.WithEncoderDictRaw(contextDictionary, context)); err != nil {
			return nil, err
		}
		if _, err := e.context.Write(data); err != nil {
			return nil, err
		}
		if err := e.context.Close(); err != nil {
			return nil, err
		}
		packed = bytes.Clone(e.out.Bytes())
	}
	if !worthPacking(len(data), len(packed)) {
		return data, nil
	}
	return packed, nil
}

// chunkDecoder unpacks chunks sequentially. It belongs to one goroutine and has to be closed.
type chunkDecoder struct {
	dec  *zstd.Decoder
	data []byte
}

func newChunkDecoder() (*chunkDecoder, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(2*maxContext))
	return &chunkDecoder{dec: dec, data: make([]byte, 0, MaxChunk)}, err
}

func (d *chunkDecoder) close() { d.dec.Close() }

// decode unpacks c, which follows context in its file, and checks its sum. The result is valid until the next call.
func (d *chunkDecoder) decode(c *Chunk, packed, context []byte) ([]byte, error) {
	data := packed
	if !c.Stored() {
		if err := d.dec.ResetWithOptions(nil, zstd.WithDecoderDictRaw(contextDictionary, context)); err != nil {
			return nil, err
		}
		var err error
		if data, err = d.dec.DecodeAll(packed, d.data[:0:c.Size]); err != nil {
			return nil, fmt.Errorf("chunk %v does not decode: %v", c.Sum, err)
		}
	}
	if len(data) != int(c.Size) || SumChunk(data) != c.Sum {
		return nil, fmt.Errorf("these are not the bytes of chunk %v", c.Sum)
	}
	return data, nil
}
