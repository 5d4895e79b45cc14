// Package config holds the settings of an update server: what an operator can decide before it starts.
//
// Load reads a TOML file. Settings are the defaults, then the file's own values, then those of the chosen [SubConfig.<name>]
// after those of its parents. Names are those of the source (fonline reference, section 4). Relative paths are relative to the
// file's folder. The result is a value; loading looks at no other file.
//
// Every fault is an *Error: the file, the line, the full name of the setting, and what would be right. Validate finds all faults
// at once. An unknown name is a fault, with the nearest known name as advice.
//
// Names, Describe and Print have one source, the table in fault.go: each setting with its kind of value, its default and its
// purpose. Print writes a settings file that means the same.
//
// Limits bound what clients can make a server spend. Each has a default and a reason.
package config

import "path/filepath"

const (
	// DefaultPort is the source's default of Network.ServerPort.
	DefaultPort = 4000
	// DefaultSpread is the default of Network.SpreadConnections.
	DefaultSpread = 4
	// DefaultPortion is the source's default of Network.UpdateFileMaxPortionSize, in bytes.
	DefaultPortion = 1_000_000
	// MaxPortion is the largest portion that settings may ask for, in bytes: each connection that is being served from
	// disk holds one portion in memory, and a client must take it as one frame. The source's largest known use is 5 MB.
	MaxPortion = 16 << 20
	// MaxCompatibility is the longest compatibility version in bytes. The engine's is 16 characters; 256 leaves room for
	// hand-written ones and keeps the hello within one small frame.
	MaxCompatibility = 256
	// PackExt is what the source appends to an entry to find its pack.
	PackExt = ".zip"
)

// Settings are what an operator decides. The names are those of the source (fonline reference, section 4). It is a value;
// folders are used as they stand, so Load and ForFolder join relative ones to their base. The zero value
// serves nothing: start from Defaults.
type Settings struct {
	// CompatibilityVersion is the gameplay version that is served. Clients that say another one are outdated. With a release
	// folder it is empty: the releases say it.
	CompatibilityVersion string

	Network       Network
	ServerNetwork ServerNetwork
	Baking        Baking
	Release       Release
	Limits        Limits
	Operations    Operations
	Compat        Compat
}

// Network are the settings that both ends of a connection share in the source.
type Network struct {
	ServerPort               int  // TCP port, 1..65535, on every address of the machine
	UpdateFileMaxPortionSize int  // bytes in one answer, 1..MaxPortion
	TlsPort                  int  // TCP port for clients that speak TLS, 0 for none
	WebSocketPort            int  // TCP port for WebSocket, 0 for none; the newer source's default is 4001
	SecuredWebSockets        bool // WebSocketPort speaks TLS too
	DisableZlibCompression   bool // engine's generations: send plain instead of one zlib stream. Not negotiated, clients must agree

	// CongestionControl is CongestionAuto, CongestionSystem, or the name of an algorithm of the operating system's. It counts
	// where the system lets a program choose (Linux).
	CongestionControl string
	// SpreadConnections is how many connections a C1 client is asked to have where its line loses packets and the congestion
	// control is not BBR, 1..netproto.MaxLines; 1 is never more than one. Four carried five times as much as one over a link of
	// 100 ms that loses 1 % (perf reference, section 5).
	SpreadConnections int

	// ForceMetadataVersion is told to G2b clients instead of the version that the packs carry; empty means that one.
	ForceMetadataVersion string
}

// ServerNetwork are the settings of the server alone.
type ServerNetwork struct {
	TlsCertificate      string // PEM file of the certificate and those that lead to its authority
	TlsPrivateKey       string // PEM file of its key
	WssCertificate      string // the same for WebSocketPort, by the source's names; both empty: those of TLS
	WssPrivateKey       string
	UpdateFilesInMemory bool // keep every offered file in RAM instead of reading it for each portion
}

// Baking says where the files are.
type Baking struct {
	PlatformBinaries string // folder with one folder of native modules for each target; may be missing
	ClientResources  string // folder of the resource packs
	CacheResources   string // the source's folder for cached digests; accepted, unused: files are hashed at each start
	// ClientResourceEntries are the packs to offer, without ".zip", in the order of the list; "Embedded" is skipped. nil
	// means every *.zip directly in ClientResources, sorted; an empty list means none.
	ClientResourceEntries []string
}

// Defaults returns the source's defaults. Folders are relative; CompatibilityVersion is empty and must be set.
func Defaults() Settings {
	return Settings{
		Network: Network{ServerPort: DefaultPort, UpdateFileMaxPortionSize: DefaultPortion, CongestionControl: CongestionAuto, SpreadConnections: DefaultSpread},
		Baking:  Baking{PlatformBinaries: "PlatformBinaries", ClientResources: "Resources", CacheResources: "Cache"},
		Release: Release{Channel: DefaultChannel, CacheSize: DefaultCacheSize, HTTPPrefix: DefaultHTTPPrefix},
		Limits:  DefaultLimits(),
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

// Storage is the word for where portions come from: "memory" or "disk".
func (s Settings) Storage() string {
	if s.ServerNetwork.UpdateFilesInMemory {
		return "memory"
	}
	return "disk"
}
