package update

import "fmt"

// Outcome is the result of an update, or of the whole start. The numbers are fixed.
type Outcome uint8

const (
	ResourcesReady            Outcome = 0
	BinariesStaged            Outcome = 1
	PlatformUnsupported       Outcome = 2
	ServerMissingNativeUpdate Outcome = 3
	UpdaterOutdated           Outcome = 4
	Failed                    Outcome = 5
	ContentMismatch           Outcome = 6
	ClientTooNew              Outcome = 7
	ComponentsMismatch        Outcome = 8
	Maintenance               Outcome = 9
	RuntimeFailed             Outcome = 10
	AlreadyRunning            Outcome = 11
	Cancelled                 Outcome = 12
	Redirected                Outcome = 13 // another server serves this version: the host connects there without a dialog
	PlayerPinned              Outcome = 14 // the account's floor is above this version
	UpdateLoop                Outcome = 15 // the server requests an update that is already installed
	SetIncomplete             Outcome = 16 // the installed set is known to be incomplete, and no server repaired it
)

// Cause is the reason for Failed. It is NoCause with every other outcome. The number is the exit code.
type Cause uint8

const (
	NoCause         Cause = 0
	Unreachable     Cause = 20 // the server can't be reached at all
	Interrupted     Cause = 21 // the connection broke and could not be restored
	DiskFull        Cause = 22
	NoPermission    Cause = 23
	LockedFile      Cause = 24 // another program has a file locked
	DamagedDownload Cause = 25 // the received bytes do not match their digest
	Untrusted       Cause = 26 // rejected before use: a bad name, a bad signature, a bad message
	ServerFault     Cause = 27 // the server broke its own protocol
	DiskFault       Cause = 28 // reading or writing failed for another reason
	SignIn          Cause = 29 // the server gives files only to those who are signed in
)

// Action is a next step that a player can choose. The words are the keys of the translated buttons.
type Action string

const (
	Retry   Action = "retry"
	Offline Action = "offline" // play the confirmed set without a server
	Update  Action = "update"  // fetch the offered files
	Store   Action = "store"   // open the store page
	Website Action = "website" // open the page with the full package
	Copy    Action = "copy"    // copy the report
	Play    Action = "play"    // start the game again
	Proceed Action = "proceed" // play although client and server differ, where the server allows it
	Repair  Action = "repair"  // hash everything and fetch damaged files
	Report  Action = "report"  // show the report, which can then be sent
	Details Action = "details" // show the tail of the log
	Quit    Action = "quit"
)

// End is one row of the table: the text that a player sees, the possible next steps, and the exit code of the process.
type End struct {
	Outcome Outcome
	Cause   Cause
	Key     string   // text key: "<Key>.title" and "<Key>.body" in assets/lang
	Actions []Action // in the order of the buttons; the first one is the default; empty for no dialog
	Exit    int
}

const (
	// KeyInTheWay is the text key of a disk fault where another file or folder occupies the place of a file of the game.
	KeyInTheWay = "end.way"
	// KeyWithheld is the text key of a missing update where releases exist, and none is for this player at the moment.
	KeyWithheld = "end.withheld"
	// KeyNoNames is the text key of a disk that has free bytes but can't hold another file.
	KeyNoNames = "end.names"
)

