package dial_test

import (
	"errors"
	"strings"
	"testing"

	"collet/netproto/dial"
)

func TestParseProxy(t *testing.T) {
	tests := []struct{ text, want, says string }{
		{"proxy.test:3128", "http://proxy.test:3128", ""},
		{"proxy.test", "http://proxy.test:80", ""},
		{"HTTP://proxy.test/", "http://proxy.test:80", ""},
		{"https://proxy.test", "https://proxy.test:443", ""},
		{"socks5://[2001:db8::1]", "socks5://[2001:db8::1]:1080", ""},
		{"socks5h://me:secret@proxy.test:9", "socks5://proxy.test:9", ""},
		{"http://me:s%40cret@proxy.test", "http://proxy.test:80", ""},
		{"http://me@proxy.test", "http://proxy.test:80", ""},
		{"", "", "want http://"},
		{"http://", "", "want http://"},
		{"http://me:secret@", "", "want http://"},
		{"http://me:secret@proxy.test/path", "", "want http://"},
		{"http://me:secret@proxy.test:port", "", "want http://"},
		{"http://me:secret@pro xy.test", "", "want http://"},
		{"socks4://me:secret@proxy.test", "", `"socks4" is not spoken`},
		{"ftp://me:secret@proxy.test", "", `"ftp" is not spoken`},
		{"socks5://me@proxy.test", "", "1 to 255 bytes"},
		{"socks5://:secret@proxy.test", "", "1 to 255 bytes"},
		{"socks5://me:" + strings.Repeat("secret", 50) + "@proxy.test", "", "1 to 255 bytes"},
	}
	for _, test := range tests {
		p, err := dial.ParseProxy(test.text)
		switch {
		case test.says == "" && (err != nil || p.String() != test.want):
			t.Errorf("%q: %v, %v; want %q", test.text, p, err, test.want)
		case test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "secret")):
			t.Errorf("%q: %v, want %q and no password", test.text, err, test.says)
		}
	}
}

func TestProxyFromEnvironment(t *testing.T) {
	type env map[string]string
	tests := []struct {
		name string
		env  env
		addr string
		want string // empty: none
	}{
		{"nothing", env{}, "game.test:4000", ""},
		{"upper case", env{"HTTPS_PROXY": "proxy.test:1"}, "game.test:4000", "http://proxy.test:1"},
		{"lower case", env{"https_proxy": "proxy.test:1"}, "game.test:4000", "http://proxy.test:1"},
		{"upper before lower", env{"HTTPS_PROXY": "up.test:1", "https_proxy": "low.test:1"}, "game.test:4000", "http://up.test:1"},
		{"for all", env{"ALL_PROXY": "socks5://proxy.test"}, "game.test:4000", "socks5://proxy.test:1080"},
		{"for all, lower", env{"all_proxy": "socks5h://proxy.test"}, "game.test:4000", "socks5://proxy.test:1080"},
		{"own before all", env{"ALL_PROXY": "all.test:1", "https_proxy": "own.test:1"}, "game.test:4000", "http://own.test:1"},
		{"plain HTTP only", env{"HTTP_PROXY": "proxy.test:1"}, "game.test:4000", ""},
		{"excepted", env{"HTTPS_PROXY": "proxy.test:1", "NO_PROXY": "other.test,game.test"}, "game.test:4000", ""},
		{"excepted, lower", env{"HTTPS_PROXY": "proxy.test:1", "no_proxy": ".test"}, "game.test:4000", ""},
		{"excepted with port", env{"HTTPS_PROXY": "proxy.test:1", "no_proxy": "game.test:4000"}, "game.test:4001", "http://proxy.test:1"},
		{"excepted network", env{"HTTPS_PROXY": "proxy.test:1", "no_proxy": "2001:db8::/32"}, "[2001:db8::1]:4000", ""},
		{"everything excepted", env{"HTTPS_PROXY": "proxy.test:1", "no_proxy": "*"}, "game.test:4000", ""},
		{"this machine", env{"HTTPS_PROXY": "proxy.test:1"}, "localhost:4000", ""},
		{"this machine by number", env{"HTTPS_PROXY": "proxy.test:1"}, "127.0.0.1:4000", ""},
		{"spaces", env{"HTTPS_PROXY": "  "}, "game.test:4000", ""},
	}
	for _, test := range tests {
		p, err := dial.ProxyFromEnvironment(func(name string) string { return test.env[name] })(test.addr)
		got := ""
		if p != nil {
			got = p.String()
		}
		if err != nil || got != test.want {
			t.Errorf("%s: %q, %v; want %q", test.name, got, err, test.want)
		}
	}
}

// TestBadEnvironment: the error has the variable's name without the password, and the connection still succeeds.
func TestBadEnvironment(t *testing.T) {
	server, _ := scripted(t, silent)
	_, port, _ := strings.Cut(server, ":")
	d := &dial.Dialer{ProxyOnly: true, Direct: toLoopback(port), Proxy: dial.ProxyFromEnvironment(func(name string) string {
		return map[string]string{"all_proxy": "socks4://me:secret@proxy.test"}[name]
	})}
	_, err := d.DialContext(t.Context(), "tcp", "game.test:4000")
	var fault *dial.ProxyError
	if !errors.As(err, &fault) || !strings.Contains(err.Error(), "all_proxy") || strings.Contains(err.Error(), "secret") {
		t.Errorf("says %v", err)
	}
	d.ProxyOnly = false
	conn, err := d.DialContext(t.Context(), "tcp", "game.test:4000")
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}
