package device_test

import (
	"fmt"
	"testing"
	"time"

	"collet/netproto/den"
	"collet/netproto/launcher/wire"
)

// TestHashAnswersAreHeldBack: until a desk of protocol 0 has asked for nothing for 100 ms.
func TestHashAnswersAreHeldBack(t *testing.T) {
	for _, protocol := range []uint16{den.ProtocolRelease, den.ProtocolCollet} {
		bubble(t, setting{protocol: protocol}, func(t *testing.T, o setting) {
			desk := greeted(t, o)
			for i := range 400 {
				desk.say(&wire.RequestFileBlockHashes{Path: fmt.Sprint(i), BlockSize: 1_024_000})
				if i%100 == 99 {
					time.Sleep(60 * time.Millisecond)
				}
			}
			last := time.Now().Add(-60 * time.Millisecond)
			for i := range 400 {
				m := expectMessage[*wire.ResponseFileBlockHashes](desk)
				if m.Path != fmt.Sprint(i) {
					t.Fatalf("answer %d is about %q", i, m.Path)
				}
			}
			if held := time.Since(last); (held < 100*time.Millisecond) == (protocol == den.ProtocolRelease) || held > 110*time.Millisecond {
				t.Errorf("protocol %x: the answers came after %v", protocol, held)
			}
		})
	}
}
