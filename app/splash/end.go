package splash

import (
	"strings"
	"time"

	"collet/app/update"
	"collet/assets"
	"collet/netproto/compat"
)

// EndInfo holds the details of one end beyond its row in the table. All fields are optional. ComposeEnd cleans the texts of
// peers.
type EndInfo struct {
	Target string        // binary target, "Linux-x64"
	Server string        // host:port as requested
	Fault  *update.Fault // of a Failed end
	Path   string        // install folder; used if the fault names no file

	NoNames  bool     // full disk: bytes are free, but no further file fits
	InTheWay bool     // disk fault: something occupies the place of a file of the game
	Astray   []string // SetIncomplete: the missing or wrong files

	Needed, Free int64         // full disk: bytes; Needed is 0 and Free below 0 while unknown
	Volume       string        // full disk: its name for users; may be empty
	Holders      string        // locked file: the programs that use it; empty if unknown
	Vanished     bool          // a file was missing after it had been written
	RetryAfter   time.Duration // maintenance: time to its end; 0 if unknown
	Client       string        // the client's own version, as people know it; may be empty
	Floor        int32         // logic version that the account requires; 0 if unknown
	Offered      bool          // PlayerPinned: the server has the version that the account requires
	Withheld     bool          // ServerMissingNativeUpdate: there are releases for this system, and none for this player at the moment
	Code         string        // UpdateLoop: the code to report
	ServerOlder  bool          // UpdaterOutdated: the server is the older side
	Message      string        // an operator's text from the server, instead of the built-in one
	Allowed      bool          // ComponentsMismatch: the server lets the client play all the same

	Differences *compat.Differences // ComponentsMismatch; nil if unknown

	Unloadable string // the module that could not be loaded, if the game never ran
	Reason     string // how the game ended; may contain text from the game
	RolledBack bool   // the last proven version was restored
	Remedy     string // the settings file that can set another writable folder; empty where that would not help

	Certificate string // fault of the server's certificate: "dates", "host", "authority", or empty
	Unproven    bool   // the origin of the game's code is unproven
	Proxy       string // the failing proxy, without its password; may be empty

	StoreURL    string // of the store page; never from an untrusted server
	WebsiteURL  string // of the page with the full package; never from a server
	PlayOffline bool   // a confirmed set can be played without the server
}

// Button is one next step. URL is the page to open, if any.
type Button struct {
	Action update.Action
	Label  string
	URL    string
}

// Dialog is shown after an end: what happened, what to do, and buttons for it. All texts are cleaned and in one language. A
// Dialog without buttons is not shown; its Title and Body are for logs and terminals.
type Dialog struct {
	Title   string
	Body    string // paragraphs, separated by empty lines; with buttons, the last one is the next step
	Buttons []Button
	Default int // index of the button that Enter presses
}

// ComposeEnd composes the dialog for one row of the table of ends. It is pure. Buttons keep the row's order. Those without
// a function (no page to open, no installed set to play) are left out, and the next step mentions only the remaining ones.
// The last button is always there and ends the program; Escape presses it.
func ComposeEnd(e update.End, info EndInfo, t assets.Texts) Dialog {
	if e.Outcome == update.UpdaterOutdated && info.ServerOlder {
		e.Key, e.Actions = update.EndOf(update.ClientTooNew, update.NoCause).Key, update.EndOf(update.ClientTooNew, update.NoCause).Actions
	}
	switch {
	case e.Outcome == update.ServerMissingNativeUpdate && info.Withheld:
		e.Key, e.Actions = update.KeyWithheld, update.EndOf(update.Maintenance, update.NoCause).Actions
	case e.Cause == update.DiskFault && info.InTheWay:
		e.Key = update.KeyInTheWay
	case e.Cause == update.DiskFull && info.NoNames:
		e.Key = update.KeyNoNames
	}
	d := Dialog{Title: t.Get(e.Key + ".title")}
	for _, action := range e.Actions {
		if action == update.Offline && d.Offers(update.Proceed) {
			continue // both lead to the installed game
		}
		if button := compose(action, info, t); button.possible(info) {
			d.Buttons = append(d.Buttons, button)
		}
	}
	d.Body = body(e, info, t)
	if step := nextStep(e, d, info, t); step != "" {
		d.Body += "\n\n" + step
	}
	d.Default = defaultButton(d.Buttons)
	return d
}

func compose(action update.Action, info EndInfo, t assets.Texts) Button {
	b := Button{Action: action, Label: t.Get("button." + string(action))}
	switch action {
	case update.Store:
		b.URL = info.StoreURL
	case update.Website:
		b.URL = info.WebsiteURL
	}
	return b
}

func (b Button) possible(info EndInfo) bool {
	switch b.Action {
	case update.Store, update.Website:
		return b.URL != ""
	case update.Offline:
		return info.PlayOffline
	case update.Update:
		return info.Offered
	case update.Proceed:
		return info.Allowed
	default:
		return true
	}
}

// defaultButton is the first button other than Details, or else the first one.
func defaultButton(buttons []Button) int {
	for i, b := range buttons {
		if b.Action != update.Details {
			return i
		}
	}
	return 0
}

// Offers reports whether one of the buttons is for action.
func (d Dialog) Offers(action update.Action) bool {
	for _, b := range d.Buttons {
		if b.Action == action {
			return true
		}
	}
	return false
}

