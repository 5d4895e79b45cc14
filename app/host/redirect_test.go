package host

import (
	"crypto/tls"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/app/settings"
	"collet/assets"
	"collet/netproto/compat"
	"collet/netproto/dial"
)

// TestOtherServers: a redirect comes from a peer, so it is an address, another one, and no worse protected.
func TestOtherServers(t *testing.T) {
	for _, test := range []struct {
		to     *compat.Endpoint
		secure bool
		want   string
		fault  string
	}{
		{&compat.Endpoint{Host: "next.example.org", Port: 4000}, false, "tcp://next.example.org:4000", ""},
		{&compat.Endpoint{Host: "next.example.org", Port: 443, TLS: true}, false, "tls://next.example.org:443", ""},
		{&compat.Endpoint{Host: "next.example.org", Port: 443, TLS: true}, true, "tls://next.example.org:443", ""},
		{&compat.Endpoint{Host: "2001:db8::1", Port: 4000}, false, "tcp://[2001:db8::1]:4000", ""},
		{&compat.Endpoint{Host: "next.example.org", Port: 4000}, true, "", "plain TCP"},
		{&compat.Endpoint{Host: "here.example.org", Port: 4000}, false, "", "same server"},
		{&compat.Endpoint{Host: "here.example.org", Port: 4001}, false, "tcp://here.example.org:4001", ""},
		{nil, false, "", "no server"},
		{&compat.Endpoint{Port: 4000}, false, "", "no server"},
		{&compat.Endpoint{Host: "next.example.org"}, false, "", "no server"},
		{&compat.Endpoint{Host: "x/../y", Port: 1}, false, "", "no host"},
		{&compat.Endpoint{Host: "user@evil", Port: 1}, false, "", "no host"},
		{&compat.Endpoint{Host: "a b", Port: 1}, false, "", "no host"},
		{&compat.Endpoint{Host: "evil\n", Port: 1}, false, "", "no host"},
		{&compat.Endpoint{Host: "x?y#z", Port: 1}, false, "", "no host"},
	} {
		h := hostWith(setup{}, func(h *host) { h.route = route{addr: "here.example.org:4000", dialer: &dial.Dialer{}} })
		if test.secure {
			h.route.dialer.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		if _, err := h.otherServer(&compat.Endpoint{Host: "next.example.org", Port: 443, TLS: true}); !test.secure && err == nil {
			t.Error("a server that nothing proves sends us away")
		}
		h.signed.root = []byte("a root")
		got, err := h.otherServer(test.to)
		if got != test.want || (err == nil) != (test.fault == "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%+v, secure %t: %q, %v; want %q, %q", test.to, test.secure, got, err, test.want, test.fault)
		}
		if _, err := parseServerOrNone(got); err != nil {
			t.Errorf("%q: %v", got, err)
		}
	}
}

func parseServerOrNone(text string) (addr string, err error) {
	if text == "" {
		return "", nil
	}
	addr, _, _, err = settings.ParseServer(text)
	return addr, err
}

