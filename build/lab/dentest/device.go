package dentest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"collet/netproto/launcher/wire"
)

// DeviceOptions describe a Device. Root and Name are needed.
type DeviceOptions struct {
	Root, Name string
	Slow       bool        // spends the processor time of the released receiver
	Mute       []byte      // codes of messages that are never sent
	Lines      []wire.Logs // sent at each start
	NeverRuns  bool        // a start leaves the run state as it is
}

// Device is the device of the released library, over any number of connections, one after the other. Its
// layout of the files lives as long as it does. It is safe for concurrent use.
type Device struct {
	Journal
	options DeviceOptions
	events  chan struct{}

	mu       sync.Mutex
	conn     *Conn
	run      *State
	accepted bool
	layout   map[string]wire.File // nil: the next request for it scans
	deletes  []string             // wait for a layout
	writes   map[string]*fileWrite
	starts   []wire.StartApplication
	largest  int
	received uint64
}

// fileWrite is one file between RequestWriteFile and RequestFinishWriteFile.
type fileWrite struct {
	wire.RequestWriteFile
	resized, failed bool
	got             map[uint32]bool
}

// NewDevice makes a device that isn't connected. Close it.
func NewDevice(o DeviceOptions) *Device {
	return &Device{options: o, events: make(chan struct{}, 1)}
}

// Events holds a token after each message, and when the link changed. One goroutine may receive.
func (d *Device) Events() <-chan struct{} { return d.events }

// Connect connects to a desk, and returns when the transport stands. The desk must accept the device.
func (d *Device) Connect(ctx context.Context, server string) error {
	_, err := Dial(ctx, server, Options{Journal: &d.Journal, Slow: d.options.Slow}, func(c *Conn) App {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.conn, d.run = c, &State{Values: []byte{wire.RunStopped}}
		d.accepted, d.deletes, d.writes = false, nil, map[string]*fileWrite{}
		d.send(&wire.ConnectRequest{Name: d.options.Name})
		return d
	})
	return err
}

func (d *Device) latest() *Conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.conn
}

// Close ends the connection in order.
func (d *Device) Close() {
	if c := d.latest(); c != nil {
		c.socket.Close()
	}
}

// Kill drops the connection without closing it; the device can connect again.
func (d *Device) Kill() { d.latest().socket.Kill() }

// Starts are the requests to start that came.
func (d *Device) Starts() []wire.StartApplication {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.starts)
}

// Largest is the size of the largest message that came, in bytes.
func (d *Device) Largest() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.largest
}

// FileBytes is how many bytes of file data came.
func (d *Device) FileBytes() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.received
}

// Linked reports whether the run state is linked.
func (d *Device) Linked() (up bool) {
	d.latest().Do(func(time.Time, *Transport) { up = d.run.Up() })
	return up
}

// send encodes and sends. The caller holds mu and the socket.
func (d *Device) send(m wire.Message) {
	if slices.Contains(d.options.Mute, m.Code()) {
		return
	}
	data, err := wire.Encode(wire.Released, m)
	if err != nil {
		d.violate("1", "the device can't send %T: %v", m, err)
		return
	}
	d.conn.transport.Send(time.Now(), data)
}

// Link takes the run state only, and nothing before ConnectAccepted.
func (d *Device) Link(message []byte) *State {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.accepted {
		d.violate("3.4", "a link came before connectAccepted and is refused")
		return nil
	}
	if len(message) == 0 || message[0] != wire.LinkRunState {
		return nil
	}
	return d.run
}

// Changed implements App. A desk that writes the run state hides the next equal value of the device.
func (d *Device) Changed(written bool) {
	if written {
		d.violate("4.1 #11", "the desk wrote the run state")
	}
	notify(d.events)
}

// Closed implements App. What belongs to the connection goes, the layout stays.
func (d *Device) Closed(error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.accepted, d.deletes, d.writes = false, nil, nil
}

