package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"

	"collet/app/settings"
	"collet/netproto/compat"
)

// detour is where a host came from that another server has sent away: it goes back there at the next attempt.
type detour struct {
	server string
	route  route
	urls   []string
}

// detoured reports whether this attempt asks another server than the one that was named.
func (h *host) detoured() bool { return h.before != nil }

// takeDetour makes the server of a redirect the one to ask, for the rest of this attempt. The error says why it is not gone to.
func (h *host) takeDetour(f front, to *compat.Endpoint) error {
	server, err := h.otherServer(to)
	if err != nil {
		return err
	}
	flags, set := h.flags, h.settings
	flags.TlsName, set.ClientNetwork.TlsName = "", "" // the name in the certificate of the server that sent us
	r := newRoute(server, flags, set, h.folder, os.Getenv, h.log)
	if r.err != nil {
		return r.err
	}
	urls := h.signed.urls
	if packs := to.BaseURL; packs != "" && h.signed.on() {
		if err := settings.ReleaseFault([]string{packs}); err != nil {
			return fmt.Errorf("its packs: %w", err)
		}
		urls = []string{packs}
	}
	if err := h.coolDown(); err != nil {
		h.log.Debug().Err(err).Msg("close the connection that was made ahead")
	}
	h.before = &detour{h.server, h.route, h.signed.urls}
	h.server, h.route, h.signed.urls = server, r, urls
	h.log.Info().Str("server", server).Str("from", h.before.server).Msg("sent to another server")
	f.Note(h.texts.Get("note.redirected", "host", server))
	return nil
}

// comeBack ends a detour: the server that was named may have been updated meanwhile.
func (h *host) comeBack() {
	if h.before == nil {
		return
	}
	h.server, h.route, h.signed.urls = h.before.server, h.before.route, h.before.urls
	h.before = nil
}

// otherServer is the address of an endpoint as --server takes it. It comes from a peer: it must be an address, another one than
// that of the sender, and no less protected than the way to the sender.
func (h *host) otherServer(to *compat.Endpoint) (string, error) {
	if to == nil || to.Host == "" || to.Port == 0 {
		return "", errors.New("no server is named")
	}
	addr := net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port)))
	if u, err := url.Parse("tcp://" + addr); err != nil || u.Hostname() != to.Host || u.Path != "" || u.User != nil {
		return "", fmt.Errorf("%q is no host", to.Host)
	}
	switch {
	case addr == h.route.addr:
		return "", errors.New("it is the server that sent us")
	case h.secure() && !to.TLS:
		return "", errors.New("the way there is not encrypted, and the way here is")
	case to.TLS:
		return "tls://" + addr, nil
	default:
		return "tcp://" + addr, nil
	}
}

// secure reports whether somebody vouches for the server that is asked.
func (h *host) secure() bool { return h.route.dialer != nil && h.route.dialer.TLS != nil }
