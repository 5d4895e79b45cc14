package pack

import (
	"cmp"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"collet/build/advice"
	"collet/netproto/release/location"
	"collet/netproto/release/trust"
)

// wordForm is the form of channel and product names.
var wordForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// clientChecker checks what every packed client has in its program.
type clientChecker struct {
	*fileChecker
	client *Client
}

// check returns the content of the trusted root, empty without one. homepage is the default of the website, and packed the time of the
// packages, in which the root must be valid.
func (c *clientChecker) check(homepage string, packed time.Time) (root string) {
	s := c.client
	if s.Server == "" && len(s.URLs) == 0 {
		c.addMissing("client.server", "say where clients find updates, with this or with client.urls")
	}
	c.checkServer(s.Server)
	for i, u := range s.URLs {
		at := element("client.urls", i)
		if u == "" {
			c.addMissing(at, "take it out")
		}
		c.checkReleaseAddress(at, u)
	}
	if len(s.URLs) > 0 && s.TrustedRoot == "" {
		c.addMissing(trustedRoot, "releases from client.urls have to lead back to it; write it with collet keys export")
	}
	const want = `want letters, digits, ".", "-" and "_"`
	c.checkOptional("client.channel", s.Channel, wordForm, want)
	c.checkOptional("client.product", s.Product, wordForm, want)
	root = c.checkTrustedRoot(&s.TrustedRoot, packed)
	if s.WeakRoot && s.TrustedRoot == "" {
		c.add("client.weak-root", "leave it out", "goes with trusted-root")
	}
	c.checkWebAddress("client.website", s.Website)
	s.Website = cmp.Or(s.Website, homepage)
	c.checkStore(s.Store)
	c.checkSettings("client.settings", s.Settings)
	return root
}

// checkReleaseAddress checks the address of a release folder.
func (c *clientChecker) checkReleaseAddress(key, text string) {
	scheme, _, _ := strings.Cut(text, "://")
	if kind := location.Kind(scheme); kind != location.GitHub && kind != location.Registry {
		c.checkWebAddress(key, text)
		if strings.ContainsAny(text, "?#") {
			c.add(key, "want the address of a folder", "has a query")
		}
		return
	}
	if !c.checkLine(key, text) {
		return
	}
	if _, err := location.Parse(text); err != nil {
		c.add(key, err.Error(), "%q is no address of a release folder", text)
	}
}

// serverSchemes are the connection schemes that a client supports.
var serverSchemes = []string{"tcp", "tls", "ws", "wss"}

// checkServer checks the update server's address.
func (c *clientChecker) checkServer(text string) {
	const key, want = "client.server", `want "host:port", or an address such as "tls://update.example.org:4000"`
	if !c.checkLine(key, text) {
		return
	}
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		scheme, rest = "tcp", text
	}
	u, err := url.Parse(scheme + "://" + rest)
	switch {
	case !slices.Contains(serverSchemes, scheme):
		c.add(key, advice.DidYouMean(scheme, serverSchemes), "clients don't know %s://", scheme)
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

// trustedRoot is the key of the file that signed releases lead back to.
const trustedRoot = "client.trusted-root"

func (c *clientChecker) checkTrustedRoot(value *string, packed time.Time) (root string) {
	const key = trustedRoot
	name := *value
	if !c.resolve(key, value, aFile) {
		return ""
	}
	data, err := readSome(*value, trust.MaxRoot+1)
	if err != nil {
		c.add(key, "", "%s can't be read: %v", name, cause(err))
		return ""
	}
	if len(data) > trust.MaxRoot {
		c.add(key, "", "%s is longer than %d bytes", name, trust.MaxRoot)
		return ""
	}
	info, err := trust.InspectRoot(data)
	if err != nil {
		c.add(key, "write it with collet keys export", "%s is no root of signed releases: %v", name, err)
		return ""
	}
	weak := c.client.WeakRoot
	if err := info.Check(trust.Allow{Development: weak, SingleRoot: weak}); err != nil {
		c.add(key, "make keys with collet keys init, or say weak-root = true while you try things out", "%v", err)
	}
	if info.Expires.Before(packed) {
		c.add(key, "renew it with collet keys rotate, and write it anew with collet keys export",
			"%s expired on %s, before the packages' time", name, info.Expires.Format(time.DateOnly))
	}
	return string(data)
}

func (c *clientChecker) checkStore(address string) {
	const key = "client.store"
	if u, err := url.Parse(address); c.checkLine(key, address) && (err != nil || u.Scheme == "" || u.User != nil) {
		c.add(key, `want an address, such as "https://…" or "steam://…"`, "%q is no address", address)
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
