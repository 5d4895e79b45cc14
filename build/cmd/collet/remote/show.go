package remote

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"collet/build/cmd/collet/console"
	"collet/build/remote"
	"collet/netproto/launcher/desk"
	"collet/netproto/launcher/wire"
	"collet/platform/text"
)

// barWidth is how many characters a bar has.
const barWidth = 16

// show shows the events of a request: as text, on a terminal with a bar for each device below everything else, or as JSON.
// Logs of games go to standard output, everything else to standard error. It is safe for concurrent use.
type show struct {
	console  console.Console
	raw      io.Writer // below console.Err, for cursor movements
	json     bool
	terminal bool // bars can be drawn anew
	now      func() time.Time

	mu    sync.Mutex
	bars  map[string]*bar
	known map[string]remote.Device // as they were told of last
	drawn int                      // lines of bars that stand on the terminal
	last  time.Time
}

// bar is a push to one device.
type bar struct {
	name  string // for people
	p     remote.Progress
	moved time.Time // when a line about it was printed, where bars can't be drawn
}

func newShow(c console.Console, json bool) *show {
	raw, terminal := console.TerminalOf(c.Err)
	return &show{console: c, json: json, raw: raw, terminal: terminal, now: time.Now, bars: map[string]*bar{}, known: map[string]remote.Device{}}
}

// event shows one event.
func (s *show) event(e remote.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.json {
		s.object(e)
		return
	}
	switch e.Kind {
	case remote.KindDesk:
		s.printLine("%s is served on %s", console.Clean(e.Desk.Root), e.Desk.Address)
	case remote.KindDevice:
		s.device(*e.Info)
	case remote.KindProgress:
		s.progress(e.Device, *e.Progress)
	case remote.KindProblem:
		s.printLine("left out: %s: %s", console.Clean(e.Path), console.Clean(e.Error))
	case remote.KindResult:
		s.result(e)
	case remote.KindPushed:
		if e.Error != "" {
			s.printLine("push: %s", console.Clean(e.Error))
		}
	case remote.KindLog:
		s.log(e)
	case remote.KindNote:
		s.printLine("%s", console.Clean(e.Text))
	}
}

// printNote shows what is no event.
func (s *show) printNote(text string) {
	s.event(remote.Event{Kind: remote.KindNote, Time: s.now(), Text: text})
}

// rest takes the bars away: nothing more comes.
func (s *show) rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	clear(s.bars)
}

// finish tells how a request ended, and gives the error for the exit code.
func (s *show) finish(err error) error {
	code := codeOf(err)
	var f *remote.Failure
	if s.json {
		end := struct {
			remote.Event
			Exit int `json:"exit"`
		}{remote.Event{Kind: remote.KindEnd, Time: s.now()}, code}
		if err != nil {
			end.Error, end.Fault = err.Error(), remote.FaultOther
		}
		if errors.As(err, &f) {
			end.Fault = f.Fault
		}
		s.object(end)
		if err == nil {
			return nil
		}
		return console.WithCode(console.Printed(err), code)
	}
	if err == nil {
		return nil
	}
	if errors.As(err, &f) && f.Fault == remote.FaultCancelled {
		err = errors.New("interrupted: what arrived on devices stays, and the next push goes on from there")
	}
	return console.WithCode(err, code)
}

// object needs mu, except at the end.
func (s *show) object(v any) {
	object, err := json.Marshal(v)
	if err != nil {
		object = fmt.Appendf(nil, `{"event":"end","error":%q}`, err)
	}
	fmt.Fprintf(text.NewJSONWriter(s.console.Out), "%s\n", object)
}

// printLine prints a line above the bars. It needs mu, as all below.
func (s *show) printLine(format string, args ...any) {
	s.erase()
	fmt.Fprintf(s.console.Err, format+"\n", args...)
	s.draw()
}

func (s *show) device(d remote.Device) {
	before, known := s.known[d.ID]
	s.known[d.ID] = d
	switch {
	case !d.Connected:
		s.printLine("%s went away", console.Clean(d.ID))
	case d.Collet && (!known || !before.Connected):
		s.printLine("%s is here", console.Clean(d.ID))
	case !known || !before.Connected:
		s.printLine("%s is here (plain protocol)", console.Clean(d.ID))
	}
	switch {
	case d.Connected && d.Running && !before.Running:
		s.printLine("%s: the game runs", console.Clean(d.ID))
	case d.Connected && !d.Running && before.Running:
		s.printLine("%s: the game has ended", console.Clean(d.ID))
	}
}

// result tells the end of something on one device. That a game runs, or does not, is told with the device.
func (s *show) result(e remote.Event) {
	delete(s.bars, e.Device)
	if e.Error == "" && e.Result.Do == remote.VerbStart {
		return
	}
	s.printLine("%s: %s", console.Clean(e.Device), resultText(e))
}

