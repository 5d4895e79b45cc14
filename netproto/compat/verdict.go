package compat

import "fmt"

// Verdict is the server's judgement of a client. The numbers stand on the wire and never change.
type Verdict uint8

const (
	Accept             Verdict = 0 // play; resources may still be compared
	UpdateResources    Verdict = 1 // play after the resources were synchronised
	UpdateBinaries     Verdict = 2 // fetch the native module offered here
	UpdateViaStore     Verdict = 3 // this platform can't replace its own module
	NoNativeUpdate     Verdict = 4 // the server has no module for this target
	ClientTooNew       Verdict = 5 // no download can help; the server is older
	Redirect           Verdict = 6 // another server takes this version
	UpdaterMismatch    Verdict = 7 // the wire itself changed
	ComponentsMismatch Verdict = 8 // declarations differ; a developer is told which
	Maintenance        Verdict = 9 // come back later
)

// verdictNames are the words of logs and tools.
var verdictNames = map[Verdict]string{
	Accept: "ACCEPT", UpdateResources: "UPDATE_RESOURCES", UpdateBinaries: "UPDATE_BINARIES",
	UpdateViaStore: "UPDATE_VIA_STORE", NoNativeUpdate: "NO_NATIVE_UPDATE", ClientTooNew: "CLIENT_TOO_NEW",
	Redirect: "REDIRECT", UpdaterMismatch: "UPDATER_MISMATCH", ComponentsMismatch: "COMPONENTS_MISMATCH",
	Maintenance: "MAINTENANCE",
}

// String is the name used in logs; an unknown number prints as such.
func (v Verdict) String() string {
	if name, known := verdictNames[v]; known {
		return name
	}
	return fmt.Sprintf("VERDICT_%d", uint8(v))
}

// Known reports whether v is a verdict of this version of the table.
func (v Verdict) Known() bool { _, known := verdictNames[v]; return known }

// Rule is the number of the deciding rule. The numbers stand on the wire and never change.
type Rule uint8

const (
	RuleNone        Rule = 0  // no rule: the peer speaks a generation without verdicts
	RuleUpdater     Rule = 1  // R1: another updater generation
	RuleRedirect    Rule = 2  // R2: too new for here, and another server takes it
	RuleMaintenance Rule = 3  // R3
	RuleTooNew      Rule = 4  // R4: above the active range
	RuleTooOld      Rule = 5  // R5: below the active range
	RulePatch       Rule = 6  // R6: its patch is too low
	RuleFloor       Rule = 7  // R7: the account has played with a newer one
	RuleString      Rule = 8  // R8: another custom compatibility version
	RuleComponents  Rule = 9  // R9: other components
	RuleContent     Rule = 10 // R10: other packs
	RuleAccept      Rule = 11 // R11
)

// Reasons are all rules that apply to a client, whichever of them decided, as bits: for logs and tools.
type Reasons uint32

// ReasonOf is the bit of a rule.
func ReasonOf(r Rule) Reasons { return 1 << (r - 1) }

// Warnings are what a client is told beside its verdict, as bits. They stand on the wire and never change.
type Warnings uint32

const (
	WarnComponents Warnings = 1 // components differ, which is tolerated
	WarnNewer      Warnings = 2 // a newer version is active
	WarnNoBaseline Warnings = 4 // the components of the client's logic version are unknown
)

// Judgement is a verdict with what explains it. It is a comparable value; what it points to belongs to the snapshot.
type Judgement struct {
	Verdict       Verdict
	Rule          Rule
	Reasons       Reasons
	Warnings      Warnings
	Compatibility string // the server's own compatibility version; empty where the generation can't say it
	Age           Age
	Revision      uint64    // of the settings that judged
	RetryAfter    uint32    // seconds after which asking again makes sense; 0 is unknown
	MinPatch      uint32    // what RulePatch asks for
	Floor         int32     // what RuleFloor asks for: the logic version with which the account has played
	Endpoint      *Endpoint // where Redirect leads
	Withheld      bool      // NoNativeUpdate by a signed list: it has releases for this target, and none for this client at the moment
	Payload       *Payload  // what UpdateBinaries offers; nil where the server is not versioned
}

// Pinned reports whether the account's floor is what stands in the way.
func (j Judgement) Pinned() bool { return j.Rule == RuleFloor }
