package chunk

import (
	"context"
	"io"
)

// cutBuffer is how much of a stream is cut at a time.
const cutBuffer = 1 << 20

// cutAll gives the chunks of r to use, one after the other, in memory that is valid during the call.
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
