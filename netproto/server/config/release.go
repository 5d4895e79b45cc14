package config

import (
	"fmt"
	"path/filepath"
	"strings"
)

const (
	// DefaultChannel is the default of Release.Channel.
	DefaultChannel = "stable"
	// DefaultCacheSize is the default limit of unpacked files in bytes: a large game for three targets, twice, because during a
	// reload both catalogues have files in the cache.
	DefaultCacheSize = 64 << 30
	// DefaultHTTPPrefix is the default path of a release folder over HTTP. The folder's first path elements (metadata, releases,
	// objects, sequels) differ from /metrics, /healthz and /readyz.
	DefaultHTTPPrefix = "/"
	// cacheFolder is the default cache, below the release folder.
	cacheFolder = ".collet-server"
)

// Release selects a release folder, which is offered instead of Baking's folders.
type Release struct {
	Folder    string // the release folder; empty: Baking's folders are offered
	Channel   string // its current releases are offered
	Product   string // empty: the only product of the channel
	TrustRoot string // file of the root of trust; empty: the folder's own first root
	Cache     string // folder for unpacked files; empty: cacheFolder in the release folder
	CacheSize int64  // limit of the cache in bytes
	// HTTPPrefix is the path of the folder's files over HTTP; it begins and ends with a slash. Empty: they are not served over
	// HTTP.
	HTTPPrefix string
	// TokensFile is a file with the bearer tokens that requests for the folder's files over HTTP need. Empty: they need none.
	TokensFile string
}

// ForRelease are the defaults for a release folder.
func ForRelease(folder string) Settings {
	s := Defaults()
	s.Release.Folder = folder
	return s
}

// CacheFolder is the folder for unpacked files.
func (r Release) CacheFolder() string {
	if r.Cache != "" {
		return r.Cache
	}
	return filepath.Join(r.Folder, cacheFolder)
}

// resolve joins relative paths to base. An empty one stays empty.
func (r *Release) resolve(base string) {
	for _, name := range []*string{&r.Folder, &r.TrustRoot, &r.Cache, &r.TokensFile} {
		if *name != "" && !filepath.IsAbs(*name) {
			*name = filepath.Join(base, *name)
		}
	}
}

// releaseLayer is one layer of Release.
type releaseLayer struct {
	Folder, Channel, Product, TrustRoot, Cache, HTTPPrefix, TokensFile *string
	CacheSize                                                          *int64
}

func (s sources) applyRelease(set *Release, l *releaseLayer, prefix string) {
	setValue(s, prefix, "Release.Folder", &set.Folder, l.Folder)
	setValue(s, prefix, "Release.Channel", &set.Channel, l.Channel)
	setValue(s, prefix, "Release.Product", &set.Product, l.Product)
	setValue(s, prefix, "Release.TrustRoot", &set.TrustRoot, l.TrustRoot)
	setValue(s, prefix, "Release.Cache", &set.Cache, l.Cache)
	setValue(s, prefix, "Release.CacheSize", &set.CacheSize, l.CacheSize)
	setValue(s, prefix, "Release.HTTPPrefix", &set.HTTPPrefix, l.HTTPPrefix)
	setValue(s, prefix, "Release.TokensFile", &set.TokensFile, l.TokensFile)
}

// releaseFault checks the settings of a release folder.
func (s Settings) releaseFault() (key, fault string) {
	r := s.Release
	if r.TokensFile != "" && (r.Folder == "" || r.HTTPPrefix == "") {
		return "Release.TokensFile", "guards the release folder over HTTP: it needs Release.Folder and Release.HTTPPrefix"
	}
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

// goodPrefix reports whether p is a valid prefix of request paths: clean, and equal in every escaping.
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
