package dentest

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Codes of the messages of the Remote Launcher, released dialect (3.1).
const (
	ConnectRequest         byte = 1
	ConnectAccepted        byte = 2
	RequestFileLayout      byte = 3
	ResponseFileLayout     byte = 4
	RequestFileHashes      byte = 5
	ResponseFileHashes     byte = 6
	RequestDeleteFile      byte = 7
	ResponseDeleteFile     byte = 8
	RequestWriteFile       byte = 9
	ResponseWriteFile      byte = 10
	SendFileData           byte = 11
	FileDataReceived       byte = 12
	RequestFinishWriteFile byte = 13
	ResponseFinishFile     byte = 14
	StartApplication       byte = 15
	StopApplication        byte = 16
	Logs                   byte = 17
	RequestSystemProperty  byte = 18
	ResponseSystemProperty byte = 19
	KeepAlive              byte = 20
)

// Signatures of messages 1 and 2, sixteen bytes each (3.1).
const (
	ClientSignature = "DERemLaunchCnt-0"
	ServerSignature = "DERemLaunchSrv-0"
)

// kind is how one field lies in a message (section 1): integers little endian, texts with their length in bytes in front.
type kind byte

const (
	u8     kind = 1
	u32    kind = 2
	u64    kind = 3
	str8   kind = 4
	str16  kind = 5
	sign   kind = 6 // sixteen bytes
	files  kind = 7 // UInt count, then path, size, hash each
	hashes kind = 8 // UInt count, then hash each
	rest   kind = 9 // all bytes to the end of the message
)

// File is one entry of a layout.
type File struct {
	Path string // relative, slashes
	Size uint64 // bytes
	Hash string // SHA-256, 64 lowercase hex digits
}

type field struct {
	name string
	kind kind
}

// layout names a message and its fields in order.
type layout struct {
	name   string
	side   Direction // who sends it; both when zero
	fields []field
}

// schema is the one place that says how the messages lie on the wire (3.1, released dialect).
var schema = map[byte]layout{
	ConnectRequest:         {"connectRequest", ToServer, []field{{"signature", sign}, {"features", u32}, {"name", str8}}},
	ConnectAccepted:        {"connectAccepted", ToClient, []field{{"signature", sign}, {"features", u32}}},
	RequestFileLayout:      {"requestFileLayout", ToClient, nil},
	ResponseFileLayout:     {"responseFileLayout", ToServer, []field{{"files", files}}},
	RequestFileHashes:      {"requestFileBlockHashes", ToClient, []field{{"path", str16}, {"blockSize", u32}}},
	ResponseFileHashes:     {"responseFileBlockHashes", ToServer, []field{{"path", str16}, {"hashes", hashes}}},
	RequestDeleteFile:      {"requestDeleteFile", ToClient, []field{{"path", str16}}},
	ResponseDeleteFile:     {"responseDeleteFile", ToServer, []field{{"path", str16}, {"result", u8}}},
	RequestWriteFile:       {"requestWriteFile", ToClient, []field{{"path", str16}, {"fileSize", u64}, {"blockSize", u64}, {"blockCount", u32}}},
	ResponseWriteFile:      {"responseWriteFile", ToServer, []field{{"path", str16}, {"result", u8}}},
	SendFileData:           {"sendFileData", ToClient, []field{{"path", str16}, {"block", u32}, {"data", rest}}},
	FileDataReceived:       {"fileDataReceived", ToServer, []field{{"path", str16}, {"block", u32}, {"result", u8}}},
	RequestFinishWriteFile: {"requestFinishWriteFile", ToClient, []field{{"path", str16}, {"hash", str8}}},
	ResponseFinishFile:     {"responseFinishWriteFile", ToServer, []field{{"path", str16}, {"result", u8}}},
	StartApplication:       {"startApplication", ToClient, []field{{"gameConfig", str16}, {"profile", str8}, {"arguments", str16}}},
	StopApplication:        {"stopApplication", ToClient, []field{{"mode", u8}}},
	Logs:                   {"logs", ToServer, []field{{"level", u8}, {"source", str8}, {"message", str16}}},
	RequestSystemProperty:  {"requestSystemProperty", ToClient, []field{{"property", str8}}},
	ResponseSystemProperty: {"responseSystemProperty", ToServer, []field{{"property", str8}, {"value", str16}}},
	KeepAlive:              {"keepAlive", 0, nil},
}

// Message is one application message. Values are in the order of its fields: uint64 for numbers, string for texts and
// signatures, []File, []string for hashes, []byte for data.
type Message struct {
	Code   byte
	Values []any
}

// Text is field i as a text.
func (m Message) Text(i int) string { return m.Values[i].(string) }

