package qa

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/pelletier/go-toml/v2"

	"collet/platform"
	"collet/runtime/area"
)

// maxHost is the largest host in bytes that is looked into; real ones have some 40 million.
const maxHost = 256 << 20

// hostSettings are those of a host's settings that say where things lie.
type hostSettings struct {
	Baking struct{ ClientResources, CacheResources string }
	Client struct{ UserWritablePath, GameName string }

	Release struct {
		Urls              []string
		TrustedRoot, Root string
	}
	Update struct{ Trust string }
}

// signed reports whether updates come as signed releases, as far as the settings tell: a program may have a root inside it.
func (s *hostSettings) signed() bool {
	return s.Update.Trust != "sha256" && s.Update.Trust != "fnv" && (len(s.Release.Urls) > 0 || s.Release.TrustedRoot != "" || s.Release.Root != "")
}

// readInside takes what packaging put into a host, under whatever name it has: base, or with an extension. packaged is the name
// that it was packaged by; empty where it was not, or where there is no host.
func (s *hostSettings) readInside(fsys platform.FS, base string) (packaged string, err error) {
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
