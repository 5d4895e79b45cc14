package sample_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
)

// Numbers of the X protocol.
const (
	xInternAtom    = 16
	xSendEvent     = 25
	xClientMessage = 33
	xGetInputFocus = 43 // asked last: when it is answered, everything before was done
)

// closeWindow asks a window to close, as a window manager does when its button is pressed (ICCCM, section 4.2.8.1).
func closeWindow(t *testing.T, display, window string) {
	t.Helper()
	id, err := strconv.ParseUint(window, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", "/tmp/.X11-unix/X"+strings.TrimPrefix(display, ":"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	x := xclient{t, conn}
	x.send([]byte{'l', 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0}) // little-endian, protocol 11.0, no authorisation
	setup := x.receive(8)
	x.receive(4 * int(binary.LittleEndian.Uint16(setup[6:])))
	protocols, deletion := x.atom("WM_PROTOCOLS"), x.atom("WM_DELETE_WINDOW")
	event := []uint32{xClientMessage | 32<<8, uint32(id), protocols, deletion, 0, 0, 0, 0}
	x.send(x.words(append([]uint32{xSendEvent | 11<<16, uint32(id), 0}, event...)...))
	x.send(x.words(xGetInputFocus | 1<<16))
	x.receive(32)
}

// xclient speaks as much of the X protocol as closeWindow needs.
type xclient struct {
	t    *testing.T
	conn net.Conn
}

func (x xclient) send(data []byte) {
	x.t.Helper()
	if _, err := x.conn.Write(data); err != nil {
		x.t.Fatal(err)
	}
}

func (x xclient) receive(n int) []byte {
	x.t.Helper()
	data := make([]byte, n)
	if _, err := io.ReadFull(x.conn, data); err != nil {
		x.t.Fatal(err)
	}
	return data
}

func (x xclient) words(values ...uint32) []byte {
	var out []byte
	for _, v := range values {
		out = binary.LittleEndian.AppendUint32(out, v)
	}
	return out
}

// atom asks for the number of a name.
func (x xclient) atom(name string) uint32 {
	x.t.Helper()
	padded := append([]byte(name), bytes.Repeat([]byte{0}, -len(name)&3)...)
	x.send(append(x.words(xInternAtom|uint32(2+len(padded)/4)<<16, uint32(len(name))), padded...))
	return binary.LittleEndian.Uint32(x.receive(32)[8:])
}
