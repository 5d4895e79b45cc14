package launcher_test

import (
	"context"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"collet/netproto/launcher"
)

// TestRecordedSession plays the desk's side of the recorded session against a device, and compares what it says with what
// the recorded one said, message by message: the files, the hashes and every result.
func TestRecordedSession(t *testing.T) {
	root, o := newData(t, map[string]string{"a.txt": "jello\n", "old.txt": "x"})
	apps := &fakeLauncher{says: []launcher.Line{{Source: "FakeApp", Text: "log line 0"}}}
	o.launcher = apps
	desk := connectDevice(t, o)
	if m := expectMessage[*launcher.ConnectRequest](desk); m.Name != "Lab" {
		t.Errorf("%+v", m)
	}
	session := recorded(t)
	if len(session) < 55 {
		t.Fatalf("%d recorded messages", len(session))
	}
	var told, want []string
	for _, v := range session {
		m, err := launcher.Decode(launcher.Released, v.from(), v.data)
		if err != nil {
			t.Fatal(err)
		}
		if v.from() == launcher.FromDevice {
			if v.data[0] != launcher.CodeConnectRequest {
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
	if want := []launcher.StartRequest{{GameConfig: "<degame/>", Profile: "Low", Arguments: "-x 1"}}; !reflect.DeepEqual(apps.requests, want) {
		t.Errorf("started %+v", apps.requests)
	}
	<-apps.last().done
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for range desk.device.Watch(ctx) {
		if desk.device.Status().Run == launcher.PhaseStopped {
			return
		}
	}
	t.Error("the application runs on")
}

// recorded are the messages of the session in their order.
func recorded(t *testing.T) (session []vector) {
	t.Helper()
	for _, v := range vectors(t) {
		if strings.HasPrefix(path.Base(v.name), "session-") {
			session = append(session, v)
		}
	}
	slices.SortFunc(session, func(a, b vector) int { return strings.Compare(a.name, b.name) })
	return session
}

// sorted is a message as text, a layout in the order of its paths: the recorded one has that of a hash table.
func sorted(t *testing.T, m launcher.Message) string {
	if layout, is := m.(*launcher.ResponseFileLayout); is {
		m = &launcher.ResponseFileLayout{Files: launcher.NewLayout(layout.Files).Files()}
	}
	return reflect.TypeOf(m).Elem().Name() + " " + fields(t, m)
}
