package session

import (
	"context"
	"fmt"

	"collet/netproto"
)

// FetchRange requests the bytes [Offset, End) of a file. Size is the file's whole size as listed.
type FetchRange struct {
	Index  uint32
	Offset int64
	Size   int64
	End    int64 // 0 means Size
}

// end is where the range ends.
func (r FetchRange) end() int64 {
	if r.End == 0 {
		return r.Size
	}
	return r.End
}

// check rejects an invalid range.
func (r FetchRange) check() error {
	if r.Offset < 0 || r.Offset > r.end() || r.end() > r.Size {
		return fmt.Errorf("offset %d to %d of %d bytes", r.Offset, r.end(), r.Size)
	}
	return nil
}

// Fetch fetches the ranges and delivers their bytes in order: all of reqs[0], then all of reqs[1]. An empty range is
// delivered once, with no bytes. deliver runs on the caller's goroutine, one call at a time, and must not keep data.
//
// In C1 a window of outstanding requests, sized to the path, spans several ranges. Responses that arrive out of order
// are buffered. In an engine generation one portion is requested at a time, even for an empty range, as the engine's
// clients do. Engine requests have no end, so surplus bytes of the last portion are dropped.
//
// An error of deliver is returned unchanged. It ends the session like any other error, because requests may be
// outstanding. A cancelled ctx takes effect at once, except inside deliver.
func (c *Client) Fetch(ctx context.Context, reqs []FetchRange, deliver func(i int, data []byte) error) error {
	if err := c.mayTransfer(); err != nil {
		return err
	}
	select {
	case <-c.link.done: // the channels may still hold answers to an earlier call
		return c.link.err
	default:
	}
	for i, r := range reqs {
		if err := r.check(); err != nil {
			return fmt.Errorf("range %d: %w", i, err)
		}
	}
	var err error
	if c.Generation().Engine() {
		err = c.fetchPortions(ctx, reqs, deliver)
	} else {
		spans := make([]span, len(reqs))
		for i, r := range reqs {
			spans[i] = span{index: r.Index, next: r.Offset, end: r.end()}
		}
		err = c.link.requests.run(ctx, &call{spans: spans}, deliver)
	}
	if err != nil {
		c.link.end(err)
	}
	return err
}

// fetchPortions fetches from an engine's server, one portion at a time.
func (c *Client) fetchPortions(ctx context.Context, reqs []FetchRange, deliver func(i int, data []byte) error) error {
	for i, r := range reqs {
		for offset, first := r.Offset, true; first || offset < r.end(); first = false {
			c.link.ledger.expect(replyKey{id: netproto.IDUpdateFileData}, reply{length: r.Size - offset})
			c.link.out.add(&netproto.GetUpdateFile{Index: r.Index, Offset: uint64(offset)})
			got, err := c.link.await(ctx, c.link.portions)
			if err != nil {
				return err
			}
			data := got.message.(*netproto.UpdateFileData).Data
			data = data[:min(int64(len(data)), r.end()-offset)]
			if err := deliver(i, noBytes(data)); err != nil {
				return err
			}
			c.link.conn.Reuse(got.frame)
			offset += int64(len(data))
		}
	}
	return nil
}

// noBytes is data, or nil if it is empty.
func noBytes(data []byte) []byte {
	if len(data) == 0 {
		return nil
	}
	return data
}
