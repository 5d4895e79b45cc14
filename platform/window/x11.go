//go:build !windows

package window

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	answerTime = 2 * time.Second // for one answer of the X server
	maxAnswer  = 1 << 20         // bytes of an answer
	maxSeen    = 4096            // windows that one search examines
	maxDepth   = 3               // frames around a window
)

// Opcodes of the X protocol, version 11, and of the extension X-Resource 1.2.
const (
	opGetWindowAttributes = 3
	opGetGeometry         = 14
	opQueryTree           = 15
	opQueryExtension      = 98
	resQueryVersion       = 0
	resQueryClientIds     = 4
	localClientPID        = 2 // the mask of ResQueryClientIds for process ids
	viewable              = 2 // map-state of a window
)

var errNoDisplay = errors.New("no local X display")

// Finder is a connection to the X server. It is not safe for concurrent use.
type Finder struct {
	conn     net.Conn
	root     uint32
	mask     uint32 // the bits of an id that a client chooses
	resource byte   // opcode of X-Resource
}

// Open connects to the X server that the environment names. getenv is os.Getenv or a test's.
func Open(getenv func(string) string) (*Finder, error) {
	display, err := displayNumber(getenv("DISPLAY"))
	if err != nil {
		return nil, err
	}
	socket := "/tmp/.X11-unix/X" + display
	conn, err := net.DialTimeout("unix", "@"+socket, answerTime) // the abstract socket, which Linux has
	if err != nil {
		conn, err = net.DialTimeout("unix", socket, answerTime)
	}
	if err != nil {
		return nil, fmt.Errorf("display %s: %w", display, err)
	}
	f := &Finder{conn: conn}
	if err = f.handshake(cookie(getenv, display)); err == nil {
		err = f.findResource()
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("display %s: %w", display, err)
	}
	return f, nil
}

// Close closes the connection.
func (f *Finder) Close() error { return f.conn.Close() }

// AskToClose does nothing: on Unix processes are asked by a signal.
func (f *Finder) AskToClose([]int) {}

// displayNumber is the number of a local display: "0" of ":0.0" and of "unix:0".
func displayNumber(display string) (string, error) {
	host, rest, found := strings.Cut(display, ":")
	number, _, _ := strings.Cut(rest, ".")
	if !found || host != "" && host != "unix" || number == "" || strings.Trim(number, "0123456789") != "" {
		return "", errNoDisplay
	}
	return number, nil
}

const cookieName = "MIT-MAGIC-COOKIE-1"

// maxAuthority is the largest authority file in bytes.
const maxAuthority = 1 << 20

// cookie is the secret for a display from the authority file; nil if the file has no entry for it.
func cookie(getenv func(string) string, display string) []byte {
	name := getenv("XAUTHORITY")
	if name == "" {
		name = filepath.Join(getenv("HOME"), ".Xauthority")
	}
	file, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxAuthority))
	if err != nil {
		return nil
	}
	for len(data) >= 2 {
		var fields [4][]byte // address, display number, name of the method, its data
		rest := data[2:]     // after the family
		for i := range fields {
			if len(rest) < 2 || len(rest)-2 < int(binary.BigEndian.Uint16(rest)) {
				return nil
			}
			size := int(binary.BigEndian.Uint16(rest))
			fields[i], rest = rest[2:2+size], rest[2+size:]
		}
		if number := string(fields[1]); (number == "" || number == display) && string(fields[2]) == cookieName {
			return fields[3]
		}
		data = rest
	}
	return nil
}

// pad extends a text to whole words of four bytes.
func pad(data []byte) []byte { return append(slices.Clone(data), make([]byte, -len(data)&3)...) }

var order = binary.LittleEndian

// handshake sets the connection up and reads the root window of the first screen.
func (f *Finder) handshake(secret []byte) error {
	var name []byte
	if secret != nil {
		name = []byte(cookieName)
	}
	hello := []byte{'l', 0, 11, 0, 0, 0, byte(len(name)), 0, byte(len(secret)), byte(len(secret) >> 8), 0, 0}
	if err := f.write(slices.Concat(hello, pad(name), pad(secret))); err != nil {
		return err
	}
	head := make([]byte, 8)
	if _, err := io.ReadFull(f.conn, head); err != nil {
		return err
	}
	body := make([]byte, 4*int(order.Uint16(head[6:])))
	if _, err := io.ReadFull(f.conn, body); err != nil {
		return err
	}
	if head[0] != 1 {
		return errors.New("the X server refuses the connection")
	}
	const fixed = 32 // bytes before the vendor's name
	if len(body) < fixed {
		return io.ErrUnexpectedEOF
	}
	f.mask = order.Uint32(body[8:])
	vendor, formats := int(order.Uint16(body[16:])), int(body[21])
	screen := fixed + (vendor+3)&^3 + 8*formats
	if len(body) < screen+4 {
		return io.ErrUnexpectedEOF
	}
	f.root = order.Uint32(body[screen:])
	return nil
}

