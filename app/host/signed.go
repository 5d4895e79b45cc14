package host

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"collet/app/acquire"
	"collet/app/download"
	"collet/app/settings"
	"collet/app/token"
	"collet/assets"
)

const (
	// maxRootFile is the largest accepted trusted root in bytes.
	maxRootFile = settings.MaxRoot
)

// signed is the configuration of signed releases. The zero value accepts unsigned files.
type signed struct {
	root      []byte // the trusted root; empty: unsigned files are accepted
	urls      []string
	product   string
	channel   string
	server    bool  // the updater connection is a source, too
	bandwidth int64 // bytes a second; 0 is no limit
	offline   time.Duration
	plain     func(*url.URL) (*url.URL, error) // the proxy of unencrypted requests
	token     *token.Source                    // nil: none
	plainErr  error                            // why the proxy is unknown; reported when a mirror is opened
}

// on reports whether only signed files are accepted.
func (s signed) on() bool { return len(s.root) > 0 }

// announces reports whether the installed version is announced to a server.
func (s signed) announces() bool { return !s.on() || s.server }

// newSigned combines flags, settings and the built-in root.
func newSigned(opt Options, set settings.Settings, folder string, env func(string) string) (signed, error) {
	s := signed{
		urls: opt.Release, product: set.Release.Product, channel: cmp.Or(opt.Channel, set.Release.Channel, acquire.DefaultChannel),
	}
	if len(s.urls) == 0 {
		s.urls = set.Release.Urls
	}
	s.server = opt.Server != "" || set.NamesServer || len(s.urls) == 0
	s.bandwidth, _ = settings.ParseRate(cmp.Or(opt.Bandwidth, set.Release.Bandwidth)) // both were checked
	var err error
	if s.root, err = trustedRoot(opt, set, folder); err != nil {
		return signed{}, err
	}
	switch word := trustWord(opt, set); {
	case opt.Trust == "" && len(s.urls) > 0 && (word == settings.TrustSHA256 || word == settings.TrustFNV):
		return signed{}, fmt.Errorf("addresses of signed releases and Update.Trust = %q exclude each other; --trust release takes what is signed", word)
	case word == settings.TrustSHA256 || word == settings.TrustFNV:
		s.root = nil
	case len(s.root) == 0 && (word == settings.TrustRelease || len(s.urls) > 0):
		return signed{}, errors.New("signed releases need a trusted root: name its file with --trusted-root or Release.TrustedRoot, or give its text in Release.Root")
	}
	fallback := time.Duration(0)
	if s.on() {
		fallback = defaultOfflineAfter
	}
	if s.offline, err = settings.ParseOfflineAfter(set.Client.OfflineAfter, fallback); err != nil {
		return signed{}, err
	}
	s.plain, s.plainErr = download.PlainProxy(cmp.Or(opt.Proxy, set.ClientNetwork.Proxy), env)
	return s, nil
}

// trustWord is the trust mode for native code: of the command line, else of the settings, else auto.
func trustWord(opt Options, set settings.Settings) string {
	return cmp.Or(opt.Trust, set.Update.Trust, settings.TrustAuto)
}

// trustedRoot reads the root. Order of precedence: the file of the command line, the file of the settings, the text of the settings,
// the built-in root.
func trustedRoot(opt Options, set settings.Settings, folder string) ([]byte, error) {
	name := opt.TrustedRoot
	if name == "" && set.Release.TrustedRoot != "" {
		if name = set.Release.TrustedRoot; !filepath.IsAbs(name) {
			name = filepath.Join(folder, name)
		}
	}
	switch {
	case name == "" && set.Release.Root != "":
		return []byte(set.Release.Root), nil
	case name == "":
		return assets.TrustedRoot(), nil
	}
	info, err := os.Stat(name)
	if err == nil && info.Size() > maxRootFile {
		err = fmt.Errorf("%s has more than %d bytes", name, maxRootFile)
	}
	var root []byte
	if err == nil {
		root, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, fmt.Errorf("trusted root: %w", err)
	}
	return root, nil
}

// languageTag turns a locale such as "pt_BR.UTF-8" into a tag such as "pt-BR". Of a list it uses the first.
func languageTag(locale string) string {
	return strings.ReplaceAll(locale[:indexAny(locale, ":.@")], "_", "-")
}

// indexAny is the index of the first of these letters, else the length of text.
func indexAny(text, letters string) int {
	if i := strings.IndexAny(text, letters); i >= 0 {
		return i
	}
	return len(text)
}
