package remote

import (
	"net/netip"
	"time"

	"collet/netproto/launcher/desk"
)

// Verb is the operation of a Request. The words cross the control socket.
type Verb string

const (
	VerbPush    Verb = "push"    // synchronize devices with the working copy; with Launch, start the game there
	VerbWatch   Verb = "watch"   // push now and after every change, until it is cancelled
	VerbStart   Verb = "start"   // start the game
	VerbStop    Verb = "stop"    // stop the game
	VerbLogs    Verb = "logs"    // report log lines
	VerbDevices Verb = "devices" // list devices
)

// Request is one request of a command.
type Request struct {
	Do      Verb     `json:"do"`
	Root    string   `json:"root,omitempty"`    // the working copy, absolute; empty is the station's
	Devices []string `json:"devices,omitempty"` // ids or names; empty is all
	// Wait is how long to wait for devices: for at least AtLeast of them, or all named ones. 0 uses the connected ones.
	Wait    time.Duration `json:"wait,omitempty"`
	AtLeast int           `json:"at_least,omitempty"` // 0 is 1

	Launch        *Launch `json:"launch,omitempty"`         // push, watch: start the game afterwards; start: how
	Restart       bool    `json:"restart,omitempty"`        // start: stop a running game first; watch: after every push
	Follow        bool    `json:"follow,omitempty"`         // with Launch: tell logs until every game has ended; logs: what comes
	StopAtEnd     bool    `json:"stop_at_end,omitempty"`    // stop the games that this request started when it is cancelled
	Force         bool    `json:"force,omitempty"`          // stop: at once, without asking the game first
	DeleteIgnored bool    `json:"delete_ignored,omitempty"` // push, watch
	Tail          int     `json:"tail,omitempty"`           // logs: number of earlier lines
}

// Launch is how the game is started.
type Launch struct {
	Config    string `json:"config,omitempty"` // text of the .degame file; empty: as GameConfig returns it
	Profile   string `json:"profile,omitempty"`
	Arguments string `json:"arguments,omitempty"`
}

// Kind is the kind of an Event. The words cross the control socket and are in the output of --json.
type Kind string

const (
	KindDesk     Kind = "desk"     // which working copy is served where: the first event
	KindDevice   Kind = "device"   // a device connected or disconnected, or its game began or ended
	KindProgress Kind = "progress" // how far a push is
	KindProblem  Kind = "problem"  // a file of the working copy that is skipped
	KindResult   Kind = "result"   // the end of a push, a start or a stop on one device
	KindPushed   Kind = "pushed"   // the end of a push on all devices; of watch there are many
	KindLog      Kind = "log"      // a line that a device logged
	KindNote     Kind = "note"     // a message of the station
	KindEnd      Kind = "end"      // the request is done, or failed with Error: the last event
)

// Event is one event of a request. Empty members are omitted.
type Event struct {
	Kind     Kind      `json:"event"`
	Time     time.Time `json:"time"`
	Device   string    `json:"device,omitempty"` // the id of the device that it is about
	Desk     *Desk     `json:"desk,omitempty"`
	Info     *Device   `json:"info,omitempty"`
	Progress *Progress `json:"progress,omitempty"`
	Result   *Result   `json:"result,omitempty"`
	Log      *Line     `json:"log,omitempty"`
	Path     string    `json:"path,omitempty"`
	Text     string    `json:"text,omitempty"`
	Error    string    `json:"error,omitempty"`
	Fault    Fault     `json:"fault,omitempty"` // of Error, for programs
}

// Fault classifies why a request failed.
type Fault string

const (
	FaultNone       Fault = ""
	FaultNoDevice   Fault = "no-device"   // no device connected in time
	FaultNotStarted Fault = "not-started" // a game did not start
	FaultGame       Fault = "game"        // a game that was followed crashed, or said that it failed
	FaultDevice     Fault = "device"      // something failed on a device
	FaultUsage      Fault = "usage"       // the request makes no sense
	FaultCancelled  Fault = "cancelled"
	FaultOther      Fault = "other"
)

// Desk is a served working copy.
type Desk struct {
	Root    string `json:"root"`
	Address string `json:"address"`
	Own     bool   `json:"own,omitempty"` // for one request only
}

// Device describes a device for a person.
type Device struct {
	ID             string         `json:"id"`
	Name           string         `json:"name"`
	Address        netip.AddrPort `json:"address"`
	Connected      bool           `json:"connected"`
	Since          time.Time      `json:"since"`
	Collet         bool           `json:"collet"` // supports Collet's own messages
	Running        bool           `json:"running"`
	RunningSince   time.Time      `json:"running_since,omitzero"`
	EndedAt        time.Time      `json:"ended_at,omitzero"` // end of the last game, if there was one
	Exit           int            `json:"exit,omitempty"`    // of the last game: 0 well, above 0 badly, -1 unknown or stopped
	End            string         `json:"end,omitempty"`     // of the last game, in words
	Profiles       []string       `json:"profiles,omitempty"`
	DefaultProfile string         `json:"default_profile,omitempty"`
}

// Progress is the progress of a push to one device.
type Progress struct {
	Phase      desk.PushPhase `json:"phase"`
	Current    string         `json:"file,omitempty"`
	Files      int            `json:"files_done"`
	FilesTotal int            `json:"files"`
	Bytes      int64          `json:"bytes_done"`
	BytesTotal int64          `json:"bytes"`
	Hashed     int64          `json:"bytes_hashed,omitempty"` // of the working copy, while it is read
	HashTotal  int64          `json:"bytes_to_hash,omitempty"`
	Attempt    int            `json:"attempt,omitempty"`
	Began      time.Time      `json:"began,omitzero"`
	Problem    string         `json:"problem,omitempty"`
}

// Result is the result on one device. After a start or a stop the counts are zero.
type Result struct {
	Do        Verb          `json:"do"`
	OK        bool          `json:"ok"`
	Written   int           `json:"files_written"`
	Deleted   int           `json:"files_deleted"`
	Blocks    int           `json:"blocks_sent"`
	BytesSent int64         `json:"bytes_sent"`
	Attempts  int           `json:"attempts,omitempty"`
	Took      time.Duration `json:"took_ns,omitempty"`
	Started   bool          `json:"started,omitempty"`
}

// Line is a log line.
type Line struct {
	Level  string `json:"level"` // info, warning, error
	Source string `json:"source,omitempty"`
	Text   string `json:"text"`
	Lost   uint64 `json:"lost,omitempty"` // lost lines before this one
}

// deviceOf converts a device's state.
func deviceOf(i desk.DeviceInfo) Device {
	return Device{
		ID: i.ID, Name: i.Name, Address: i.Address, Connected: i.Connected, Since: i.Since, Collet: i.Own,
		Running: i.Running, RunningSince: i.RunningSince, EndedAt: i.EndedAt, Exit: i.End.Exit, End: i.End.Text, Profiles: i.Profiles, DefaultProfile: i.DefaultProfile,
	}
}

// progressOf converts a push's progress.
func progressOf(p desk.PushProgress) Progress {
	return Progress{
		Phase: p.Phase, Current: p.Current, Files: p.Files, FilesTotal: p.FilesTotal, Bytes: p.Bytes, BytesTotal: p.BytesTotal,
		Hashed: p.Hashed, HashTotal: p.HashTotal, Attempt: p.Attempt, Began: p.Began, Problem: p.Problem,
	}
}
