package netproto

import (
	"testing"

	"collet/netproto/compat"
)

func TestUpdaterOfAClient(t *testing.T) {
	for _, test := range []struct {
		generation Generation
		verdict    compat.Verdict
		version    uint32
		want       compat.Updater
	}{
		{C1, compat.UpdaterMismatch, VersionC1 - 1, compat.UpdaterNewer},
		{C1, compat.UpdaterMismatch, VersionC1 + 1, compat.UpdaterOlder},
		{C1, compat.UpdaterMismatch, VersionC1, compat.UpdaterOlder},
		{C1, compat.Accept, VersionC1, compat.UpdaterSame},
		{G2b, compat.UpdaterMismatch, 0, compat.UpdaterSame},
	} {
		c := &Client{conn: NewConn(nil, ClientSide, DefaultClientLimits()), answer: &HandshakeAnswer{Version: test.version}}
		if err := c.conn.SetGeneration(test.generation); err != nil {
			t.Fatal(err)
		}
		c.judgement.Verdict = test.verdict
		if got := c.Updater(); got != test.want {
			t.Errorf("%v %v %d: %d, want %d", test.generation, test.verdict, test.version, got, test.want)
		}
	}
}
