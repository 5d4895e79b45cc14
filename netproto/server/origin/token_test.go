package origin_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collet/netproto/releasetest"
	"collet/netproto/server/origin"
	"collet/netproto/server/servertest"
)

const (
	annaToken = "anna-0123456789abcdef"
	benToken  = "ben-0123456789abcdef"
)

// TestPrivateFolder hands out a release folder only to those with a token, and keeps answers out of shared caches.
func TestPrivateFolder(t *testing.T) {
	t.Parallel()
	f := published(t, releasetest.Standard(1))
	set := servertest.ReleaseSettings(f)
	set.Release.TokensFile = filepath.Join(t.TempDir(), "tokens")
	write := func(text string) {
		if err := os.WriteFile(set.Release.TokensFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# testers\n\n" + annaToken + "  Anna\n" + benToken + "\n")
	s := openSite(t, set)
	names := []string{"/metadata/timestamp.json", "/metadata/1.root.json", "/metadata/99.root.json", "/objects/00/none", "/sequels/none"}
	for _, path := range names {
		for header, want := range map[string]string{
			"": `Bearer realm="releases"`, "Bearer wrong": `Bearer realm="releases", error="invalid_token"`, "Bearer " + annaToken + "x": `Bearer realm="releases", error="invalid_token"`,
			"Bearer": `Bearer realm="releases"`, "Basic " + annaToken: `Bearer realm="releases"`, annaToken: `Bearer realm="releases"`,
		} {
			got := s.request(t, http.MethodGet, path, "Authorization", header)
			if got.StatusCode != http.StatusUnauthorized || got.Header.Get("WWW-Authenticate") != want || got.Header.Get("Cache-Control") != "no-store" ||
				strings.Contains(got.body, "0123") {
				t.Errorf("%s with %q: %d, %v, %s", path, header, got.StatusCode, got.Header, got.body)
			}
		}
	}
	for _, header := range []string{"Bearer " + annaToken, "bearer  " + benToken + " "} {
		for path, cache := range map[string]string{"/metadata/timestamp.json": "private, no-cache", "/metadata/1.root.json": "private, max-age=31536000, immutable"} {
			got := s.request(t, http.MethodGet, path, "Authorization", header)
			if got.StatusCode != http.StatusOK || got.Header.Get("Cache-Control") != cache || got.Header.Get("CDN-Cache-Control") != "" {
				t.Errorf("%s with %q: %d, %v", path, header, got.StatusCode, got.Header)
			}
		}
	}
	if got := s.request(t, http.MethodGet, "/metadata/99.root.json", "Authorization", "Bearer "+annaToken); got.StatusCode != http.StatusNotFound {
		t.Errorf("the next root: %d", got.StatusCode)
	}
	if got := s.request(t, http.MethodGet, "/healthz"); got.StatusCode != http.StatusOK {
		t.Errorf("health: %d", got.StatusCode)
	}

	// A reload takes a token back. A file that can't be read leaves those before.
	as := func(token string) int {
		return s.request(t, http.MethodGet, "/metadata/timestamp.json", "Authorization", "Bearer "+token).StatusCode
	}
	write(benToken)
	s.monitor.Reload()
	if as(annaToken) != http.StatusUnauthorized || as(benToken) != http.StatusOK {
		t.Errorf("after a reload: %d, %d", as(annaToken), as(benToken))
	}
	write("short")
	s.monitor.Reload()
	if as(benToken) != http.StatusOK {
		t.Errorf("after a bad reload: %d", as(benToken))
	}
	if log := s.Log.String(); strings.Contains(log, "0123456789abcdef") || !strings.Contains(log, "those before stay") {
		t.Errorf("log: %s", log)
	}
}

// TestTokensFile names what is wrong with the file, and repeats no token.
func TestTokensFile(t *testing.T) {
	t.Parallel()
	f := published(t, releasetest.Standard(1))
	for text, want := range map[string]string{
		"":                                   "has no token",
		"# nothing\n":                        "has no token",
		annaToken + "\nsecret":               ":2: a token has 16 to",
		strings.Repeat("secret-", 1000):      ":1: a token has 16 to",
		strings.Repeat(annaToken+"\n", 1001): "has more than 1000 tokens",
	} {
		set := servertest.ReleaseSettings(f)
		set.Release.TokensFile = filepath.Join(t.TempDir(), "tokens")
		if err := os.WriteFile(set.Release.TokensFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var m origin.Monitor
		if err := m.Configure(set, servertest.New().Logger()); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.30q: %v", text, err)
		}
	}
	set := servertest.ReleaseSettings(f)
	set.Release.TokensFile = filepath.Join(t.TempDir(), "nowhere")
	var m origin.Monitor
	if err := m.Configure(set, servertest.New().Logger()); err == nil || !strings.Contains(err.Error(), "Release.TokensFile") {
		t.Errorf("no file: %v", err)
	}
}
