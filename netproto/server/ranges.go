package server

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"runtime"

	"collet/netproto"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/limits"
)

// request is a request for a part of a file, of any generation.
type request struct {
	number uint32 // C1: the client's number
	index  uint32 // of a listed file
	offset uint64
	length int  // bytes, at most the portion size
	own    bool // C1
}

func (r request) answer(data []byte) netproto.Message {
	if r.own {
		return &netproto.RangeData{Request: r.number, Offset: r.offset, Data: data}
	}
	return &netproto.UpdateFileData{Data: data}
}

// serveRange answers a request for a listed file, or ends the connection. The checks and their order are the source's.
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
	unreadable := func(err error) *ending { return c.endUnreadable(f, r, err) }
	from := source{data: f.Data}
	if !f.InMemory {
		in, done, err := f.Open()
		if err != nil {
			return unreadable(err)
		}
		defer done()
		from.file, from.check = in, func() error { return f.CheckUnchanged(in) }
		if f.IsUnseen() {
			if err := from.check(); err != nil {
				return unreadable(err)
			}
		}
	}
	return c.sendRange(r, from, int64(r.offset), int(min(int64(r.length), f.Size-int64(r.offset))), unreadable)
}

// serveObject answers a request for a file of the release folder, or ends the connection.
func (c *session) serveObject(m *netproto.GetObject) *ending {
	c.requests++
	defer c.activity.Reset(c.server.set.Limits.IdleTime)
	folder := c.catalogue.Folder()
	if folder != nil && c.server.portion <= 0 {
		return c.disconnect(limits.CauseUnreadable, netproto.RefuseChanged, m.Request, "Wrong update file max portion size %d, client host '%s'", c.server.portion, c.host)
	}
	b, err := catalogue.Blob{}, fs.ErrNotExist
	if folder != nil {
		if m.Offset == 0 {
			c.server.metrics.CountCheck(folder, m.Name)
		}
		b, err = folder.Open(m.Name)
	}
	unreadable := func(err error) *ending { return c.endUnreadableObject(m, err) }
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.log.Debug().Str("file", clip(m.Name)).Msg("Asked for a file that the release folder does not hand out")
		if err := c.out.write(&netproto.NoObject{Request: m.Request}); err != nil {
			return c.endBroken(err)
		}
		return nil
	case err != nil:
		return unreadable(err)
	}
	defer b.Close()
	offset := int64(min(m.Offset, uint64(b.Size)))
	if m.Length == 0 && offset < b.Size {
		return c.disconnect(limits.CauseMalformed, netproto.RefuseMalformed, m.Request, "Invalid network data from host '%s': a request for no bytes of %s", c.host, quote(m.Name))
	}
	from := source{data: b.Data, file: b.File, check: func() error { return b.CheckUnchanged(m.Name) }}
	size := int(min(int64(c.server.limitLength(m.Length)), b.Size-offset))
	return c.sendRange(request{number: m.Request, offset: m.Offset, own: true}, from, offset, size, unreadable)
}

// sendRange answers r with size bytes from offset on. The ending after a fault of the file is unreadable's, without a farewell if a
// part of the range was sent.
func (c *session) sendRange(r request, from source, offset int64, size int, unreadable func(error) *ending) *ending {
	err := c.out.writeRange(r, from, offset, size)
	var fault *fileError
	switch {
	case errors.As(err, &fault):
		end := unreadable(fault.err)
		if fault.partial {
			end.farewell, end.linger = nil, false // the client would read it as data
		}
		return end
	case err != nil:
		return c.endBroken(err)
	}
	c.sent += int64(size)
	c.server.metrics.CountRequest(c.generation, transportOf(c.conn), size)
	runtime.Gosched() // without it the fastest client would occupy a processor and starve the others
	return nil
}

// endUnreadable ends the connection because a listed file can't be sent. The fault is the server's.
func (c *session) endUnreadable(f *catalogue.File, r request, err error) *ending {
	cause, text := limits.CauseUnreadable, "Can't read update file %q, file index %d, client host '%s'"
	var changed *catalogue.ChangedError
	if errors.As(err, &changed) {
		cause, text = limits.CauseChanged, "Update file %q changed on disk since startup, file index %d, client host '%s'; reload to offer it as it is"
	}
	e := c.disconnect(cause, netproto.RefuseChanged, r.number, text, f.Path, r.index, c.host)
	e.err = err
	return e
}

// endUnreadableObject ends the connection because an existing file of the release folder can't be sent. The fault is the server's.
func (c *session) endUnreadableObject(m *netproto.GetObject, err error) *ending {
	cause, text := limits.CauseUnreadable, "Can't read %q of the release folder, client host '%s'"
	var changed *catalogue.ChangedError
	if errors.As(err, &changed) {
		cause, text = limits.CauseChanged, "%q of the release folder changed while it was handed out, client host '%s'; never write into a file that is there"
	}
	e := c.disconnect(cause, netproto.RefuseChanged, m.Request, text, m.Name, c.host)
	e.err = err
	return e
}

// objectCapabilities are the capabilities that a client is granted for a release folder, which may be nil.
func objectCapabilities(folder *catalogue.Folder, requested uint32) uint32 {
	if folder == nil || requested&netproto.CapObjects == 0 {
		return 0
	}
	return netproto.CapObjects | requested&netproto.CapUnlisted
}

// addReleaseTags adds to the answer of a client with CapObjects the first things that it needs: the timestamp document and the
// root's version.
func addReleaseTags(answer *netproto.HandshakeAnswer, folder *catalogue.Folder) {
	if answer.Capabilities&netproto.CapObjects != 0 {
		answer.Tags = answer.Tags.With(netproto.TagTimestamp, folder.Timestamp()).
			With(netproto.TagRoot, binary.LittleEndian.AppendUint64(nil, folder.RootVersion()))
	}
}
