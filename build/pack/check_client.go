package pack

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"collet/app/settings"
	"collet/netproto/release/trust"
)

// wordForm is the form of channel and product names.
var wordForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

func (c *checker) client() {
	s := &c.p.Client
	if s.Server == "" && len(s.URLs) == 0 {
		c.missing("client.server", "say where clients find updates, with this or with client.urls")
	}
	c.address(s.Server)
	for i, u := range s.URLs {
		at := element("client.urls", i)
		if u == "" {
			c.missing(at, "take it out")
		}
		c.web(at, u)
		if strings.ContainsAny(u, "?#") {
			c.add(at, "want the address of a folder", "has a query")
		}
	}
	if len(s.URLs) > 0 && s.TrustedRoot == "" {
		c.missing("client.trusted-root", "releases from client.urls have to lead back to it; write it with collet keys export")
	}
	const want = `want letters, digits, ".", "-" and "_"`
	c.may("client.channel", s.Channel, wordForm, want)
	c.may("client.product", s.Product, wordForm, want)
	c.trustedRoot(&s.TrustedRoot)
	if s.WeakRoot && s.TrustedRoot == "" {
		c.add("client.weak-root", "leave it out", "goes with trusted-root")
	}
	c.web("client.website", s.Website)
	s.Website = cmp.Or(s.Website, c.p.Game.Homepage)
	c.store(s.Store)
	c.settings("client.settings", s.Settings)
}

// serverSchemes are the connection schemes that a client supports.
var serverSchemes = []string{"tcp", "tls", "ws", "wss"}

// address checks the update server's address.
func (c *checker) address(text string) {
	const key, want = "client.server", `want "host:port", or an address such as "tls://update.example.org:4000"`
	if !c.line(key, text) {
		return
	}
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		scheme, rest = "tcp", text
	}
	u, err := url.Parse(scheme + "://" + rest)
	switch {
	case !slices.Contains(serverSchemes, scheme):
		c.add(key, didYouMean(scheme, serverSchemes), "clients don't know %s://", scheme)
	case err != nil || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "":
		c.add(key, want, "%q is no address", text)
	case u.User != nil:
		c.add(key, "take them out: everybody who has the package can read them", "has a user name or password")
	case u.Path != "" && scheme != "ws" && scheme != "wss":
		c.add(key, want, "%q has a path, which only ws:// and wss:// have", text)
	case u.Port() == "" && scheme == "tcp":
		c.add(key, want, "%q has no port", text)
	case u.Port() != "":
		if n, err := strconv.Atoi(u.Port()); err != nil || n < 1 || n > maxNumber {
			c.add(key, "want a port of 1 to 65535", "%q has no good port", text)
		}
	}
}

func (c *checker) trustedRoot(value *string) {
	const key = "client.trusted-root"
	name := *value
	if !c.path(key, value, aFile) {
		return
	}
	data, err := readSome(*value, trust.MaxRoot+1)
	if err != nil {
		c.add(key, "", "%s can't be read: %v", name, cause(err))
		return
	}
	if len(data) > trust.MaxRoot {
		c.add(key, "", "%s is longer than %d bytes", name, trust.MaxRoot)
		return
	}
	info, err := trust.InspectRoot(data)
	if err != nil {
		c.add(key, "write it with collet keys export", "%s is no root of signed releases: %v", name, err)
		return
	}
	weak := c.p.Client.WeakRoot
	if err := info.Check(trust.Allow{Development: weak, SingleRoot: weak}); err != nil {
		c.add(key, "make keys with collet keys init, or say weak-root = true while you try things out", "%v", err)
	}
	if info.Expires.Before(c.p.time) {
		c.add(key, "renew it with collet keys rotate, and write it anew with collet keys export",
			"%s expired on %s, before the packages' time", name, info.Expires.Format(time.DateOnly))
	}
	c.p.root = string(data)
}

func (c *checker) store(address string) {
	const key = "client.store"
	if u, err := url.Parse(address); c.line(key, address) && (err != nil || u.Scheme == "" || u.User != nil) {
		c.add(key, `want an address, such as "https://…" or "steam://…"`, "%q is no address", address)
	}
}

// ownSettings are client settings that have their own key in a description.
var ownSettings = map[string]string{
	"ClientNetwork.ServerHost": "client.server", "ClientNetwork.ServerPort": "client.server",
	"Release.Urls": "client.urls", "Release.Channel": "client.channel", "Release.Product": "client.product",
	"Release.Root": "client.trusted-root", "Release.TrustedRoot": "client.trusted-root",
	"Client.WebsiteUrl": "client.website", "Client.StoreUrl": "client.store",
	"Client.Title": "game.nice-name", "Client.GameName": "game.name",
}

// settingForm is the form of a client setting's name with its tables. A name without a table belongs to the game.
var settingForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z][A-Za-z0-9_-]*)*$`)

// settings checks each additional client setting in the table at key.
func (c *checker) settings(key string, values map[string]any) {
	for _, s := range flatten(values) {
		at := key + "." + s.key
		c.setting(at, s)
		for own, instead := range ownSettings {
			if strings.EqualFold(own, s.name) && key == "client.settings" {
				c.add(at, "give it as "+instead, "has a key of its own")
			}
		}
	}
}

func (c *checker) setting(key string, s setting) {
	if !settingForm.MatchString(s.name) {
		c.add(key, `want a name such as Client.OfflineAfter, or one word for a setting of the game`, "%q is no name of a setting", s.name)
		return
	}
	if text, is := s.value.(string); is && strings.Contains(text, "://") {
		if u, err := url.Parse(text); err == nil && u.User != nil {
			c.add(key, "take them out: everybody who has the package can read them", "has a user name or password")
		}
	}
	known := settings.Names()
	if isKnown := slices.ContainsFunc(known, func(name string) bool { return strings.EqualFold(name, s.name) }); !isKnown && strings.Contains(s.name, ".") {
		c.add(key, cmp.Or(advice(s.name, known), "collet-client --help lists them"), "the client has no setting %s", s.name)
		return
	}
	if _, err := settings.Parse("", s.name+" = "+valueText(s.value)); err != nil {
		c.add(key, "", "%s", settingFault(err))
	}
}

// advice is didYouMean without the list of known words.
func advice(word string, known []string) string {
	if best := nearest(word, known); best != "" {
		return fmt.Sprintf("did you mean %s?", best)
	}
	return ""
}

// settingFault returns the client's error about a setting on one line.
func settingFault(err error) string {
	text := err.Error()
	var fault *settings.Error
	if errors.As(err, &fault) {
		text = fault.Text
	}
	text, _, _ = strings.Cut(text, "\n")
	return text
}

// config checks the complete settings of a build with the client's parser.
func (c *checker) config(key, text string) {
	if len(c.list) > 0 {
		return // already reported one by one
	}
	s, err := settings.Parse(key, text)
	if err == nil {
		err = s.Check()
	}
	if err != nil {
		c.add(key, "", "clients would not take it: %s", settingFault(err))
	}
}

// hostPort splits a server address for the client's settings. port is 0 if the address has a scheme.
func hostPort(address string) (host string, port int) {
	if strings.Contains(address, "://") {
		return address, 0
	}
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return address, 0
	}
	port, err = strconv.Atoi(text)
	if err != nil {
		return address, 0
	}
	return host, port
}
