package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// maxSettings is the largest settings file in bytes; a hand-written one has a few hundred.
const maxSettings = 1 << 20

// settings is the file beside the host, <exe>.toml, with the source's names. Zero values mean the defaults below.
type settings struct {
	ClientNetwork struct {
		ServerHost string // default 127.0.0.1 (fonline reference, section 2.11); or tls://, ws://, wss:// with host, port and path
		ServerPort int    // default 4000 (the same, section 2.1)

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
		GameName         string // name of the folder in this user's data folder; default: the host's name

		OfflineAfter string // how long to try to reach anybody before what is installed is played, such as "3s"; "never" asks the player
	}
	Release struct {
		Urls        []string // folders on web servers with signed releases, best first
		Product     string   // the game's name there; default: the only one that the list has
		Channel     string   // default stable
		TrustedRoot string   // root.json that they lead back to, relative to the install folder; default: the one built in
		Bandwidth   string   // bytes a second that they may take, such as "2M"; default: no limit
	}
	Update struct {
		Host bool // the program itself is updated with the game, where it can be; default: it stays as it is
	}
	Baking struct {
		ClientResources string // folder of the packs, default Resources
		CacheResources  string // folder of the hash cache, default Cache
	}

	Compatibility identitySettings // what a server is told of the module, beyond what it says itself

	Remote remoteProfiles // ways to start the game that a remote launcher's desk may choose from

	hasServer bool // the file names a server
}

// loadSettings reads the settings file. A file that is not there gives the defaults; one that can't be understood is an
// error that names the line.
func loadSettings(name string) (settings, error) {
	var s settings
	if err := s.read(name); err != nil {
		return settings{}, err
	}
	s.hasServer = s.ClientNetwork.ServerHost != "" || s.ClientNetwork.ServerPort != 0
	setDefault(&s.ClientNetwork.ServerHost, "127.0.0.1")
	setDefault(&s.Baking.ClientResources, "Resources")
	setDefault(&s.Baking.CacheResources, "Cache")
	if s.ClientNetwork.ServerPort == 0 {
		s.ClientNetwork.ServerPort = 4000
	}
	if p := s.ClientNetwork.ServerPort; p < 1 || p > 65535 {
		return settings{}, fmt.Errorf("settings %q: ClientNetwork.ServerPort is %d; want 1 to 65535", name, p)
	}
	if err := s.Compatibility.check(); err != nil {
		return settings{}, fmt.Errorf("settings %q: Compatibility.%w", name, err)
	}
	return s, s.checkRelease(name)
}

// checkRelease refuses what could not be used later.
func (s settings) checkRelease(name string) error {
	if err := releaseFault(s.Release.Urls); err != nil {
		return fmt.Errorf("settings %q: Release.Urls: %w", name, err)
	}
	if err := rateFault(s.Release.Bandwidth); err != nil {
		return fmt.Errorf("settings %q: Release.Bandwidth: %w", name, err)
	}
	if _, err := offlineAfter(s.Client.OfflineAfter, 0); err != nil {
		return fmt.Errorf("settings %q: Client.OfflineAfter: %w", name, err)
	}
	return nil
}

func (s *settings) read(name string) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > maxSettings {
		return fmt.Errorf("settings %q: longer than %d bytes", name, maxSettings)
	}
	err = toml.NewDecoder(f).DisallowUnknownFields().Decode(s)
	var unknown *toml.StrictMissingError
	var wrong *toml.DecodeError
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("settings %q: unknown name:\n%s", name, unknown.String())
	case errors.As(err, &wrong):
		return fmt.Errorf("settings %q:\n%s", name, wrong.String())
	case err != nil:
		return fmt.Errorf("settings %q: %w", name, err)
	}
	return nil
}

func setDefault(value *string, fallback string) {
	if *value == "" {
		*value = fallback
	}
}

// server is the address as --server takes it.
func (s settings) server() string {
	if strings.Contains(s.ClientNetwork.ServerHost, "://") {
		return s.ClientNetwork.ServerHost
	}
	return net.JoinHostPort(s.ClientNetwork.ServerHost, strconv.Itoa(s.ClientNetwork.ServerPort))
}