// Text is the dialog without buttons, for logs and for a terminal.
func (d Dialog) Text() string { return d.Title + "\n" + d.Body }

// body describes what happened.
func body(e update.End, info EndInfo, t assets.Texts) string {
	args := []any{
		"host", orWord(info.Server, t.Get("word.unknown")), "target", orWord(info.Target, t.Get("word.unknown")),
		"path", orWord(subject(info), t.Get("word.path")),
	}
	key := e.Key + ".body"
	if e.Outcome == update.RuntimeFailed && info.Unloadable != "" {
		key, args = "end.runtime.unloadable", []any{"path", clean(info.Unloadable, maxLine)}
	}
	if e.Cause == update.DiskFault && info.Vanished && !info.InTheWay {
		key = "end.disk.vanished"
	}
	said := t.Get(key, args...)
	if e.Outcome == update.PlayerPinned && info.Floor > 0 {
		said = t.Get("end.pinned.floor", "floor", info.Floor)
	}
	more := addition(e, info, t)
	if e.Outcome == update.ComponentsMismatch && more != "" {
		said, more = more, "" // a developer has read the title
	}
	if words := operatorWords(info.Message); words != "" {
		said = words
	}
	if more != "" {
		said += "\n" + more
	}
	return said
}

// addition is the sentence with the known details of the end.
func addition(e update.End, info EndInfo, t assets.Texts) string {
	switch {
	case e.Cause == update.DiskFull && !info.NoNames && info.Needed > 0 && info.Free >= 0:
		return t.Get("end.diskfull.numbers", "needed", t.Size(info.Needed), "free", t.Size(info.Free))
	case (e.Cause == update.LockedFile || e.Outcome == update.AlreadyRunning) && info.Holders != "":
		return t.Get("end.locked.holder", "holders", clean(info.Holders, maxLine))
	case e.Cause == update.DiskFault && info.Vanished && !info.InTheWay:
		return t.Get("end.disk.scanner")
	case e.Cause == update.Untrusted && info.Certificate != "":
		return t.Get("end.untrusted.certificate." + info.Certificate)
	case e.Cause == update.Untrusted && info.Unproven:
		return t.Get("end.untrusted.unproven")
	case e.Cause == update.Unreachable && info.Proxy != "":
		return t.Get("end.unreachable.proxy", "proxy", clean(info.Proxy, maxLine))
	case e.Outcome == update.Maintenance && info.RetryAfter > 0:
		return t.Get("end.maintenance.back", "time", t.Span(info.RetryAfter))
	case e.Outcome == update.ComponentsMismatch && info.Differences != nil:
		return strings.Join(differences(*info.Differences, t), "\n")
	case e.Outcome == update.PlatformUnsupported && info.Client != "":
		return t.Get("end.store.client", "client", clean(info.Client, maxLine))
	case e.Outcome == update.SetIncomplete && len(info.Astray) > 0:
		return t.Get("end.incomplete.files", "files", astray(info.Astray, t))
	case e.Outcome == update.RuntimeFailed:
		return endOfGame(info, t)
	default:
		return ""
	}
}

// maxAstray is the largest number of files that a dialog names.
const maxAstray = 3

// astray names the first missing or wrong files.
func astray(files []string, t assets.Texts) string {
	named := clean(strings.Join(files[:min(len(files), maxAstray)], ", "), maxLine)
	if more := len(files) - maxAstray; more > 0 {
		return t.Get("end.incomplete.more", "files", named, "count", more)
	}
	return named
}

// endOfGame gives the reason for the game's end, and reports a rollback.
func endOfGame(info EndInfo, t assets.Texts) string {
	var lines []string
	if info.Reason != "" && info.Unloadable == "" {
		lines = append(lines, t.Get("end.runtime.reason", "reason", clean(info.Reason, maxReason)))
	}
	if info.RolledBack {
		lines = append(lines, t.Get("end.runtime.back"))
	}
	return strings.Join(lines, "\n")
}

// subject is the file or folder of an end.
func subject(info EndInfo) string {
	if info.Fault != nil && info.Fault.Subject != "" {
		return info.Fault.Subject
	}
	return info.Path
}

func orWord(text, word string) string {
	if text = clean(text, maxLine); text != "" {
		return text
	}
	return word
}

// nextStep describes the next step, matching the available buttons.
func nextStep(e update.End, d Dialog, info EndInfo, t assets.Texts) string {
	if len(d.Buttons) == 0 {
		return ""
	}
	key := e.Key + ".next"
	for _, choice := range []update.Action{update.Update, update.Store, update.Website, update.Proceed} {
		if d.Offers(choice) {
			key += "_" + string(choice)
			break
		}
	}
	step := t.Get(key, "code", orWord(info.Code, t.Get("word.unknown")))
	if missing := info.Needed - info.Free; e.Cause == update.DiskFull && info.Free >= 0 && missing > 0 && info.Volume != "" {
		step = t.Get("end.diskfull.free", "missing", t.Size(missing), "volume", clean(info.Volume, maxLine))
	}
	if e.Cause == update.NoPermission && info.Remedy != "" {
		step = t.Get("end.permission.remedy", "command", clean(info.Remedy, maxLine))
	}
	if d.Offers(update.Offline) {
		step += " " + t.Get("next.offline")
	}
	return step
}