// Receive takes one message of the desk. A stale one came a lap late by the fault of the transport.
func (d *Device) Receive(_ time.Time, payload []byte, stale bool) {
	defer notify(d.events)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.largest = max(d.largest, len(payload))
	m, err := wire.Decode(wire.Released, wire.FromDesk, payload)
	if err != nil {
		d.violate("1", "%v", err)
		return
	}
	if accepted, is := m.(*wire.ConnectAccepted); is && !d.accepted {
		d.accepted = true
		if accepted.EnabledFeatures != 0 {
			d.violate("3.2", "feature bits %x were enabled, the device offered none", accepted.EnabledFeatures)
		}
		return
	}
	if !d.accepted {
		d.violate("3.4", "%T before connectAccepted is ignored", m)
		return
	}
	switch m := m.(type) {
	case *wire.RequestFileLayout:
		d.answerLayout()
	case *wire.RequestFileBlockHashes:
		d.answerHashes(m)
	case *wire.RequestDeleteFile:
		d.checkPath(m.Path)
		d.deleteFile(m.Path)
	case *wire.RequestWriteFile:
		d.beginWrite(m)
	case *wire.SendFileData:
		d.writeBlock(m, stale)
	case *wire.RequestFinishWriteFile:
		d.finishWrite(m, stale)
	case *wire.StartApplication:
		d.starts = append(d.starts, *m)
		for _, line := range d.options.Lines {
			d.send(&line)
		}
		if !d.options.NeverRuns {
			d.run.Set(0, wire.RunRunning)
		}
	case *wire.StopApplication:
		d.run.Set(0, wire.RunStopped)
	case *wire.RequestSystemProperty:
		values := map[string]string{wire.PropertyProfiles: "Default\nLow", wire.PropertyDefaultProfile: "Default"}
		d.send(&wire.ResponseSystemProperty{Property: m.Property, Value: values[m.Property]})
	}
}

func (d *Device) full(path string) string {
	return filepath.Join(d.options.Root, filepath.FromSlash(path))
}

// checkPath notes paths that a released device would follow out of its data folder.
func (d *Device) checkPath(path string) {
	if !safePath(path) {
		d.violate("5.4", "path %q: a released device follows it", path)
	}
}

// answerLayout scans once and answers from memory from then on.
func (d *Device) answerLayout() {
	if d.layout == nil {
		files, err := Scan(d.options.Root)
		if err != nil {
			d.violate("3.6", "scan: %v", err)
		}
		d.layout = map[string]wire.File{}
		for _, f := range files {
			d.layout[f.Path] = f
		}
	}
	d.send(&wire.ResponseFileLayout{Files: slices.Collect(maps.Values(d.layout))})
	waiting := d.deletes
	d.deletes = nil
	for _, path := range waiting {
		d.deleteFile(path)
	}
}

func (d *Device) answerHashes(m *wire.RequestFileBlockHashes) {
	d.checkPath(m.Path)
	if m.BlockSize == 0 {
		d.violate("3.6", "hash request for %q with block size 0 crashes the device", m.Path)
		return
	}
	var hashes []wire.Hash
	if _, known := d.layout[m.Path]; known {
		if data, err := os.ReadFile(d.full(m.Path)); err == nil {
			hashes = BlockHashes(data, int(m.BlockSize))
		}
	}
	d.send(&wire.ResponseFileBlockHashes{Path: m.Path, Hashes: hashes})
}

