package dentest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collet/netproto/dentest"
)

// desk is a scripted server for one device: the test says every word.
type desk struct {
	t      *testing.T
	conn   *dentest.Conn
	heard  *dentest.Plain
	next   int
	device *dentest.ReferenceClient
	root   string
}

// script connects a ReferenceClient with this tree to a desk. When accepted, its layout has been asked for as well.
func script(t *testing.T, accepted bool, tree map[string][]byte) *desk {
	t.Helper()
	d := &desk{t: t, heard: &dentest.Plain{}, root: folder(t, tree)}
	conns := make(chan *dentest.Conn, 1)
	e, err := dentest.Listen("127.0.0.1:0", dentest.EndpointOptions{}, func(c *dentest.Conn) dentest.App {
		conns <- c
		return d.heard
	})
	must(t, err)
	t.Cleanup(e.Close)
	d.device = client(t, dentest.ClientOptions{Root: d.root, Name: "Lab", KeepAlive: 200 * time.Millisecond})
	must(t, d.device.Connect(within(t, 5*time.Second), e.Addr().String()))
	d.conn = <-conns
	if got := d.hear(); got.Code != dentest.ConnectRequest || got.Text(2) != "Lab" {
		t.Fatalf("first message %s", got)
	}
	if accepted {
		d.say(dentest.ConnectAccepted, dentest.ServerSignature, 0)
		d.say(dentest.RequestFileLayout)
		d.want(`responseFileLayout`)
	}
	return d
}

func (d *desk) say(code byte, values ...any) { d.conn.Send(dentest.Build(code, values...)) }

// hear is the next message that isn't a keepAlive.
func (d *desk) hear() dentest.Message {
	d.t.Helper()
	all, err := d.heard.Wait(within(d.t, 3*time.Second), d.next+1)
	must(d.t, err)
	d.next++
	m, err := dentest.Parse(all[d.next-1])
	must(d.t, err)
	if m.Code == dentest.KeepAlive {
		return d.hear()
	}
	return m
}

func (d *desk) want(text string) {
	d.t.Helper()
	if got := d.hear().String(); !strings.HasPrefix(got, text) {
		d.t.Errorf("heard %s, want %s", got, text)
	}
}

// silence checks that a property request is answered next: whatever was said before had no answer.
func (d *desk) silence() {
	d.t.Helper()
	d.say(dentest.RequestSystemProperty, "profiles.default")
	d.want(`responseSystemProperty property="profiles.default" value="Default"`)
}

// violated checks the number of violations and a word of the last.
func (d *desk) violated(n int, word string) {
	d.t.Helper()
	all := d.device.Violations()
	if len(all) != n || n > 0 && !strings.Contains(all[n-1].String(), word) {
		d.t.Errorf("violations %v, want %d, the last about %q", all, n, word)
	}
}

func (d *desk) write(path string, size, block, count int) {
	d.t.Helper()
	d.say(dentest.RequestWriteFile, path, size, block, count)
	d.want(fmt.Sprintf("responseWriteFile path=%q result=0", path))
}

func TestDeviceIgnoresEverythingBeforeAccepted(t *testing.T) {
	d := script(t, false, nil)
	d.say(dentest.RequestFileLayout)
	d.say(dentest.ConnectAccepted, dentest.ServerSignature, 0)
	d.silence()
	d.violated(1, "before connectAccepted")
}

func TestDeviceLeavesAnotherServer(t *testing.T) {
	d := script(t, false, nil)
	d.say(dentest.ConnectAccepted, "DERemLaunchSrv-9", 0)
	<-d.device.Conn().Ended()
	d.violated(1, "signature")
}

func TestLayoutIsCachedForLife(t *testing.T) {
	d := script(t, true, map[string][]byte{"a": []byte("1")})
	must(t, os.WriteFile(filepath.Join(d.root, "b"), []byte("2"), 0o600))
	d.say(dentest.RequestFileLayout)
	if got := d.hear().Values[0].([]dentest.File); len(got) != 1 {
		t.Errorf("second layout %v, want the first from memory", got)
	}
	must(t, os.Mkdir(filepath.Join(d.root, "full"), 0o777))
	must(t, os.WriteFile(filepath.Join(d.root, "full", "c"), nil, 0o600))
	d.say(dentest.RequestDeleteFile, "full")
	d.want(`responseDeleteFile path="full" result=1`)
	d.say(dentest.RequestWriteFile, "x", 1, 1, 1)
	d.want(`responseWriteFile path="x" result=1`)
	d.violated(1, "without a layout")
	d.say(dentest.RequestFileLayout)
	if got := d.hear().Values[0].([]dentest.File); len(got) != 3 {
		t.Errorf("layout after a failure %v, want a new scan", got)
	}
}

