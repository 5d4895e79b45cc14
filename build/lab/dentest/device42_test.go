package dentest_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"collet/build/lab/dentest"
	"collet/netproto/launcher/device"
	"collet/netproto/launcher/wire"
)

// deviceCase is our device before a reference server, through a proxy.
type deviceCase struct {
	server       *dentest.Desk
	root, device string
	session      *dentest.Session
	ours         *gear
	app          *app
	proxy        *dentest.Proxy
}

// deviceAndReference connects them. Trees are what each side has before.
func deviceAndReference(t testing.TB, theirs, ours map[string][]byte, o dentest.ProxyOptions, more ...func(*dentest.DeskOptions)) *deviceCase {
	t.Helper()
	c := &deviceCase{root: folder(t, theirs), device: folder(t, ours), app: &app{}}
	options := dentest.DeskOptions{Root: c.root}
	for _, m := range more {
		m(&options)
	}
	c.server = server(t, options)
	c.proxy = watched(t, c.server.Addr(), o)
	c.ours = ourDevice(t, device.Options{Root: c.device, Name: "Lab", Launcher: c.app}, c.proxy.Addr().String())
	var err error
	c.session, err = c.server.Device(within(t, 10*time.Second), 0)
	must(t, err)
	return c
}

// settled synchronises and compares.
func (c *deviceCase) settled(t testing.TB, limit time.Duration) dentest.SyncStats {
	t.Helper()
	stats, err := c.session.Synchronise(within(t, limit))
	must(t, err)
	same(t, c.root, c.device)
	c.server.MustBeClean(t)
	return stats
}

func withBlocks(size uint64) func(*dentest.DeskOptions) {
	return func(o *dentest.DeskOptions) { o.BlockSize = size }
}

// TestDevice42_0_FirstWords: connectRequest is the first message, with number 0, and nothing else is said before
// connectAccepted.
func TestDevice42_0_FirstWords(t *testing.T) {
	c := deviceAndReference(t, nil, nil, dentest.ProxyOptions{ToClient: dentest.Impairment{Delay: 100 * time.Millisecond}})
	must(t, c.session.WaitLinked(within(t, 5*time.Second)))
	want := []byte("\x01DERemLaunchCnt-0\x00\x00\x00\x00\x03Lab")
	accepted := false
	for _, g := range c.proxy.Trace() {
		switch {
		case dentest.Carries(wire.CodeConnectAccepted)(&g):
			accepted = true // when it passed the proxy; it takes a tenth of a second more
		case g.Direction == dentest.ToClient || accepted:
		case dentest.Carries(wire.CodeConnectRequest)(&g):
			if !bytes.Equal(g.Data[3:], want) || g.Data[1] != 0 || g.Data[2] != 0 {
				t.Errorf("connectRequest %x, want payload %x with number 0", g.Data, want)
			}
		case g.Data[0] != dentest.CmdConnectionRequest && g.Data[0] != dentest.CmdReliableAck:
			t.Errorf("before connectAccepted: %x", g.Data)
		}
	}
	c.server.MustBeClean(t)
}

// TestDevice42_1_LostConnectionAck: the first ack is lost, the server repeats nothing; our device takes another port.
func TestDevice42_1_LostConnectionAck(t *testing.T) {
	t.Parallel()
	drop := dentest.Drop(dentest.Command(dentest.CmdConnectionAck)).Times(1)
	c := deviceAndReference(t, dentest.GoldenServerTree(false), dentest.GoldenDeviceTree(), dentest.ProxyOptions{Rules: []dentest.Rule{drop}})
	c.settled(t, 10*time.Second)
	if drop.Met() != 1 {
		t.Error("no ack was lost")
	}
}

// TestDevice42_2_AcksWhileHashing: the server disconnects after 1.5 s without ack, so hashing and disk work must not hold
// acks up.
func TestDevice42_2_AcksWhileHashing(t *testing.T) {
	big := dentest.Noise(1, 48<<20)
	c := deviceAndReference(t, map[string][]byte{"a": big, "b": flipped(big, 40<<20)}, map[string][]byte{"a": flipped(big, 1<<20), "b": big}, dentest.ProxyOptions{})
	c.settled(t, time.Minute)
	if n := c.server.Count(dentest.CountResend); n > 5 {
		t.Errorf("the server resent %d times", n)
	}
}

