package host

import (
	"path/filepath"
	"strings"
)

// installFolder is the folder of the files that were delivered with a program: the folder of exe, or Contents of a macOS .app. A code
// signature takes every file in Contents/MacOS for code, so a game's files can't be there; packs are in Contents/Resources. exe is
// absolute.
func installFolder(goos, exe string) string {
	folder := filepath.Dir(exe)
	contents, app := filepath.Dir(folder), filepath.Dir(filepath.Dir(folder))
	if goos == "darwin" && filepath.Base(folder) == "MacOS" && filepath.Base(contents) == "Contents" && strings.HasSuffix(app, ".app") {
		return contents
	}
	return folder
}

// linkArgs passes the deep link to the game, under the engine's name.
func (opt Options) linkArgs() []string {
	if opt.DeepLinkUri == "" {
		return nil
	}
	return []string{"--DeepLinkUri", opt.DeepLinkUri}
}
