package dentest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"collet/build/lab/dentest"
	"collet/netproto/den"
	"collet/netproto/launcher/desk"
	"collet/netproto/launcher/device"
)

// narrow loses every datagram that doesn't fit an Ethernet frame, so that parts stay at the released size and a lap is 89
// MB.
func narrow() dentest.Rule {
	return dentest.Drop(func(g *dentest.Datagram) bool { return len(g.Data) > 1400 })
}

// TestDeskTrapNumbersModulo65535 sends more than a lap of file data, with acks lost before, at and behind the wrap.
func TestDeskTrapNumbersModulo65535(t *testing.T) {
	if testing.Short() {
		t.Skip("a lap is 89 MB")
	}
	rules := []dentest.Rule{narrow()}
	for _, n := range []int{100, 30_000, 65_526, 65_530, 65_534} {
		rules = append(rules, dentest.Drop(dentest.AckOf(n), dentest.Toward(dentest.ToServer)).Times(1))
	}
	rules = append(rules, dentest.Drop(dentest.AckOf(2), dentest.Toward(dentest.ToServer)).After(1).Times(1))
	c := deskAndReference(t, map[string][]byte{"big": dentest.Noise(1, 95<<20), "small": []byte("x")}, nil, dentest.ProxyOptions{Rules: rules, Quiet: true})
	c.settled(t, 2*time.Minute)
	for i, r := range rules[1:] {
		if r.Met() != 1 {
			t.Errorf("rule %d: %d acks were lost", i, r.Met())
		}
	}
	c.settled(t, time.Minute)
}

// TestDeskTrapStoredDuplicates passes a lap while acks get lost: the copies that our own resends plant come out one lap
// later, among the data of other files.
func TestDeskTrapStoredDuplicates(t *testing.T) {
	if testing.Short() {
		t.Skip("a lap is 89 MB")
	}
	lossy := dentest.Impairment{Drop: 0.001}
	c := deskAndReference(t, map[string][]byte{"a": dentest.Noise(1, 60<<20), "b": dentest.Noise(2, 50<<20), "c": []byte("x")}, nil,
		dentest.ProxyOptions{Seed: 3, ToServer: lossy, Rules: []dentest.Rule{narrow()}, Quiet: true})
	c.settled(t, 3*time.Minute)
	t.Logf("stored old %d, twice %d, delivered stale %d", c.client.Count(dentest.CountStoredOld), c.client.Count(dentest.CountStoredTwice), c.client.Count(dentest.CountStaleDelivered))
}

// TestDeskTrapLostLinkUp: the device says linkUp once and it is lost; a start must be seen to succeed all the same.
func TestDeskTrapLostLinkUp(t *testing.T) {
	drop := dentest.Drop(dentest.Command(dentest.CmdLinkUp)).Times(1)
	c := deskAndReference(t, nil, nil, dentest.ProxyOptions{Rules: []dentest.Rule{drop}})
	outcomes, err := c.desk.Start(within(t, 30*time.Second), desk.StartOptions{GameConfig: "<degame/>"})
	if must(t, err); len(outcomes) != 1 || outcomes[0].Err != nil {
		t.Errorf("start: %+v", outcomes)
	}
	if drop.Met() != 1 || len(c.client.Starts()) != 1 {
		t.Errorf("%d linkUps lost, %d starts", drop.Met(), len(c.client.Starts()))
	}
	c.client.MustBeClean(t)
}

// TestDeskTrapEmptyFiles: nothing but empty files, new and emptied.
func TestDeskTrapEmptyFiles(t *testing.T) {
	tree, old := map[string][]byte{}, map[string][]byte{}
	for i := range 40 {
		name := fmt.Sprintf("d%d/empty %d", i%3, i)
		tree[name] = nil
		if i%2 == 0 {
			old[name] = []byte("full")
		}
	}
	deskAndReference(t, tree, old, dentest.ProxyOptions{}).settled(t, 20*time.Second)
}

// TestDeviceTrapEmptyFiles is the same for our device: the released server sends one block of no data.
func TestDeviceTrapEmptyFiles(t *testing.T) {
	c := deviceAndReference(t, map[string][]byte{"new": {}, "emptied": {}, "sub/new": {}}, map[string][]byte{"emptied": []byte("full")}, dentest.ProxyOptions{})
	c.settled(t, 10*time.Second)
}