// TestDevice42_3_OldDuplicates: every datagram of the server comes twice, the copy late.
func TestDevice42_3_OldDuplicates(t *testing.T) {
	twice := dentest.Repeat(15*time.Millisecond, dentest.Toward(dentest.ToClient))
	c := deviceAndReference(t, dentest.SmallTree(50, 3000), dentest.GoldenDeviceTree(), dentest.ProxyOptions{Rules: []dentest.Rule{twice}})
	c.settled(t, 30*time.Second)
	if n := c.server.Count(dentest.CountResend); n > 0 {
		t.Errorf("the server resent %d times", n)
	}
}

// TestDevice42_4_HoldsHashAnswers: 400 changed files of equal size. That answers wait until the desk has asked for
// everything is tested in netproto/launcher/device.
func TestDevice42_4_HoldsHashAnswers(t *testing.T) {
	t.Parallel()
	tree := dentest.SmallTree(400, 20)
	old := map[string][]byte{}
	for name := range tree {
		old[name] = dentest.Noise(5, 20)
	}
	c := deviceAndReference(t, tree, old, dentest.ProxyOptions{Quiet: true})
	if stats := c.settled(t, time.Minute); stats.Hashed != 400 {
		t.Errorf("%+v", stats)
	}
}

// TestDevice42_5_AnswersEverything: nothing a server may ask stays without answer, and writes are not refused. Files in
// place of folders and the reverse are what a released device fails at.
func TestDevice42_5_AnswersEverything(t *testing.T) {
	a := dentest.Noise(1, 300_000)
	c := deviceAndReference(t, map[string][]byte{
		"was folder": []byte("now a file"), "was file/inside": []byte("x"), "empty": {}, "one/two/three": a, "same": a, "changed": flipped(a, 3),
	}, map[string][]byte{
		"was folder/deep/file": []byte("x"), "was file": []byte("x"), "empty": []byte("was full"), "same": a, "changed": a, "gone/gone": nil,
	}, dentest.ProxyOptions{}, withBlocks(65536))
	stats, err := c.session.Synchronise(within(t, 20*time.Second))
	if err != nil {
		// Deletes and writes go out together; a second synchronisation of the same connection must get through even so.
		t.Errorf("first synchronisation: %v (%+v)", err, stats)
	}
	same(t, c.root, c.device)
	c.server.MustBeClean(t)
}

// TestDevice42_6_LostLinkUp: linkUp is repeated, and the run state arrives.
func TestDevice42_6_LostLinkUp(t *testing.T) {
	drop := dentest.Drop(dentest.Command(dentest.CmdLinkUp)).Times(1)
	c := deviceAndReference(t, nil, nil, dentest.ProxyOptions{Rules: []dentest.Rule{drop}})
	must(t, c.session.WaitLinked(within(t, 5*time.Second)))
	c.session.Request(&wire.StartApplication{GameConfig: "<degame/>"})
	must(t, c.session.WaitRunning(within(t, 5*time.Second), true))
	c.session.Request(&wire.StopApplication{})
	must(t, c.session.WaitRunning(within(t, 5*time.Second), false))
	c.server.MustBeClean(t)
}

// TestDevice42_6_LostUpdates: the first updates of a start and of a stop are lost.
func TestDevice42_6_LostUpdates(t *testing.T) {
	c := deviceAndReference(t, nil, nil, dentest.ProxyOptions{Rules: []dentest.Rule{
		dentest.Drop(dentest.Command(dentest.CmdLinkUpdate), dentest.Toward(dentest.ToServer)).Times(2)}})
	must(t, c.session.WaitLinked(within(t, 5*time.Second)))
	c.session.Request(&wire.StartApplication{GameConfig: "<degame/>"})
	must(t, c.session.WaitRunning(within(t, 5*time.Second), true))
	c.session.Request(&wire.StopApplication{})
	must(t, c.session.WaitRunning(within(t, 5*time.Second), false))
}

// TestDevice42_6_RunStateAfterReconnect: the server's zero overwrites the run state with every connection; a device that
// still runs says so again.
func TestDevice42_6_RunStateAfterReconnect(t *testing.T) {
	c := deviceAndReference(t, nil, nil, dentest.ProxyOptions{})
	must(t, c.session.WaitLinked(within(t, 5*time.Second)))
	c.session.Request(&wire.StartApplication{GameConfig: "<degame/>"})
	must(t, c.session.WaitRunning(within(t, 5*time.Second), true))
	c.session.Do(func(_ time.Time, core *dentest.Transport) { core.Close() })
	again, err := c.server.Device(within(t, 20*time.Second), 1)
	must(t, err)
	must(t, again.WaitRunning(within(t, 5*time.Second), true))
	again.Request(&wire.StopApplication{})
	must(t, again.WaitRunning(within(t, 5*time.Second), false))
	c.server.MustBeClean(t)
}

