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

// objectCapabilities is the capabilities that a client is granted for the release folder.
func (c *session) objectCapabilities(hello *netproto.Handshake) uint32 {
	if c.catalogue.Folder() == nil || hello.Capabilities&netproto.CapObjects == 0 {
		return 0
	}
	return netproto.CapObjects | hello.Capabilities&netproto.CapUnlisted
}

// addReleaseTags adds to the answer of a client with CapObjects the first things that it needs: the timestamp document and the
// root's version.
func (c *session) addReleaseTags(answer *netproto.HandshakeAnswer) {
	if answer.Capabilities&netproto.CapObjects == 0 {
		return
	}
	f := c.catalogue.Folder()
	answer.Tags = answer.Tags.With(netproto.TagTimestamp, f.Timestamp()).
		With(netproto.TagRoot, binary.LittleEndian.AppendUint64(nil, f.RootVersion()))
}

// serveObject answers a request for a range of a file of the release folder.
func (c *session) serveObject(m *netproto.GetObject) *ending {
	c.requests++
	defer c.activity.Reset(c.server.set.Limits.IdleTime)
	switch {
	case c.catalogue.Folder() == nil:
		return c.sendNoObject(m)
	case c.server.portion <= 0:
		return c.disconnect(limits.CauseUnreadable, netproto.RefuseChanged, m.Request, "Wrong update file max portion size %d, client host '%s'", c.server.portion, c.host)
	}
	b, err := c.catalogue.Folder().Open(m.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c.sendNoObject(m)
	case err != nil:
		return c.endUnreadableObject(m, err)
	}
	defer b.Close()
	offset := int64(min(m.Offset, uint64(b.Size)))
	if m.Length == 0 && offset < b.Size {
		return c.disconnect(limits.CauseMalformed, netproto.RefuseMalformed, m.Request, "Invalid network data from host '%s': a request for no bytes of %s", c.host, quote(m.Name))
	}
	size := int(min(int64(c.limitLength(m.Length)), b.Size-offset))
	send := c.sendObjectByCopy
	if c.sendfile != nil && b.File != nil && size >= minSendfile {
		send = c.sendObjectByFile
	}
	if end := send(m, b, offset, size); end != nil {
		return end
	}
	c.sent += int64(size)
	c.server.metrics.CountRequest(c.generation, transportOf(c.conn), size)
	runtime.Gosched() // see serveRange
	return nil
}

func (c *session) sendNoObject(m *netproto.GetObject) *ending {
	c.log.Debug().Str("file", clip(m.Name)).Msg("Asked for a file that the release folder does not hand out")
	if err := c.write(&netproto.NoObject{Request: m.Request}); err != nil {
		return c.endBroken(err)
	}
	return nil
}

// endUnreadableObject ends the connection because an existing file can't be read. The fault is the server's.
func (c *session) endUnreadableObject(m *netproto.GetObject, err error) *ending {
	why, text := limits.CauseUnreadable, "Can't read %q of the release folder, client host '%s'"
	var changed *catalogue.ChangedError
	if errors.As(err, &changed) {
		why, text = limits.CauseChanged, "%q of the release folder changed while it was handed out, client host '%s'; never write into a file that is there"
	}
	e := c.disconnect(why, netproto.RefuseChanged, m.Request, text, m.Name, c.host)
	e.err = err
	return e
}

// sendObjectByCopy answers with bytes from memory, or with bytes of a file that is read in pieces.
func (c *session) sendObjectByCopy(m *netproto.GetObject, b catalogue.Blob, offset int64, size int) *ending {
	if b.File == nil {
		return c.sendObjectData(m, b.Data[offset:offset+int64(size)])
	}
	return c.sendPieces(&netproto.RangeData{Request: m.Request, Offset: m.Offset}, b.File, offset, size, func() error { return b.CheckUnchanged(m.Name) },
		func(err error) *ending { return c.endUnreadableObject(m, err) })
}

func (c *session) sendObjectData(m *netproto.GetObject, data []byte) *ending {
	if err := c.write(&netproto.RangeData{Request: m.Request, Offset: m.Offset, Data: data}); err != nil {
		return c.endBroken(err)
	}
	return nil
}

// sendObjectByFile answers by sendfile. As for a listed file, the last bytes are sent only after a check of the file.
func (c *session) sendObjectByFile(m *netproto.GetObject, b catalogue.Blob, offset int64, size int) *ending {
	most := size - catalogue.TailSize
	err := c.timed(func() error {
		return c.wire.WriteRange(&netproto.RangeData{Request: m.Request, Offset: m.Offset}, size, func(head []byte) error {
			if err := c.sendfile.send(head, b.File, offset, most); err != nil {
				return err
			}
			if err := b.CheckUnchanged(m.Name); err != nil {
				return &fileError{err}
			}
			return c.sendfile.send(nil, b.File, offset+int64(most), catalogue.TailSize)
		})
	})
	var own *fileError
	if errors.As(err, &own) {
		if changed := b.CheckUnchanged(m.Name); changed != nil { // the cause of the other error
			own.err = changed
		}
		e := c.endUnreadableObject(m, own.err)
		e.farewell, e.linger = nil, false // the client would read it as data
		return e
	}
	if err != nil {
		return c.endBroken(err)
	}
	return nil
}