// deleteFile removes a file or an empty folder. An absent one is a success, parents stay. It waits for a layout.
func (d *Device) deleteFile(path string) {
	if d.layout == nil {
		d.deletes = append(d.deletes, path)
		return
	}
	delete(d.layout, path)
	answer := &wire.ResponseDeleteFile{Path: path}
	if err := os.Remove(d.full(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		answer.Result, d.layout = wire.Failure, nil
	}
	d.send(answer)
}

// beginWrite truncates a file whose known size differs, and creates nothing.
func (d *Device) beginWrite(m *wire.RequestWriteFile) {
	d.checkPath(m.Path)
	w := &fileWrite{RequestWriteFile: *m, got: map[uint32]bool{}}
	known, there := d.layout[m.Path]
	w.resized = !there || known.Size != m.FileSize
	answer := &wire.ResponseWriteFile{Path: m.Path}
	switch {
	case m.BlockSize == 0:
		d.violate("4.1 #6", "write request for %q with block size 0", m.Path)
	case uint64(m.BlockCount) != wire.BlockCount(m.FileSize, m.BlockSize):
		d.violate("3.5", "write request for %q: %d bytes in blocks of %d are not %d blocks", m.Path, m.FileSize, m.BlockSize, m.BlockCount)
	case d.layout == nil:
		d.violate("4.1 #3", "write request for %q without a layout is refused", m.Path)
		answer.Result = wire.Failure
	case there && w.resized:
		if err := os.Truncate(d.full(m.Path), 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
			answer.Result, d.layout = wire.Failure, nil
		}
	}
	if delete(d.writes, m.Path); answer.Result == wire.Success {
		d.writes[m.Path] = w
	}
	d.send(answer)
}

// ignored notes what a released device drops without an answer. A desk that waits for the answer hangs.
func (d *Device) ignored(stale bool, format string, args ...any) {
	if !stale {
		d.violate("3.6", format, args...)
	}
}

// writeBlock writes in place. Unknown files and blocks get no answer.
func (d *Device) writeBlock(m *wire.SendFileData, stale bool) {
	w := d.writes[m.Path]
	switch {
	case w == nil:
		d.ignored(stale, "data for %q, whose writing was not asked for, gets no answer", m.Path)
		return
	case m.Block >= w.BlockCount:
		w.failed = true
		d.violate("3.6", "block %d of %q, which has %d: no answer, the file has failed", m.Block, m.Path, w.BlockCount)
		return
	}
	begin := uint64(m.Block) * w.BlockSize
	if want := min(w.BlockSize, w.FileSize-min(w.FileSize, begin)); uint64(len(m.Data)) != want {
		d.violate("3.6", "%d bytes for block %d of %q, which has %d: the heap overflows, or the rest becomes zeros", len(m.Data), m.Block, m.Path, want)
		return
	}
	w.got[m.Block] = true
	d.received += uint64(len(m.Data))
	answer := &wire.FileDataReceived{Path: m.Path, Block: m.Block}
	if err := d.writeAt(m.Path, int64(begin), m.Data); err != nil {
		answer.Result, d.layout = wire.Failure, nil
	}
	d.send(answer)
}

func (d *Device) writeAt(path string, at int64, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(d.full(path)), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(d.full(path), os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, at)
	return errors.Join(err, f.Close())
}

// finishWrite hashes the announced number of bytes. A file of no bytes passes even if it does not exist.
func (d *Device) finishWrite(m *wire.RequestFinishWriteFile, stale bool) {
	w := d.writes[m.Path]
	if w == nil || w.failed {
		d.ignored(stale, "finish of %q before its write request, or after it failed, gets no answer", m.Path)
		return
	}
	if w.resized && !stale && uint32(len(w.got)) < w.BlockCount {
		d.violate("4.1 #6", "finish of %q, whose size changed, with %d of %d blocks", m.Path, len(w.got), w.BlockCount)
	}
	delete(d.writes, m.Path)
	answer := &wire.ResponseFinishWriteFile{Path: m.Path}
	f, err := os.Open(d.full(m.Path))
	var data []byte
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(f, int64(w.FileSize)))
		_ = f.Close() // only read
	}
	switch {
	case err != nil && !(errors.Is(err, fs.ErrNotExist) && w.FileSize == 0):
		answer.Result, d.layout = wire.Failure, nil
	case wire.HashOf(data) != m.Hash:
		answer.Result, d.layout = wire.HashMismatch, nil
	case d.layout != nil:
		d.layout[m.Path] = wire.File{Path: m.Path, Size: w.FileSize, Hash: m.Hash}
	}
	d.send(answer)
}
