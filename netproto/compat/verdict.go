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

// Rule is the number of the deciding rule.
type Rule uint8

const (
	RuleNone        Rule = 0  // no rule: the peer speaks a generation without verdicts
	RuleUpdater     Rule = 1  // R1
	RuleMaintenance Rule = 3  // R3
	RuleString      Rule = 8  // R8
	RuleAccept      Rule = 11 // R11
)

// Judgement is a verdict with what explains it.
type Judgement struct {
	Verdict       Verdict
	Rule          Rule
	Compatibility string // the server's own compatibility version; empty where the generation can't say it
	RetryAfter    uint32 // seconds after which asking again makes sense; 0 is unknown
}
