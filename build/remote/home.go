package remote

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"collet/platform"
)

const (
	// maxSocketPath limits a socket's path in bytes: macOS allows 104, Linux 108, with a zero byte.
	maxSocketPath = 103
	// copyDigits is the number of hexadecimal digits that identify a working copy in a file name.
	copyDigits = 16
)

// Home is the folder with a desk's state. Make one with OpenHome.
type Home struct{ path string }

// OpenHome opens the folder path, by default collet/remote in the user's configuration folder, and creates it if missing. A folder of
// another user, or one that others can write to, is refused.
func OpenHome(path string) (Home, error) {
	if path == "" {
		config, err := os.UserConfigDir()
		if err != nil {
			return Home{}, fmt.Errorf("folder for what the desk remembers: %w; name one with --state", err)
		}
		path = filepath.Join(config, "collet", "remote")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return Home{}, err
	}
	if err := platform.PrivateFolder(path); err != nil {
		return Home{}, fmt.Errorf("folder for what the desk remembers: %w; name another one with --state", err)
	}
	return Home{path}, nil
}

// Pairs returns the path of the list of paired devices.
func (h Home) Pairs() string { return filepath.Join(h.path, "devices.json") }

// Hashes returns the path of the hash file of a working copy. root is absolute.
func (h Home) Hashes(root string) string {
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(h.path, "hashes-"+hex.EncodeToString(sum[:])[:copyDigits])
}

// Socket returns the path of the control socket of the desk that listens on address, as the user wrote it.
func (h Home) Socket(address string) (string, error) {
	name := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, address)
	path := filepath.Join(h.path, "desk-"+name+".sock")
	if len(path) > maxSocketPath {
		return "", fmt.Errorf("the path of the control socket %q is longer than %d bytes; name a folder with a shorter path with --state", path, maxSocketPath)
	}
	return path, nil
}
