package server

import (
	"cmp"
	"errors"
	"os"
	"runtime"
	"time"

	"collet/netproto"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/limits"
)

// handleMessage answers one message. It returns nil if the conversation continues.
func (c *session) handleMessage(m netproto.Message) *ending {
	switch m := m.(type) {
	case *netproto.Ping:
		return c.answerPing(m)
	case *netproto.GetUpdateFile:
		return c.serveRange(request{index: m.Index, offset: m.Offset, length: c.server.portion})
	case *netproto.GetRange:
		c.unanswered.Add(-1)
		if end := c.serveRange(request{number: m.Request, index: m.Index, offset: m.Offset, length: c.limitLength(m.Length), own: true}); end != nil {
			return end
		}
		return c.requestConnections()
	case *netproto.GetObject:
		c.unanswered.Add(-1)
		if end := c.serveObject(m); end != nil {
			return end
		}
		return c.requestConnections()
	case *netproto.ComponentManifest:
		return c.receiveManifest(m)
	default:
		return nil // an unknown message, which is skipped
	}
}

// answerPing answers a question. Every ping of an engine's client, question or answer, draws a TimeSync.
func (c *session) answerPing(m *netproto.Ping) *ending {
	var messages []netproto.Message
	if !m.Answer {
		c.peerPingPending.Store(false)
		messages = append(messages, &netproto.Ping{Answer: true})
	}
	if c.generation.Engine() {
		messages = append(messages, &netproto.TimeSync{Time: c.server.clock()})
	}
	if len(messages) == 0 {
		return nil
	}
	if err := c.write(messages...); err != nil {
		return c.endBroken(err)
	}
	return nil
}

// limitLength is how many of the requested bytes a C1 client gets: at most one portion.
func (c *session) limitLength(length uint32) int {
	return int(min(int64(length), int64(c.server.portion)))
}

// request is a request for a part of a file, of any generation.
type request struct {
	number uint32 // C1: the client's number
	index  uint32
	offset uint64
	length int  // bytes, at most the portion size
	own    bool // C1
}

// serveRange answers a request with bytes or ends the connection. The checks and their order are the source's.
func (c *session) serveRange(r request) *ending {
	c.requests++
	defer c.activity.Reset(c.server.set.Limits.IdleTime) // sending a slow portion is activity, too
	f, known := c.catalogue.FileAt(r.index)
	switch {
	case !known:
		return c.disconnect(limits.CauseIndex, netproto.RefuseIndex, r.number, "Wrong file index %d, from host '%s'", r.index, c.host)
	case c.server.portion <= 0:
		return c.disconnect(limits.CauseUnreadable, netproto.RefuseChanged, r.number, "Wrong update file max portion size %d, client host '%s'", c.server.portion, c.host)
	case r.offset > uint64(f.Size):
		return c.disconnect(limits.CauseOffset, netproto.RefuseOffset, r.number, "Wrong update file offset %d, file index %d, client host '%s'", r.offset, r.index, c.host)
	case r.own && r.length == 0 && r.offset < uint64(f.Size):
		return c.disconnect(limits.CauseMalformed, netproto.RefuseMalformed, r.number, "Invalid network data from host '%s': a request for no bytes of file index %d", c.host, r.index)
	}
	size := int(min(int64(r.length), f.Size-int64(r.offset)))
	send := c.sendRangeByCopy
	if c.usesSendfile(f, r, size) {
		send = c.sendRangeByFile
	}
	if end := send(f, r, size); end != nil {
		return end
	}
	c.sent += int64(size)
	c.server.metrics.CountRequest(c.generation, transportOf(c.conn), size)
	runtime.Gosched() // without it the fastest client would occupy a processor and starve the others
	return nil
}

// sendRangeByCopy answers with size bytes from memory, or of a file that is read in pieces.
func (c *session) sendRangeByCopy(f *catalogue.File, r request, size int) *ending {
	if f.InMemory {
		if err := c.write(r.answer(f.Data[r.offset : r.offset+uint64(size)])); err != nil {
			return c.endBroken(err)
		}
		return nil
	}
	in, done, err := f.Open()
	if err != nil {
		return c.endUnreadable(f, r, err)
	}
	defer done()
	if f.IsUnseen() {
		if err := f.Check(in); err != nil {
			return c.endUnreadable(f, r, err)
		}
	}
	return c.sendPieces(r.answer(nil), in, int64(r.offset), size, func() error { return f.Check(in) },
		func(err error) *ending { return c.endUnreadable(f, r, err) })
}

// sendPieces answers with size bytes of a file from offset on, and holds one piece in memory at a time. The last piece is sent
// after a check of the file, so a portion during which the file changed never completes at the client. A fault of the file ends
// the connection with the ending that refuse returns, without a farewell if a part of the portion was sent.
func (c *session) sendPieces(m netproto.Message, in *os.File, offset int64, size int, look func() error, refuse func(error) *ending) *ending {
	pieces, done := 0, 0
	err := c.timed(func() error {
		return c.wire.WritePieces(m, size, func(piece []byte) error {
			pieces++
			n, err := in.ReadAt(piece, offset+int64(done))
			if done += n; n == len(piece) {
				err = nil
			}
			if err == nil && done < size {
				return nil
			}
			if err = cmp.Or(look(), err); err != nil { // a change is the cause of other errors
				return &fileError{err}
			}
			return nil
		})
	})
	var own *fileError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &own):
		return c.endBroken(err)
	}
	e := refuse(own.err)
	if pieces > 1 {
		e.farewell, e.linger = nil, false // the client would read it as data
	}
	return e
}

func (r request) answer(data []byte) netproto.Message {
	if r.own {
		return &netproto.RangeData{Request: r.number, Offset: r.offset, Data: data}
	}
	return &netproto.UpdateFileData{Data: data}
}

// endUnreadable ends the connection because a listed file can't be sent. The fault is the server's.
func (c *session) endUnreadable(f *catalogue.File, r request, err error) *ending {
	var changed *catalogue.ChangedError
	if errors.As(err, &changed) {
		e := c.disconnect(limits.CauseChanged, netproto.RefuseChanged, r.number, "Update file %q changed on disk since startup, file index %d, client host '%s'; reload to offer it as it is", f.Path, r.index, c.host)
		e.err = err
		return e
	}
	e := c.disconnect(limits.CauseUnreadable, netproto.RefuseChanged, r.number, "Can't read update file %q, file index %d, client host '%s'", f.Path, r.index, c.host)
	e.err = err
	return e
}

// clock is the synchronised time: milliseconds since the server was created.
func (s *Server) clock() int64 { return time.Since(s.started).Milliseconds() }
