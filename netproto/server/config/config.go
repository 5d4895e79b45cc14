// Package config holds the settings of an update server: defaults, settings file, validation and printing.
//
// Load reads a TOML file. Settings are the defaults, then the file's own values, then those of the chosen [SubConfig.<name>]
// after those of its parents. Names are those of the engine's server (docs/OPERATING.md). Relative paths are relative to the
// file's folder. The result is a value; loading reads no other file.
//
// Every fault is an *Error: the file, the line, the full name of the setting, and the expected value. Validate reports all faults
// at once. An unknown name is a fault, with the nearest known name as a hint.
//
// Names, Describe and Print share the table in fault.go: each setting with its type, its default and its purpose. Print writes an
// equivalent settings file.
//
// Limits bound what clients can make a server spend. Each has a default and a reason.
package config

import "path/filepath"

const (
	// DefaultPort is the source's default of Network.ServerPort.
	DefaultPort = 4000
	// defaultSpread and maxSpread are the default and the largest value of Network.SpreadConnections.
	defaultSpread = 4
	maxSpread     = 8
	// DefaultPortion is the source's default of Network.UpdateFileMaxPortionSize, in bytes.
	DefaultPortion = 1_000_000
	// MaxPortion is the largest configurable portion in bytes: a client must receive a portion as one frame. The source's largest
	// known use is 5 MB.
	MaxPortion = 16 << 20
	// MaxCompatibility is the longest compatibility version in bytes. The engine's is 16 characters; 256 leaves room for
	// hand-written ones and keeps the hello within one small frame.
	MaxCompatibility = 256
	// PackExt is the extension that the source appends to an entry's name.
	PackExt = ".zip"
)

// Settings are the settings of a server, with the names of the engine's server. It is a value. Paths are used as
// they are; Load and ForFolder join relative ones to their base. The zero value is not valid: start from Defaults.
type Settings struct {
	// CompatibilityVersion is the served gameplay version. Clients with another one are outdated. It is empty with a release
	// folder: the releases contain it.
	CompatibilityVersion string

	Network       Network
	ServerNetwork ServerNetwork
	Baking        Baking
	Release       Release
	Limits        Limits
	Operations    Operations
	SignIn        SignIn
	Compat        Compat
	Cluster       Cluster
}

// Network are the settings that both ends of a connection share in the source.
type Network struct {
	ServerPort               int  // TCP port, 1..65535, on every address of the machine
	UpdateFileMaxPortionSize int  // bytes in one answer, 1..MaxPortion
	TlsPort                  int  // TCP port for TLS, 0 for none
	WebSocketPort            int  // TCP port for WebSocket, 0 for none; the newer source's default is 4001
	SecuredWebSockets        bool // WebSocketPort uses TLS
	DisableZlibCompression   bool // engine's generations: send plain instead of one zlib stream. Not negotiated, clients must agree

	// CongestionControl is CongestionAuto, CongestionSystem, or the name of an algorithm of the operating system. It has an
	// effect on Linux only.
	CongestionControl string
	// SpreadConnections is accepted and unused. Earlier versions requested so many connections of a C1 client, 1..maxSpread.
	SpreadConnections int

	// ForceMetadataVersion is sent to G2b clients instead of the packs' own version; empty: the packs' own.
	ForceMetadataVersion string
}

// ServerNetwork are the settings of the server alone.
type ServerNetwork struct {
	TlsCertificate      string // PEM file of the certificate chain
	TlsPrivateKey       string // PEM file of its key
	WssCertificate      string // the same for WebSocketPort, with the source's names; both empty: those of TLS
	WssPrivateKey       string
	UpdateFilesInMemory bool // keep every offered file in RAM instead of reading it for each portion
}

// Baking has the folders of the offered files.
type Baking struct {
	PlatformBinaries string // folder with one folder of native modules for each target; may be missing
	ClientResources  string // folder of the resource packs
	CacheResources   string // the source's folder for cached digests; accepted, unused: files are hashed at each start
	// ClientResourceEntries are the packs to offer, without ".zip", in the order of the list; "Embedded" is skipped. nil offers
	// every *.zip directly in ClientResources, sorted; an empty list offers none.
	ClientResourceEntries []string
}

// Defaults returns the source's defaults. Folders are relative; CompatibilityVersion is empty and must be set.
func Defaults() Settings {
	return Settings{
		Network: Network{ServerPort: DefaultPort, UpdateFileMaxPortionSize: DefaultPortion, CongestionControl: CongestionAuto, SpreadConnections: defaultSpread},
		Baking:  Baking{PlatformBinaries: "PlatformBinaries", ClientResources: "Resources", CacheResources: "Cache"},
		Release: Release{Channel: DefaultChannel, CacheSize: DefaultCacheSize, HTTPPrefix: DefaultHTTPPrefix},
		Limits:  DefaultLimits(),
		SignIn:  SignIn{Scopes: []string{"profile", "email"}, NameClaim: "email", RoleClaim: "groups"},
	}
}

// ForFolder are the defaults for a package folder: root holds Resources and PlatformBinaries, and every pack is
// offered.
func ForFolder(root, compatibility string) Settings {
	s := Defaults()
	s.CompatibilityVersion = compatibility
	s.Baking.resolve(root)
	return s
}

// resolve joins relative folders to base.
func (b *Baking) resolve(base string) {
	for _, folder := range []*string{&b.PlatformBinaries, &b.ClientResources, &b.CacheResources} {
		if !filepath.IsAbs(*folder) {
			*folder = filepath.Join(base, *folder)
		}
	}
}

// Storage is where portions come from: "memory" or "disk".
func (s Settings) Storage() string {
	if s.ServerNetwork.UpdateFilesInMemory {
		return "memory"
	}
	return "disk"
}
