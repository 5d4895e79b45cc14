package device_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/den"
	"collet/netproto/launcher/device"
	"collet/netproto/launcher/wire"
	"collet/platform"
)

// memConn is a connection in memory, as a device sees it; the other side is a deskEnd.
type memConn struct {
	protocol uint16
	toDevice chan []byte
	toDesk   chan []byte
	over     chan struct{}
	once     sync.Once

	mu     sync.Mutex
	accept func(message []byte) *den.State
}

func newMemConn(protocol uint16) *memConn {
	return &memConn{protocol: protocol, toDevice: make(chan []byte, 10_000), toDesk: make(chan []byte, 100_000), over: make(chan struct{})}
}

func (c *memConn) Send(ctx context.Context, payload []byte) error {
	select {
	case <-c.over:
		return io.EOF
	case <-ctx.Done():
		return ctx.Err()
	case c.toDesk <- append([]byte(nil), payload...):
		return nil
	}
}

func (c *memConn) Receive(ctx context.Context) (den.Message, error) {
	select {
	case <-c.over:
		return den.Message{}, io.EOF
	case <-ctx.Done():
		return den.Message{}, ctx.Err()
	case payload := <-c.toDevice:
		return den.Message{Payload: payload, Reliable: true}, nil
	}
}

func (c *memConn) HandleLinks(accept func(message []byte) *den.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.accept = accept
}

func (c *memConn) Protocol() uint16           { return c.protocol }
func (c *memConn) RemoteAddr() netip.AddrPort { return netip.MustParseAddrPort("127.0.0.1:3413") }
func (c *memConn) Close() error               { c.Abort(); return nil }
func (c *memConn) Abort()                     { c.once.Do(func() { close(c.over) }) }

// deskEnd plays a desk, message by message.
type deskEnd struct {
	t       testing.TB
	conn    *memConn
	dialect wire.Dialect
	device  *device.Device
	stop    func()
	dead    bool // the disk is gone, so that Close may fail
}

// setting is what a test wants of its device.
type setting struct {
	fsys     platform.FS
	protocol uint16
	dialect  wire.Dialect
	launcher device.Launcher
	name     string
}

// connectDevice starts a device with one connection, which is not greeted yet. Later attempts to connect fail.
func connectDevice(t testing.TB, o setting) *deskEnd {
	t.Helper()
	device, err := device.New(device.Options{FS: o.fsys, Name: o.name, Dialect: o.dialect, Launcher: o.launcher, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	desk := &deskEnd{t: t, conn: newMemConn(o.protocol), dialect: o.dialect, device: device}
	desk.runWith(dialOnce(desk.conn))
	return desk
}

// dialOnce connects once; then the desk is away.
func dialOnce(conn *memConn) func(ctx context.Context) (device.Conn, error) {
	first := make(chan *memConn, 1)
	first <- conn
	return func(context.Context) (device.Conn, error) {
		select {
		case conn := <-first:
			return conn, nil
		default:
			return nil, errors.New("no desk there")
		}
	}
}

// runWith runs the device until the test ends, or stop is called.
func (d *deskEnd) runWith(dial func(ctx context.Context) (device.Conn, error)) {
	d.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.device.Run(ctx, dial) }()
	var once sync.Once
	d.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				d.t.Errorf("Run returned %v", err)
			}
			if err := d.device.Close(); err != nil && !d.dead {
				d.t.Error(err)
			}
		})
	}
	d.t.Cleanup(d.stop)
}

// greeted connects a device and greets it.
func greeted(t testing.TB, o setting) *deskEnd {
	t.Helper()
	desk := connectDevice(t, o)
	desk.greet()
	return desk
}

func (d *deskEnd) greet() {
	d.t.Helper()
	request := expectMessage[*wire.ConnectRequest](d)
	d.say(&wire.ConnectAccepted{EnabledFeatures: request.SupportedFeatures})
}

func (d *deskEnd) say(messages ...wire.Message) {
	d.t.Helper()
	for _, m := range messages {
		data, err := wire.Encode(d.dialect, m)
		if err != nil {
			d.t.Fatal(err)
		}
		d.conn.toDevice <- data
	}
}

// patience is how long a device may take to answer.
const patience = 20 * time.Second

// hear is the next message of the device, log lines aside.
func (d *deskEnd) hear() wire.Message {
	d.t.Helper()
	for {
		m := d.hearAny(patience)
		switch m.(type) {
		case nil:
			d.t.Fatal("the device says nothing")
		case *wire.Logs, *wire.LogLines, *wire.KeepAlive:
		default:
			return m
		}
	}
}

// hearAny is the next message of the device, or nil after a while.
func (d *deskEnd) hearAny(wait time.Duration) wire.Message {
	d.t.Helper()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case data := <-d.conn.toDesk:
		m, err := wire.Decode(d.dialect, wire.FromDevice, data)
		if err != nil {
			d.t.Fatal(err)
		}
		return m
	case <-timer.C:
		return nil
	}
}

// expectMessage is the next message, of this type.
func expectMessage[M wire.Message](d *deskEnd) M {
	d.t.Helper()
	m := d.hear()
	want, is := m.(M)
	if !is {
		d.t.Fatalf("the device says %T %+v, want %T", m, m, want)
	}
	return want
}

// answers says a message and compares what comes back.
func (d *deskEnd) answers(m, want wire.Message) {
	d.t.Helper()
	d.say(m)
	if got := d.hear(); !reflect.DeepEqual(got, want) {
		d.t.Fatalf("%T %.300s was answered\n     %T %.300s\nwant %T %.300s", m, fmt.Sprint(m), got, fmt.Sprint(got), want, fmt.Sprint(want))
	}
}

// write sends a whole file as a released desk does, block by block, and returns the last result.
func (d *deskEnd) write(path, content string, blockSize int) wire.Result {
	d.t.Helper()
	return d.writeBlocks(path, content, blockSize, nil)
}

// writeBlocks sends some blocks of a file; nil are all.
func (d *deskEnd) writeBlocks(path, content string, blockSize int, only []int) wire.Result {
	d.t.Helper()
	count := max(1, (len(content)+blockSize-1)/blockSize)
	d.say(&wire.RequestWriteFile{Path: path, FileSize: uint64(len(content)), BlockSize: uint64(blockSize), BlockCount: uint32(count)})
	if r := expectMessage[*wire.ResponseWriteFile](d); r.Result != wire.Success {
		return r.Result
	}
	if only == nil {
		for i := range count {
			only = append(only, i)
		}
	}
	for _, i := range only {
		data := content[i*blockSize : min(len(content), (i+1)*blockSize)]
		d.say(&wire.SendFileData{Path: path, Block: uint32(i), Data: []byte(data)})
		expectMessage[*wire.FileDataReceived](d)
	}
	d.say(&wire.RequestFinishWriteFile{Path: path, Hash: wire.HashOf([]byte(content))})
	return expectMessage[*wire.ResponseFinishWriteFile](d).Result
}

// layout asks for the layout.
func (d *deskEnd) layout() *wire.Layout {
	d.t.Helper()
	d.say(&wire.RequestFileLayout{})
	return wire.NewLayout(expectMessage[*wire.ResponseFileLayout](d).Files)
}
