package dentest_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"collet/build/lab/dentest"
	"collet/netproto/launcher/desk"
)

// BenchmarkReference pushes with our desk to a reference-like device: the recorded tree of 50 files and 24.6 MB, and many
// small files. The device spends the processor time of the released one. Goals: 1 s over loopback (the released pair needs
// 15 s), 10 s with a round trip of 20 ms (40 s). The seconds of one push are the result.
func BenchmarkReference(b *testing.B) {
	half := dentest.Impairment{Delay: 10 * time.Millisecond}
	lossy := dentest.Impairment{Delay: 2 * time.Millisecond, Drop: 0.01}
	narrow := []dentest.Rule{narrow()}
	small := dentest.SmallTree(3000, 200)
	for _, row := range []struct {
		name string
		tree map[string][]byte
		net  *dentest.ProxyOptions // none: straight
	}{
		{"recorded/loopback", dentest.RecordedTree(), nil},
		{"recorded/20ms", dentest.RecordedTree(), &dentest.ProxyOptions{ToServer: half, ToClient: half}},
		{"recorded/20ms/1357", dentest.RecordedTree(), &dentest.ProxyOptions{ToServer: half, ToClient: half, Rules: narrow}},
		{"recorded/4ms/1%loss", dentest.RecordedTree(), &dentest.ProxyOptions{Seed: 1, ToServer: lossy, ToClient: lossy}},
		{"recorded/4ms/1%loss/1357", dentest.RecordedTree(), &dentest.ProxyOptions{Seed: 1, ToServer: lossy, ToClient: lossy, Rules: narrow}},
		{"3000x200/loopback", small, nil},
		{"3000x200/20ms", small, &dentest.ProxyOptions{ToServer: half, ToClient: half}},
	} {
		b.Run(row.name, func(b *testing.B) {
			root := folder(b, row.tree)
			for b.Loop() {
				b.StopTimer()
				d := ourDesk(b, desk.Options{Root: root}, "")
				at, stop := behind(b, d.address, row.net)
				device := b.TempDir()
				c := dentest.NewDevice(dentest.DeviceOptions{Root: device, Name: "ref", Slow: true})
				must(b, c.Connect(within(b, 10*time.Second), at.String()))
				d.device(b, "ref")
				b.StartTimer()
				d.push(within(b, 5*time.Minute), b, desk.PushOptions{})
				b.StopTimer()
				same(b, root, device)
				c.MustBeClean(b)
				c.Close()
				stop()
				d.stop()
				b.StartTimer()
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/push")
		})
	}
}

// behind is a quiet proxy before an address, or the address itself.
func behind(b *testing.B, to netip.AddrPort, o *dentest.ProxyOptions) (at netip.AddrPort, stop func()) {
	b.Helper()
	if o == nil {
		return to, func() {}
	}
	quiet := *o
	quiet.Quiet = true
	p, err := dentest.NewProxy(to, quiet)
	must(b, err)
	return p.Addr(), p.Close
}

// BenchmarkOwn pushes between our own peers: many small files over a round trip of 20 ms (goal 3 s), and one changed byte.
func BenchmarkOwn(b *testing.B) {
	half := dentest.Impairment{Delay: 10 * time.Millisecond}
	for _, row := range []struct {
		name string
		tree map[string][]byte
		net  dentest.ProxyOptions
	}{
		{"3000x200/20ms", dentest.SmallTree(3000, 200), dentest.ProxyOptions{ToServer: half, ToClient: half, Quiet: true}},
		{"recorded/loopback", dentest.RecordedTree(), dentest.ProxyOptions{Quiet: true}},
		{"recorded/bad50ms", dentest.RecordedTree(), dentest.ProxyOptions{Seed: 2, ToServer: bad(25 * time.Millisecond), ToClient: bad(25 * time.Millisecond), Quiet: true}},
	} {
		b.Run(row.name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				p := pairOurs(b, row.tree, nil, false, row.net)
				b.StartTimer()
				p.desk.push(within(b, 5*time.Minute), b, desk.PushOptions{})
				b.StopTimer()
				same(b, p.root, p.folder)
				p.device.stop()
				p.desk.stop()
				p.proxy.Close()
				must(b, os.RemoveAll(filepath.Join(p.folder, "data")))
				b.StartTimer()
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/push")
		})
	}
}
