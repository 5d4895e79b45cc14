package dentest_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/build/lab/dentest"
	"collet/netproto/launcher/desk"
	"collet/netproto/launcher/wire"
)

// deskCase is our desk before a reference device, through a proxy.
type deskCase struct {
	desk         *ours
	root, device string
	client       *dentest.Device
	proxy        *dentest.Proxy
}

// deskAndReference connects them. Trees are what each side has before.
func deskAndReference(t testing.TB, ours, theirs map[string][]byte, o dentest.ProxyOptions, more ...func(*desk.Options, *dentest.DeviceOptions)) *deskCase {
	t.Helper()
	c := &deskCase{root: folder(t, ours), device: folder(t, theirs)}
	deskOptions, clientOptions := desk.Options{Root: c.root}, dentest.DeviceOptions{Root: c.device, Name: "Lab"}
	for _, m := range more {
		m(&deskOptions, &clientOptions)
	}
	c.desk = ourDesk(t, deskOptions, "")
	c.proxy = watched(t, c.desk.address, o)
	c.client = client(t, clientOptions)
	must(t, c.client.Connect(within(t, 10*time.Second), c.proxy.Addr().String()))
	c.desk.device(t, "Lab")
	return c
}

// settled pushes and compares.
func (c *deskCase) settled(t testing.TB, limit time.Duration) desk.PushResult {
	t.Helper()
	result := c.desk.push(within(t, limit), t, desk.PushOptions{})
	same(t, c.root, c.device)
	c.client.MustBeClean(t)
	return result
}

// sent are the datagrams of one direction without acks, as hex.
func (c *deskCase) sent(d dentest.Direction) (all []string) {
	for _, g := range c.proxy.Trace() {
		if g.Direction == d && len(g.Data) > 0 && g.Data[0] != dentest.CmdReliableAck {
			all = append(all, hex.EncodeToString(g.Data))
		}
	}
	return all
}

// messages are the requests of our desk in order, as far as they begin a datagram.
func (c *deskCase) messages() (all []byte) {
	for _, g := range c.proxy.Trace() {
		for code := wire.CodeConnectRequest; code <= wire.CodeKeepAlive; code++ {
			if g.Direction == dentest.ToClient && dentest.Carries(code)(&g) {
				all = append(all, code)
			}
		}
	}
	return all
}

// TestDesk41_1_LostConnectionAck: a device whose first connectionAck was lost is served after its second request.
func TestDesk41_1_LostConnectionAck(t *testing.T) {
	t.Parallel()
	drop := dentest.Drop(dentest.Command(dentest.CmdConnectionAck)).Times(1)
	c := deskAndReference(t, dentest.GoldenServerTree(false), dentest.GoldenDeviceTree(), dentest.ProxyOptions{Rules: []dentest.Rule{drop}})
	c.settled(t, 10*time.Second)
	if drop.Met() != 1 {
		t.Error("no ack was lost")
	}
}

// TestDesk41_2_AcceptedThenLink compares the first words of our desk with the recorded ones, byte by byte.
func TestDesk41_2_AcceptedThenLink(t *testing.T) {
	c := deskAndReference(t, nil, nil, dentest.ProxyOptions{})
	eventually(t, "link", 10*time.Second, c.client.Events(), c.client.Linked)
	want := []string{"01000000", "04000002444552656d4c61756e63685372762d3000000000", "05010000000001000101000100"}
	if got := c.sent(dentest.ToClient); len(got) < 3 || !slices.Equal(got[:3], want) {
		t.Errorf("our desk began with %v", got)
	}
	for _, name := range []string{"profiles.names", "profiles.default"} {
		eventually(t, name, 10*time.Second, c.proxy.Events(), func() bool {
			return slices.ContainsFunc(c.sent(dentest.ToClient), func(h string) bool { return strings.Contains(h, hex.EncodeToString([]byte(name))) })
		})
	}
	c.desk.until(t, "profiles", func(all []desk.DeviceInfo) bool { return len(all) == 1 && len(all[0].Profiles) == 2 })
	c.client.MustBeClean(t)
}

// TestDesk41_3_LayoutFirst: a layout is asked for before anything else is done to files.
func TestDesk41_3_LayoutFirst(t *testing.T) {
	c := deskAndReference(t, dentest.GoldenServerTree(false), dentest.GoldenDeviceTree(), dentest.ProxyOptions{})
	c.settled(t, 10*time.Second)
	for _, code := range c.messages() {
		if code == wire.CodeRequestFileLayout {
			return
		}
		if code > wire.CodeRequestFileLayout && code < wire.CodeStartApplication {
			t.Fatalf("message %d came before requestFileLayout", code)
		}
	}
	t.Error("no layout was asked for")
}

