// Package screen gives programs under test a private display: a virtual X server (Xvfb) on a free display number.
//
// A Screen takes screenshots, lists windows, presses keys and clicks. ReadXWD reads the picture format of the server's framebuffer.
//
// The server listens on a local socket only. It has ended when Close returns, and it also ends when the process that started it is killed.
// Xvfb and xdotool are not part of this project; ErrNoScreen and ErrNoDriver say that they are missing.
package screen

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"collet/build/qa/process"
)

const (
	// screenStart is how long a virtual X server may take until it answers; it takes 0.1 s on an idle machine.
	screenStart = 30 * time.Second
	// screenStop is how long it may take to end before it is killed.
	screenStop = 3 * time.Second
	// frameFile is the name under which the server keeps its picture in the folder given with -fbdir.
	frameFile = "Xvfb_screen0"
	// socketFolder is where every X server on a Unix system keeps its local sockets.
	socketFolder = "/tmp/.X11-unix"
)

// ErrNoScreen says that the virtual X server is not installed.
var ErrNoScreen = errors.New("no virtual X server: install the Debian package xvfb")

// Screen is a virtual X server on a free display number, reachable through its local socket only, without a window
// manager and without a visible pointer. Its depth is 24. All methods are safe for concurrent use. Close it.
type Screen struct {
	dir     string
	display string
	server  *process.Process
	hold    net.Conn
}

// Start starts a server of width × height pixels and returns when it answers.
func Start(ctx context.Context, width, height int) (*Screen, error) {
	path, err := exec.LookPath("Xvfb")
	if err != nil {
		return nil, ErrNoScreen
	}
	dir, err := os.MkdirTemp("", "collet-screen-")
	if err != nil {
		return nil, err
	}
	s := &Screen{dir: dir}
	if err := s.startServer(ctx, path, width, height); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Screen) startServer(ctx context.Context, path string, width, height int) error {
	ctx, cancel := context.WithTimeout(ctx, screenStart)
	defer cancel()
	numbers, announce, err := os.Pipe()
	if err != nil {
		return err
	}
	defer numbers.Close()
	geometry := fmt.Sprintf("%dx%dx24", width, height)
	s.server, err = process.Start(process.Options{
		Path: path, Files: []*os.File{announce},
		// -terminate ends the server with its last client, and hold is a client: so it never outlives this process.
		Args: []string{"-displayfd", "3", "-screen", "0", geometry, "-fbdir", s.dir, "-nolisten", "tcp", "-nocursor", "-terminate"},
	})
	announce.Close()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { numbers.SetReadDeadline(time.Now()) })
	defer stop()
	number, err := bufio.NewReader(numbers).ReadString('\n')
	if err != nil {
		return fmt.Errorf("virtual X server named no display: %w", err)
	}
	s.display = ":" + strings.TrimSpace(number)
	s.hold, err = connectX(ctx, filepath.Join(socketFolder, "X"+s.display[1:]))
	return err
}

// connectX opens a connection to an X server and shakes hands (X protocol, section 8: connection setup).
func connectX(ctx context.Context, socket string) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	// Little-endian, protocol 11.0, no authorisation.
	hello := []byte{'l', 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	answer := make([]byte, 8)
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })
	defer stop()
	_, err = conn.Write(hello)
	if err == nil {
		_, err = io.ReadFull(conn, answer)
	}
	if err == nil && answer[0] != 1 {
		err = errors.New("the server refused")
	}
	if err == nil {
		_, err = io.CopyN(io.Discard, conn, 4*int64(binary.LittleEndian.Uint16(answer[6:])))
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("connect to the X server: %w", err)
	}
	return conn, nil
}

// Display returns the value of DISPLAY for programs on this screen.
func (s *Screen) Display() string { return s.display }

// PID returns the process id of the server.
func (s *Screen) PID() int { return s.server.PID() }

// Frame returns the path of the server's framebuffer file: a window dump that changes with every drawing.
func (s *Screen) Frame() string { return filepath.Join(s.dir, frameFile) }

// Environ returns the current environment with changes: a program appears on this screen only, renders in software, and keeps its session
// files in the screen's folder.
func (s *Screen) Environ() []string {
	own := []string{"DISPLAY=" + s.display, "LIBGL_ALWAYS_SOFTWARE=1", "XDG_RUNTIME_DIR=" + s.dir, "XDG_SESSION_TYPE=x11"}
	gone := []string{"DISPLAY", "LIBGL_ALWAYS_SOFTWARE", "XDG_RUNTIME_DIR", "XDG_SESSION_TYPE", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"}
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(gone, name)
	})
	return append(env, own...)
}

// Shot returns a picture of the whole screen. It may show an incomplete drawing.
func (s *Screen) Shot() (*image.NRGBA, error) {
	f, err := os.Open(s.Frame())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadXWD(f)
}

// Close ends the server, and with it the connection of every program on the screen, and removes its files.
func (s *Screen) Close() error {
	if s.hold != nil {
		s.hold.Close()
	}
	if s.server != nil {
		s.server.Stop(screenStop)
	}
	return os.RemoveAll(s.dir)
}

// SavePNG writes a picture to a file.
func SavePNG(path string, m image.Image) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(png.Encode(f, m), f.Close())
}

// Colours counts the different colours of m within r, and stops counting at limit. A blank area has one.
func Colours(m image.Image, r image.Rectangle, limit int) int {
	type colour [4]uint32
	seen := map[colour]bool{}
	r = r.Intersect(m.Bounds())
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			red, green, blue, alpha := m.At(x, y).RGBA()
			seen[colour{red, green, blue, alpha}] = true
			if len(seen) >= limit {
				return limit
			}
		}
	}
	return len(seen)
}