// Ends returns the whole table. Every outcome has a row, and Failed has one for each cause. Every dialog about a server or an
// update offers to play the installed version.
func Ends() []End {
	failed := []Action{Retry, Offline, Details, Quit}
	return []End{
		{ResourcesReady, NoCause, "end.ready", nil, 0},
		{BinariesStaged, NoCause, "end.staged", nil, 0},
		{PlatformUnsupported, NoCause, "end.store", []Action{Store, Offline, Details, Quit}, 12},
		{ServerMissingNativeUpdate, NoCause, "end.nobinary", []Action{Website, Retry, Offline, Details, Quit}, 13},
		{UpdaterOutdated, NoCause, "end.updater", []Action{Website, Offline, Details, Quit}, 14},
		{Failed, Unreachable, "end.unreachable", failed, 20},
		{Failed, Interrupted, "end.interrupted", failed, 21},
		{Failed, DiskFull, "end.diskfull", failed, 22},
		{Failed, NoPermission, "end.permission", failed, 23},
		{Failed, LockedFile, "end.locked", failed, 24},
		{Failed, DamagedDownload, "end.damaged", failed, 25},
		{Failed, Untrusted, "end.untrusted", failed, 26},
		{Failed, ServerFault, "end.server", failed, 27},
		{Failed, DiskFault, "end.disk", failed, 28},
		{Failed, SignIn, "end.signin", failed, 29},
		{ContentMismatch, NoCause, "end.content", failed, 16},
		{ClientTooNew, NoCause, "end.toonew", failed, 17},
		{ComponentsMismatch, NoCause, "end.components", []Action{Copy, Retry, Proceed, Offline, Quit}, 18},
		{Maintenance, NoCause, "end.maintenance", failed, 19},
		{RuntimeFailed, NoCause, "end.runtime", []Action{Play, Repair, Report, Quit}, 30},
		{AlreadyRunning, NoCause, "end.running", []Action{Retry, Quit}, 31},
		{Cancelled, NoCause, "end.cancelled", nil, 40},
		{Redirected, NoCause, "end.redirected", nil, 15},
		{PlayerPinned, NoCause, "end.pinned", []Action{Update, Store, Offline, Details, Quit}, 11},
		{UpdateLoop, NoCause, "end.loop", []Action{Copy, Offline, Details, Quit}, 10},
		{SetIncomplete, NoCause, "end.incomplete", []Action{Retry, Offline, Details, Quit}, 32},
	}
}

// EndOf returns the row of an end. The cause counts only where the outcome is Failed. An unknown outcome, or Failed with an
// unknown cause, gets the row of ServerFault. The player then sees a failure and may retry, and never a success.
func EndOf(o Outcome, c Cause) End {
	if o != Failed {
		c = NoCause
	}
	var fallback End
	for _, end := range Ends() {
		if end.Outcome == o && end.Cause == c {
			return end
		}
		if end.Outcome == Failed && end.Cause == ServerFault {
			fallback = end
		}
	}
	return fallback
}

// Shown reports whether the player sees a dialog for this end.
func (e End) Shown() bool { return len(e.Actions) > 0 }

// names are the texts for logs, JSON output and tests.
var names = map[Outcome]string{
	ResourcesReady: "ResourcesReady", BinariesStaged: "BinariesStaged", PlatformUnsupported: "PlatformUnsupported",
	ServerMissingNativeUpdate: "ServerMissingNativeUpdate", UpdaterOutdated: "UpdaterOutdated", Failed: "Failed",
	ContentMismatch: "ContentMismatch", ClientTooNew: "ClientTooNew", ComponentsMismatch: "ComponentsMismatch",
	Maintenance: "Maintenance", RuntimeFailed: "RuntimeFailed", AlreadyRunning: "AlreadyRunning", Cancelled: "Cancelled",
	Redirected: "Redirected", PlayerPinned: "PlayerPinned", UpdateLoop: "UpdateLoop",
	SetIncomplete: "SetIncomplete",
}

// String is the name for logs, JSON output and tests; an unknown number prints as such.
func (o Outcome) String() string {
	if name, known := names[o]; known {
		return name
	}
	return fmt.Sprintf("Outcome%d", uint8(o))
}

// causeNames are the texts for logs, JSON output and tests.
var causeNames = map[Cause]string{
	NoCause: "", Unreachable: "unreachable", Interrupted: "interrupted", DiskFull: "disk full",
	NoPermission: "no permission", LockedFile: "locked file", DamagedDownload: "damaged download",
	Untrusted: "untrusted", ServerFault: "server fault", DiskFault: "disk fault", SignIn: "sign-in",
}

// String is the name for logs, JSON output and tests: empty for NoCause; an unknown number prints as such.
func (c Cause) String() string {
	if name, known := causeNames[c]; known {
		return name
	}
	return fmt.Sprintf("cause %d", uint8(c))
}

// Away reports whether nothing came from any server: what is installed can be played meanwhile.
func (c Cause) Away() bool { return c == Unreachable || c == SignIn }

// known reports whether c is a cause of this table other than NoCause.
func (c Cause) known() bool { _, named := causeNames[c]; return named && c != NoCause }