// TestDevice42_7_ReleasedBlocks: blocks of 1,024,000 bytes in 755 parts, two in flight.
func TestDevice42_7_ReleasedBlocks(t *testing.T) {
	c := deviceAndReference(t, map[string][]byte{"big": dentest.Noise(1, 10_500_000)}, nil, dentest.ProxyOptions{Quiet: true})
	if stats := c.settled(t, time.Minute); stats.Blocks != 11 {
		t.Errorf("%+v", stats)
	}
	must(t, os.WriteFile(filepath.Join(c.root, "big"), flipped(dentest.Noise(1, 10_500_000), 5_000_000), 0o600))
	if stats := c.settled(t, time.Minute); stats.Blocks != 1 || stats.Hashed != 1 {
		t.Errorf("one changed byte: %+v", stats)
	}
}

// TestDevice42_8_UnsafePaths: paths that leave the folder are refused with result 1, and nothing happens outside.
func TestDevice42_8_UnsafePaths(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	c := deviceAndReference(t, nil, map[string][]byte{"a": []byte("1")}, dentest.ProxyOptions{})
	must(t, os.WriteFile(filepath.Join(outside, "victim"), []byte("alive"), 0o600))
	must(t, os.Symlink(outside, filepath.Join(c.device, "link")))
	must(t, c.session.WaitLinked(within(t, 5*time.Second)))
	for _, path := range []string{"../victim", filepath.Join(outside, "victim"), "a/../../x", "./a", "", "link/victim", "a//b", `..\x`, "sub/../a", wire.StateFolder + "/lock"} {
		ctx := within(t, 20*time.Second)
		c.session.Request(&wire.RequestFileLayout{}, &wire.RequestDeleteFile{Path: path})
		deleted, err := dentest.Next[*wire.ResponseDeleteFile](ctx, c.session)
		if must(t, err); deleted.Result == wire.Success && path != "link/victim" { // the link itself was never listed
			t.Errorf("%+v", *deleted)
		}
		c.session.Request(&wire.RequestFileLayout{}, &wire.RequestWriteFile{Path: path, FileSize: 5, BlockSize: 5, BlockCount: 1})
		begun, err := dentest.Next[*wire.ResponseWriteFile](ctx, c.session)
		if must(t, err); begun.Result == wire.Success {
			t.Errorf("%+v", *begun)
		}
		c.session.Request(&wire.RequestFileLayout{}, &wire.RequestFileBlockHashes{Path: path, BlockSize: 1000})
		hashed, err := dentest.Next[*wire.ResponseFileBlockHashes](ctx, c.session)
		if must(t, err); len(hashed.Hashes) != 0 {
			t.Errorf("%+v", *hashed)
		}
	}
	if data, err := os.ReadFile(filepath.Join(outside, "victim")); err != nil || string(data) != "alive" {
		t.Errorf("the file outside: %q, %v", data, err)
	}
}

// TestDevice42_9_RescansCheaply: changes made by others on the device's disk are seen with the next layout request.
func TestDevice42_9_RescansCheaply(t *testing.T) {
	c := deviceAndReference(t, dentest.GoldenServerTree(false), nil, dentest.ProxyOptions{})
	c.settled(t, 10*time.Second)
	must(t, os.WriteFile(filepath.Join(c.device, "a.txt"), []byte("jello\n"), 0o600))
	must(t, os.Remove(filepath.Join(c.device, "empty.dat")))
	must(t, os.WriteFile(filepath.Join(c.device, "extra"), []byte("x"), 0o600))
	stats := c.settled(t, 10*time.Second)
	if stats != (dentest.SyncStats{Hashed: 1, Deleted: 1, Written: 2, Blocks: 2}) {
		t.Errorf("%+v", stats)
	}
}

