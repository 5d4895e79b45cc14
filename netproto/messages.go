package netproto

import (
	"fmt"

	"collet/netproto/compat"
)

// MessageID is the number of a message on the wire. Below 64 and above 99 they are the engine's, from 64 to
// 72 our own (docs/PROTOCOL.md).
type MessageID uint8

// The messages that this package knows.
const (
	IDHandshake       MessageID = 1
	IDDisconnect      MessageID = 2
	IDHandshakeAnswer MessageID = 3
	IDInitData        MessageID = 4
	IDPing            MessageID = 15
	IDGetUpdateFile   MessageID = 19
	IDUpdateFileData  MessageID = 23
	IDInfoMessage     MessageID = 32
	IDFileList        MessageID = 64
	IDGetRange        MessageID = 65
	IDRangeData       MessageID = 66
	IDRefuse          MessageID = 67
	IDSpread          MessageID = 68
	IDGetObject       MessageID = 69
	IDNoObject        MessageID = 70

	IDComponentManifest MessageID = 71
	IDAskHello          MessageID = 72

	IDTimeSync MessageID = 107
	IDHashList MessageID = 122
)

// Message is one of the messages of this package; other packages can't add any.
type Message interface {
	// ID is the number on the wire.
	ID() MessageID
	// code defines the layout for reading, writing and measuring.
	code(c *coder)
}

// Side is one end of a connection.
type Side uint8

// The two ends of a connection.
const (
	ClientSide Side = 1
	ServerSide Side = 2
)

// String is the word used in logs.
func (s Side) String() string {
	switch s {
	case ClientSide:
		return "client"
	case ServerSide:
		return "server"
	default:
		return fmt.Sprintf("side %d", uint8(s))
	}
}

// family is the set of generations that have a message.
type family uint8

const (
	everywhere family = 0
	engineOnly family = 1
	ownOnly    family = 2
)

// kind describes a message beside its layout.
type kind struct {
	name   string
	create func() Message
	from   Side // the sender; 0 is both
	family family
	skip   bool // readers skip it as if it were unknown
	most   int  // largest body in bytes; 0 means the frame's limit
}

// kinds is the table of all messages.
var kinds = map[MessageID]kind{
	IDHandshake:       {name: "Handshake", create: func() Message { return new(Handshake) }, from: ClientSide},
	IDDisconnect:      {name: "Disconnect", create: func() Message { return new(Disconnect) }, from: ServerSide, family: engineOnly},
	IDHandshakeAnswer: {name: "HandshakeAnswer", create: func() Message { return new(HandshakeAnswer) }, from: ServerSide},
	IDInitData:        {name: "InitData", create: func() Message { return new(InitData) }, from: ServerSide, family: engineOnly},
	IDPing:            {name: "Ping", create: func() Message { return new(Ping) }},
	IDGetUpdateFile:   {name: "GetUpdateFile", create: func() Message { return new(GetUpdateFile) }, from: ClientSide, family: engineOnly},
	IDUpdateFileData:  {name: "UpdateFileData", create: func() Message { return new(UpdateFileData) }, from: ServerSide, family: engineOnly},
	IDInfoMessage:     {name: "InfoMessage", create: func() Message { return new(InfoMessage) }, from: ServerSide, family: engineOnly},
	IDFileList:        {name: "FileList", create: func() Message { return new(FileList) }, from: ServerSide, family: ownOnly},
	IDGetRange:        {name: "GetRange", create: func() Message { return new(GetRange) }, from: ClientSide, family: ownOnly},
	IDRangeData:       {name: "RangeData", create: func() Message { return new(RangeData) }, from: ServerSide, family: ownOnly},
	IDRefuse:          {name: "Refuse", create: func() Message { return new(Refuse) }, from: ServerSide, family: ownOnly},
	IDSpread:          {name: "Spread", create: func() Message { return new(Spread) }, from: ServerSide, family: ownOnly, skip: true},
	IDGetObject:       {name: "GetObject", create: func() Message { return new(GetObject) }, from: ClientSide, family: ownOnly},
	IDNoObject:        {name: "NoObject", create: func() Message { return new(NoObject) }, from: ServerSide, family: ownOnly},
	IDAskHello:        {name: "AskHello", create: func() Message { return new(AskHello) }, from: ServerSide, family: ownOnly},
	IDTimeSync:        {name: "TimeSync", create: func() Message { return new(TimeSync) }, from: ServerSide, family: engineOnly},
	IDHashList:        {name: "HashList", create: func() Message { return new(HashList) }, from: ServerSide, family: engineOnly, skip: true},

	IDComponentManifest: {name: "ComponentManifest", create: func() Message { return new(ComponentManifest) }, family: ownOnly, most: compat.MaxManifest},
}

// String is the name with its number, for logs and errors.
func (id MessageID) String() string {
	if k, known := kinds[id]; known {
		return fmt.Sprintf("%s (%d)", k.name, uint8(id))
	}
	return fmt.Sprintf("message %d", uint8(id))
}

// kindFor finds the message that sender may send under id in generation g.
func kindFor(g Generation, id MessageID, sender Side) (kind, bool) {
	k, known := kinds[id]
	fits := k.family == everywhere || (k.family == engineOnly) == g.Engine()
	return k, known && fits && (k.from == 0 || k.from == sender)
}

// Ping asks for a sign of life, or answers. Each side has at most one unanswered ping.
type Ping struct {
	Answer bool
}

// Disconnect is an engine server's orderly end. It has no fields.
type Disconnect struct{}

// Unknown stands for a skipped message. Written, it sends Body as one field under any number; tests use that to keep readers tolerant.
type Unknown struct {
	Number MessageID
	Size   int    // bytes of the skipped body; meaningless for writing
	Body   []byte // for writing only
}

// ID is the number of the message.
func (*Ping) ID() MessageID { return IDPing }

// ID is the number of the message.
func (*Disconnect) ID() MessageID { return IDDisconnect }

// ID is the number of the message.
func (m *Unknown) ID() MessageID { return m.Number }

func (m *Ping) code(c *coder)       { c.Bool("answer", &m.Answer) }
func (m *Disconnect) code(c *coder) {}
func (m *Unknown) code(c *coder)    { c.Bytes("body", &m.Body, len(m.Body)) }
