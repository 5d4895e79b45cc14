package host

import (
	"path/filepath"
	"strings"
)

// installFolder is where what was delivered with a program lies: beside it, and for one in a macOS .app the folder Contents of
// that. Files of a game can't lie in Contents/MacOS beside it, where a signature takes everything for code, but Contents/Resources
// is where both a signature and this program look for packs. exe is absolute.
func installFolder(goos, exe string) string {
	folder := filepath.Dir(exe)
	contents, app := filepath.Dir(folder), filepath.Dir(filepath.Dir(folder))
	if goos == "darwin" && filepath.Base(folder) == "MacOS" && filepath.Base(contents) == "Contents" && strings.HasSuffix(app, ".app") {
		return contents
	}
	return folder
}

// linkArgs is how a game is told of the link that it was opened with, by the source's name.
func (opt Options) linkArgs() []string {
	if opt.DeepLinkUri == "" {
		return nil
	}
	return []string{"--DeepLinkUri", opt.DeepLinkUri}
}
