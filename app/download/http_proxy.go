package download

import (
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"collet/netproto/dial"
)

// NoProxy is the setting for no proxy at all.
const NoProxy = "direct"

// PlainProxy is HTTPOptions.PlainProxy for a setting. Empty means the environment (HTTP_PROXY, HTTPS_PROXY, NO_PROXY and their
// lower-case forms, which never apply to this machine itself), NoProxy means no proxy, any other text is the proxy's address as for
// dial.ParseProxy. The error does not repeat the text, which may contain a password.
func PlainProxy(text string, getenv func(string) string) (func(*url.URL) (*url.URL, error), error) {
	switch text {
	case "":
		either := func(name string) string {
			if value := getenv(name); value != "" {
				return value
			}
			return getenv(strings.ToLower(name))
		}
		config := &httpproxy.Config{
			HTTPProxy: either("HTTP_PROXY"), HTTPSProxy: either("HTTPS_PROXY"), NoProxy: either("NO_PROXY"),
			CGI: getenv("REQUEST_METHOD") != "", // a request's header can set HTTP_PROXY there
		}
		return config.ProxyFunc(), nil
	case NoProxy:
		return nil, nil
	}
	if _, err := dial.ParseProxy(text); err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("proxy: internal error: what was read can't be read")
	}
	return func(*url.URL) (*url.URL, error) { return u, nil }, nil
}
