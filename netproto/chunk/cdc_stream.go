package chunk

import (
	"context"
	"io"
)

// cutBuffer is how many bytes of a stream are buffered for cutting.
const cutBuffer = 1 << 20

// cutAll calls use with each chunk of r in order. data is valid during the call.
func cutAll(ctx context.Context, g Grain, r io.Reader, use func(data []byte) error) error {
	buf := make([]byte, 0, cutBuffer)
	for ended := false; !ended; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.ReadFull(r, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if ended = err == io.EOF || err == io.ErrUnexpectedEOF; err != nil && !ended {
			return err
		}
		rest := buf
		for len(rest) >= MaxChunk || ended && len(rest) > 0 {
			size := g.Cut(rest)
			if err := use(rest[:size]); err != nil {
				return err
			}
			rest = rest[size:]
		}
		buf = buf[:copy(buf, rest)]
	}
	return nil
}
