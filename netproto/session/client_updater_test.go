package session

import (
	"testing"

	"collet/netproto"
	"collet/netproto/compat"
)

func TestUpdaterOfAClient(t *testing.T) {
	for _, test := range []struct {
		generation netproto.Generation
		verdict    compat.Verdict
		version    uint32
		want       compat.Updater
	}{
		{netproto.C1, compat.UpdaterMismatch, netproto.VersionC1 - 1, compat.UpdaterNewer},
		{netproto.C1, compat.UpdaterMismatch, netproto.VersionC1 + 1, compat.UpdaterOlder},
		{netproto.C1, compat.UpdaterMismatch, netproto.VersionC1, compat.UpdaterOlder},
		{netproto.C1, compat.Accept, netproto.VersionC1, compat.UpdaterSame},
		{netproto.G2b, compat.UpdaterMismatch, 0, compat.UpdaterSame},
	} {
		c := &Client{link: &link{conn: netproto.NewConn(nil, netproto.ClientSide, netproto.DefaultClientLimits())}, answer: &netproto.HandshakeAnswer{Version: test.version}}
		if err := c.link.conn.SetGeneration(test.generation); err != nil {
			t.Fatal(err)
		}
		c.judgement.Verdict = test.verdict
		if got := c.Updater(); got != test.want {
			t.Errorf("%v %v %d: %d, want %d", test.generation, test.verdict, test.version, got, test.want)
		}
	}
}