// TestDeviceGoldenSession plays the recorded session with our device in the place of the released one. The server's side
// must be the same byte by byte; ours may repeat linkUp and updates.
func TestDeviceGoldenSession(t *testing.T) {
	c := &deviceCase{root: folder(t, dentest.GoldenServerTree(false)), device: folder(t, dentest.GoldenDeviceTree()), app: &app{}}
	c.app.lines = []device.Line{{Source: "FakeApp", Text: "log line 0"}}
	c.server = server(t, dentest.GoldenDeskOptions(c.root))
	c.proxy = watched(t, c.server.Addr(), dentest.ProxyOptions{})
	c.ours = ourDevice(t, device.Options{Root: c.device, Name: "Lab", Launcher: c.app}, c.proxy.Addr().String())
	ctx := within(t, 20*time.Second)
	var err error
	c.session, err = c.server.Device(ctx, 0)
	must(t, err)
	must(t, c.session.WaitLinked(ctx))
	c.settled(t, 10*time.Second)
	must(t, os.Remove(filepath.Join(c.root, "empty.dat")))
	must(t, dentest.WriteTree(c.root, dentest.GoldenServerTree(true)))
	c.settled(t, 10*time.Second)
	c.session.Request(&wire.StartApplication{GameConfig: "<degame/>", ProfileName: "Low", Arguments: "-x 1"})
	must(t, c.session.WaitRunning(ctx, true))
	c.session.Request(&wire.StopApplication{})
	must(t, c.session.WaitRunning(ctx, false))
	must(t, c.session.WaitLog(ctx, func(l wire.Logs) bool { return l == wire.Logs{Source: "FakeApp", Message: "log line 0"} }))
	c.server.Close()
	golden, err := dentest.Golden()
	must(t, err)
	want := serverWords(golden)
	eventually(t, "the server's close", 10*time.Second, c.proxy.Events(), func() bool { return len(serverWords(c.proxy.Trace())) >= len(want) })
	got := serverWords(c.proxy.Trace())
	if len(want) != len(got) {
		t.Fatalf("the server said %d datagrams, recorded are %d", len(got), len(want))
	}
	for i := range want {
		// The offered protocols differ, and so does the connectionRequest; everything the server says does not.
		if !bytes.Equal(want[i], got[i]) {
			t.Errorf("datagram %d: %x, recorded %x", i, got[i], want[i])
		}
	}
	c.app.mu.Lock()
	defer c.app.mu.Unlock()
	if len(c.app.asked) != 1 || c.app.asked[0] != (device.StartRequest{GameConfig: "<degame/>", Profile: "Low", Arguments: "-x 1"}) {
		t.Errorf("started with %+v", c.app.asked)
	}
	if value := c.session.Property("profiles.names"); value != "Default\nLow" {
		t.Errorf("profiles.names %q", value)
	}
}

// serverWords are what a server said until the first connection ended, without acks.
func serverWords(all []dentest.Datagram) (words [][]byte) {
	for _, g := range all {
		if g.Direction == dentest.ToClient && g.Client == 0 && g.Data[0] != dentest.CmdReliableAck {
			words = append(words, g.Data)
		}
	}
	return words
}

// TestDeviceKeepsTheConnection is silent for a while: keepAlives of the server are taken and ours are sent.
func TestDeviceKeepsTheConnection(t *testing.T) {
	if testing.Short() {
		t.Skip("the device's own keepAlive comes after ten seconds")
	}
	t.Parallel()
	c := deviceAndReference(t, nil, nil, dentest.ProxyOptions{})
	must(t, c.session.WaitLinked(within(t, 5*time.Second)))
	began := time.Now()
	_, err := dentest.Next[*wire.KeepAlive](within(t, 15*time.Second), c.session)
	must(t, err)
	if took := time.Since(began); took < 8*time.Second || took > 12*time.Second {
		t.Errorf("the device's keepAlive came after %v, want about 10 s", took)
	}
	c.server.MustBeClean(t)
}

// TestDeviceFailedStart: a start that fails shows as log lines of level error, and the run state stays 0.
func TestDeviceFailedStart(t *testing.T) {
	c := deviceAndReference(t, nil, nil, dentest.ProxyOptions{})
	c.app.mu.Lock()
	c.app.fail = errors.New("profile \"No\" is unknown: choose another")
	c.app.mu.Unlock()
	must(t, c.session.WaitLinked(within(t, 5*time.Second)))
	c.session.Request(&wire.StartApplication{GameConfig: "<degame/>", ProfileName: "No"})
	must(t, c.session.WaitLog(within(t, 5*time.Second), func(l wire.Logs) bool { return l.Level == wire.LevelError }))
	if err := c.session.WaitRunning(within(t, 200*time.Millisecond), true); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("run state: %v", err)
	}
}
