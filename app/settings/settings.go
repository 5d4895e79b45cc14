// Package settings is what a client can be told without a command line: the names, what they mean, and how what several
// places say becomes one.
//
// The text is TOML with the source's names, written as tables or with dots: ServerHost below [ClientNetwork] is
// ClientNetwork.ServerHost = "…". Names that stand in no table are the game's, not ours: ForceOpenGL = 1. They are text,
// numbers or true and false, and the game gets them as arguments.
//
// Places, each going before those above it, name by name:
//
//	defaults       those of the fields
//	packaging      the area for settings inside the program (package runtime/area)
//	a file         <name of the program>.toml beside it
//	flags          of the command line; they are the client's, and not known here
//
// A list takes the place of a list; only what the file names is changed by it. Release.Root and Release.TrustedRoot are one
// thing in two ways: the place that says one of them goes before the places above it that say the other.
//
// A text that can't be understood is refused with the line, all of its faults at once where that can be.
package settings

import (
	"net"
	"strconv"
	"strings"
	"time"
)

const (
	// MaxText is the largest text in bytes; a hand-written one has a few hundred.
	MaxText = 1 << 20
	// MaxRoot is the largest trusted root in bytes; real ones have some 3000.
	MaxRoot = 256 << 10
	// MaxGame is how many settings of the game there may be: each becomes an argument.
	MaxGame = 256

	// DefaultStopWithin is how long a running game may take to end when the client is told to end, and MaxStopWithin the most that can be
	// asked for: systems end a session themselves after that.
	DefaultStopWithin = 5 * time.Second
	MaxStopWithin     = time.Minute

	// DefaultHost and DefaultPort are where a server is looked for (fonline reference, sections 2.11 and 2.1).
	DefaultHost = "127.0.0.1"
	DefaultPort = 4000
)

// Settings is all of them. Load makes one; the zero value has no defaults in it.
type Settings struct {
	ClientNetwork struct {
		ServerHost string // default 127.0.0.1; or tls://, ws://, wss:// with host, port and path
		ServerPort int    // default 4000

		Tls       bool   // speak TLS with the server
		TlsCa     string // PEM file of the authorities that vouch for it, relative to the install folder; default: the system's
		TlsName   string // name in its certificate; default: the host that is dialled
		Proxy     string // http://, https:// or socks5:// with [user:password@]host:port, or "direct"; default: the environment's
		ProxyOnly bool   // never go around a proxy that fails
	}
	Client struct {
		Title      string // what the window calls the game; default: the host's name
		WebsiteUrl string // where the newest full package is
		StoreUrl   string // where a store offers the game
		Language   string // default: the system's

		UserWritablePath string // where everything is written: empty: beside the host, "*": this user's data folder, or a folder
		GameName         string // name of the folder in this user's data folder; default: the packaged name, else the host's

		StopWithin string // how long a running game may take to end when this program is told to end, such as "5s", up to a minute; "0s" ends it at once

		OfflineAfter string // how long to try to reach anybody before what is installed is played, such as "3s"; "never" asks the player
	}
	Release struct {
		Urls        []string // folders on web servers with signed releases, best first
		Product     string   // the game's name there; default: the only one that the list has
		Channel     string   // default stable
		TrustedRoot string   // root.json that they lead back to, relative to the install folder; default: Root
		Root        string   // the text of root.json itself, for packages; default: the one built in
		Bandwidth   string   // bytes a second that they may take, such as "2M"; default: no limit
	}
	Update struct {
		Host  bool   // the program itself is updated with the game, where it can be; default: it stays as it is
		Trust string // what native code is taken by: "auto", "release", "sha256" or "fnv"; default auto
	}
	Baking struct {
		ClientResources string // folder of the packs, default Resources
		CacheResources  string // folder of the hash cache, default Cache
	}

	Compatibility Compatibility // what a server is told of the module, beyond what it says itself

	Remote Profiles // ways to start the game that a remote launcher's desk may choose from

	// Game is what stands in no table, as text: for the game.
	Game map[string]string `toml:"-"`
	// NamesServer says that some place names a server: ClientNetwork.ServerHost and ServerPort are not just the defaults.
	NamesServer bool `toml:"-"`
}

// Compatibility says what the module does not say of itself. All of it may be left out: a derived compatibility version
// already has the logic version and the hash over all components in it.
type Compatibility struct {
	Manifest     string    // what compatgen wrote, relative to the install folder; default: <module>.manifest.json beside the module, such as Lathe.so.manifest.json, where there is one
	LogicVersion *int32    // default: that of the manifest, or of a derived compatibility version
	ClientPatch  uint32    // fixes within a logic version
	BuildTime    time.Time // of the commit; default: that of the manifest, as all that follow
	BuildNumber  uint64    // commits on Branch
	BuildId      string    // default: what the module calls its build
	Branch       string
	Account      string // whose last version a server asks for
	Development  bool   // this is a developer's build: differences are shown even if the server tells nothing of its components
}

// Profiles are ways to start a game that a desk can choose from.
type Profiles struct {
	Profile  string // the one to take when the desk names none; default: standard
	Profiles map[string]Profile
}

// Profile is one way to start a game.
type Profile struct {
	Arguments   []string
	Environment map[string]string
}

// Server is the address as --server takes it.
func (s Settings) Server() string {
	if strings.Contains(s.ClientNetwork.ServerHost, "://") {
		return s.ClientNetwork.ServerHost
	}
	return net.JoinHostPort(s.ClientNetwork.ServerHost, strconv.Itoa(s.ClientNetwork.ServerPort))
}

// setDefaults completes what no place named.
func (s *Settings) setDefaults() {
	n := &s.ClientNetwork
	s.NamesServer = n.ServerHost != "" || n.ServerPort != 0
	setDefault(&n.ServerHost, DefaultHost)
	setDefault(&n.ServerPort, DefaultPort)
	setDefault(&s.Baking.ClientResources, "Resources")
	setDefault(&s.Baking.CacheResources, "Cache")
}

func setDefault[T comparable](value *T, fallback T) {
	var none T
	if *value == none {
		*value = fallback
	}
}
