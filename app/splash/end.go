package splash

import (
	"strings"
	"time"

	"collet/app/update"
	"collet/assets"
	"collet/netproto/compat"
)

// EndInfo is what explains one end beyond its row in the table. Everything in it may be empty. Texts of peers need not
// be cleaned before; ComposeEnd does.
type EndInfo struct {
	Target string        // binary target, "Linux-x64"
	Server string        // host:port as it was asked for
	Fault  *update.Fault // of a Failed end
	Path   string        // where the install is; used where the fault names no file

	NoNames  bool     // of a full disk: it has bytes, and no room for another file
	InTheWay bool     // of a disk fault: something stands where a file of the game belongs
	Astray   []string // of a SetIncomplete: the files that are not right

	Needed, Free int64         // bytes, of a full disk; Needed is 0 and Free below 0 while unknown
	Volume       string        // which disk is full, as its user knows it; may be empty
	Holders      string        // who uses a locked file; empty where nobody can say
	Vanished     bool          // a file was gone after it had been written
	RetryAfter   time.Duration // of a maintenance; 0 while unknown
	Client       string        // the client's own version, as a person knows it; may be empty
	Floor        int32         // logic version that the account needs; 0 while unknown
	Offered      bool          // of a PlayerPinned: the server has what the account needs
	Code         string        // of an UpdateLoop: what to report
	ServerOlder  bool          // of an UpdaterOutdated: it is the server that is older
	Message      string        // an operator's words, in place of ours for what happened; from the server
	Allowed      bool          // of a ComponentsMismatch: the server lets the client play all the same

	Differences *compat.Differences // of a ComponentsMismatch; nil where nothing is known of them

	Unloadable string // the module that could not be loaded, where the game never ran
	Reason     string // how the game ended; may hold words of the game
	RolledBack bool   // the last good version was put back
	Remedy     string // the settings file that can name another folder to write to; empty where that would not help

	Certificate string // what is wrong with the server's: "dates", "host", "authority", or empty
	Unproven    bool   // nothing proves who sent the game's code
	Proxy       string // the proxy that did not connect us, without its password; empty for none

	StoreURL    string // of the store page; never from a server that nobody vouches for
	WebsiteURL  string // of the page with the full package; never from a server
	PlayOffline bool   // there is a confirmed set that can be played without the server
}

// Button is one next step. URL is the page that it opens, if it opens one.
type Button struct {
	Action update.Action
	Label  string
	URL    string
}

// Dialog is what a person is shown when something ended: what happened, what to do, and buttons to do it. All texts are
// cleaned and in one language. Without buttons nothing is shown, and Title and Body are for logs and terminals.
type Dialog struct {
	Title   string
	Body    string // paragraphs, parted by an empty line; where there are buttons, the last one is the next step
	Buttons []Button
	Default int // index of the button that Enter presses
}

// ComposeEnd words one row of the table of ends. It is pure. Buttons stand in the row's order; those that could do
// nothing (no page to open, nothing to play offline) are left out, and the next step speaks only of what is left. The
// last button is always there and ends it all, which is what Escape does.
func ComposeEnd(e update.End, info EndInfo, t assets.Texts) Dialog {
	if e.Outcome == update.UpdaterOutdated && info.ServerOlder {
		e.Key, e.Actions = update.EndOf(update.ClientTooNew, update.NoCause).Key, update.EndOf(update.ClientTooNew, update.NoCause).Actions
	}
	switch {
	case e.Cause == update.DiskFault && info.InTheWay:
		e.Key = update.KeyInTheWay
	case e.Cause == update.DiskFull && info.NoNames:
		e.Key = update.KeyNoNames
	}
	d := Dialog{Title: t.Get(e.Key + ".title")}
	for _, action := range e.Actions {
		if action == update.Offline && d.Offers(update.Proceed) {
			continue // it is the same there
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

// defaultButton is the first one that does something about the matter, or else the last one.
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

// body says what happened.
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
		said, more = more, "" // a developer has seen the title
	}
	if words := operatorWords(info.Message); words != "" {
		said = words
	}
	if more != "" {
		said += "\n" + more
	}
	return said
}

// addition is the sentence that depends on what is known.
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

// maxAstray is how many files a dialog names.
const maxAstray = 3

// astray names the first files that are not right.
func astray(files []string, t assets.Texts) string {
	named := clean(strings.Join(files[:min(len(files), maxAstray)], ", "), maxLine)
	if more := len(files) - maxAstray; more > 0 {
		return t.Get("end.incomplete.more", "files", named, "count", more)
	}
	return named
}

// endOfGame says why the game ended, and what became of it.
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

// subject is the file or folder that an end is about.
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

// nextStep says what to do now, in words that fit the buttons that are there.
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
