package pack

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"collet/netproto/release"
)

// wordForm is what names of channels and products are made of.
var wordForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

func (c *checker) client() {
	s := &c.p.Client
	if s.Server == "" && len(s.URLs) == 0 {
		c.missing("client.server", "say where clients find updates, with this or with client.urls")
	}
	c.address(s.Server)
	for i, u := range s.URLs {
		at := element("client.urls", i)
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
	s.Website = cmp.Or(s.Website, c.p.Game.Homepage)
	c.web("client.website", s.Website)
	c.store(s.Store)
	c.settings("client.settings", s.Settings)
}

// serverSchemes are the ways to connect that a client knows.
var serverSchemes = []string{"tcp", "tls", "ws", "wss"}

// address checks where the update server is.
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
	data, err := os.ReadFile(*value)
	if err != nil {
		c.add(key, "", "%s can't be read: %v", name, cause(err))
		return
	}
	if len(data) > release.MaxRoot {
		c.add(key, "", "%s is longer than %d bytes", name, release.MaxRoot)
		return
	}
	info, err := release.InspectRoot(data)
	if err != nil {
		c.add(key, "write it with collet keys export", "%s is no root of signed releases: %v", name, err)
		return
	}
	weak := c.p.Client.WeakRoot
	if err := info.Check(release.Allow{Development: weak, SingleRoot: weak}); err != nil {
		c.add(key, "make keys with collet keys init, or say weak-root = true while you try things out", "%v", err)
	}
	c.p.root = string(data)
}

func (c *checker) store(address string) {
	const key = "client.store"
	if u, err := url.Parse(address); c.line(key, address) && (err != nil || u.Scheme == "" || u.User != nil) {
		c.add(key, `want an address, such as "https://…" or "steam://…"`, "%q is no address", address)
	}
}

// ownSettings are settings of the client that a description has a key of its own for.
var ownSettings = map[string]string{
	"ClientNetwork.ServerHost": "client.server", "ClientNetwork.ServerPort": "client.server",
	"Release.Urls": "client.urls", "Release.Channel": "client.channel", "Release.Product": "client.product",
	"Release.Root": "client.trusted-root", "Release.TrustedRoot": "client.trusted-root",
	"Client.WebsiteUrl": "client.website", "Client.StoreUrl": "client.store",
	"Client.Title": "game.nice-name", "Client.GameName": "game.name",
}

// settings checks further settings of the client. All of them come under key.
func (c *checker) settings(key string, values map[string]any) {
	for _, s := range flatten(values) {
		at := key + "." + s.key
		if own, is := ownSettings[s.name]; is && key == "client.settings" {
			c.add(at, "give it as "+own, "has a key of its own")
			continue
		}
		if reason := settingFault(s.name, s.value); reason != "" {
			c.add(at, "", "%s", reason)
		}
		if text, is := s.value.(string); is && strings.Contains(text, "://") {
			if u, err := url.Parse(text); err == nil && u.User != nil {
				c.add(at, "take them out: everybody who has the package can read them", "has a user name or password")
			}
		}
	}
}

// hostPort takes a server's address apart as the client's settings want it: port is 0 where the address says how to connect.
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

// settingFault says what is wrong with a setting of the client, as far as a description can tell.
func settingFault(name string, value any) string {
	switch value.(type) {
	case string, bool, int64, float64:
		return ""
	case []any:
		return ""
	default:
		return fmt.Sprintf("%s can't be a setting", kindOf(value))
	}
}
