package netproto

import (
	"fmt"

	"collet/netproto/wire"
)

// FileList lists the files that a C1 server offers this client. It follows an answer that allows a transfer.
type FileList struct {
	Files []ListedFile
	Tags  Tags
}

// ListedFile is one file of a FileList.
type ListedFile struct {
	Path   string
	Size   uint64 // bytes
	SHA256 [32]byte
	Role   uint8  // release.Role: 0 resource, 1 binary; others are ignored
	Index  uint32 // names the file in GetRange on this connection
	Tags   Tags   // at most 65 535 bytes
}

// GetRange requests a part of a file.
type GetRange struct {
	Request uint32 // the client's number for it, unique among outstanding ones
	Index   uint32 // of the FileList
	Offset  uint64 // bytes
	Length  uint32 // bytes
}

// RangeData answers one GetRange. A server sends the requested bytes, limited by its MaxPortion and the end of the file.
type RangeData struct {
	Request uint32
	Offset  uint64 // as requested
	Data    []byte
}

// Refuse is the last message of a C1 server that ends a connection with a reason.
type Refuse struct {
	Reason  RefuseReason
	Request uint32 // the request concerned, 0 if none
	Text    string // for the client's log
}

// Spread requested more connections, because the path from the server loses packets. Earlier servers send it to clients
// with CapSpread; readers skip it.
type Spread struct {
	Connections uint8 // in total, including this one
}

// RefuseReason is why a C1 server ended a connection. The numbers are part of the protocol.
type RefuseReason uint8

// The reasons of C1. Readers accept other numbers, too.
const (
	RefuseIndex     RefuseReason = 1 // no file has this index
	RefuseOffset    RefuseReason = 2 // the offset lies beyond the end of the file
	RefuseTooMany   RefuseReason = 3 // more outstanding requests than allowed
	RefuseChanged   RefuseReason = 4 // the file changed on the server
	RefuseGoingDown RefuseReason = 5 // the server is being stopped
	RefuseMalformed RefuseReason = 6 // a message broke the format
	RefuseBusy      RefuseReason = 7 // the server has no free connection slots; try again later
	RefuseTimeout   RefuseReason = 8 // the client was silent or idle for longer than the server's limit

	RefuseComponents RefuseReason = 9 // components differ, and both ends have sent their manifests
)

// String is the name used in logs; an unknown number prints as such.
func (r RefuseReason) String() string {
	switch r {
	case RefuseIndex:
		return "bad index"
	case RefuseOffset:
		return "bad offset"
	case RefuseTooMany:
		return "too many requests"
	case RefuseChanged:
		return "file changed on the server"
	case RefuseGoingDown:
		return "server is going down"
	case RefuseMalformed:
		return "malformed message"
	case RefuseBusy:
		return "server is full"
	case RefuseTimeout:
		return "no request or answer for too long"
	case RefuseComponents:
		return "components differ"
	default:
		return fmt.Sprintf("reason %d", uint8(r))
	}
}

// ID is the number of the message.
func (*FileList) ID() MessageID { return IDFileList }

// ID is the number of the message.
func (*GetRange) ID() MessageID { return IDGetRange }

// ID is the number of the message.
func (*RangeData) ID() MessageID { return IDRangeData }

// ID is the number of the message.
func (*Refuse) ID() MessageID { return IDRefuse }

// ID is the number of the message.
func (*Spread) ID() MessageID { return IDSpread }

// minListed is the size of a ListedFile with an empty path and tail, in bytes.
const minListed = 4 + 8 + 32 + 1 + 4 + 2

func (m *FileList) code(c *coder) {
	wire.List(c.Coder, "count", 4, &m.Files, c.lim.List, minListed, func(f *ListedFile) { f.code(c) })
	c.tail("tail", &m.Tags)
}

func (f *ListedFile) code(c *coder) {
	c.text("path", &f.Path)
	c.U64("size", &f.Size)
	c.Array("sha256", f.SHA256[:])
	c.U8("role", &f.Role)
	c.U32("index", &f.Index)
	c.tail16("file tail", &f.Tags)
}

func (m *GetRange) code(c *coder) {
	c.U32("request", &m.Request)
	c.U32("file index", &m.Index)
	c.U64("offset", &m.Offset)
	c.U32("length", &m.Length)
}

func (m *RangeData) head(c *coder, size int) int {
	c.U32("request", &m.Request)
	c.U64("offset", &m.Offset)
	return c.Count("length", 4, size, c.lim.Frame, 1)
}

func (m *RangeData) code(c *coder) { c.Bytes("data", &m.Data, m.head(c, len(m.Data))) }

func (m *Refuse) code(c *coder) {
	c.U8("reason", (*uint8)(&m.Reason))
	c.U32("request", &m.Request)
	c.text("text", &m.Text)
}

func (m *Spread) code(c *coder) { c.U8("connections", &m.Connections) }
