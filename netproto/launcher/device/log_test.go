package device_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"collet/netproto/den"
	"collet/netproto/launcher/device"
	"collet/netproto/launcher/launchertest"
	"collet/netproto/launcher/wire"
)

// logs are the lines that the device sends within a while.
func (d *deskEnd) logs(wait time.Duration) (lines []*wire.Logs) {
	d.t.Helper()
	end := time.Now().Add(wait)
	for {
		switch m := d.hearAny(time.Until(end)).(type) {
		case nil:
			return lines
		case *wire.Logs:
			lines = append(lines, m)
		}
	}
}

// TestLinesAreCut: at line ends, and above the longest sent line; the parts give the original text.
func TestLinesAreCut(t *testing.T) {
	bubble(t, setting{}, func(t *testing.T, o setting) {
		desk := greeted(t, o)
		long := strings.Repeat("ä", 5000)
		desk.device.Say(device.Line{Level: wire.LevelWarning, Source: strings.Repeat("s", 300), Text: "one\r\ntwo\n\n" + long + "\n"})
		desk.device.Say(device.Line{Text: "bad \xff bytes"})
		got := desk.logs(time.Second)
		if len(got) != 7 || got[0].Message != "one" || got[1].Message != "two" || got[2].Message != "" || got[6].Message != "bad \uFFFD bytes" {
			t.Fatalf("%d lines: %.300v", len(got), got)
		}
		if joined := got[3].Message + got[4].Message + got[5].Message; joined != long || !utf8.ValidString(got[3].Message) {
			t.Error("the long line is not the same put together")
		}
		if len(got[0].Source) != wire.MaxName || got[0].Level != wire.LevelWarning || got[6].Source != device.SourceGame {
			t.Errorf("line %+v", got[0])
		}
	})
}

// TestLogsWait for a desk, and the oldest go when there are too many.
func TestLogsWait(t *testing.T) {
	bubble(t, setting{}, func(t *testing.T, o setting) {
		desk := connectDevice(t, o)
		for i := range 2500 {
			desk.device.Say(device.Line{Text: fmt.Sprint(i)})
		}
		if shown := desk.device.Status().Log; len(shown) != 200 || shown[199].Text != "2499" {
			t.Errorf("%d lines are shown", len(shown))
		}
		synctest.Wait()
		desk.greet()
		got := desk.logs(10 * time.Second)
		if len(got) != 2001 || !strings.HasPrefix(got[0].Message, "500 lines are left out") || got[1].Message != "500" || got[2000].Message != "2499" {
			t.Errorf("%d lines, the first %+v", len(got), got[0])
		}
	})
}

// TestLogRate: a game that logs endlessly does not fill the connection; dropped lines are counted.
func TestLogRate(t *testing.T) {
	bubble(t, setting{}, func(t *testing.T, o setting) {
		desk := greeted(t, o)
		for range 100 {
			for range 1000 {
				desk.device.Say(device.Line{Text: "x"})
			}
			time.Sleep(100 * time.Millisecond)
		}
		lines := 0
		sum := 0
		for _, l := range desk.logs(10 * time.Second) {
			n := 0
			if _, err := fmt.Sscanf(l.Message, "%d lines are left out", &n); err == nil {
				sum += n
				continue
			}
			lines++
		}
		if lines+sum != 100_000 || lines > 16_000 || lines < 10_000 {
			t.Errorf("%d lines came and %d were left out", lines, sum)
		}
	})
}

// TestDraftLogs have a time stamp in place of the source.
func TestDraftLogs(t *testing.T) {
	bubble(t, setting{dialect: wire.Draft}, func(t *testing.T, o setting) {
		desk := greeted(t, o)
		desk.device.Say(device.Line{Time: time.Date(2024, 11, 22, 10, 20, 30, 456e6, time.Local), Level: wire.LevelError, Text: "no sound"})
		want := []*wire.Logs{{Level: wire.LevelError, Timestamp: "2024-11-22 10:20:30.456", Message: "no sound"}}
		if got := desk.logs(time.Second); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v", got)
		}
	})
}

// TestOwnLogs come together, with the moment and with reports.
func TestOwnLogs(t *testing.T) {
	apps := &launchertest.FakeLauncher{Says: []device.Line{{Time: time.UnixMilli(1732270830123), Text: "first"}, {Time: time.UnixMilli(1732270830124), Text: strings.Repeat("z", 300_000)}}}
	bubble(t, setting{launcher: apps, protocol: den.ProtocolCollet}, func(t *testing.T, o setting) {
		desk := greeted(t, o)
		desk.say(&wire.StartApplication{})
		synctest.Wait()
		apps.Last().Finish(3, "crashed")
		var lines []wire.TimedLine
		var reports []wire.RunReport
		for m := desk.hearAny(time.Second); m != nil; m = desk.hearAny(time.Second) {
			switch m := m.(type) {
			case *wire.LogLines:
				if size, _ := wire.Size(wire.Released, m); size > wire.MaxBulk {
					t.Errorf("a message of %d bytes", size)
				}
				lines = append(lines, m.Lines...)
			case *wire.RunReport:
				reports = append(reports, *m)
			}
		}
		if len(lines) != 77 || lines[0].Time != 1732270830123 || lines[0].Message != "first" || lines[76].Message != "ended: crashed" || lines[76].Level != wire.LevelWarning {
			t.Errorf("%d lines", len(lines))
		}
		if want := []wire.RunReport{{Event: wire.RunStarted}, {Event: wire.RunEnded, Exit: 3, Text: "crashed"}}; !reflect.DeepEqual(reports, want) {
			t.Errorf("reports %+v", reports)
		}
	})
}

func TestPropertiesOfProfiles(t *testing.T) {
	bubble(t, setting{launcher: &launchertest.FakeLauncher{}}, func(t *testing.T, o setting) {
		desk := greeted(t, o)
		for property, value := range map[string]string{"profiles.names": "Default\nLow", "profiles.default": "Default", "else": ""} {
			desk.answers(&wire.RequestSystemProperty{Property: property}, &wire.ResponseSystemProperty{Property: property, Value: value})
		}
	})
}

// TestWatchIsALevel: slow watchers miss ticks, not the last state; channels end with the context and with Run.
func TestWatchIsALevel(t *testing.T) {
	bubble(t, setting{}, func(t *testing.T, o setting) {
		desk := connectDevice(t, o)
		ticks := desk.device.Watch(t.Context())
		<-ticks
		desk.greet()
		for range 100 {
			desk.device.Say(device.Line{Text: "x"})
		}
		synctest.Wait()
		<-ticks
		if s := desk.device.Status(); s.Connection != device.ConnectionUp || len(s.Log) != 100 {
			t.Errorf("status %+v", s.Connection)
		}
		select {
		case <-ticks:
			t.Error("there is a second tick")
		default:
		}
		desk.stop()
		for range ticks {
		}
		for range desk.device.Watch(t.Context()) {
		}
	})
}