// TestDeskUnderLoss pushes through a bad network to a reference device.
func TestDeskUnderLoss(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			tree := dentest.SmallTree(40, 700)
			tree["big"], tree["empty"] = dentest.Noise(1, 2_000_000), nil
			c := deskAndReference(t, tree, dentest.GoldenDeviceTree(), dentest.ProxyOptions{Seed: seed, ToServer: bad(2 * time.Millisecond), ToClient: bad(2 * time.Millisecond)})
			c.settled(t, time.Minute)
		})
	}
}

// TestDeviceUnderLoss is pushed to by a reference server through a bad network; the reference resends every
// quarter of a second.
func TestDeviceUnderLoss(t *testing.T) {
	if testing.Short() {
		t.Skip("a quarter of a second for each lost datagram")
	}
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			tree := dentest.SmallTree(30, 700)
			tree["big"], tree["empty"] = dentest.Noise(1, 600_000), nil
			c := deviceAndReference(t, tree, dentest.GoldenDeviceTree(), dentest.ProxyOptions{Seed: seed, ToServer: bad(time.Millisecond), ToClient: bad(time.Millisecond)}, withBlocks(65536))
			c.settled(t, 2*time.Minute)
		})
	}
}

// TestOursWithOurs pushes from our desk to our device, in our own mode and in the released one, clean and on the bad
// network.
func TestOursWithOurs(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		released bool
		net      dentest.ProxyOptions
	}{
		"own":           {false, dentest.ProxyOptions{}},
		"released":      {true, dentest.ProxyOptions{}},
		"own, bad":      {false, dentest.ProxyOptions{Seed: 5, ToServer: bad(2 * time.Millisecond), ToClient: bad(2 * time.Millisecond)}},
		"released, bad": {true, dentest.ProxyOptions{Seed: 6, ToServer: bad(2 * time.Millisecond), ToClient: bad(2 * time.Millisecond)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := dentest.SmallTree(100, 500)
			tree["big"], tree["empty"], tree["a.txt"] = dentest.Noise(1, 4_000_000), nil, []byte("hello\n")
			p := pairOurs(t, tree, dentest.GoldenDeviceTree(), row.released, row.net)
			p.settled(t, time.Minute)
			must(t, os.WriteFile(filepath.Join(p.root, "big"), flipped(tree["big"], 1_234_567), 0o600))
			if result := p.settled(t, time.Minute); result.Devices[0].BytesSent > 2<<20 {
				t.Errorf("one changed byte sent %d", result.Devices[0].BytesSent)
			}
			if result := p.settled(t, time.Minute); result.Devices[0].BytesSent != 0 || result.Devices[0].Deleted != 0 {
				t.Errorf("nothing changed, sent %+v", result.Devices[0])
			}
		})
	}
}

// oursCase is our desk with our device, through a proxy.
type oursCase struct {
	desk         *ours
	device       *gear
	root, folder string
	proxy        *dentest.Proxy
}

func pairOurs(t testing.TB, tree, old map[string][]byte, released bool, o dentest.ProxyOptions, more ...func(*desk.Options)) *oursCase {
	t.Helper()
	p := &oursCase{root: folder(t, tree), folder: folder(t, old)}
	options := desk.Options{Root: p.root, ReleasedOnly: released}
	for _, m := range more {
		m(&options)
	}
	p.desk = ourDesk(t, options, "")
	p.proxy = watched(t, p.desk.address, o)
	p.device = ourDevice(t, device.Options{Root: p.folder, Name: "ours", ReleasedOnly: released, Launcher: &app{}}, p.proxy.Addr().String())
	p.desk.device(t, "ours")
	return p
}

func (p *oursCase) settled(t testing.TB, limit time.Duration) desk.PushResult {
	t.Helper()
	result := p.desk.push(within(t, limit), t, desk.PushOptions{})
	same(t, p.root, p.folder)
	return result
}

// TestOwnProtocolIsNotSpokenToReferences: our offers are skipped by released peers.
func TestOwnProtocolIsNotSpokenToReferences(t *testing.T) {
	if den.ProtocolCollet == den.ProtocolRelease {
		t.Fatal("our protocol has no number of its own")
	}
	c := deviceAndReference(t, nil, nil, dentest.ProxyOptions{})
	must(t, c.session.WaitLinked(within(t, 5*time.Second)))
	if trace := c.proxy.Trace(); string(trace[0].Data) != "\x00\x02\x00\x11\xc0\x00\x00" || string(trace[1].Data) != "\x01\x00\x00\x00" {
		t.Errorf("offered %x, answered %x", trace[0].Data, trace[1].Data)
	}
}