// TestDesk41_3_LayoutAgainAfterFailure: a file changed behind the device's cached layout, so the blocks that are sent don't
// make the announced hash; the device drops its layout, and our desk must ask for a new one and get through.
func TestDesk41_3_LayoutAgainAfterFailure(t *testing.T) {
	big := dentest.Noise(1, 400_000)
	c := deskAndReference(t, map[string][]byte{"big": big, "other": []byte("1")}, map[string][]byte{"big": big}, dentest.ProxyOptions{})
	c.settled(t, 10*time.Second)
	broken := slices.Clone(big)
	broken[399_000] ^= 1
	must(t, os.WriteFile(filepath.Join(c.device, "big"), broken, 0o600))
	changed := slices.Clone(big)
	changed[0] ^= 1
	must(t, os.WriteFile(filepath.Join(c.root, "big"), changed, 0o600))
	c.settled(t, 20*time.Second)
}

// TestDesk41_4_EmptyFiles: each written file gets at least one data message.
func TestDesk41_4_EmptyFiles(t *testing.T) {
	tree := map[string][]byte{"empty": {}, "sub/also empty": {}, "was full": {}, "full": []byte("x")}
	c := deskAndReference(t, tree, map[string][]byte{"was full": []byte("something")}, dentest.ProxyOptions{})
	c.settled(t, 10*time.Second)
}

// TestDesk41_5_6_7_StrictDevice changes a tree in every way a device is picky about: sizes, contents, names, folders.
// The device records wrong order, wrong lengths, wrong hashes, wrong counts.
func TestDesk41_5_6_7_StrictDevice(t *testing.T) {
	a, b := dentest.Noise(1, 3_000_000), dentest.Noise(2, 70_000)
	c := deskAndReference(t, map[string][]byte{
		"grows.bin": a, "shrinks.bin": b[:100], "one byte.bin": a, "small.txt": []byte("hello\n"), "exact": a[:61440], "exact+1": a[:61441],
		".hidden/ünicode näme.txt": []byte("x"), "deep/er/and/deeper/file": b,
	}, map[string][]byte{
		"grows.bin": a[:1_000_000], "shrinks.bin": b, "one byte.bin": flipped(a, 2_000_000), "small.txt": []byte("jello\n"),
		"gone": b, "deep/gone too": nil, "exact": a[1:61441],
	}, dentest.ProxyOptions{})
	c.settled(t, 30*time.Second)
	result := c.settled(t, 30*time.Second)
	if r := result.Devices[0]; r.Written != 0 || r.BytesSent != 0 || r.Deleted != 0 {
		t.Errorf("a second push wrote %+v", r)
	}
}

func flipped(data []byte, at int) []byte {
	data = slices.Clone(data)
	data[at] ^= 1
	return data
}

// TestDesk41_8_SmallMessages: no message is above 64 KiB, or every later datagram costs the device its size.
func TestDesk41_8_SmallMessages(t *testing.T) {
	c := deskAndReference(t, map[string][]byte{"big": dentest.Noise(1, 2_000_000)}, nil, dentest.ProxyOptions{Quiet: true})
	c.settled(t, 20*time.Second)
	if n := c.client.Largest(); n > 65536 {
		t.Errorf("the largest message had %d bytes", n)
	}
}

// TestDesk41_9_NoResendsWithoutLoss: a whole push through a slow but honest network plants no copies.
func TestDesk41_9_NoResendsWithoutLoss(t *testing.T) {
	slow := dentest.Impairment{Delay: 10 * time.Millisecond}
	c := deskAndReference(t, dentest.SmallTree(60, 900), nil, dentest.ProxyOptions{ToServer: slow, ToClient: slow})
	c.settled(t, 20*time.Second)
	for _, name := range []string{dentest.CountStoredOld, dentest.CountStoredTwice, dentest.CountOutside} {
		if n := c.client.Count(name); n > 0 {
			t.Errorf("%s: %d", name, n)
		}
	}
}

// TestDesk41_10_StartTimeout: a device that never says that it runs gives an error with its log lines.
func TestDesk41_10_StartTimeout(t *testing.T) {
	c := deskAndReference(t, nil, nil, dentest.ProxyOptions{}, func(d *desk.Options, o *dentest.DeviceOptions) {
		d.Times.Start = 400 * time.Millisecond
		o.NeverRuns, o.Lines = true, []wire.Logs{{Level: wire.LevelError, Source: "Game", Message: "no graphics card"}}
	})
	outcomes, err := c.desk.Start(within(t, 10*time.Second), desk.StartOptions{GameConfig: "<degame/>"})
	must(t, err)
	var late *desk.StartTimeoutError
	if len(outcomes) != 1 || !errors.As(outcomes[0].Err, &late) || len(late.Lines) != 1 || late.Lines[0].Text != "no graphics card" {
		t.Errorf("outcomes %+v", outcomes)
	}
}

