//go:build !nocluster

package cluster

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// TestEngineLog: what the engine says about itself is for those who look for a fault, but that it stores nothing more is an error that says
// what to do, and so is a connection that is refused.
func TestEngineLog(t *testing.T) {
	var said bytes.Buffer
	var problem error
	l := &engineLog{log: zerolog.New(&said), folder: "/var/lib/x.cluster", problem: func(err error) { problem = err }}
	for _, test := range []struct{ format, want, problem string }{
		{"Error trying to connect to route (attempt %d): %v", `"debug"`, ""},
		{"Filestore [%s] something else: %v", `"warn"`, ""},
		{"JetStream stream '%s' critical write error: %v", `"error"`, ""},
		{"JetStream cluster meta group critical write error %v: %v", `remove the folder`, ""},
		{"127.0.0.1:53810 - cid:%d - authentication error - User %q", `Cluster.TokenFile`, ""},
		{"127.0.0.1:16222 - rid:%d - Route Error 'Authorization Violation' %s", `Cluster.TokenFile`, "different tokens"},
		{"127.0.0.1:16222 - rid:%d - TLS route handshake error: %v", `Cluster.Certificate`, "handshake error: no space"},
		{"127.0.0.1:16222 - rid:%d - Error flushing: %v", `"warn"`, ""},
	} {
		said.Reset()
		problem = nil
		l.Errorf(test.format, 1, "no space")
		if got := said.String(); !strings.Contains(got, test.want) || !strings.Contains(got, "no space") {
			t.Errorf("%q is %s, without %s", test.format, got, test.want)
		}
		if (problem == nil) != (test.problem == "") || problem != nil && !strings.Contains(problem.Error(), test.problem) {
			t.Errorf("%q reports %v, want %q", test.format, problem, test.problem)
		}
	}
}

// TestEngineWarnings: a stranger who tries tokens fills no disk, and hides no other warning.
func TestEngineWarnings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		l := &engineLog{log: zerolog.New(&said).Level(zerolog.InfoLevel)}
		lines := func(format string, times int) int {
			said.Reset()
			for i := range times {
				l.Errorf(format, i)
			}
			return strings.Count(said.String(), "\n")
		}
		const stranger = "192.0.2.1:1 - cid:%d - authentication error"
		if n := lines(stranger, 1000); n != maxWarnings {
			t.Errorf("%d lines, want %d", n, maxWarnings)
		}
		if n := lines("Filestore %d", 1); n != 1 {
			t.Errorf("another warning has %d lines, want 1", n)
		}
		time.Sleep(warnPeriod)
		if n := lines(stranger, 1); n != 1 || !strings.Contains(said.String(), `"hidden":997`) {
			t.Errorf("a minute later: %d lines, %s", n, &said)
		}
	})
}

// TestWhyMembers: why members don't answer is told if an operator can mend it, and not for each error of a network.
func TestWhyMembers(t *testing.T) {
	for _, test := range []struct {
		trouble error
		want    string
	}{
		{nats.ErrAuthorization, errToken.Error()},
		{errToken, errToken.Error()},
		{&tls.CertificateVerificationError{Err: errors.New("x509: for 192.0.2.1")}, errSilent.Error() + ": tls: failed to verify certificate: x509: for 192.0.2.1"},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}, errSilent.Error() + ": remote error: tls: bad certificate"},
		{&net.OpError{Op: "dial", Err: errors.New("connection refused")}, errSilent.Error()},
	} {
		if got := whyMembers(test.trouble); got.Error() != test.want || !errors.Is(got, errSilent) {
			t.Errorf("%v: %v, want %s", test.trouble, got, test.want)
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
