package splash

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"path/filepath"
	"testing"
)

// globals is a compositor's answer: one event for each interface, and the end of the list.
func globals(interfaces ...string) (events []byte) {
	word := binary.NativeEndian.AppendUint32
	for i, name := range interfaces {
		text := append([]byte(name), make([]byte, 4-len(name)%4)...)
		size := uint32(8 + 4 + 4 + len(text) + 4)
		events = word(word(events, wlRegistry), size<<16|wlGlobal)
		events = word(word(events, uint32(i+1)), uint32(len(name)+1))
		events = word(append(events, text...), 1)
	}
	return word(word(word(events, wlCallback), 12<<16|wlDone), 7)
}

// TestCompositorWithoutASeat checks that only a missing seat is reported; other problems are left to the window library.
func TestCompositorWithoutASeat(t *testing.T) {
	for name, test := range map[string]struct {
		answer []byte
		want   error
	}{
		"seat":          {globals("wl_compositor", "wl_seat", "xdg_wm_base"), nil},
		"no seat":       {globals("wl_compositor", "xdg_wm_base"), errNoSeat},
		"no end":        {globals("wl_compositor")[:30], nil},
		"no answer":     {nil, nil},
		"huge":          {binary.NativeEndian.AppendUint32([]byte{2, 0, 0, 0}, 0xFFFF0000), nil},
		"smaller event": {binary.NativeEndian.AppendUint32([]byte{2, 0, 0, 0}, 0x00040000), nil},
	} {
		socket := filepath.Join(t.TempDir(), "wayland-7")
		listener, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			io.ReadFull(conn, make([]byte, 24))
			conn.Write(test.answer)
		}()
		env := map[string]string{"WAYLAND_DISPLAY": "wayland-7", "XDG_RUNTIME_DIR": filepath.Dir(socket)}
		if err := checkSeat("linux", func(key string) string { return env[key] }); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		listener.Close()
		<-done
	}
	if err := checkSeat("linux", func(string) string { return "" }); err != nil {
		t.Errorf("without a compositor: %v", err)
	}
}
