package remote_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"collet/build/remote"
)

var phone, tablet = netip.MustParseAddr("192.168.1.5"), netip.MustParseAddr("fd00::7")

func knows(t *testing.T, p *remote.Pairs, name string, address netip.Addr) bool {
	t.Helper()
	known, err := p.Knows(name, address)
	if err != nil {
		t.Fatal(err)
	}
	return known
}

func TestPairsAreRememberedByNameAndAddress(t *testing.T) {
	path := filepath.Join(t.TempDir(), "devices.json")
	p := remote.OpenPairs(path)
	if knows(t, p, "Phone", phone) {
		t.Error("an empty list has a pair")
	}
	for range 2 { // the second time changes nothing
		if err := p.Add("Phone", phone); err != nil {
			t.Fatal(err)
		}
	}
	again := remote.OpenPairs(path)
	for _, test := range []struct {
		name    string
		address netip.Addr
		want    bool
	}{
		{"Phone", phone, true}, {"Phone", netip.MustParseAddr("::ffff:192.168.1.5"), true},
		{"phone", phone, false}, {"Phone", tablet, false}, {"", phone, false},
	} {
		if got := knows(t, again, test.name, test.address); got != test.want {
			t.Errorf("%q at %s: %v", test.name, test.address, got)
		}
	}
	if pairs, err := again.List(); err != nil || len(pairs) != 1 || pairs[0].Since.IsZero() {
		t.Errorf("got %+v, %v", pairs, err)
	}
}

func TestPairsAreForgotten(t *testing.T) {
	p := remote.OpenPairs(filepath.Join(t.TempDir(), "devices.json"))
	for _, address := range []netip.Addr{phone, tablet} {
		if err := p.Add("Phone", address); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := p.Remove("Phone", phone); n != 1 || err != nil || knows(t, p, "Phone", phone) || !knows(t, p, "Phone", tablet) {
		t.Errorf("one address: removed %d, %v", n, err)
	}
	if err := p.Add("Phone", phone); err != nil {
		t.Fatal(err)
	}
	if n, err := p.Remove("Phone", netip.Addr{}); n != 2 || err != nil || knows(t, p, "Phone", tablet) {
		t.Errorf("every address: removed %d, %v", n, err)
	}
	if n, err := p.Remove("Phone", phone); n != 0 || err != nil {
		t.Errorf("unknown name: removed %d, %v", n, err)
	}
}

func TestBadPairsAreRefused(t *testing.T) {
	p := remote.OpenPairs(filepath.Join(t.TempDir(), "devices.json"))
	for _, test := range []struct {
		name    string
		address netip.Addr
		want    string
	}{
		{"", phone, "want 1 to 255 bytes"}, {strings.Repeat("x", 256), phone, "want 1 to 255 bytes"},
		{"a\x1b[2J", phone, "can't be shown"}, {"\xff", phone, "not UTF-8"}, {"a\u202eb", phone, "can't be shown"},
		{"Phone", netip.Addr{}, "no address of a device"}, {"Phone", netip.IPv4Unspecified(), "no address of a device"},
	} {
		if err := p.Add(test.name, test.address); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q at %s: %v, want %q", test.name, test.address, err, test.want)
		}
	}
}

func TestDamagedListsAreNoEmptyLists(t *testing.T) {
	path := filepath.Join(t.TempDir(), "devices.json")
	for _, text := range []string{"{", `{"devices":[{"name":"","address":"1.2.3.4"}]}`, `{"devices":[{"name":"a"}]}`, `{"devices":[{"name":"a","address":"x"}]}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p := remote.OpenPairs(path)
		if known, err := p.Knows("a", phone); known || err == nil || !strings.Contains(err.Error(), "pair the devices again") {
			t.Errorf("%s: %v, %v", text, known, err)
		}
		if err := p.Add("a", phone); err == nil {
			t.Errorf("%s was overwritten", text)
		}
	}
}

func TestPairsAtOnce(t *testing.T) {
	p := remote.OpenPairs(filepath.Join(t.TempDir(), "devices.json"))
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := p.Add(strings.Repeat("x", i+1), phone); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if pairs, err := p.List(); err != nil || len(pairs) != 20 {
		t.Errorf("%d pairs, %v", len(pairs), err)
	}
}