// findResource finds the extension that knows the processes of clients.
func (f *Finder) findResource() error {
	name := []byte("X-Resource")
	answer, err := f.ask(opQueryExtension, 0, slices.Concat([]byte{byte(len(name)), 0, 0, 0}, pad(name)))
	if err != nil {
		return err
	}
	if answer[8] == 0 {
		return errors.New("the X server does not know the processes of its clients")
	}
	f.resource = answer[9]
	if answer, err = f.ask(f.resource, resQueryVersion, []byte{1, 2, 0, 0}); err != nil {
		return err
	}
	if major, minor := order.Uint16(answer[8:]), order.Uint16(answer[10:]); major < 1 || major == 1 && minor < 2 {
		return fmt.Errorf("the X server has X-Resource %d.%d; want 1.2", major, minor)
	}
	return nil
}

func (f *Finder) write(data []byte) error {
	if err := f.conn.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return err
	}
	_, err := f.conn.Write(data)
	return err
}

// errRefused is an error of the X server, mostly for a window that is gone.
var errRefused = errors.New("the X server answers with an error")

// ask sends one request and returns its answer of at least 32 bytes.
func (f *Finder) ask(opcode, minor byte, body []byte) ([]byte, error) {
	words := 1 + len(body)/4
	if err := f.write(append([]byte{opcode, minor, byte(words), byte(words >> 8)}, body...)); err != nil {
		return nil, err
	}
	const genericEvent = 35 // the only event with more than 32 bytes
	for {
		answer := make([]byte, 32)
		if _, err := io.ReadFull(f.conn, answer); err != nil {
			return nil, err
		}
		if kind := answer[0] &^ 0x80; kind == 1 || kind == genericEvent {
			more := int64(order.Uint32(answer[4:])) * 4
			if more > maxAnswer {
				return nil, fmt.Errorf("an answer of %d bytes", more)
			}
			answer = append(answer, make([]byte, more)...)
			if _, err := io.ReadFull(f.conn, answer[32:]); err != nil {
				return nil, err
			}
		}
		switch answer[0] {
		case 0:
			return nil, errRefused
		case 1:
			return answer, nil
		}
	}
}

// word is a request's body of one number.
func word(n uint32) []byte { return order.AppendUint32(nil, n) }

// Visible reports whether one of the processes has a visible window.
func (f *Finder) Visible(pids []int) (bool, error) {
	clients, err := f.clients(pids)
	if err != nil || len(clients) == 0 {
		return false, err
	}
	type place struct {
		window uint32
		depth  int
	}
	todo := []place{{f.root, 0}}
	for seen := 0; len(todo) > 0 && seen < maxSeen; seen++ {
		at := todo[0]
		todo = todo[1:]
		if at.window != f.root && clients[at.window&^f.mask] {
			shown, err := f.shown(at.window)
			if err != nil || shown {
				return shown, err
			}
			continue
		}
		if at.depth > maxDepth {
			continue
		}
		children, err := f.children(at.window)
		if err != nil {
			return false, err
		}
		for _, child := range children {
			todo = append(todo, place{child, at.depth + 1})
		}
	}
	return false, nil
}

// clients are the clients of the processes, by the part of their ids that the server chose.
func (f *Finder) clients(pids []int) (map[uint32]bool, error) {
	answer, err := f.ask(f.resource, resQueryClientIds, slices.Concat(word(1), word(0), word(localClientPID)))
	if err != nil {
		return nil, err
	}
	found := map[uint32]bool{}
	rest := answer[32:]
	for range order.Uint32(answer[8:]) {
		if len(rest) < 12 {
			break
		}
		client, size := order.Uint32(rest), int64(order.Uint32(rest[8:]))
		if rest = rest[12:]; int64(len(rest)) < size {
			break
		}
		if size >= 4 && slices.Contains(pids, int(order.Uint32(rest))) {
			found[client&^f.mask] = true
		}
		rest = rest[size:]
	}
	return found, nil
}

// children are the windows in a window. A window that is gone has none.
func (f *Finder) children(window uint32) (list []uint32, err error) {
	answer, err := f.ask(opQueryTree, 0, word(window))
	if errors.Is(err, errRefused) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for rest := answer[32:]; len(rest) >= 4; rest = rest[4:] {
		list = append(list, order.Uint32(rest))
	}
	return list, nil
}

// shown reports whether a window is viewable and larger than a pixel; some libraries have invisible windows for messages.
func (f *Finder) shown(window uint32) (bool, error) {
	attributes, err := f.ask(opGetWindowAttributes, 0, word(window))
	if errors.Is(err, errRefused) {
		return false, nil
	}
	if err != nil || attributes[26] != viewable {
		return false, err
	}
	geometry, err := f.ask(opGetGeometry, 0, word(window))
	if errors.Is(err, errRefused) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return order.Uint16(geometry[16:]) > 1 && order.Uint16(geometry[18:]) > 1, nil
}
