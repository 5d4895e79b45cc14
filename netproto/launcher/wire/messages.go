package wire

import "collet/netproto/wire"

// Message is one message of either side, a pointer to one of the types of this package.
type Message interface {
	// Code is the first byte.
	Code() uint8
	// code codes every later field in order: the single definition of the layout.
	code(*coder)
}

// Unknown is what Decode returns for a code that the dialect or the side does not have. Receivers ignore it.
type Unknown struct {
	Number uint8
	Rest   []byte // the bytes behind the code
}

// Code implements Message.
func (m *Unknown) Code() uint8   { return m.Number }
func (m *Unknown) code(c *coder) { c.Rest("Reserved", &m.Rest) }

// kind is one row of the table of messages.
type kind struct {
	from    Side // 0: both
	dialect Dialect
	any     bool // in both dialects
	make    func() Message
}

func both(from Side, m func() Message) []kind { return []kind{{from: from, any: true, make: m}} }
func released(from Side, m func() Message) []kind {
	return []kind{{from: from, dialect: Released, make: m}}
}
func each(from Side, r, d func() Message) []kind {
	return []kind{{from: from, dialect: Released, make: r}, {from: from, dialect: Draft, make: d}}
}

// kinds is the table of all messages, by code (docs/PROTOCOL.md, "Two dialects"; from 192 up "Our own mode").
func kinds(code uint8) []kind {
	switch code {
	case CodeConnectRequest:
		return both(FromDevice, func() Message { return new(ConnectRequest) })
	case CodeConnectAccepted:
		return both(FromDesk, func() Message { return new(ConnectAccepted) })
	case CodeRequestFileLayout:
		return both(FromDesk, func() Message { return new(RequestFileLayout) })
	case CodeResponseFileLayout:
		return each(FromDevice, func() Message { return new(ResponseFileLayout) }, func() Message { return new(DraftFileLayout) })
	case CodeRequestFileBlockHashes:
		return both(FromDesk, func() Message { return new(RequestFileBlockHashes) })
	case CodeResponseFileBlockHashes:
		return each(FromDevice, func() Message { return new(ResponseFileBlockHashes) }, func() Message { return new(DraftFileBlockHash) })
	case CodeRequestDeleteFile:
		return both(FromDesk, func() Message { return new(RequestDeleteFile) })
	case CodeResponseDeleteFile:
		return both(FromDevice, func() Message { return new(ResponseDeleteFile) })
	case CodeRequestWriteFile:
		return both(FromDesk, func() Message { return new(RequestWriteFile) })
	case CodeResponseWriteFile:
		return both(FromDevice, func() Message { return new(ResponseWriteFile) })
	case CodeSendFileData:
		return both(FromDesk, func() Message { return new(SendFileData) })
	case CodeFileDataReceived:
		return both(FromDevice, func() Message { return new(FileDataReceived) })
	case CodeRequestFinishWriteFile:
		return both(FromDesk, func() Message { return new(RequestFinishWriteFile) })
	case CodeResponseFinishWriteFile:
		return both(FromDevice, func() Message { return new(ResponseFinishWriteFile) })
	case CodeStartApplication:
		return both(FromDesk, func() Message { return new(StartApplication) })
	case CodeStopApplication:
		return both(FromDesk, func() Message { return new(StopApplication) })
	case CodeLogs:
		return both(FromDevice, func() Message { return new(Logs) })
	case CodeRequestSystemProperty:
		return released(FromDesk, func() Message { return new(RequestSystemProperty) })
	case CodeResponseSystemProperty:
		return released(FromDevice, func() Message { return new(ResponseSystemProperty) })
	case CodeKeepAlive:
		return released(0, func() Message { return new(KeepAlive) })
	}
	return colletKinds(code)
}

// Encode writes a message. The error is an *EncodeError.
func Encode(d Dialect, m Message) ([]byte, error) {
	size, err := Size(d, m)
	if err != nil {
		return nil, err
	}
	return Append(make([]byte, 0, size), d, m)
}

// Append writes a message behind buf. The error is an *EncodeError.
func Append(buf []byte, d Dialect, m Message) ([]byte, error) {
	c, err := run(wire.Writer(buf), d, m)
	return c.Written(), err
}

// Size is the length of Encode's result in bytes. The error is an *EncodeError.
func Size(d Dialect, m Message) (int, error) {
	c, err := run(wire.Meter(), d, m)
	return c.Size(), err
}

// Decode reads a message that came from a side. Byte fields of the message are slices of payload, so payload must not
// change while the message is in use. Allocations stay within a small multiple of payload. The error is a *FormatError.
func Decode(d Dialect, from Side, payload []byte) (Message, error) {
	if len(payload) == 0 {
		return nil, &FormatError{Field: "Code", Err: errEmpty}
	}
	m := blank(d, from, payload[0])
	if _, err := run(wire.Reader(payload), d, m); err != nil {
		return nil, err
	}
	return m, nil
}

// blank makes the empty message of a code.
func blank(d Dialect, from Side, code uint8) Message {
	for _, k := range kinds(code) {
		if (k.from == 0 || k.from == from) && (k.any || k.dialect == d) {
			return k.make()
		}
	}
	return &Unknown{Number: code}
}
