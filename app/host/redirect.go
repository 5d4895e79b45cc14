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

// redirect is the upstream's state before a redirect. The next attempt restores it.
type redirect struct {
	server string
	route  route
	urls   []string

	packs  string // the mirror that the redirect added to the configured ones; empty: none
	public bool   // the redirect may lead to public addresses only, because the configured server has one
}

// redirected reports whether this attempt uses another server than the configured one.
func (u *upstream) redirected() bool { return u.before != nil }

// followRedirect switches to the server of a redirect for the rest of this attempt. The error says why the redirect is not followed.
func (u *upstream) followRedirect(ctx context.Context, f view, to *compat.Endpoint) error {
	server, err := u.otherServer(to)
	if err != nil {
		return err
	}
	opt, set := u.opt, u.settings
	opt.TlsName, set.ClientNetwork.TlsName = "", "" // the configured certificate name belongs to the server that redirects
	r := newRoute(server, opt, set, u.folder, os.Getenv, u.log)
	if r.err != nil {
		return r.err
	}
	public := !isLocalServer(ctx, u.route.addr)
	r.dialer.PublicOnly = public
	urls, packs := u.signed.urls, to.BaseURL
	if packs == "" || !u.signed.on() || slices.Contains(urls, packs) {
		packs = ""
	} else if err := u.packsFault(packs); err != nil {
		return fmt.Errorf("its packs: %w", err)
	} else {
		urls = append(slices.Clip(urls), packs)
	}
	if err := u.closeWarmMirror(); err != nil {
		u.log.Debug().Err(err).Msg("close the mirror that was asked in advance")
	}
	u.before = &redirect{u.server, u.route, u.signed.urls, packs, public}
	u.server, u.route, u.signed.urls = server, r, urls
	u.log.Info().Str("server", server).Str("from", u.before.server).Msg("redirected to another server")
	f.Note(u.texts.Get("note.redirected", "host", server))
	return nil
}

// packsFault checks the mirror of a redirect, which must be a web server. It must not downgrade from https to http.
func (u *upstream) packsFault(packs string) error {
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
	if at.Plain && (u.secure() || slices.ContainsFunc(u.signed.urls, isEncrypted)) {
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
func (u *upstream) endRedirect() {
	if u.before == nil {
		return
	}
	u.server, u.route, u.signed.urls = u.before.server, u.before.route, u.before.urls
	u.before = nil
}

// otherServer is the address of a redirect's endpoint, in the form of --server. The endpoint is untrusted input: TLS must have
// authenticated the redirecting server, or a trusted root must verify all downloads. The endpoint must differ from the redirecting
// server and must not drop TLS.
func (u *upstream) otherServer(to *compat.Endpoint) (string, error) {
	if to == nil || to.Host == "" || to.Port == 0 {
		return "", errors.New("no server is named")
	}
	addr := net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port)))
	if u, err := url.Parse("tcp://" + addr); err != nil || u.Hostname() != to.Host || u.Path != "" || u.User != nil {
		return "", fmt.Errorf("%q is no host", to.Host)
	}
	switch {
	case !u.secure() && !u.signed.on():
		return "", errors.New("the redirecting server is not authenticated by TLS or a trusted root; use tls:// or wss://, or signed releases")
	case addr == u.route.addr:
		return "", errors.New("the redirect leads to the same server")
	case u.secure() && !to.TLS:
		return "", errors.New("the redirect would downgrade from TLS to plain TCP")
	case to.TLS:
		return "tls://" + addr, nil
	default:
		return "tcp://" + addr, nil
	}
}

// secure reports whether TLS authenticates the server.
func (u *upstream) secure() bool { return u.route.dialer != nil && u.route.dialer.TLS != nil }