func TestDeletesWaitForALayout(t *testing.T) {
	d := script(t, false, map[string][]byte{"a": []byte("1")})
	d.say(dentest.ConnectAccepted, dentest.ServerSignature, 0)
	d.say(dentest.RequestDeleteFile, "a")
	d.say(dentest.RequestDeleteFile, "absent")
	d.silence()
	d.say(dentest.RequestFileLayout)
	d.want("responseFileLayout files=[{a 1")
	d.want(`responseDeleteFile path="a" result=0`)
	d.want(`responseDeleteFile path="absent" result=0`)
}

func TestFinishBeforeAnswerIsIgnored(t *testing.T) {
	d := script(t, true, nil)
	d.conn.Do(func(now time.Time, core *dentest.Core) {
		core.Send(now, dentest.Build(dentest.RequestWriteFile, "a", 0, 4, 1))
		core.Send(now, dentest.Build(dentest.RequestFinishWriteFile, "b", dentest.EmptyHash))
	})
	d.want(`responseWriteFile path="a" result=0`)
	d.silence()
	d.violated(1, `finish of "b"`)
}

func TestIndexBehindTheEndHasNoAnswer(t *testing.T) {
	d := script(t, true, nil)
	d.write("a", 8, 4, 2)
	d.say(dentest.SendFileData, "a", 2, []byte("xxxx"))
	d.say(dentest.RequestFinishWriteFile, "a", dentest.EmptyHash)
	d.say(dentest.SendFileData, "unknown", 0, []byte("xxxx"))
	d.silence()
	d.violated(3, "unknown")
}

func TestShortBlockIsFilledWithZeros(t *testing.T) {
	d := script(t, true, nil)
	d.write("a", 4, 4, 1)
	d.say(dentest.SendFileData, "a", 0, []byte("xy"))
	d.want(`fileDataReceived path="a" block=0 result=0`)
	d.say(dentest.RequestFinishWriteFile, "a", dentest.Hash([]byte("xy\x00\x00")))
	d.want(`responseFinishWriteFile path="a" result=0`)
	d.violated(1, "zeros")
}

func TestWhatCrashesADevice(t *testing.T) {
	for name, say := range map[string]func(*desk){
		"block size 0":   func(d *desk) { d.say(dentest.RequestFileHashes, "a", 0) },
		"block too long": func(d *desk) { d.write("b", 3, 4, 1); d.say(dentest.SendFileData, "b", 0, []byte("xxxx")) },
	} {
		t.Run(name, func(t *testing.T) {
			d := script(t, true, map[string][]byte{"a": []byte("1")})
			say(d)
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			d.say(dentest.RequestSystemProperty, "profiles.default")
			if _, err := d.heard.Wait(ctx, d.next+1); err == nil || !d.device.Crashed() {
				t.Errorf("answered (%v), crashed %v", err, d.device.Crashed())
			}
		})
	}
}

func TestEmptyFileWithoutDataDoesNotExist(t *testing.T) {
	d := script(t, true, nil)
	for name, with := range map[string]bool{"with": true, "without": false} {
		d.write(name, 0, 4, 1)
		if with {
			d.say(dentest.SendFileData, name, 0, []byte{})
			d.want("fileDataReceived")
		}
		d.say(dentest.RequestFinishWriteFile, name, dentest.EmptyHash)
		d.want(fmt.Sprintf("responseFinishWriteFile path=%q result=0", name))
		if _, err := os.Stat(filepath.Join(d.root, name)); (err == nil) != with {
			t.Errorf("%s: %v", name, err)
		}
	}
	d.violated(1, `finish of "without"`)
}

