package netproto

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
	n := c.length("descriptor size", len(m.Descriptor), c.lim.Frame)
	c.blob("descriptor", &m.Descriptor, n)
	count := c.count16("property count", len(m.Properties), 4)
	m.Properties = resize(m.Properties, count)
	for i := range m.Properties {
		n := c.length("property size", len(m.Properties[i]), c.lim.Frame)
		c.blob("property", &m.Properties[i], n)
	}
	c.i64("time", &m.Time)
}

func (m *GetUpdateFile) code(c *coder) {
	c.u32("file index", &m.Index)
	c.u64("offset", &m.Offset)
}

func (m *UpdateFileData) code(c *coder) {
	n := c.length31("portion size", len(m.Data))
	c.blob("portion", &m.Data, n)
}

func (m *TimeSync) code(c *coder) { c.i64("time", &m.Time) }

func (m *InfoMessage) code(c *coder) {
	c.u16("code", &m.Code)
	c.text("text", &m.Text)
}

func (m *HashList) code(c *coder) {
	count := c.count32("count", len(m.Strings), 4)
	m.Strings = resize(m.Strings, count)
	for i := range m.Strings {
		c.text("string", &m.Strings[i])
	}
}

// resize gives s room for n elements. Writing and measuring, n is its length already.
func resize[T any](s []T, n int) []T {
	if len(s) == n {
		return s
	}
	return make([]T, n)
}
