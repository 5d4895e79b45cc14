package netproto

import (
	"math"

	"collet/netproto/wire"
)

// InitData follows an engine server's answer that does not end the connection. It has the list of files and the start of
// a game, which an updater ignores.
type InitData struct {
	Descriptor []byte   // see ParseDescriptor; empty if the server has no files
	Properties [][]byte // opaque; at most 65 535
	Time       int64    // synchronised time, milliseconds
}

// GetUpdateFile requests one portion. An engine client has one outstanding request.
type GetUpdateFile struct {
	Index  uint32 // of the descriptor; below 2^31 for engine servers
	Offset uint64 // bytes the client has already; at most the file's size
}

// UpdateFileData answers GetUpdateFile. Data is empty exactly when the offset was the file's size.
type UpdateFileData struct {
	Data []byte // at most 2 GiB - 1
}

// TimeSync follows every Ping that an engine server receives.
type TimeSync struct {
	Time int64 // synchronised time, milliseconds
}

// InfoMessage is a text from an engine server to a player.
type InfoMessage struct {
	Code uint16
	Text string
}

// HashList is sent by later engine servers to game clients. Readers skip it.
type HashList struct {
	Strings []string
}

// ID is the number of the message.
func (*InitData) ID() MessageID { return IDInitData }

// ID is the number of the message.
func (*GetUpdateFile) ID() MessageID { return IDGetUpdateFile }

// ID is the number of the message.
func (*UpdateFileData) ID() MessageID { return IDUpdateFileData }

// ID is the number of the message.
func (*TimeSync) ID() MessageID { return IDTimeSync }

// ID is the number of the message.
func (*InfoMessage) ID() MessageID { return IDInfoMessage }

// ID is the number of the message.
func (*HashList) ID() MessageID { return IDHashList }

func (m *InitData) code(c *coder) {
	c.Bytes("descriptor", &m.Descriptor, c.Count("descriptor size", 4, len(m.Descriptor), c.lim.Frame, 1))
	wire.List(c.Coder, "property count", 2, &m.Properties, c.lim.List, 4, func(p *[]byte) {
		c.Bytes("property", p, c.Count("property size", 4, len(*p), c.lim.Frame, 1))
	})
	c.I64("time", &m.Time)
}

func (m *GetUpdateFile) code(c *coder) {
	c.U32("file index", &m.Index)
	c.U64("offset", &m.Offset)
}

func (m *UpdateFileData) head(c *coder, size int) int {
	return c.Count("portion size", 4, size, math.MaxInt32, 1)
}

func (m *UpdateFileData) code(c *coder) { c.Bytes("portion", &m.Data, m.head(c, len(m.Data))) }

func (m *TimeSync) code(c *coder) { c.I64("time", &m.Time) }

func (m *InfoMessage) code(c *coder) {
	c.U16("code", &m.Code)
	c.text("text", &m.Text)
}

func (m *HashList) code(c *coder) {
	wire.List(c.Coder, "count", 4, &m.Strings, c.lim.List, 4, func(s *string) { c.text("string", s) })
}
