package main

import (
	"crypto/tls"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/app/settings"
	"collet/assets"
	"collet/netproto"
	"collet/netproto/compat"
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
		{&compat.Endpoint{Host: "next.example.org", Port: 4000}, true, "", "not encrypted"},
		{&compat.Endpoint{Host: "here.example.org", Port: 4000}, false, "", "sent us"},
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
		h := &host{route: route{addr: "here.example.org:4000", dialer: &netproto.Dialer{}}}
		if test.secure {
			h.route.dialer.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
		}
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

// TestDetourIsForOneAttempt: the next attempt asks the server that was named, with all that belongs to it.
func TestDetourIsForOneAttempt(t *testing.T) {
	h := &host{
		server: "tls://here.example.org:4000", texts: assets.TextsFor("en"), log: zerolog.Nop(), folder: t.TempDir(),
		signed: signed{root: []byte("a root"), urls: []string{"https://here.example.org/packs"}},
	}
	h.settings.ClientNetwork.TlsName = "cert.example.org"
	h.route = newRoute(h.server, h.flags, h.settings, h.folder, func(string) string { return "" }, h.log)
	before := h.route
	if !h.secure() || h.detoured() {
		t.Fatal("not as it begins")
	}
	notes := &notebook{}
	to := &compat.Endpoint{Host: "next.example.org", Port: 443, TLS: true, BaseURL: "https://next.example.org/packs"}
	if err := h.takeDetour(notes, to); err != nil {
		t.Fatal(err)
	}
	if h.server != "tls://next.example.org:443" || h.route.addr != "next.example.org:443" || h.signed.urls[0] != to.BaseURL || !h.detoured() {
		t.Errorf("%q, %+v, %q", h.server, h.route, h.signed.urls)
	}
	if h.route.dialer.TLS == nil || h.route.dialer.TLS.ServerName == "cert.example.org" {
		t.Error("the certificate's name of the first server is asked of the second one")
	}
	if h.settings.ClientNetwork.TlsName != "cert.example.org" || len(notes.lines) != 1 || !strings.Contains(notes.lines[0], "next.example.org") {
		t.Errorf("%q, notes %q", h.settings.ClientNetwork.TlsName, notes.lines)
	}
	h.comeBack()
	h.comeBack()
	if h.server != "tls://here.example.org:4000" || h.route != before || h.signed.urls[0] != "https://here.example.org/packs" || h.detoured() {
		t.Errorf("%q, %+v, %q", h.server, h.route, h.signed.urls)
	}
	to.BaseURL = "ftp://next.example.org"
	if err := h.takeDetour(notes, to); err == nil || h.detoured() {
		t.Errorf("packs at %q: %v", to.BaseURL, err)
	}
}
