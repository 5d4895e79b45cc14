package process

import (
	"strings"
	"testing"
)

// TestTailFindsTheAddress takes output apart that comes in pieces.
func TestTailFindsTheAddress(t *testing.T) {
	o := NewTail()
	for _, part := range []string{"noise\n{\"message\":\"List", "ening\",\"address\":\"127.0.0.1:7\"}", "\n", `{"message":"Listening","address":"x"}` + "\n"} {
		if n, err := o.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	select {
	case address := <-o.address:
		if address != "127.0.0.1:7" {
			t.Errorf("address %q", address)
		}
	default:
		t.Error("no address")
	}
	o.Write([]byte(strings.Repeat("y", 3*tailBytes)))
	if len(o.String()) != tailBytes {
		t.Errorf("tail of %d bytes, want %d", len(o.String()), tailBytes)
	}
}
