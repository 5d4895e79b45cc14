package token_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/app/token"
)

// TestMain is also the command: its first argument says what it does.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "command" {
		os.Exit(command(os.Args[2]))
	}
	os.Exit(m.Run())
}

func command(what string) int {
	switch what {
	case "says":
		_, _ = os.Stdout.WriteString("  tok.en-1==\n")
	case "counts": // token-1, token-2, …
		data, _ := os.ReadFile("count")
		_ = os.WriteFile("count", append(data, 'x'), 0o600)
		_, _ = os.Stdout.WriteString("token-" + string(rune('1'+len(data))))
	case "nothing":
	case "fails":
		return 3
	case "long":
		_, _ = os.Stdout.WriteString(strings.Repeat("x", token.MaxOutput+1))
	case "lines":
		_, _ = os.Stdout.WriteString("secret\nX-Header: y")
	case "hangs":
		_ = os.WriteFile("begun", nil, 0o600)
		select {}
	}
	return 0
}

// source is a Source with this program as its command.
func source(t *testing.T, what string, log *strings.Builder) (s *token.Source, folder string) {
	folder = t.TempDir()
	return token.New(token.Options{
		Command: []string{os.Args[0], "command", what}, Folder: folder, Mirrors: []string{"https://builds.example.org/a"}, Log: zerolog.New(log),
	}), folder
}

func TestCommand(t *testing.T) {
	t.Parallel()
	for what, want := range map[string]string{
		"says": "tok.en-1==", "nothing": "wrote nothing to its standard output", "fails": "exit status 3", "long": "wrote more than 6144 bytes",
		"lines": "no bearer token",
	} {
		var log strings.Builder
		s, _ := source(t, what, &log)
		got, err := s.For("https://builds.example.org/b?sig=1")(t.Context(), "")
		if what == "says" && (got != want || err != nil) || what != "says" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %q, %v", what, got, err)
		}
		if all := log.String(); strings.Contains(all, "secret") || strings.Contains(all, "tok.en") || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v; log %s", what, err, all)
		}
	}
}

// TestRenewal: the command runs once, and again when its token is rejected.
func TestRenewal(t *testing.T) {
	t.Parallel()
	s, folder := source(t, "counts", new(strings.Builder))
	get := s.For("https://builds.example.org")
	for _, step := range []struct{ rejected, want string }{{"", "token-1"}, {"", "token-1"}, {"token-1", "token-2"}, {"token-1", "token-2"}, {"", "token-2"}} {
		if got, err := get(t.Context(), step.rejected); got != step.want || err != nil {
			t.Errorf("after %q: %q, %v", step.rejected, got, err)
		}
	}
	if count, err := os.ReadFile(filepath.Join(folder, "count")); err != nil || len(count) != 2 {
		t.Errorf("it ran %d times, %v", len(count), err)
	}
}

func TestCommandEndsWithTheContext(t *testing.T) {
	t.Parallel()
	s, _ := source(t, "hangs", new(strings.Builder))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := s.For("https://builds.example.org")(ctx, "")
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestFor: a token goes to the origins of the configured mirrors, and nowhere else.
func TestFor(t *testing.T) {
	t.Parallel()
	s := token.New(token.Options{Token: "right", Mirrors: []string{"https://builds.example.org/a?sig=1", "http://127.0.0.1:8080/", "oci://ghcr.io/team/lathe"}})
	for address, want := range map[string]bool{
		"https://builds.example.org/a":         true,
		"https://BUILDS.example.org:443/other": true,
		"http://builds.example.org/a":          false,
		"https://builds.example.org:444/a":     false,
		"https://x.builds.example.org/a":       false,
		"https://builds.example.org.evil.com/": false,
		"https://builds.example.org@evil.com/": false,
		"http://127.0.0.1:8080/x":              true,
		"http://127.0.0.1:8081/x":              false,
		"oci://ghcr.io/other/game":             true,
		"nonsense":                             false,
	} {
		if got := s.For(address) != nil; got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
	if token.New(token.Options{}).For("https://builds.example.org") != nil {
		t.Error("without a token there is one")
	}
}

func TestFault(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{"": true, "abc._~+/-==": true, "a b": false, "a\nb": false, "=": false, "ä": false, strings.Repeat("x", token.MaxOutput+1): false} {
		if err := token.Fault(text); (err == nil) != good || err != nil && text != "=" && len(text) < 10 && strings.Contains(err.Error(), text) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}
