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
	// maxSocketPath is the longest path of a socket in bytes: macOS has room for 104, Linux for 108, with a zero byte.
	maxSocketPath = 103
	// copyDigits is how many hexadecimal digits tell working copies apart in a file name.
	copyDigits = 16
)

// Home is the folder where a desk keeps its things. Make one with OpenHome.
type Home struct{ path string }

// OpenHome takes the folder path, or for an empty one the folder collet/remote in the user's configuration, and makes it if
// it is not there. It is for this user alone: a folder of another user, or one that others can write to, is refused.
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

// Pairs is the file of the devices that may come.
func (h Home) Pairs() string { return filepath.Join(h.path, "devices.json") }

// Hashes is the file with the hashes of a working copy, an absolute path.
func (h Home) Hashes(root string) string {
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(h.path, "hashes-"+hex.EncodeToString(sum[:])[:copyDigits])
}

// Socket is the control socket of the desk that listens on address, as the user wrote it.
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
