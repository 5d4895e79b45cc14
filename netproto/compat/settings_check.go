package compat

import (
	"fmt"
	"net"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a document of settings may hold: each bound is far above what a game needs, and keeps a snapshot quick to judge by and an
// answer within what a client reads.
const (
	MaxPatchRules = 32    // looked through for each handshake, within a microsecond
	MaxTargeted   = 32    // patterns of a maintenance, and store links; the same
	MaxDevelopers = 1_000 // accounts
	maxAccount    = 64    // bytes, as in the hello (docs/COMPATIBILITY.md)
	maxPattern    = 64    // bytes of a target's name or pattern
	maxHost       = 253   // bytes, of a name in DNS
	maxURL        = 512   // bytes
	maxMessage    = 1_000 // bytes of a popup's body: a screenful
)

// lastYear is the last one that an RFC 3339 time can name.
const lastYear = 9999

// Mistake is one thing that is wrong with settings, or odd about them.
type Mistake struct {
	Field string `json:"field"` // as in the document: "patch_rules[2].logic"
	Why   string `json:"why"`
}

// String is "field: why".
func (m Mistake) String() string { return m.Field + ": " + m.Why }

// SettingsError says everything that is wrong with settings. Nothing was changed.
type SettingsError struct{ Mistakes []Mistake }

func (e *SettingsError) Error() string {
	texts := make([]string, len(e.Mistakes))
	for i, m := range e.Mistakes {
		texts[i] = m.String()
	}
	return "settings: " + strings.Join(texts, "; ")
}

// Check is nil or a *SettingsError that names every mistake.
func (s Settings) Check(d Declared) error {
	c := checker{Settings: s, d: d}
	c.ranges()
	c.components()
	c.patchRules()
	c.redirect()
	c.maintenance()
	c.storeURLs()
	c.messages()
	c.developers()
	if len(c.mistakes) == 0 {
		return nil
	}
	return &SettingsError{Mistakes: c.mistakes}
}

// checker collects mistakes.
type checker struct {
	Settings
	d        Declared
	mistakes []Mistake
}

// need notes a mistake unless is.
func (c *checker) need(is bool, field, why string, args ...any) {
	if !is {
		c.mistakes = append(c.mistakes, Mistake{Field: field, Why: fmt.Sprintf(why, args...)})
	}
}

func (c *checker) ranges() {
	c.need(c.Revision > 0, "revision", "it starts at 1")
	s := c.d.Supported
	if !c.d.Versioned {
		c.need(c.ActiveMin == NoLogic, "active_min", "this server has no logic version, so it must be %d", NoLogic)
		c.need(c.ActiveMax == NoLogic, "active_max", "this server has no logic version, so it must be %d", NoLogic)
		return
	}
	c.need(c.ActiveMin <= c.ActiveMax, "active_min", "%d is above active_max %d", c.ActiveMin, c.ActiveMax)
	c.need(s.Has(c.ActiveMin), "active_min", "%d is not in the supported range %s", c.ActiveMin, s)
	c.need(s.Has(c.ActiveMax), "active_max", "%d is not in the supported range %s", c.ActiveMax, s)
}

func (c *checker) components() {
	switch c.Components {
	case PolicyEnforce:
	case PolicyOff, PolicyWarn:
		c.need(c.d.Development || c.d.Lax, "components", "only a developer's server may have %q; to run another one like that, start it with the flag that allows it", c.Components)
	default:
		c.need(false, "components", "%q is none of off, warn and enforce", c.Components)
	}
	switch c.Manifest {
	case ManifestNone, ManifestHashes, ManifestFull:
	default:
		c.need(false, "manifest", "%q is none of none, hashes and full", c.Manifest)
	}
}

func (c *checker) patchRules() {
	c.need(len(c.PatchRules) <= MaxPatchRules, "patch_rules", "%d rules, at most %d are possible", len(c.PatchRules), MaxPatchRules)
	for i, r := range c.PatchRules {
		field := fmt.Sprintf("patch_rules[%d].", i)
		c.need(c.d.Versioned && c.d.Supported.Has(r.Logic), field+"logic", "%d is not in the supported range %s", r.Logic, c.d.supported())
		c.pattern(field+"target", r.Target, true)
	}
}

// pattern checks what should match the names of targets.
func (c *checker) pattern(field, pattern string, mayBeEmpty bool) {
	_, err := path.Match(pattern, "")
	c.need(err == nil && !strings.Contains(pattern, "/"), field, "%q is no pattern for the name of a target, as for example Windows-*", pattern)
	c.need(len(pattern) <= maxPattern, field, "%d bytes, at most %d are possible", len(pattern), maxPattern)
	c.need(mayBeEmpty || pattern != "", field, "it is empty")
	c.need(showable(pattern), field, "it has characters that can't be shown")
}

func (c *checker) redirect() {
	r := c.Redirect
	c.need(len(r.Host) <= maxHost && !strings.ContainsAny(r.Host, " /@[]") && showable(r.Host), "redirect.host", "%q is neither a name nor an address", r.Host)
	c.need(r.BaseURL == "" || webURL(r.BaseURL), "redirect.base_url", "%q is no http or https address of at most %d bytes", r.BaseURL, maxURL)
	if !r.Enabled {
		return
	}
	c.need(c.d.Versioned, "redirect.enabled", "this server has no logic version, so no client is too new for it")
	c.need(r.Host != "", "redirect.host", "it is empty")
	c.need(r.Port != 0, "redirect.port", "it is 0")
	c.need(r.BaseURL != "", "redirect.base_url", "it is empty")
	c.need(!slices.ContainsFunc(c.d.Own, r.leadsTo), "redirect.host", "%s is this server: clients would come back for ever", net.JoinHostPort(r.Host, strconv.Itoa(int(r.Port))))
}

// leadsTo reports whether an address is where the redirect leads.
func (r RedirectSettings) leadsTo(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port != strconv.Itoa(int(r.Port)) {
		return false
	}
	a, b := net.ParseIP(host), net.ParseIP(r.Host)
	return strings.EqualFold(strings.TrimSuffix(host, "."), strings.TrimSuffix(r.Host, ".")) || a != nil && a.Equal(b)
}

func (c *checker) maintenance() {
	m := c.Maintenance
	year := m.Until.UTC().Year()
	c.need(m.Until.IsZero() || year >= 1970 && year <= lastYear, "maintenance.until", "the year %d is out of range", year)
	c.need(len(m.Targets) <= MaxTargeted, "maintenance.targets", "%d patterns, at most %d are possible", len(m.Targets), MaxTargeted)
	for i, pattern := range m.Targets {
		c.pattern(fmt.Sprintf("maintenance.targets[%d]", i), pattern, false)
	}
}

func (c *checker) storeURLs() {
	c.need(len(c.StoreURLs) <= MaxTargeted, "store_urls", "%d links, at most %d are possible", len(c.StoreURLs), MaxTargeted)
	for _, pattern := range sortedKeys(c.StoreURLs) {
		field := "store_urls." + pattern
		c.pattern(field, pattern, false)
		c.need(storeURL(c.StoreURLs[pattern]), field, "%q is no link to a store or a page, of at most %d bytes", c.StoreURLs[pattern], maxURL)
	}
}

func (c *checker) messages() {
	for _, key := range sortedKeys(c.Messages) {
		text, field := c.Messages[key], "messages."+key
		c.need(slices.Contains(Popups(), key), field, "there is no such popup; there are %s", strings.Join(Popups(), ", "))
		c.need(text != "" && len(text) <= maxMessage, field, "%d bytes, it must have 1 to %d", len(text), maxMessage)
		c.need(showable(strings.NewReplacer("\n", "", "\t", "").Replace(text)), field, "it has characters that can't be shown")
	}
}

func (c *checker) developers() {
	c.need(len(c.Developers) <= MaxDevelopers, "developers", "%d accounts, at most %d are possible", len(c.Developers), MaxDevelopers)
	seen := make(map[string]bool, len(c.Developers))
	for i, account := range c.Developers {
		field := fmt.Sprintf("developers[%d]", i)
		c.need(account != "" && len(account) <= maxAccount && showable(account), field, "%q is no account: it must have 1 to %d bytes that can be shown", account, maxAccount)
		c.need(!seen[account], field, "%q is there twice", account)
		seen[account] = true
	}
}

// showable reports whether s is text without control characters, and without those that make a text look like another.
func showable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || r == '\u202d' || r == '\u202e' || r == utf8.RuneError
	})
}

// webURL reports whether s leads to a web server.
func webURL(s string) bool { return linkTo(s, "http", "https") }

// storeURL reports whether s is a link that a client may open for a player: to a page, or into the store of a system.
func storeURL(s string) bool {
	return linkTo(s, "http", "https", "market", "itms-apps", "itms-appss", "ms-windows-store", "macappstore", "appstore", "steam")
}

func linkTo(s string, schemes ...string) bool {
	u, err := url.Parse(s)
	return err == nil && len(s) <= maxURL && showable(s) && slices.Contains(schemes, u.Scheme) && u.User == nil && (u.Host != "" || !strings.HasPrefix(u.Scheme, "http"))
}
