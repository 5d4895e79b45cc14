package splash

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"time"
)

// Numbers of the Wayland protocol (wayland.xml): the requests and events for listing a compositor's globals.
const (
	wlDisplay, wlRegistry, wlCallback = 1, 2, 3
	wlSync, wlGetRegistry             = 0, 1
	wlGlobal, wlDone                  = 0, 0

	maxWaylandEvent  = 4096 // bytes; the limit of libwayland
	maxWaylandEvents = 1000 // compositors have some 50 globals
	waylandPatience  = 2 * time.Second
)

var errNoSeat = errors.New("the Wayland compositor has no seat: no keyboard and no mouse belong to it")

// checkSeat asks the Wayland compositor, if there is one, whether it has a seat. The toolkit's window library (GLFW 3.4)
// does not check and crashes the process without a seat. If the answer is unknown, checkSeat returns nil and leaves errors
// to the toolkit.
func checkSeat(goos string, getenv func(string) string) error {
	name, runtime := cmp.Or(getenv("WAYLAND_DISPLAY"), "wayland-0"), getenv("XDG_RUNTIME_DIR")
	if goos != "linux" || getenv("FYNE_PLATFORM") == "x11" || getenv("WAYLAND_SOCKET") != "" || runtime == "" && !filepath.IsAbs(name) {
		return nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(runtime, name)
	}
	conn, err := net.DialTimeout("unix", name, waylandPatience)
	if err != nil {
		return nil
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(waylandPatience)); err != nil {
		return nil
	}
	if found, err := hasSeat(conn); err == nil && !found {
		return errNoSeat
	}
	return nil
}

// hasSeat requests the list of globals and reads it to its end.
func hasSeat(conn io.ReadWriter) (bool, error) {
	ask := binary.NativeEndian.AppendUint32
	var request []byte
	for _, r := range [][3]uint32{{wlDisplay, wlGetRegistry, wlRegistry}, {wlDisplay, wlSync, wlCallback}} {
		request = ask(ask(ask(request, r[0]), 12<<16|r[1]), r[2])
	}
	if _, err := conn.Write(request); err != nil {
		return false, err
	}
	found := false
	for range maxWaylandEvents {
		var head [8]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return false, err
		}
		object, word := binary.NativeEndian.Uint32(head[:]), binary.NativeEndian.Uint32(head[4:])
		size, event := word>>16, word&0xFFFF
		if size < uint32(len(head)) || size > maxWaylandEvent {
			return false, fmt.Errorf("a Wayland event has %d bytes", size)
		}
		body := make([]byte, size-uint32(len(head)))
		if _, err := io.ReadFull(conn, body); err != nil {
			return false, err
		}
		switch {
		case object == wlCallback && event == wlDone:
			return found, nil
		case object == wlRegistry && event == wlGlobal && len(body) > 8: // name, length of the interface's name, the interface's name
			interfaceName, _, _ := strings.Cut(string(body[8:]), "\x00")
			found = found || interfaceName == "wl_seat"
		}
	}
	return false, fmt.Errorf("more than %d Wayland events", maxWaylandEvents)
}
