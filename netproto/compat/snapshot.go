package compat

import (
	"fmt"
	"time"
)

// NoLogic is the logic version of a client that names none: it is below everything.
const NoLogic int32 = -1

// Range is a range of logic versions, both ends included.
type Range struct {
	Min int32 `json:"min"`
	Max int32 `json:"max"`
}

// Has reports whether v is in the range.
func (r Range) Has(v int32) bool { return r.Min <= v && v <= r.Max }

// Within reports whether all of r is in outer.
func (r Range) Within(outer Range) bool {
	return outer.Min <= r.Min && r.Min <= r.Max && r.Max <= outer.Max
}

// String is "6-7", or "6" where both ends are one.
func (r Range) String() string {
	if r.Min == r.Max {
		return fmt.Sprint(r.Min)
	}
	return fmt.Sprintf("%d-%d", r.Min, r.Max)
}

// Policy is the consequence of different components. The texts are part of settings.
type Policy string

const (
	PolicyOff     Policy = "off"     // components are not compared
	PolicyWarn    Policy = "warn"    // a difference is reported, and the client plays
	PolicyEnforce Policy = "enforce" // a client with differences does not play
)

// Payload is a native module that is on offer for a target, as its sidecar describes it.
type Payload struct {
	Name       string // the server's key for it; unused in the judgement
	Logic      int32
	Patch      uint32
	Components uint64 // its set hash; 0 is unknown
	Undeclared bool   // there is no sidecar
	Build      Build  // from which the module was built, for people; the judgement has no use for it
	Why        string // why an undeclared module is not offered, for people
}

// Target is what a server has for the clients of one target.
type Target struct {
	Store    bool      // only a store can replace a module there (Android, iOS, Web)
	Content  string    // identity of the packs that are served to them, where it is not the snapshot's; empty where it is
	Payloads []Payload // the newest logic version first
}

// PatchRule asks for a patch of the clients of one logic version.
type PatchRule struct {
	Logic    int32  `json:"logic"`
	Target   string `json:"target"` // a pattern of path.Match over the target's name; empty is all
	MinPatch uint32 `json:"min_patch"`
}

// Endpoint is the server for clients that are too new for this one.
type Endpoint struct {
	Host    string `json:"host"`
	Port    uint16 `json:"port"`
	TLS     bool   `json:"tls"`
	BaseURL string `json:"base_url"` // where that server's packs are; empty for none
}

// Snapshot is a server's data for judging hellos. Each change creates a new one, which all handshakes share and which is
// immutable.
type Snapshot struct {
	Revision      uint64 // of the operator's settings; 0 where there are none
	Compatibility string // the gameplay compatibility version that is served
	Custom        bool   // it is the game's own, and not derived from logic version and components
	Content       string // identity of the packs that are served; empty is unknown, and then nothing is compared

	Versioned  bool             // the server has a logic version; without one only strings are compared
	Supported  Range            // what its code can serve
	Active     Range            // may connect, within Supported
	Components uint64           // set hash of the server's own build; 0 is none
	Baselines  map[int32]uint64 // set hash of each logic version; that of the server's own is in it, too; 0 is unknown
	Build      Build            // of the server

	Policy      Policy // empty is PolicyOff
	Manifest    ManifestMode
	Development bool // this is a developer's server: differences are shown, and no build is replaced

	PatchRules  []PatchRule
	Redirect    *Endpoint // nil is off
	Maintenance bool
	Targeted    []string          // targets under maintenance, as patterns; empty is all
	AllowFetch  bool              // files may be fetched during maintenance
	RetryAfter  uint32            // seconds, told to clients under maintenance where Until is not known
	Until       time.Time         // expected end of the maintenance; zero is unknown
	Targets     map[string]Target // by the target's name
	StoreURLs   map[string]string // by the target's name or a pattern
	Messages    map[string]string // by the popup's key
	Developers  map[string]bool   // account ids
}