// Number is field i as a number.
func (m Message) Number(i int) uint64 { return m.Values[i].(uint64) }

// Name is the name of the message in the protocol, or its number.
func (m Message) Name() string {
	if l, known := schema[m.Code]; known {
		return l.name
	}
	return fmt.Sprintf("unknown message %d", m.Code)
}

func (m Message) String() string {
	var b strings.Builder
	b.WriteString(m.Name())
	for i, f := range schema[m.Code].fields {
		switch v := m.Values[i].(type) {
		case string:
			fmt.Fprintf(&b, " %s=%q", f.name, v)
		case []byte:
			fmt.Fprintf(&b, " %s=%d B", f.name, len(v))
		default:
			fmt.Fprintf(&b, " %s=%v", f.name, v)
		}
	}
	return b.String()
}

// Build puts a message together. Numbers may be any integer type. It panics when values and fields don't agree, which is
// a fault of the test.
func Build(code byte, values ...any) []byte {
	l := schema[code]
	if len(values) != len(l.fields) {
		panic(fmt.Sprintf("%s has %d fields, not %d", l.name, len(l.fields), len(values)))
	}
	b := []byte{code}
	for i, f := range l.fields {
		b = put(b, f.kind, values[i])
	}
	return b
}

func put(b []byte, k kind, v any) []byte {
	switch k {
	case u8:
		return append(b, byte(number(v)))
	case u32:
		return binary.LittleEndian.AppendUint32(b, uint32(number(v)))
	case u64:
		return binary.LittleEndian.AppendUint64(b, number(v))
	case str8:
		return append(append(b, byte(len(v.(string)))), v.(string)...)
	case str16:
		return append(binary.LittleEndian.AppendUint16(b, uint16(len(v.(string)))), v.(string)...)
	case sign:
		return append(b, v.(string)[:16]...)
	case rest:
		return append(b, v.([]byte)...)
	case hashes:
		b = binary.LittleEndian.AppendUint32(b, uint32(len(v.([]string))))
		for _, h := range v.([]string) {
			b = put(b, str8, h)
		}
	case files:
		b = binary.LittleEndian.AppendUint32(b, uint32(len(v.([]File))))
		for _, f := range v.([]File) {
			b = put(put(put(b, str16, f.Path), u64, f.Size), str8, f.Hash)
		}
	}
	return b
}

func number(v any) uint64 {
	switch n := v.(type) {
	case byte:
		return uint64(n)
	case uint32:
		return uint64(n)
	case uint64:
		return n
	case int:
		return uint64(n)
	}
	panic(fmt.Sprintf("%T is not a number of a message", v))
}

// Parse reads a message. Bytes behind the known fields are ignored (section 1). A message that is shorter than its fields
// is an error: the released programs would go on with whatever was in memory. Unknown codes give a Message without values.
func Parse(payload []byte) (Message, error) {
	if len(payload) == 0 {
		return Message{}, fmt.Errorf("empty message: a code is needed")
	}
	m, r := Message{Code: payload[0]}, &reader{b: payload[1:]}
	for _, f := range schema[m.Code].fields {
		m.Values = append(m.Values, r.field(f.kind))
		if r.short {
			return m, fmt.Errorf("%s of %d bytes ends inside %q: send the whole field", m.Name(), len(payload), f.name)
		}
	}
	return m, nil
}

// reader takes fields off the front. After a read past the end, short stays true and everything is zero.
type reader struct {
	b     []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.short, r.b = true, nil
		return make([]byte, min(n, 16))
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) u8() byte          { return r.take(1)[0] }
func (r *reader) u16() uint16       { return binary.LittleEndian.Uint16(r.take(2)) }
func (r *reader) u32() uint32       { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *reader) text(n int) string { return string(r.take(n)) }

func (r *reader) field(k kind) any {
	switch k {
	case u8:
		return uint64(r.u8())
	case u32:
		return uint64(r.u32())
	case u64:
		return binary.LittleEndian.Uint64(r.take(8))
	case str8:
		return r.text(int(r.u8()))
	case str16:
		return r.text(int(r.u16()))
	case sign:
		return r.text(16)
	case hashes:
		return list(r, func() string { return r.text(int(r.u8())) })
	case files:
		return list(r, func() File {
			f := File{Path: r.text(int(r.u16()))}
			f.Size = binary.LittleEndian.Uint64(r.take(8))
			f.Hash = r.text(int(r.u8()))
			return f
		})
	}
	return r.take(len(r.b))
}

// list reads a counted list and grows while it reads: the count is the peer's word.
func list[T any](r *reader, one func() T) []T {
	var all []T
	for n := r.u32(); n > 0 && !r.short; n-- {
		all = append(all, one())
	}
	return all
}