func (s *show) log(e remote.Event) {
	own := e.Log.Source == "" && s.known[e.Device].Collet // the desk's words, of what our devices tell themselves
	if own && e.Log.Lost == 0 {
		return
	}
	s.erase()
	defer s.draw()
	begin := fmt.Sprintf("%s %s | ", e.Time.Local().Format("15:04:05.000"), console.Clean(nameOf(e.Device)))
	if e.Log.Lost > 0 { // among the lines, also in a file
		fmt.Fprintf(s.console.Out, "%swarning: lines that came too fast and are lost: %d\n", begin, e.Log.Lost)
	}
	if own || e.Log.Source == "" && e.Log.Text == "" {
		return
	}
	level := ""
	if e.Log.Level != wire.LevelInfo.String() {
		level = e.Log.Level + ": "
	}
	source := console.Clean(e.Log.Source)
	if source != "" {
		source += " "
	}
	fmt.Fprintf(s.console.Out, "%s%s%s%s\n", begin, source, level, console.Clean(e.Log.Text))
}

// nameOf is the name in an id, which is name@address.
func nameOf(id string) string {
	if at := strings.LastIndexByte(id, '@'); at > 0 {
		return id[:at]
	}
	return id
}

func (s *show) progress(device string, p remote.Progress) {
	b := s.bars[device]
	if b == nil {
		b = &bar{name: nameOf(device), moved: s.now()}
		s.bars[device] = b
	}
	changed := b.p.Phase != p.Phase
	b.p = p
	if p.Phase == desk.PushDone || p.Phase == desk.PushFailed {
		delete(s.bars, device)
		s.erase()
		s.draw()
		return
	}
	switch now := s.now(); {
	case !s.terminal && now.Sub(b.moved) >= console.LineEvery:
		b.moved = now
		fmt.Fprintln(s.console.Err, b.line(now))
	case s.terminal && (changed || now.Sub(s.last) >= console.RewriteEvery):
		s.last = now
		s.erase()
		s.draw()
	}
}

// erase takes the bars off the terminal.
func (s *show) erase() {
	if s.drawn > 0 {
		fmt.Fprintf(s.raw, "\x1b[%dA\r\x1b[J", s.drawn)
		s.drawn = 0
	}
}

// draw puts them back.
func (s *show) draw() {
	if !s.terminal {
		return
	}
	bars := make([]*bar, 0, len(s.bars))
	for _, b := range s.bars {
		bars = append(bars, b)
	}
	slices.SortFunc(bars, func(a, b *bar) int { return cmp.Compare(a.name, b.name) })
	for _, b := range bars {
		line := []rune(b.line(s.now()))
		fmt.Fprintln(s.console.Err, string(line[:min(len(line), console.LineWidth)]))
	}
	s.drawn = len(bars)
}

// text is the bar in one line.
func (b *bar) line(now time.Time) string {
	line := fmt.Sprintf("%-12s ", console.Clean(b.name))
	switch b.p.Phase {
	case desk.PushWriting:
	case desk.PushWaiting:
		return line + "waits: " + console.Clean(cmp.Or(b.p.Problem, "for the device to come back"))
	default:
		line += string(b.p.Phase)
		if b.p.HashTotal > 0 && b.p.Hashed < b.p.HashTotal {
			line += fmt.Sprintf(" %s of %s", text.Bytes(b.p.Hashed), text.Bytes(b.p.HashTotal))
		}
		return line
	}
	if b.p.BytesTotal > 0 {
		done := min(float64(b.p.Bytes)/float64(b.p.BytesTotal), 1)
		full := int(done * barWidth)
		line += fmt.Sprintf("[%s%s] %3d %% %s of %s", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), int(done*100),
			text.Bytes(b.p.Bytes), text.Bytes(b.p.BytesTotal))
	}
	if passed := now.Sub(b.p.Began).Seconds(); !b.p.Began.IsZero() && passed >= 1 {
		line += fmt.Sprintf(", %s/s", text.Bytes(int64(float64(b.p.Bytes)/passed)))
	}
	return line + fmt.Sprintf(", file %d of %d %s", min(b.p.Files+1, b.p.FilesTotal), b.p.FilesTotal, console.Clean(b.p.Current))
}

// resultText says how something ended on one device.
func resultText(e remote.Event) string {
	r := e.Result
	switch {
	case e.Error != "":
		return console.Clean(e.Error)
	case r.Do == remote.VerbStop:
		return "the game is stopped"
	}
	line := "nothing had changed"
	if r.Written+r.Deleted > 0 {
		line = fmt.Sprintf("files written %d (%s sent in %d blocks), deleted %d", r.Written, text.Bytes(r.BytesSent), r.Blocks, r.Deleted)
	}
	if r.Attempts > 1 {
		line += fmt.Sprintf(", attempts %d", r.Attempts)
	}
	return line + fmt.Sprintf(", %.1f s", r.Took.Seconds())
}
