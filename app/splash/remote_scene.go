package splash

import (
	"slices"
	"strings"
	"time"

	"collet/assets"
)

// RemoteLink is where a device and its desk are with each other.
type RemoteLink string

const (
	RemoteAway      RemoteLink = "away"      // no answer; it is tried again
	RemoteDialing   RemoteLink = "dialing"   // under way
	RemoteGreeting  RemoteLink = "greeting"  // the desk has not let the device in yet
	RemoteConnected RemoteLink = "connected" // the desk let the device in
	RemoteEnding    RemoteLink = "ending"    // the device was told to end
)

// RemoteRun is what the game does on a device.
type RemoteRun string

const (
	RemoteStopped  RemoteRun = "stopped"
	RemoteStarting RemoteRun = "starting"
	RemoteRunning  RemoteRun = "running"
	RemoteStopping RemoteRun = "stopping"
)

// RemoteLevel is the weight of a line of the log.
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

// RemoteStatus is a snapshot of a device of a remote launcher. What it says came from a desk and from the game, and is
// believed by nobody.
type RemoteStatus struct {
	Name string // of the device
	Desk string // address, as it was asked for
	Link RemoteLink
	Why  string // what the last attempt died of, or what went wrong last

	Checking   bool   // the working copy is being read
	File       string // that arrives; empty if none does
	Done, Size int64  // of that file, in bytes
	Files      int    // that arrived since the desk began to compare
	Bytes      int64  // of them
	FilesAll   int    // that are to come in all; 0: the desk did not say
	BytesAll   int64  // of them
	Rate       int64  // bytes a second; 0 is unknown

	Run       RemoteRun
	RunSince  time.Time
	Startable bool // there is something to start by hand

	Lines []RemoteLine // the end of the log, oldest first, at most MaxRemoteLines of them. They are not changed.
	Seen  uint64       // how many lines there were in all
}

// MaxRemoteLines is how many lines of the log the window keeps: a few pages to look back.
const MaxRemoteLines = 500

// RemoteScene is what the window of a remote launcher shows. All texts are cleaned and in one language.
type RemoteScene struct {
	Name     string
	Link     string // "Connected to 192.168.1.7:3413"
	Live     bool   // there is a desk
	Headline string // what happens to the working copy
	Detail   string // the file that arrives, or why there is no desk
	Bar      Bar
	Busy     bool
	Pulse    float64
	Count    string // files and bytes that arrived
	Speed    string
	Run      string // what the game does, since when
	Running  bool
	CanStart bool
	CanStop  bool
	CanForce bool // it was asked to stop already
	Log      []RemoteRow
	LogSeen  uint64
}

// RemoteRow is one line of the log as it is shown.
type RemoteRow struct {
	Text  string
	Level RemoteLevel
}

// maxRow is the longest line of the log in characters: more than fit into the window at its widest.
const maxRow = 400

// ComposeRemote says what to show for s at the time now. It is pure.
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

// remoteHeadline is the key of the line that says what happens to the working copy.
func remoteHeadline(s RemoteStatus) string {
	switch {
	case s.Link != RemoteConnected:
		return "remote.copy.nobody"
	case s.Checking:
		return "remote.copy.checking"
	case s.File != "":
		return "remote.copy.receiving"
	case s.Files > 0:
		return "remote.copy.received"
	}
	return "remote.copy.idle"
}

// remoteRun says what the game does, and since when.
func remoteRun(s RemoteStatus, t assets.Texts) string {
	state := t.Get("remote.run." + string(s.Run))
	if s.Run != RemoteRunning || s.RunSince.IsZero() {
		return state
	}
	return t.Get("remote.run.since", "state", state, "time", s.RunSince.Format(time.TimeOnly))
}

// arrivals fills in what is known of files that arrive.
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

// remoteRow makes one harmless line of a line of the log.
func remoteRow(l RemoteLine) RemoteRow {
	return RemoteRow{RemoteLogText(l), l.Level}
}

// RemoteLogText is a line of the log in one harmless line, for the window and for a terminal.
func RemoteLogText(l RemoteLine) string {
	text := clean(l.Text, maxRow)
	if l.Source != "" {
		text = clean(l.Source, maxLine) + ": " + text
	}
	return l.Time.Format(time.TimeOnly) + "  " + text
}

// Line is the scene without its log in one line, for a terminal.
func (scene RemoteScene) Line() string {
	parts := []string{scene.Link, scene.Headline, scene.Detail, scene.Bar.Amount, scene.Count, scene.Run}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), " · ")
}

// lasts is how long the scene holds if nothing new happens; 0 is for ever.
func (scene RemoteScene) lasts() time.Duration {
	if scene.Busy {
		return pulsePeriod
	}
	return 0
}
