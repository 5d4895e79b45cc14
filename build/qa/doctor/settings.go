package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/pelletier/go-toml/v2"

	"collet/platform"
	"collet/runtime/area"
)

// maxHost limits the hosts that are examined, in bytes; real ones have some 40 million.
const maxHost = 256 << 20

// HostSettings are the host's settings about file locations.
type HostSettings struct {
	Baking struct{ ClientResources, CacheResources string }
	Client struct{ UserWritablePath, GameName, Kind string }

	Release struct {
		Urls              []string
		TrustedRoot, Root string
	}
	Update struct{ Trust string }
}

// kindProgram is the Client.Kind of a game that is a program.
const kindProgram = "program"

// signed reports whether updates come as signed releases, according to the settings. A program may also have an embedded root.
func (s *HostSettings) signed() bool {
	return s.Update.Trust != "sha256" && s.Update.Trust != "fnv" && (len(s.Release.Urls) > 0 || s.Release.TrustedRoot != "" || s.Release.Root != "")
}

// ReadInside reads a host's embedded settings; its file name is base, with or without an extension. packaged is the host's packaged name,
// empty without a host or packaging.
func (s *HostSettings) ReadInside(fsys platform.FS, base string) (packaged string, err error) {
	for _, name := range []string{base, base + ".exe"} {
		info, err := fsys.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue
		}
		var program []byte
		if err == nil {
			program, err = platform.ReadFile(fsys, name, maxHost)
		}
		if err != nil {
			return "", err
		}
		called, config, found := area.Packaged(program)
		if !found {
			continue
		}
		if err := toml.Unmarshal([]byte(config), s); err != nil {
			return called, fmt.Errorf("packaged settings of %s: %w", path.Base(name), err)
		}
		return called, nil
	}
	return "", nil
}