// TestSizeChangeTruncates: another size empties the file at the write request, so blocks that are not sent are gone; the
// same size keeps them. Bytes behind the announced size stay when the layout doesn't know them.
func TestSizeChangeTruncates(t *testing.T) {
	d := script(t, true, map[string][]byte{"grow": []byte("aaaa"), "same": []byte("aaaabbbb")})
	d.write("grow", 8, 4, 2)
	d.say(dentest.SendFileData, "grow", 1, []byte("bbbb"))
	d.want("fileDataReceived")
	d.write("same", 8, 4, 2)
	d.say(dentest.SendFileData, "same", 1, []byte("cccc"))
	d.want("fileDataReceived")
	must(t, os.WriteFile(filepath.Join(d.root, "same"), []byte("aaaaccccTAIL"), 0o600))
	d.say(dentest.RequestFinishWriteFile, "same", dentest.Hash([]byte("aaaacccc")))
	d.want(`responseFinishWriteFile path="same" result=0`)
	d.say(dentest.RequestFinishWriteFile, "grow", dentest.Hash([]byte("aaaabbbb")))
	d.want(`responseFinishWriteFile path="grow" result=2`)
	d.violated(1, "size changed")
}

func TestUppercaseHashIsAMismatch(t *testing.T) {
	d := script(t, true, nil)
	d.write("a", 1, 4, 1)
	d.say(dentest.SendFileData, "a", 0, []byte("x"))
	d.want("fileDataReceived")
	d.say(dentest.RequestFinishWriteFile, "a", strings.ToUpper(dentest.Hash([]byte("x"))))
	d.want(`responseFinishWriteFile path="a" result=2`)
	d.violated(1, "lowercase")
}

func TestUnsafePathsAreViolations(t *testing.T) {
	d := script(t, true, nil)
	for i, path := range []string{"../a", "/a", "a/../b", "./a", "a//b", "", `a\b`, "c:/a"} {
		d.say(dentest.RequestWriteFile, path, 1, 1, 1)
		d.want(fmt.Sprintf("responseWriteFile path=%q result=1", path))
		d.violated(i+1, "follows it")
	}
}

func TestHashAnswers(t *testing.T) {
	d := script(t, true, map[string][]byte{"a": []byte("aaaabb"), "empty": {}})
	d.say(dentest.RequestFileHashes, "a", 4)
	d.want(fmt.Sprintf(`responseFileBlockHashes path="a" hashes=[%s %s]`, dentest.Hash([]byte("aaaa")), dentest.Hash([]byte("bb"))))
	d.say(dentest.RequestFileHashes, "empty", 4)
	d.want(fmt.Sprintf(`responseFileBlockHashes path="empty" hashes=[%s]`, dentest.EmptyHash))
	d.say(dentest.RequestFileHashes, "unknown", 4)
	d.want(`responseFileBlockHashes path="unknown" hashes=[]`)
	d.violated(0, "")
}

func TestDeviceKeepsAlive(t *testing.T) {
	d := script(t, true, nil)
	all, err := d.heard.Wait(within(t, 3*time.Second), d.next+2)
	must(t, err)
	for _, m := range all[d.next:] {
		if len(m) != 1 || m[0] != dentest.KeepAlive {
			t.Errorf("silence was broken by %x", m)
		}
	}
}

func TestStopModesAndUnknownMessages(t *testing.T) {
	d := script(t, true, nil)
	run := &dentest.State{Values: []dentest.Value{dentest.Byte(0)}}
	d.conn.Do(func(now time.Time, core *dentest.Core) { core.Link(now, []byte{1}, run, false) })
	running := func() (on bool) {
		d.conn.Do(func(time.Time, *dentest.Core) { on = run.Values[0].Data[0] == 1 })
		return on
	}
	until := func(on bool) {
		t.Helper()
		for end := time.Now().Add(2 * time.Second); running() != on; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("run state isn't %v", on)
			}
		}
	}
	d.say(dentest.StartApplication, "<degame/>", "", "")
	until(true)
	d.say(dentest.StopApplication, 7)
	d.conn.Send([]byte{99, 1, 2, 3})
	d.silence()
	time.Sleep(30 * time.Millisecond)
	if !running() || d.device.Count(dentest.NoteUnknownMessage) != 1 {
		t.Error("an unknown stop mode stopped it, or the unknown message wasn't noticed")
	}
	d.say(dentest.StopApplication, 1)
	until(false)
	d.violated(0, "")
}
