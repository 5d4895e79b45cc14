package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLoadSettings(t *testing.T) {
	tests := []struct {
		name, text string
		server     string
		says       string // empty: accepted
	}{
		{"absent", "", "127.0.0.1:4000", ""},
		{"tables", "[ClientNetwork]\nServerHost = \"game.test\"\nServerPort = 4100\n", "game.test:4100", ""},
		{"dotted", "ClientNetwork.ServerHost = \"::1\"\n", "[::1]:4000", ""},
		{"unknown", "[ClientNetwork]\nServerHots = \"x\"\n", "", "ServerHots"},
		{"type", "ClientNetwork.ServerPort = \"x\"\n", "", "ServerPort"},
		{"port", "ClientNetwork.ServerPort = 70000\n", "", "want 1 to 65535"},
		{"broken", "[ClientNetwork\n", "", "ClientNetwork"},
		{"huge", strings.Repeat("# a comment\n", 100_000), "", "longer than"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "Lathe.toml")
			if test.text != "" {
				if err := os.WriteFile(name, []byte(test.text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			s, err := loadSettings(name)
			switch {
			case test.says == "" && err != nil:
				t.Fatal(err)
			case test.says == "" && s.server() != test.server:
				t.Errorf("server %q, want %q", s.server(), test.server)
			case test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "Lathe.toml")):
				t.Errorf("error %v, want the file's name and %q in it", err, test.says)
			}
		})
	}
}