// TestDesk41_10_Watchdogs: a device that never answers is given up and named, instead of a push that hangs.
func TestDesk41_10_Watchdogs(t *testing.T) {
	t.Parallel()
	for name, mute := range map[string]byte{"layout": wire.CodeResponseFileLayout, "write": wire.CodeResponseWriteFile, "data": wire.CodeFileDataReceived, "finish": wire.CodeResponseFinishWriteFile} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := deskAndReference(t, dentest.GoldenServerTree(false), nil, dentest.ProxyOptions{}, func(d *desk.Options, o *dentest.DeviceOptions) {
				d.Times = desk.Times{Layout: 500 * time.Millisecond, Hashes: 500 * time.Millisecond, Answer: 500 * time.Millisecond, Finish: 500 * time.Millisecond, Return: time.Second, HashRate: 1 << 40}
				o.Mute = []byte{mute}
			})
			result, err := c.desk.Push(within(t, 20*time.Second), desk.PushOptions{})
			must(t, err)
			var late *desk.WaitError
			if len(result.Devices) != 1 || !errors.As(result.Devices[0].Err, &late) {
				t.Errorf("push ended with %+v, want a *WaitError", result.Devices)
			}
		})
	}
}

// TestDesk41_11_StartStopLogs runs an application twice with log lines; our desk never writes the run state, which the
// device would record, so the second start is seen as well.
func TestDesk41_11_StartStopLogs(t *testing.T) {
	c := deskAndReference(t, nil, nil, dentest.ProxyOptions{}, func(_ *desk.Options, o *dentest.DeviceOptions) {
		o.Lines = []wire.Logs{{Source: "FakeApp", Message: "log line 0"}}
	})
	ctx := within(t, 20*time.Second)
	lines := c.desk.Logs(ctx)
	for range 2 {
		outcomes, err := c.desk.Start(ctx, desk.StartOptions{GameConfig: "<degame/>", Profile: "Low", Arguments: "-x 1"})
		if must(t, err); len(outcomes) != 1 || outcomes[0].Err != nil {
			t.Fatalf("start: %+v", outcomes)
		}
		outcomes, err = c.desk.Stop(ctx, desk.StopOptions{})
		if must(t, err); len(outcomes) != 1 || outcomes[0].Err != nil {
			t.Fatalf("stop: %+v", outcomes)
		}
	}
	for line := range lines {
		if line.Source == "FakeApp" {
			if line.Text != "log line 0" {
				t.Errorf("line %+v", line)
			}
			break
		}
	}
	want := wire.StartApplication{GameConfig: "<degame/>", ProfileName: "Low", Arguments: "-x 1"}
	if starts := c.client.Starts(); len(starts) != 2 || starts[0] != want {
		t.Errorf("starts %v", starts)
	}
	c.client.MustBeClean(t)
}

// TestDeskIPv6 serves over IPv6.
func TestDeskIPv6(t *testing.T) {
	root, device := folder(t, dentest.GoldenServerTree(false)), folder(t, dentest.GoldenDeviceTree())
	d := ourDesk(t, desk.Options{Root: root}, "[::1]:0")
	c := client(t, dentest.DeviceOptions{Root: device, Name: "six"})
	must(t, c.Connect(within(t, 10*time.Second), d.address.String()))
	d.device(t, "six")
	d.push(within(t, 10*time.Second), t, desk.PushOptions{})
	same(t, root, device)
	c.MustBeClean(t)
}

// TestDeskSeveralDevices pushes to five devices at once, two of one name.
func TestDeskSeveralDevices(t *testing.T) {
	root := folder(t, dentest.SmallTree(120, 300))
	d := ourDesk(t, desk.Options{Root: root}, "")
	var roots []string
	var clients []*dentest.Device
	for i, name := range []string{"a", "b", "c", "d", "a"} {
		roots = append(roots, folder(t, map[string][]byte{fmt.Sprint("old ", i): nil}))
		clients = append(clients, client(t, dentest.DeviceOptions{Root: roots[i], Name: name}))
		must(t, clients[i].Connect(within(t, 10*time.Second), d.address.String()))
	}
	d.until(t, "five devices", func(all []desk.DeviceInfo) bool { return len(all) == 5 })
	if result := d.push(within(t, 30*time.Second), t, desk.PushOptions{}); len(result.Devices) != 5 {
		t.Errorf("push reached %d devices", len(result.Devices))
	}
	for i, device := range roots {
		same(t, root, device)
		clients[i].MustBeClean(t)
	}
}

// TestDeskRefusesWhatIsNoDevice: first messages that aren't a connectRequest end in a close.
func TestDeskRefusesWhatIsNoDevice(t *testing.T) {
	d := ourDesk(t, desk.Options{Root: t.TempDir()}, "")
	for _, first := range [][]byte{[]byte{wire.CodeKeepAlive}, []byte("\x01DERemLaunchCnt-1\x00\x00\x00\x00\x01x"), {wire.CodeConnectRequest, 'D', 'E'}} {
		heard := dentest.NewRecorder(nil)
		conn, err := dentest.Dial(within(t, 5*time.Second), d.address.String(), dentest.Options{}, func(*dentest.Conn) dentest.App { return heard })
		must(t, err)
		conn.Send(first)
		select {
		case <-conn.Ended():
		case <-time.After(3 * time.Second):
			t.Errorf("%x: still connected", first)
		}
		if got := heard.Messages(); len(got) != 0 {
			t.Errorf("%x: heard %x", first, got)
		}
		conn.Socket().Close()
	}
}
