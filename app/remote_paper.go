package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"collet/app/splash"
	"collet/netproto/launcher"
	"collet/platform/text"
)

// deviceLine is one JSON object of a device with --headless --json. Empty members are left out.
type deviceLine struct {
	Time       time.Time `json:"time"`
	Connection string    `json:"connection,omitempty"` // away, dialing, greeting, connected, stopped
	Desk       string    `json:"desk,omitempty"`
	Collet     bool      `json:"collet,omitempty"` // the desk speaks our own messages
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

// devicePaper prints what a device does: a line when something changes, and of a file that arrives once a second.
type devicePaper struct {
	device *device
	out    io.Writer
	json   bool
	now    func() time.Time

	last    launcher.DeviceStatus
	printed time.Time
	lines   lineCounter
}

// onPaper runs the device and prints what it does until it ends.
func (d *device) onPaper(ctx context.Context, out io.Writer, run func(context.Context)) {
	p := &devicePaper{device: d, out: out, json: d.host.flags.JSON, now: time.Now}
	p.begin()
	var printing sync.WaitGroup
	printing.Go(func() {
		for range d.Watch(context.WithoutCancel(ctx)) { // closed when the device has ended
			p.show(d.Status())
		}
	})
	run(ctx)
	printing.Wait()
	p.show(d.Status())
}

// begin says where everything is.
func (p *devicePaper) begin() {
	if p.json {
		p.print(deviceLine{Desk: p.device.address, Folder: p.device.copy})
		return
	}
	fmt.Fprintln(p.out, p.device.host.texts.Get("remote.headless", "name", p.device.name, "desk", p.device.address, "path", p.device.copy))
}

// show prints what has changed.
func (p *devicePaper) show(s launcher.DeviceStatus) {
	for _, line := range p.lines.count(s.Log) {
		p.line(line)
	}
	before := p.last
	// A device that looks for its desk dials every other second; that is told once.
	told := remoteLink(before) != remoteLink(s) || before.Run != s.Run || before.Problem != s.Problem || p.printed.IsZero()
	moved := before.Activity != s.Activity || before.Files != s.Files || before.Deleted != s.Deleted || before.File != s.File
	if !told && !moved {
		return
	}
	if !told && p.now().Sub(p.printed) < time.Second && (s.Activity != launcher.ActivityNone || before.Activity == s.Activity) {
		return
	}
	p.last, p.printed = s, p.now()
	if p.json {
		p.print(deviceLine{
			Connection: string(s.Connection), Desk: s.Desk, Collet: s.Own, Problem: s.Problem, Activity: string(s.Activity), File: s.File,
			FileDone: s.FileDone, FileSize: s.FileTotal, Files: s.Files, FilesAll: s.FilesTotal, Bytes: s.Bytes, BytesAll: s.BytesTotal,
			Deleted: s.Deleted, Failed: s.Failed, Run: string(s.Run),
		})
		return
	}
	scene := splash.ComposeRemote(remoteStatus(s, p.device.name, p.device.address), p.now(), p.device.host.texts)
	fmt.Fprintln(p.out, scene.Line())
}

// line prints a line of the log.
func (p *devicePaper) line(l launcher.Line) {
	if p.json {
		p.print(deviceLine{Time: l.Time, Log: &logLine{l.Level.String(), l.Source, l.Text}})
		return
	}
	fmt.Fprintln(p.out, splash.RemoteLogText(splash.RemoteLine{Time: l.Time, Level: splash.RemoteLevel(l.Level), Source: l.Source, Text: l.Text}))
}

func (p *devicePaper) print(l deviceLine) {
	if l.Time.IsZero() {
		l.Time = p.now()
	}
	object, err := json.Marshal(l)
	if err != nil {
		object = fmt.Appendf(nil, `{"problem":%q}`, err)
	}
	fmt.Fprintf(text.NewJSONWriter(p.out), "%s\n", object)
}
