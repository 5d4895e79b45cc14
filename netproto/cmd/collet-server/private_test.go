package main

import (
	"strings"
	"testing"

	"collet/netproto/server"
	"collet/netproto/server/config"
)

// TestGuardUpdatePorts: another port does not give away a private release folder.
func TestGuardUpdatePorts(t *testing.T) {
	for _, test := range []struct {
		at     config.Addresses
		tokens string
		want   bool
	}{
		{config.Addresses{TCP: ":4000"}, "", true},
		{config.Addresses{TCP: ":4000"}, "tokens", false},
		{config.Addresses{TCP: "0.0.0.0:4000"}, "tokens", false},
		{config.Addresses{TCP: "192.0.2.1:4000"}, "tokens", false},
		{config.Addresses{TCP: "127.0.0.1:4000"}, "tokens", true},
		{config.Addresses{TCP: "[::1]:4000", WebSocket: "localhost:4001"}, "tokens", true},
		{config.Addresses{TCP: "127.0.0.1:4000", TLS: ":4443"}, "tokens", false},
		{config.Addresses{TCP: "127.0.0.1:4000", SecureWebSocket: ":4443"}, "tokens", false},
		{config.Addresses{}, "tokens", true},
	} {
		err := guardUpdatePorts(test.at, server.Sockets{}, test.tokens)
		if (err == nil) != test.want || err != nil && !strings.Contains(err.Error(), "--listen 127.0.0.1:4000") {
			t.Errorf("%+v, %q: %v", test.at, test.tokens, err)
		}
	}
}
