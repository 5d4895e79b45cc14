package main

import (
	"cmp"
	"os"
	"strings"

	"collet/netproto/server/config"
)

// releaseFlags is the part of the command line about a release folder.
type releaseFlags struct {
	Folder    string `name:"release" group:"what" placeholder:"DIR" help:"Serve a release folder, as Release.Folder: the current releases of one channel. Releases have their own compatibility version."`
	Channel   string `name:"channel" group:"what" placeholder:"NAME" help:"The channel, as Release.Channel (default: stable)."`
	TrustRoot string `name:"trust-root" group:"what" placeholder:"FILE" help:"Root of trust of the release folder (root.json), as Release.TrustRoot. Default: the folder's own first one."`
}

// serviceCache is the variable with the service's cache folders, set by the service manager; several are separated by colons.
const serviceCache = "CACHE_DIRECTORY"

// lay applies the options to the settings. Paths of the command line are relative to the working folder. Under a service manager
// the cache is in its cache folder, because a release folder need not be writable.
func (r releaseFlags) lay(set *config.Settings) {
	set.Release.Folder = cmp.Or(absolute(r.Folder), set.Release.Folder)
	set.Release.Channel = cmp.Or(r.Channel, set.Release.Channel)
	set.Release.TrustRoot = cmp.Or(absolute(r.TrustRoot), set.Release.TrustRoot)
	first, _, _ := strings.Cut(os.Getenv(serviceCache), ":")
	set.Release.Cache = cmp.Or(set.Release.Cache, first)
}

// overrides names the settings that options were given in place of.
func (r releaseFlags) overrides() map[string]string {
	given := map[string]string{}
	for _, option := range []struct{ value, key, name string }{
		{r.Folder, "Release.Folder", "--release"},
		{r.Channel, "Release.Channel", "--channel"},
		{r.TrustRoot, "Release.TrustRoot", "--trust-root"},
	} {
		if option.value != "" {
			given[option.key] = option.name
		}
	}
	return given
}
