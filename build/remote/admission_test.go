package remote

import (
	"context"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collet/netproto/launcher/desk"
)

// door is an admission whose questions a function answers; it records questions and notes.
type door struct {
	admission
	asked []string
	said  []string
}

func newDoor(t *testing.T, answer func(name string) bool) *door {
	d := &door{}
	d.admission = admission{pairs: OpenPairs(filepath.Join(t.TempDir(), "devices.json")), rejected: map[Pair]bool{}, note: func(text string) { d.said = append(d.said, text) }}
	if answer != nil {
		d.ask = func(_ context.Context, name string, address netip.Addr) bool {
			d.asked = append(d.asked, fmt.Sprint(name, " ", address))
			return answer(name)
		}
	}
	return d
}

func (d *door) comes(name, from string) desk.Decision {
	return d.admit(context.Background(), name, netip.MustParseAddrPort(from))
}

// This machine may have other users: a device on it is asked about as any other, and once, whichever loopback address it takes.
func TestThisMachinePairsToo(t *testing.T) {
	loopback := []string{"127.0.0.1:9", "[::1]:9", "[::ffff:127.0.0.1]:9", "127.8.8.8:9"}
	d := newDoor(t, nil)
	for _, from := range loopback {
		if d.comes("Box", from) != desk.Refuse {
			t.Errorf("%s was let in", from)
		}
	}
	if len(d.said) != 1 || !strings.Contains(d.said[0], `collet remote pair "Box" 127.0.0.1`) {
		t.Errorf("said %q", d.said)
	}
	d = newDoor(t, func(name string) bool { return name == "Box" })
	for _, from := range loopback {
		if d.comes("Box", from) != desk.Admit {
			t.Errorf("%s was refused", from)
		}
		if d.comes("Spy", from) != desk.Refuse {
			t.Errorf("a stranger at %s was let in", from)
		}
	}
	if got := strings.Join(d.asked, "|"); got != "Box 127.0.0.1|Spy 127.0.0.1" {
		t.Errorf("asked about %s", got)
	}
}

func TestStrangersAreAskedAboutOnce(t *testing.T) {
	d := newDoor(t, func(name string) bool { return name == "Phone" })
	for range 3 { // they come back from other ports
		if d.comes("Phone", "192.168.1.5:1000") != desk.Admit {
			t.Error("Phone was refused")
		}
		if d.comes("Spy", "192.168.1.9:1000") != desk.Refuse {
			t.Error("Spy was let in")
		}
	}
	if got := strings.Join(d.asked, "|"); got != "Phone 192.168.1.5|Spy 192.168.1.9" {
		t.Errorf("asked about %s", got)
	}
	d.comes("Phone", "192.168.1.9:1000")
	if len(d.asked) != 3 {
		t.Errorf("another address is another device, and was not asked about: %q", d.asked)
	}
	if len(d.said) != 1 || !strings.Contains(d.said[0], `collet remote pair "Spy" 192.168.1.9`) {
		t.Errorf("said %q", d.said)
	}
}

func TestWithoutAnybodyToAsk(t *testing.T) {
	d := newDoor(t, nil)
	if d.comes("Phone", "192.168.1.5:1000") != desk.Refuse || d.comes("Phone", "192.168.1.5:1001") != desk.Refuse {
		t.Error("a stranger was let in")
	}
	if len(d.said) != 1 || !strings.Contains(d.said[0], "collet remote pair") {
		t.Errorf("said %q", d.said)
	}
	if err := d.pairs.Add("Tablet", netip.MustParseAddr("192.168.1.6")); err != nil {
		t.Fatal(err)
	}
	if d.comes("Tablet", "192.168.1.6:1000") != desk.Admit {
		t.Error("a paired device was refused")
	}
}

func TestAdmissionWithoutAnswer(t *testing.T) {
	d := newDoor(t, nil)
	d.ask = func(ctx context.Context, _ string, _ netip.Addr) bool { <-ctx.Done(); return false }
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if d.admit(ctx, "Phone", netip.MustParseAddrPort("192.168.1.5:1")) != desk.Refuse {
		t.Error("let in without an answer")
	}
	d.ask = func(context.Context, string, netip.Addr) bool { return true }
	if d.comes("Phone", "192.168.1.5:2") != desk.Admit {
		t.Error("not asked about again when it came back")
	}
}

func TestManyStrangersAreNotAskedAbout(t *testing.T) {
	d := newDoor(t, func(string) bool { return false })
	for i := range maxRejected + 20 {
		d.comes(fmt.Sprint("Spy", i), "192.168.1.9:1000")
	}
	if len(d.asked) != maxRejected || !strings.Contains(d.said[len(d.said)-1], "all further unknown devices") {
		t.Errorf("asked %d times, said %q last", len(d.asked), d.said[len(d.said)-1])
	}
}

func TestNamesThatCantBeShown(t *testing.T) {
	d := newDoor(t, func(string) bool { return true })
	if d.comes("a\x1b[2Jb", "192.168.1.9:1000") != desk.Refuse || len(d.asked) != 0 {
		t.Error("the person was asked about a name that can't be shown")
	}
}

func TestBrokenListRefusesAndSaysWhy(t *testing.T) {
	d := newDoor(t, func(string) bool { return false })
	d.pairs = OpenPairs(t.TempDir()) // a folder is no list
	if d.comes("Phone", "192.168.1.5:1000") != desk.Refuse || !strings.Contains(strings.Join(d.said, "|"), "is a directory") {
		t.Errorf("said %q", d.said)
	}
}
