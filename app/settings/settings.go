// Package settings reads the client's settings other than command line flags. It defines their names and meanings, and how
// several sources are merged.
//
// The text is TOML with the engine's names, written as tables or with dots: ServerHost below [ClientNetwork] is
// ClientNetwork.ServerHost = "…". Names outside of tables belong to the game, for example ForceOpenGL = 1. Their values are
// texts, numbers or booleans, and the game receives them as arguments.
//
// Sources in ascending priority, merged name by name:
//
//	defaults       those of the fields
//	packaging      the area for settings inside the program (package runtime/area)
//	a file         <name of the program>.toml beside it
//	flags          of the command line; they are the client's, and not known here
//
// A list replaces the list of a lower source; other settings stay. Release.Root and Release.TrustedRoot are two forms of
// one setting: a source with one of them overrides both in lower sources.
//
// An invalid text is rejected with line numbers, all faults at once where possible.
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
	// MaxGame is the largest number of game settings: each becomes an argument.
	MaxGame = 256

	// DefaultStopWithin is the time for a running game to end after the client is told to end. MaxStopWithin is the largest
	// allowed value: systems end a session by themselves after that.
	DefaultStopWithin = 5 * time.Second
	MaxStopWithin     = time.Minute

	// DefaultHost and DefaultPort are the default server address.
	DefaultHost = "127.0.0.1"
	DefaultPort = 4000
)

// Settings holds all settings. Load makes one; the zero value contains no defaults.
type Settings struct {
	ClientNetwork struct {
		ServerHost string // default 127.0.0.1; or tls://, ws://, wss:// with host, port and path
		ServerPort int    // default 4000

		Tls       bool   // connect to the server with TLS
		TlsCa     string // PEM file of its certificate authorities, relative to the install folder; default: the system's
		TlsName   string // name in its certificate; default: the dialled host
		Proxy     string // http://, https:// or socks5:// with [user:password@]host:port, or "direct"; default: the environment's
		ProxyOnly bool   // never bypass a failing proxy
	}
	Client struct {
		Title      string // the game's name in the window; default: the host's name
		WebsiteUrl string // page with the newest full package
		StoreUrl   string // page of the game in a store
		Language   string // default: the system's

		UserWritablePath string // folder for all written files: empty: beside the host, "*": this user's data folder, or a path
		GameName         string // name of the folder in this user's data folder; default: the packaged name, else the host's

		StopWithin string // time for a running game to end when this program is told to end, such as "5s", up to a minute; "0s" ends it at once

		OfflineAfter string // time to try to reach a server before the installed version starts, such as "3s"; "never" asks the player

		Kind string `json:",omitempty"` // what the game is: "module", a native module, or "program", an executable of its own; default module
	}
	Release struct {
		Urls        []string // addresses of release folders, see location.ParsePrivate, best first
		Product     string   // the game's name there; default: the only one in the list
		Channel     string   // default stable
		TrustedRoot string   // trusted root.json for their signatures, relative to the install folder; default: Root
		Root        string   // the text of root.json itself, for packages; default: the built-in one
		Bandwidth   string   // limit in bytes per second, such as "2M"; default: unlimited
		Beacon      string   `json:",omitempty"` // address that beacons go to, see docs/PRIVACY.md, or "off"; default: none is sent

		Token        string   `json:",omitempty"` // bearer token for the mirrors in Urls; default: none
		TokenCommand []string `json:",omitempty"` // program and arguments of a command whose output is the token
	}
	Update struct {
		Host  bool   // update the program itself with the game, where possible; default: false
		Trust string // trust in native code: "auto", "release", "sha256" or "fnv"; default auto

		// WhilePlaying is the time between two looks for a newer release while a program runs, such as "10m". It is downloaded then, and
		// used by the next start. Empty or "never" looks only at the start.
		WhilePlaying string `json:",omitempty"`
	}
	Baking struct {
		ClientResources string // folder of the packs, default Resources
		CacheResources  string // folder of the hash cache, default Cache
	}

	Compatibility Compatibility // what a server is told of the module, in addition to the module's own data

	Remote Profiles // profiles that a remote controller may select

	// Game holds the names outside of tables, with their values as text, for the game.
	Game map[string]string `toml:"-"`
	// NamesServer reports that a source names a server: ClientNetwork.ServerHost and ServerPort are not only defaults.
	NamesServer bool `toml:"-"`
}

// Compatibility supplements the module's own data. All of it is optional: a derived compatibility version already contains
// the logic version and the hash over all components.
type Compatibility struct {
	Manifest     string    // output of compatgen, relative to the install folder; default: <module>.manifest.json beside the module, if present
	LogicVersion *int32    // default: from the manifest, or from a derived compatibility version
	ClientPatch  uint32    // patch level within a logic version
	BuildTime    time.Time // of the commit; default: from the manifest, like all that follow
	BuildNumber  uint64    // commits on Branch
	BuildId      string    // default: the module's name for its build
	Branch       string
	Account      string // the account whose floor the server checks
	Development  bool   // a developer's build: differences are shown even if the server says nothing about its components
}

// Profiles are the start profiles of a game that a remote controller can select.
type Profiles struct {
	Profile  string // the profile if the controller names none; default: standard
	Profiles map[string]Profile
}

// Profile is one way to start a game.
type Profile struct {
	Arguments   []string
	Environment map[string]string
}

// Server is the address in the form of --server.
func (s Settings) Server() string {
	if strings.Contains(s.ClientNetwork.ServerHost, "://") {
		return s.ClientNetwork.ServerHost
	}
	return net.JoinHostPort(s.ClientNetwork.ServerHost, strconv.Itoa(s.ClientNetwork.ServerPort))
}

// setDefaults sets the settings that no source names.
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
