package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
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

// maxLink is the longest link in bytes: browsers cut longer ones.
const maxLink = 8192

// linkFault says why a text is no link, or nothing.
func linkFault(link string) error {
	scheme, _, found := strings.Cut(link, ":")
	switch {
	case len(link) > maxLink:
		return fmt.Errorf("is longer than %d bytes", maxLink)
	case !found || !linkScheme.MatchString(scheme):
		return errors.New("is no link; want scheme:something")
	case strings.ContainsFunc(link, unicode.IsControl):
		return errors.New("has control characters in it")
	}
	return nil
}

// linkScheme is what RFC 3986, section 3.1, takes for a scheme.
var linkScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)

// linkArgs is how a game is told of the link that it was opened with, by the source's name.
func (f flags) linkArgs() []string {
	if f.DeepLinkUri == "" {
		return nil
	}
	return []string{"--DeepLinkUri", f.DeepLinkUri}
}