// TestRedirectIsForOneAttempt: the next attempt asks the server that was named, with all that belongs to it.
func TestRedirectIsForOneAttempt(t *testing.T) {
	h := hostWith(setup{texts: assets.TextsFor("en"), log: zerolog.Nop(), folder: t.TempDir()}, func(h *host) {
		h.server = "tls://here.example.org:4000"
		h.signed = signed{root: []byte("a root"), urls: []string{"https://here.example.org/packs"}}
	})
	judges := func() bool {
		t.Helper()
		o, closeMirrors, err := h.releaseOptions(&notebook{}, newSource(&h.updates, "v"))
		if err := errors.Join(err, closeMirrors()); err != nil {
			t.Fatal(err)
		}
		return o.Judge != nil
	}
	h.settings.ClientNetwork.TlsName = "cert.example.org"
	h.route = newRoute(h.server, h.opt, h.settings, h.folder, func(string) string { return "" }, h.log)
	before := h.route
	if !h.secure() || h.redirected() || !judges() {
		t.Fatal("not as it begins")
	}
	notes := &notebook{}
	to := &compat.Endpoint{Host: "next.example.org", Port: 443, TLS: true, BaseURL: "https://next.example.org/packs"}
	if err := h.followRedirect(t.Context(), notes, to); err != nil {
		t.Fatal(err)
	}
	if h.server != "tls://next.example.org:443" || h.route.addr != "next.example.org:443" || !slices.Equal(h.signed.urls, []string{"https://here.example.org/packs", to.BaseURL}) || !h.redirected() {
		t.Errorf("%q, %+v, %q", h.server, h.route, h.signed.urls)
	}
	if h.route.dialer.TLS == nil || h.route.dialer.TLS.ServerName == "cert.example.org" {
		t.Error("the certificate's name of the first server is asked of the second one")
	}
	if h.settings.ClientNetwork.TlsName != "cert.example.org" || len(notes.lines) != 1 || !strings.Contains(notes.lines[0], "next.example.org") {
		t.Errorf("%q, notes %q", h.settings.ClientNetwork.TlsName, notes.lines)
	}
	if judges() {
		t.Error("the rules of the first server judge in place of the second one")
	}
	h.endRedirect()
	h.endRedirect()
	if h.server != "tls://here.example.org:4000" || h.route != before || h.signed.urls[0] != "https://here.example.org/packs" || h.redirected() {
		t.Errorf("%q, %+v, %q", h.server, h.route, h.signed.urls)
	}
	for _, packs := range []string{"ftp://next.example.org", "http://next.example.org/packs", "oci://next.example.org/packs", "github://next/packs"} {
		to.BaseURL = packs
		if err := h.followRedirect(t.Context(), notes, to); err == nil || h.redirected() {
			t.Errorf("packs at %q: %v", to.BaseURL, err)
		}
	}
	h.server = "tcp://192.0.2.1:4000" // a line in the clear, mirrors with https
	h.route = newRoute(h.server, h.opt, h.settings, h.folder, func(string) string { return "" }, h.log)
	if err := h.followRedirect(t.Context(), notes, to); err == nil || h.redirected() {
		t.Errorf("from https to http: %v", err)
	}
}

// TestRedirectStaysOutside: a public server leads to public addresses only, and one on a private network anywhere.
func TestRedirectStaysOutside(t *testing.T) {
	for server, public := range map[string]bool{"192.0.2.1:4000": true, "127.0.0.1:4000": false, "192.168.7.7:4000": false, "localhost:4000": false} {
		h := hostWith(setup{texts: assets.TextsFor("en"), log: zerolog.Nop(), folder: t.TempDir()}, func(h *host) {
			h.server = server
			h.signed = signed{root: []byte("a root"), urls: []string{"http://192.0.2.1/packs"}}
		})
		h.route = newRoute(server, h.opt, h.settings, h.folder, func(string) string { return "" }, h.log)
		if err := h.followRedirect(t.Context(), &notebook{}, &compat.Endpoint{Host: "127.0.0.1", Port: 1, BaseURL: "http://127.0.0.1:1/packs"}); err != nil {
			t.Fatal(err)
		}
		var local *dial.LocalAddressError
		if _, err := h.route.dial(t.Context(), "tcp", h.route.addr); errors.As(err, &local) != public {
			t.Errorf("%s sends us to this machine: %v", server, err)
		}
		way, err := h.mirror("http://127.0.0.1:1/packs")
		if err != nil {
			t.Fatal(err)
		}
		if _, err = way.Get(t.Context(), "metadata/timestamp.json", 0, -1, 100); errors.As(err, &local) != public || err == nil {
			t.Errorf("%s sends us to packs on this machine: %v", server, err)
		}
		if err := way.Close(); err != nil {
			t.Error(err)
		}
	}
}
