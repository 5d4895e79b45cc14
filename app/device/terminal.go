package device

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"collet/app/splash"
	"collet/netproto/launcher/device"
	"collet/platform/text"
)

// line is one JSON object of a device with --headless --json. Empty members are left out.
type line struct {
	Time       time.Time `json:"time"`
	Connection string    `json:"connection,omitempty"` // away, dialing, greeting, connected, stopped
	Desk       string    `json:"desk,omitempty"`
	Collet     bool      `json:"collet,omitempty"` // the controller speaks our own messages
	Problem    string    `json:"problem,omitempty"`
	Activity   string    `json:"activity,omitempty"` // scanning, hashing, receiving, verifying
	File       string    `json:"file,omitempty"`
	FileDone   uint64    `json:"file_bytes_done,omitempty"`
	FileSize   uint64    `json:"file_bytes,omitempty"`
	Files      int       `json:"files_done,omitempty"`
	FilesAll   int       `json:"files,omitempty"`
	Bytes      uint64    `json:"bytes_done,omitempty"`
	BytesAll   uint64    `json:"bytes,omitempty"`
	Deleted    int       `json:"deleted,omitempty"`
	Failed     int       `json:"failed,omitempty"`
	Run        string    `json:"run,omitempty"` // stopped, starting, running, stopping
	Log        *logLine  `json:"log,omitempty"`
	Folder     string    `json:"folder,omitempty"` // of the working copy; in the first line
}

type logLine struct {
	Level  string `json:"level"`
	Source string `json:"source"`
	Text   string `json:"text"`
}

// terminal prints the status of a device: a line when it changes, and one a second while a file is received.
type terminal struct {
	device *session
	out    io.Writer
	json   bool
	now    func() time.Time

	last    device.Status
	printed time.Time
	lines   lineCounter
}

// inTerminal runs the device and prints its status until it ends.
func (d *session) inTerminal(ctx context.Context, out io.Writer, run func(context.Context)) {
	t := &terminal{device: d, out: out, json: d.opt.JSON, now: time.Now}
	t.begin()
	var printing sync.WaitGroup
	printing.Go(func() {
		for range d.Watch(context.WithoutCancel(ctx)) { // closed when the device has ended
			t.show(d.Status())
		}
	})
	run(ctx)
	printing.Wait()
	t.show(d.Status())
}

// begin prints the controller and the folder of the working copy.
func (t *terminal) begin() {
	if t.json {
		t.print(line{Desk: t.device.opt.Desk, Folder: t.device.copy})
		return
	}
	fmt.Fprintln(t.out, t.device.opt.Texts.Get("remote.headless", "name", t.device.opt.Name, "desk", t.device.opt.Desk, "path", t.device.copy))
}

// show prints the changes of the status.
func (t *terminal) show(s device.Status) {
	for _, line := range t.lines.count(s.Log) {
		t.line(line)
	}
	before := t.last
	// A device without a connection dials every other second; only the first attempt is printed.
	told := linkOf(before) != linkOf(s) || before.Run != s.Run || before.Problem != s.Problem || t.printed.IsZero()
	moved := before.Activity != s.Activity || before.Files != s.Files || before.Deleted != s.Deleted || before.File != s.File
	if !told && !moved {
		return
	}
	if !told && t.now().Sub(t.printed) < time.Second && (s.Activity != device.ActivityNone || before.Activity == s.Activity) {
		return
	}
	t.last, t.printed = s, t.now()
	if t.json {
		t.print(line{
			Connection: string(s.Connection), Desk: s.Desk, Collet: s.Own, Problem: s.Problem, Activity: string(s.Activity), File: s.File,
			FileDone: s.FileDone, FileSize: s.FileTotal, Files: s.Files, FilesAll: s.FilesTotal, Bytes: s.Bytes, BytesAll: s.BytesTotal,
			Deleted: s.Deleted, Failed: s.Failed, Run: string(s.Run),
		})
		return
	}
	scene := splash.ComposeRemote(windowStatus(s, t.device.opt.Name, t.device.opt.Desk), t.now(), t.device.opt.Texts)
	fmt.Fprintln(t.out, scene.Line())
}

// line prints a line of the log.
func (t *terminal) line(l device.Line) {
	if t.json {
		t.print(line{Time: l.Time, Log: &logLine{l.Level.String(), l.Source, l.Text}})
		return
	}
	fmt.Fprintln(t.out, splash.RemoteLogText(splash.RemoteLine{Time: l.Time, Level: splash.RemoteLevel(l.Level), Source: l.Source, Text: l.Text}))
}

func (t *terminal) print(l line) {
	if l.Time.IsZero() {
		l.Time = t.now()
	}
	object, err := json.Marshal(l)
	if err != nil {
		object = fmt.Appendf(nil, `{"problem":%q}`, err)
	}
	fmt.Fprintf(text.NewJSONWriter(t.out), "%s\n", object)
}
