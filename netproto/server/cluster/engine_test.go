//go:build !nocluster

package cluster

import (
	"bytes"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// TestEngineLog: what the engine says about itself is for those who look for a fault, but that it stores nothing more is an error that says
// what to do.
func TestEngineLog(t *testing.T) {
	var said bytes.Buffer
	l := &engineLog{log: zerolog.New(&said), folder: "/var/lib/x.cluster"}
	for _, test := range []struct{ format, want string }{
		{"Error trying to connect to route (attempt %d): %v", `"debug"`},
		{"Filestore [%s] something else: %v", `"warn"`},
		{"JetStream stream '%s' critical write error: %v", `"error"`},
		{"JetStream cluster meta group critical write error %v: %v", `remove the folder`},
	} {
		said.Reset()
		l.Errorf(test.format, 1, "no space")
		if got := said.String(); !strings.Contains(got, test.want) || !strings.Contains(got, "no space") {
			t.Errorf("%q is %s, without %s", test.format, got, test.want)
		}
	}
}

// TestNoCompression: see streams.
func TestNoCompression(t *testing.T) {
	for _, c := range streams(3) {
		if c.Compression != jetstream.NoCompression {
			t.Errorf("stream %s is compressed", c.Name)
		}
	}
}
