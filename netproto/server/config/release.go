package config

import (
	"fmt"
	"path/filepath"
	"strings"
)

const (
	// DefaultChannel is the channel of a release folder that is offered unless the operator says another one.
	DefaultChannel = "stable"
	// DefaultCacheSize is how many bytes of unpacked files a server keeps at most: a large game for three targets, twice,
	// because during a reload both catalogues have theirs.
	DefaultCacheSize = 64 << 30
	// DefaultHTTPPrefix is where the files of a release folder begin over HTTP. Their first folders are metadata, releases
	// and objects, so they don't meet /metrics, /healthz and /readyz.
	DefaultHTTPPrefix = "/"
	// cacheFolder is the cache below the release folder, where the settings name none.
	cacheFolder = ".collet-server"
)

// Release says which release folder is offered, in place of Baking's folders.
type Release struct {
	Folder    string // the release folder; empty: Baking's folders are offered
	Channel   string // of which the current releases are offered
	Product   string // empty: the only one that the channel has
	TrustRoot string // file of the root that vouches for the folder; empty: the folder's own first root
	Cache     string // folder for files that must be unpacked; empty: one in the release folder
	CacheSize int64  // bytes in it at most
	// HTTPPrefix is the path under which the folder's files are handed out over HTTP; it begins and ends with a slash.
	// Empty: they are not.
	HTTPPrefix string
}

// ForRelease are the defaults for a release folder.
func ForRelease(folder string) Settings {
	s := Defaults()
	s.Release.Folder = folder
	return s
}

// CacheFolder is where files are unpacked.
func (r Release) CacheFolder() string {
	if r.Cache != "" {
		return r.Cache
	}
	return filepath.Join(r.Folder, cacheFolder)
}

// resolve joins relative paths to base. An empty one stays empty.
func (r *Release) resolve(base string) {
	for _, name := range []*string{&r.Folder, &r.TrustRoot, &r.Cache} {
		if *name != "" && !filepath.IsAbs(*name) {
			*name = filepath.Join(base, *name)
		}
	}
}

// releaseLayer is what a part of a settings file says about Release.
type releaseLayer struct {
	Folder, Channel, Product, TrustRoot, Cache, HTTPPrefix *string
	CacheSize                                              *int64
}

func (s sources) applyRelease(set *Release, l *releaseLayer, prefix string) {
	take(s, prefix, "Release.Folder", &set.Folder, l.Folder)
	take(s, prefix, "Release.Channel", &set.Channel, l.Channel)
	take(s, prefix, "Release.Product", &set.Product, l.Product)
	take(s, prefix, "Release.TrustRoot", &set.TrustRoot, l.TrustRoot)
	take(s, prefix, "Release.Cache", &set.Cache, l.Cache)
	take(s, prefix, "Release.CacheSize", &set.CacheSize, l.CacheSize)
	take(s, prefix, "Release.HTTPPrefix", &set.HTTPPrefix, l.HTTPPrefix)
}

// releaseFault checks what is said about a release folder.
func (s Settings) releaseFault() (key, fault string) {
	r := s.Release
	if r.Folder == "" {
		return "", ""
	}
	switch {
	case r.Channel == "":
		return "Release.Channel", "must name a channel, for example \"" + DefaultChannel + "\""
	case strings.ContainsAny(r.Channel, `/\`):
		return "Release.Channel", "is a name, not a path"
	case r.CacheSize < 1:
		return "Release.CacheSize", "must be a number of bytes"
	case r.HTTPPrefix != "" && !goodPrefix(r.HTTPPrefix):
		return "Release.HTTPPrefix", fmt.Sprintf(`must be a path that begins and ends with a slash, like "/" or "/game/", not %q; "" is none`, r.HTTPPrefix)
	default:
		return "", ""
	}
}

// goodPrefix reports whether requests can begin with p: clean, and the same however it is escaped.
func goodPrefix(p string) bool {
	if !strings.HasPrefix(p, "/") || !strings.HasSuffix(p, "/") {
		return false
	}
	for part := range strings.SplitSeq(strings.Trim(p, "/"), "/") {
		if part == "." || part == ".." || part == "" && p != "/" {
			return false
		}
	}
	return strings.Trim(p, "/-._~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}
