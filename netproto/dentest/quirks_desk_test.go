package dentest_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"collet/netproto/dentest"
)

// TestConnectionRequestsOfTheReference: unknown protocols are skipped, a list without 0 is refused, a repeated request has
// no answer, and other commands of unknown addresses neither (2.1, 2.2).
func TestConnectionRequestsOfTheReference(t *testing.T) {
	s := server(t, dentest.ServerOptions{Root: t.TempDir()})
	for _, row := range []struct{ say, want string }{
		{"\x00\x03\x00\x05\x00\x00\x00\x07\x00", "\x01\x00\x00\x00"},
		{"\x00\x02\x00\x11\xc0\x00\x00", "\x01\x00\x00\x00"},
		{"\x00\x01\x00\x07\x00", "\x01\x02"},
		{"\x04\x00\x00\x01", ""}, {"\x02", ""}, {"", ""},
	} {
		c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(s.Addr()))
		must(t, err)
		if got := ask(t, c, row.say); got != row.want {
			t.Errorf("%x is answered %x, want %x", row.say, got, row.want)
		}
		if len(row.want) == 4 {
			if got := ask(t, c, row.say); got != "" {
				t.Errorf("repeated request is answered %x", got)
			}
		}
		must(t, c.Close())
	}
	if s.Count(dentest.NoteRepeatedRequest) != 2 {
		t.Errorf("%d repeated requests, want 2", s.Count(dentest.NoteRepeatedRequest))
	}
}

func ask(t *testing.T, c *net.UDPConn, say string) string {
	t.Helper()
	_, err := c.Write([]byte(say))
	must(t, err)
	_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	buffer := make([]byte, 100)
	n, _ := c.Read(buffer)
	return string(buffer[:n])
}

// gadget is a scripted device: the test says every word.
type gadget struct {
	t     *testing.T
	desk  *dentest.ReferenceServer
	conn  *dentest.Conn
	heard *dentest.Plain
	next  int
	run   *dentest.State
}

func scripted(t *testing.T, o dentest.ServerOptions) *gadget {
	t.Helper()
	g := &gadget{t: t, desk: server(t, o), run: &dentest.State{Values: []dentest.Value{dentest.Byte(9)}}}
	g.heard = &dentest.Plain{States: map[string]*dentest.State{"\x01": g.run}}
	var err error
	g.conn, err = dentest.Dial(within(t, 5*time.Second), g.desk.Addr().String(), dentest.EndpointOptions{}, func(*dentest.Conn) dentest.App { return g.heard })
	must(t, err)
	t.Cleanup(g.conn.Endpoint().Close)
	return g
}

func (g *gadget) say(code byte, values ...any) { g.conn.Send(dentest.Build(code, values...)) }

func (g *gadget) want(text string) {
	g.t.Helper()
	all, err := g.heard.Wait(within(g.t, 3*time.Second), g.next+1)
	must(g.t, err)
	m, err := dentest.Parse(all[g.next])
	must(g.t, err)
	if g.next++; !strings.HasPrefix(m.String(), text) {
		g.t.Errorf("heard %s, want %s", m, text)
	}
}

// violations waits until the desk has recorded n.
func (g *gadget) violations(n int) {
	g.t.Helper()
	for end := time.Now().Add(3 * time.Second); len(g.desk.Violations()) < n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			g.t.Fatalf("violations %v, want %d", g.desk.Violations(), n)
		}
	}
}

// joined is a gadget that has been accepted.
func joined(t *testing.T, o dentest.ServerOptions) (*gadget, *dentest.Session) {
	t.Helper()
	o.Properties = []string{}
	g := scripted(t, o)
	g.say(dentest.ConnectRequest, dentest.ClientSignature, 0xFFFFFFFF, "gadget")
	g.want(`connectAccepted signature="DERemLaunchSrv-0" features=0`)
	d, err := g.desk.Device(within(t, time.Second), 0)
	must(t, err)
	return g, d
}

// TestWrongFirstMessageCloses: acknowledged, then closed (3.4).
func TestWrongFirstMessageCloses(t *testing.T) {
	for _, first := range [][]byte{dentest.Build(dentest.KeepAlive), dentest.Build(dentest.ConnectRequest, "DERemLaunchCnt-1", 0, "x")} {
		g := scripted(t, dentest.ServerOptions{Root: t.TempDir()})
		g.conn.Send(first)
		<-g.conn.Ended()
		if len(g.desk.Violations()) != 1 || len(g.heard.Messages()) != 0 {
			t.Errorf("%x: %v, heard %x", first, g.desk.Violations(), g.heard.Messages())
		}
	}
}

// async runs a synchronisation beside the script.
func async(t *testing.T, d *dentest.Session, limit time.Duration) <-chan error {
	t.Helper()
	ctx := within(t, limit)
	result := make(chan error, 1)
	go func() {
		_, err := d.Synchronise(ctx)
		result <- err
	}()
	return result
}

