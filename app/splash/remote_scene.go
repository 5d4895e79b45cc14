package splash

import (
	"slices"
	"strings"
	"time"

	"collet/assets"
)

// RemoteLink is the state of the connection between a device and its controller.
type RemoteLink string

const (
	RemoteAway      RemoteLink = "away"      // no answer; the device retries
	RemoteDialing   RemoteLink = "dialing"   // a connection attempt is in progress
	RemoteGreeting  RemoteLink = "greeting"  // the controller has not accepted the device yet
	RemoteConnected RemoteLink = "connected" // the controller has accepted the device
	RemoteEnding    RemoteLink = "ending"    // the device was told to end
)

// RemoteRun is the state of the game on a device.
type RemoteRun string

const (
	RemoteStopped  RemoteRun = "stopped"
	RemoteStarting RemoteRun = "starting"
	RemoteRunning  RemoteRun = "running"
	RemoteStopping RemoteRun = "stopping"
)

// RemoteLevel is the severity of a log line.
type RemoteLevel uint8

const (
	RemoteInfo    RemoteLevel = 0
	RemoteWarning RemoteLevel = 1
	RemoteError   RemoteLevel = 2
)

// RemoteLine is one line of the log.
type RemoteLine struct {
	Time   time.Time
	Level  RemoteLevel
	Source string
	Text   string
}

// RemoteStatus is a snapshot of a remote launcher's device. Its texts come from a controller and from the game and are
// untrusted.
type RemoteStatus struct {
	Name string // of the device
	Desk string // address of the controller, as requested
	Link RemoteLink
	Why  string // cause of the last failure

	Checking   bool   // the working copy is being read
	File       string // being received; may be empty
	Done, Size int64  // of that file, in bytes
	Files      int    // received since the start of the comparison
	Bytes      int64  // of them
	FilesAll   int    // expected in all; 0 if unknown
	BytesAll   int64  // of them
	Rate       int64  // bytes per second; 0 if unknown

	Run       RemoteRun
	RunSince  time.Time
	Startable bool // a manual start is possible

	Lines []RemoteLine // the end of the log, oldest first, at most MaxRemoteLines. Never modified
	Seen  uint64       // number of all lines so far
}

// MaxRemoteLines is the largest number of log lines in the window: a few pages.
const MaxRemoteLines = 500

// RemoteScene is the content of a remote launcher's window. All texts are cleaned and in one language.
type RemoteScene struct {
	Name     string
	Link     string // "Connected to 192.168.1.7:3413"
	Live     bool   // a controller is connected
	Headline string // activity on the working copy
	Detail   string // the file being received, or the cause of the last failure
	Bar      Bar
	Busy     bool
	Pulse    float64
	Count    string // received files and bytes
	Speed    string
	Run      string // state of the game, and since when
	Running  bool
	CanStart bool
	CanStop  bool
	CanForce bool // a stop was requested already
	Log      []RemoteRow
	LogSeen  uint64
}

// RemoteRow is one displayed log line.
type RemoteRow struct {
	Text  string
	Level RemoteLevel
}

// maxRow is the longest log line in characters: more than fits into the window at its widest.
const maxRow = 400

// ComposeRemote composes the scene for s at the time now. It is pure.
func ComposeRemote(s RemoteStatus, now time.Time, t assets.Texts) RemoteScene {
	scene := RemoteScene{
		Name: clean(s.Name, maxLine), Live: s.Link == RemoteConnected,
		Link:     t.Get("remote.link."+string(s.Link), "desk", clean(s.Desk, maxLine)),
		Headline: t.Get(remoteHeadline(s)), Detail: clean(s.File, maxLine), LogSeen: s.Seen,
		Run: remoteRun(s, t), Running: s.Run == RemoteRunning,
		CanStart: s.Run == RemoteStopped && s.Startable, CanStop: s.Run == RemoteStarting || s.Run == RemoteRunning, CanForce: s.Run == RemoteStopping,
	}
	if s.File == "" && (s.Link == RemoteAway || s.Link == RemoteConnected) {
		scene.Detail = clean(s.Why, maxLine)
	}
	scene.arrivals(s, now, t)
	for _, line := range s.Lines[max(len(s.Lines)-MaxRemoteLines, 0):] {
		scene.Log = append(scene.Log, remoteRow(line))
	}
	return scene
}

// remoteHeadline is the text key of the headline.
func remoteHeadline(s RemoteStatus) string {
	switch {
	case s.Link != RemoteConnected:
		return "remote.copy.waiting"
	case s.Checking:
		return "remote.copy.checking"
	case s.File != "":
		return "remote.copy.receiving"
	case s.Files > 0:
		return "remote.copy.received"
	}
	return "remote.copy.idle"
}

// remoteRun describes the state of the game.
func remoteRun(s RemoteStatus, t assets.Texts) string {
	state := t.Get("remote.run." + string(s.Run))
	if s.Run != RemoteRunning || s.RunSince.IsZero() {
		return state
	}
	return t.Get("remote.run.since", "state", state, "time", s.RunSince.Format(time.TimeOnly))
}

// arrivals sets the progress of received files.
func (scene *RemoteScene) arrivals(s RemoteStatus, now time.Time, t assets.Texts) {
	switch {
	case s.FilesAll > s.Files:
		scene.Count = t.Get("count", "n", s.Files+1, "total", s.FilesAll)
	case s.Files > 0:
		scene.Count = t.Get("remote.count", "files", s.Files, "size", t.Size(s.Bytes))
	}
	if s.Link != RemoteConnected {
		return
	}
	done, size := s.Done, s.Size
	if s.BytesAll > 0 && !s.Checking {
		done, size = s.Bytes, s.BytesAll
	}
	if s.File != "" && size > 0 {
		scene.Bar = Bar{Shown: true, Amount: t.Amount(min(done, size), size), Fraction: fraction(done, size)}
	}
	if s.Rate > 0 && s.File != "" && !s.Checking {
		scene.Speed = t.Rate(s.Rate)
	}
	if scene.Busy = s.Checking && !scene.Bar.Shown; scene.Busy {
		scene.Pulse = pulse(now)
	}
}

// remoteRow cleans one log line.
func remoteRow(l RemoteLine) RemoteRow {
	return RemoteRow{RemoteLogText(l), l.Level}
}

// RemoteLogText formats a log line as one cleaned line, for the window and for a terminal.
func RemoteLogText(l RemoteLine) string {
	text := clean(l.Text, maxRow)
	if l.Source != "" {
		text = clean(l.Source, maxLine) + ": " + text
	}
	return l.Time.Format(time.TimeOnly) + "  " + text
}

// Line is the scene without its log as one line, for a terminal.
func (scene RemoteScene) Line() string {
	parts := []string{scene.Link, scene.Headline, scene.Detail, scene.Bar.Amount, scene.Count, scene.Run}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), " · ")
}

// lasts is the validity of the scene without new events; 0 is unlimited.
func (scene RemoteScene) lasts() time.Duration {
	if scene.Busy {
		return pulsePeriod
	}
	return 0
}
