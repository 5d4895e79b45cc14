package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"time"

	"collet/netproto/compat"
	"collet/netproto/dial"
	"collet/netproto/release/location"
)

// redirect is the origin's state before a redirect. The next attempt restores it.
type redirect struct {
	server string
	route  route
	urls   []string

	packs  string // the mirror that the redirect added to the configured ones; empty: none
	public bool   // the redirect may lead to public addresses only, because the configured server has one
}

// redirected reports whether this attempt uses another server than the configured one.
func (o *origin) redirected() bool { return o.before != nil }

// followRedirect switches to the server of a redirect for the rest of this attempt. The error says why the redirect is not followed.
func (o *origin) followRedirect(ctx context.Context, f view, to *compat.Endpoint) error {
	server, err := o.otherServer(to)
	if err != nil {
		return err
	}
	opt, set := o.opt, o.settings
	opt.TlsName, set.ClientNetwork.TlsName = "", "" // the configured certificate name belongs to the server that redirects
	r := newRoute(server, opt, set, o.folder, os.Getenv, o.log)
	if r.err != nil {
		return r.err
	}
	public := !isLocalServer(ctx, o.route.addr)
	r.dialer.PublicOnly = public
	urls, packs := o.signed.urls, to.BaseURL
	if packs == "" || !o.signed.on() || slices.Contains(urls, packs) {
		packs = ""
	} else if err := o.packsFault(packs); err != nil {
		return fmt.Errorf("its packs: %w", err)
	} else {
		urls = append(slices.Clip(urls), packs)
	}
	if err := o.closeWarmMirror(); err != nil {
		o.log.Debug().Err(err).Msg("close the connection that was made ahead")
	}
	o.before = &redirect{o.server, o.route, o.signed.urls, packs, public}
	o.server, o.route, o.signed.urls = server, r, urls
	o.log.Info().Str("server", server).Str("from", o.before.server).Msg("redirected to another server")
	f.Note(o.texts.Get("note.redirected", "host", server))
	return nil
}

// packsFault checks the mirror of a redirect, which must be a web server. It must not downgrade from https to http.
func (o *origin) packsFault(packs string) error {
	at, err := location.Parse(packs)
	switch {
	case err != nil:
		return err
	case at.Kind != location.Web:
		return errors.New("the mirror of a redirect must be a web server")
	}
	isEncrypted := func(address string) bool {
		configured, err := location.ParsePrivate(address)
		return err == nil && !configured.Plain
	}
	if at.Plain && (o.secure() || slices.ContainsFunc(o.signed.urls, isEncrypted)) {
		return errors.New("the mirror of the redirect is not encrypted, but configured connections are")
	}
	return nil
}

// resolvePatience is how long resolving the configured server's name may take.
const resolvePatience = 2 * time.Second

// isLocalServer reports whether a configured server is on this machine, its link or a private network. Only such a server may redirect
// to local addresses.
func isLocalServer(ctx context.Context, addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if dial.IsLocalHost(host) {
		return true
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	limited, cancel := context.WithTimeout(ctx, resolvePatience)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(limited, "ip", host)
	return err == nil && len(found) > 0 && !slices.ContainsFunc(found, func(a netip.Addr) bool { return !dial.IsLocal(a) })
}

// endRedirect returns to the configured server, which may have been updated meanwhile.
func (o *origin) endRedirect() {
	if o.before == nil {
		return
	}
	o.server, o.route, o.signed.urls = o.before.server, o.before.route, o.before.urls
	o.before = nil
}

// otherServer is the address of a redirect's endpoint, in the form of --server. The endpoint is untrusted input: TLS must have
// authenticated the redirecting server, or a trusted root must verify all downloads. The endpoint must differ from the redirecting
// server and must not drop TLS.
func (o *origin) otherServer(to *compat.Endpoint) (string, error) {
	if to == nil || to.Host == "" || to.Port == 0 {
		return "", errors.New("no server is named")
	}
	addr := net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port)))
	if u, err := url.Parse("tcp://" + addr); err != nil || u.Hostname() != to.Host || u.Path != "" || u.User != nil {
		return "", fmt.Errorf("%q is no host", to.Host)
	}
	switch {
	case !o.secure() && !o.signed.on():
		return "", errors.New("the redirecting server is not authenticated by TLS or a trusted root; use tls:// or wss://, or signed releases")
	case addr == o.route.addr:
		return "", errors.New("the redirect leads to the same server")
	case o.secure() && !to.TLS:
		return "", errors.New("the redirect would downgrade from TLS to plain TCP")
	case to.TLS:
		return "tls://" + addr, nil
	default:
		return "tcp://" + addr, nil
	}
}

// secure reports whether TLS authenticates the server.
func (o *origin) secure() bool { return o.route.dialer != nil && o.route.dialer.TLS != nil }