// TestAnswersWhileIssuingAreDropped: the released server loses hash answers that come while it still asks, and hangs
// (4.2 #4).
func TestAnswersWhileIssuingAreDropped(t *testing.T) {
	tree := map[string][]byte{"a": []byte("1"), "b": []byte("2"), "c": []byte("3")}
	g, d := joined(t, dentest.ServerOptions{Root: folder(t, tree), IssueTime: 50 * time.Millisecond})
	result := async(t, d, time.Second)
	g.want("requestFileLayout")
	x := dentest.Hash([]byte("x"))
	g.say(dentest.ResponseFileLayout, []dentest.File{{Path: "a", Size: 1, Hash: x}, {Path: "b", Size: 1, Hash: x}, {Path: "c", Size: 1, Hash: x}})
	for _, name := range []string{"a", "b", "c"} {
		g.want(`requestFileBlockHashes path="` + name + `" blockSize=1024000`)
		g.say(dentest.ResponseFileHashes, name, []string{x})
	}
	if err := <-result; !errors.Is(err, context.DeadlineExceeded) || g.desk.Count(dentest.NoteDropped) == 0 {
		t.Errorf("synchronisation ended with %v, %d answers dropped", err, g.desk.Count(dentest.NoteDropped))
	}
	g.desk.MustBeClean(t)
}

// TestFailedWriteBlocksTheNextSynchronisation: the counter of files in progress is not reset (4.2 #5).
func TestFailedWriteBlocksTheNextSynchronisation(t *testing.T) {
	g, d := joined(t, dentest.ServerOptions{Root: folder(t, map[string][]byte{"a": []byte("1")})})
	result := async(t, d, 5*time.Second)
	g.want("requestFileLayout")
	g.say(dentest.ResponseFileLayout, []dentest.File(nil))
	g.want(`requestWriteFile path="a" fileSize=1 blockSize=1024000 blockCount=1`)
	g.say(dentest.ResponseWriteFile, "a", 1)
	if err := <-result; err == nil {
		t.Error("a refused write didn't fail the synchronisation")
	}
	result = async(t, d, 300*time.Millisecond)
	g.want("requestFileLayout")
	g.say(dentest.ResponseFileLayout, []dentest.File(nil))
	if err := <-result; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("second synchronisation: %v, want it to hang", err)
	}
}

// TestTwoBlocksInFlight follows one file block by block (3.5).
func TestTwoBlocksInFlight(t *testing.T) {
	g, d := joined(t, dentest.ServerOptions{Root: folder(t, map[string][]byte{"a": []byte("112233")}), BlockSize: 2})
	result := async(t, d, 5*time.Second)
	g.want("requestFileLayout")
	g.say(dentest.ResponseFileLayout, []dentest.File{{Path: "z/old", Size: 1, Hash: dentest.EmptyHash}})
	g.want(`requestDeleteFile path="z/old"`)
	g.want(`requestWriteFile path="a" fileSize=6 blockSize=2 blockCount=3`)
	g.say(dentest.ResponseWriteFile, "a", 0)
	g.want(`sendFileData path="a" block=0 data=2 B`)
	g.want(`sendFileData path="a" block=1 data=2 B`)
	g.say(dentest.FileDataReceived, "a", 1, 0)
	g.want(`sendFileData path="a" block=2 data=2 B`)
	g.say(dentest.FileDataReceived, "a", 0, 0)
	g.say(dentest.FileDataReceived, "a", 2, 0)
	g.want(`requestFinishWriteFile path="a" hash="` + dentest.Hash([]byte("112233")))
	g.say(dentest.ResponseFinishFile, "a", 0)
	g.say(dentest.ResponseDeleteFile, "z/old", 0)
	must(t, <-result)
	g.desk.MustBeClean(t)
}

// TestWhatADeskRecords: answers nobody waits for, texts of the wrong form, more hashes than blocks.
func TestWhatADeskRecords(t *testing.T) {
	g, d := joined(t, dentest.ServerOptions{Root: folder(t, map[string][]byte{"a": []byte("1")})})
	x := dentest.Hash([]byte("x"))
	g.say(dentest.ResponseWriteFile, "a", 0)
	g.violations(1)
	result := async(t, d, 5*time.Second)
	g.want("requestFileLayout")
	g.say(dentest.ResponseFileLayout, []dentest.File{{Path: "a", Size: 1, Hash: strings.ToUpper(x)}, {Path: "/abs", Size: 1, Hash: x}})
	g.want("requestFileBlockHashes")
	time.Sleep(20 * time.Millisecond)
	g.say(dentest.ResponseFileHashes, "a", []string{x, x})
	if err := <-result; err == nil {
		t.Error("more hashes than blocks didn't fail the synchronisation")
	}
	g.conn.Send([]byte{dentest.FileDataReceived, 9, 0, 'a'})
	g.violations(5)
	for i, word := range []string{"without a synchronisation", "lowercase", "/abs", "blocks", "ends inside"} {
		if got := g.desk.Violations()[i].String(); !strings.Contains(got, word) {
			t.Errorf("violation %d is %q, want one about %q", i, got, word)
		}
	}
}

// TestRunStateStartsStopped: the server's zero overwrites what the device had (3.7).
func TestRunStateStartsStopped(t *testing.T) {
	g, d := joined(t, dentest.ServerOptions{Root: t.TempDir()})
	must(t, d.WaitLinked(within(t, time.Second)))
	g.conn.Do(func(time.Time, *dentest.Core) {
		if g.run.Values[0].Data[0] != 0 {
			t.Errorf("run state %v after the link", g.run.Values)
		}
		g.run.Set(0, []byte{1})
	})
	must(t, d.WaitRunning(within(t, time.Second), true))
	g.say(dentest.Logs, 2, "Game", "line")
	for end := time.Now().Add(time.Second); len(d.Logs()) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the log line didn't come")
		}
	}
	if got := d.Logs()[0]; got != (dentest.Line{Level: 2, Source: "Game", Text: "line"}) {
		t.Errorf("log line %+v", got)
	}
}
