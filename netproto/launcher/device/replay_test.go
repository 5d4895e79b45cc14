package device_test

import (
	"context"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"collet/netproto/launcher/device"
	"collet/netproto/launcher/launchertest"
	"collet/netproto/launcher/wire"
)

// TestRecordedSession plays the desk's side of the recorded session against a device, and compares what it says with what
// the recorded one said, message by message: the files, the hashes and every result.
func TestRecordedSession(t *testing.T) {
	root, o := newData(t, map[string]string{"a.txt": "jello\n", "old.txt": "x"})
	apps := &launchertest.FakeLauncher{Says: []device.Line{{Source: "FakeApp", Text: "log line 0"}}}
	o.launcher = apps
	desk := connectDevice(t, o)
	if m := expectMessage[*wire.ConnectRequest](desk); m.Name != "Lab" {
		t.Errorf("%+v", m)
	}
	session := recorded(t)
	if len(session) < 55 {
		t.Fatalf("%d recorded messages", len(session))
	}
	var told, want []string
	for _, v := range session {
		m, err := wire.Decode(wire.Released, v.From(), v.Data)
		if err != nil {
			t.Fatal(err)
		}
		if v.From() == wire.FromDevice {
			if v.Data[0] != wire.CodeConnectRequest {
				want = append(want, sorted(t, m))
				told = append(told, sorted(t, desk.hearAny(patience)))
			}
			continue
		}
		desk.say(m)
	}
	// Answers to requests that came together may overtake each other.
	slices.Sort(told)
	slices.Sort(want)
	if !slices.Equal(told, want) {
		t.Errorf("the device says\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
	part := make([]byte, 1500)
	for i := range part {
		part[i] = byte(7*i + i/256)
	}
	part[1499] = '!'
	expectDisk(t, root, map[string]string{"a.txt": "HELLO\n", "sub/": "", "sub/part.bin": string(part)})
	if want := []device.StartRequest{{GameConfig: "<degame/>", Profile: "Low", Arguments: "-x 1"}}; !reflect.DeepEqual(apps.Requests, want) {
		t.Errorf("started %+v", apps.Requests)
	}
	<-apps.Last().Done()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for range desk.device.Watch(ctx) {
		if desk.device.Status().Run == device.PhaseStopped {
			return
		}
	}
	t.Error("the application runs on")
}

// recorded are the messages of the session in their order.
func recorded(t *testing.T) (session []launchertest.Vector) {
	t.Helper()
	for _, v := range launchertest.Vectors(t, filepath.Join("..", "wire", "testdata", "vectors")) {
		if strings.HasPrefix(path.Base(v.Name), "session-") {
			session = append(session, v)
		}
	}
	slices.SortFunc(session, func(a, b launchertest.Vector) int { return strings.Compare(a.Name, b.Name) })
	return session
}

// sorted is a message as text, a layout in the order of its paths: the recorded one has that of a hash table.
func sorted(t *testing.T, m wire.Message) string {
	if layout, is := m.(*wire.ResponseFileLayout); is {
		m = &wire.ResponseFileLayout{Files: wire.NewLayout(layout.Files).Files()}
	}
	return reflect.TypeOf(m).Elem().Name() + " " + launchertest.Fields(t, m)
}
