package origin_test

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"testing"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/release"
	"collet/netproto/releasetest"
	"collet/netproto/server/origin"
	"collet/netproto/server/servertest"
)

// TestClientsByRelease counts clients by the release that they have, in few series, whatever clients say.
func TestClientsByRelease(t *testing.T) {
	t.Parallel()
	var all []releasetest.Release
	for n := 15; n <= 18; n++ {
		r := releasetest.Release{Number: uint64(n), Percent: 100, Compatibility: fmt.Sprintf("c%d", n), Plain: true,
			Files: map[string]map[string]string{"Linux-x64": {"Core.zip": fmt.Sprint("pack ", n), "Lathe.so": fmt.Sprint("module ", n)}}}
		if n == 17 {
			r.Compatibility = "c16" // told apart by the packs only
		}
		all = append(all, r)
	}
	other := all[0]
	other.Channel = "beta" // the same as 15 in stable
	f := published(t, append(all, other)...)
	set := servertest.ReleaseSettings(f)
	h := servertest.Start(t, set)
	m := servertest.NewMonitor(h)
	if err := m.Configure(set, h.Logger()); err != nil {
		t.Fatal(err)
	}
	m.Watch(h.Server)
	entry := func(n uint64, channel string) release.Entry {
		return release.Entry{Product: releasetest.Product, Channel: channel, Target: "Linux-x64", Number: n}
	}
	ask := func(method string, e release.Entry) { servertest.AskMonitor(m, method, "/"+e.PackedSequelPath()) }
	says := func(compatibility, target, content string) {
		p := h.Dial(t, netproto.C1)
		hello := servertest.HandshakeOf(netproto.C1, compatibility, target)
		if content != "" {
			if err := hello.Say(netproto.HelloTags{Build: compat.Build{Logic: compat.NoLogic}, Content: content}); err != nil {
				t.Fatal(err)
			}
		}
		p.Send(hello)
		servertest.Next[*netproto.HandshakeAnswer](p)
		p.Raw.Close()
		h.WaitForNoClients(t)
	}
	packs := func(n int) string {
		content := fmt.Appendf(nil, "pack %d", n)
		sum, _ := release.ObjectOf(content).Sum.SHA256()
		return compat.DerivedContent([]compat.Pack{{Path: "Core.zip", Size: int64(len(content)), Sum: sum}})
	}
	check := func(channel, has string) string {
		return fmt.Sprintf(`collet_release_checks_total{channel="%s",product="lathe",release="%s",target="Linux-x64"}`, channel, has)
	}
	verdict := func(channel, has, result string) string {
		return fmt.Sprintf(`collet_release_verdicts_total{channel="%s",product="lathe",release="%s",target="Linux-x64",verdict="%s"}`, channel, has, result)
	}
	ask(http.MethodGet, entry(17, "stable"))                                               // there is a sequel
	servertest.AskMonitor(m, http.MethodGet, "/"+entry(18, "stable").RelativeSequelPath()) // there is none
	ask(http.MethodHead, entry(18, "stable"))
	ask(http.MethodGet, entry(0, "beta"))
	none := entry(0, "stable")
	none.Product = ""
	ask(http.MethodGet, none)
	ask(http.MethodGet, entry(99, "stable"))
	p := h.Dial(t, netproto.C1)
	hello := servertest.HandshakeOf(netproto.C1, "c15", "Linux-x64")
	hello.Capabilities |= netproto.CapObjects
	p.Greet(hello)
	p.Send(&netproto.GetObject{Request: 1, Name: entry(17, "stable").PackedSequelPath(), Length: 100})
	servertest.Next[*netproto.RangeData](p)
	p.Send(&netproto.GetObject{Request: 2, Name: entry(17, "stable").PackedSequelPath(), Offset: 100, Length: 100})
	servertest.Next[*netproto.RangeData](p)
	p.Raw.Close()
	h.WaitForNoClients(t)
	says("c18", "Linux-x64", "")
	says("c18", "Linux-x64", packs(18))
	says("c15", "Linux-x64", "")
	says("c16", "Linux-x64", "")
	says("c16", "Linux-x64", packs(17))
	says("c16", "Linux-x64", "season-12") // a publisher's own word says nothing of packs
	series := func() int {
		_, text := servertest.AskMonitor(m, http.MethodGet, "/metrics")
		return len(regexp.MustCompile(`(?m)^collet_release_(checks|verdicts)_total`).FindAllString(text, -1))
	}
	says("foreign", "Linux-x64", "")
	says("c100", "target-0", packs(200))
	says("c18", "Linux-x64", packs(200))
	before := series()
	for i := range 10 {
		says(fmt.Sprintf("c%d", 100+i), fmt.Sprintf("target-%d", i), packs(200+i))
		says("c18", "Linux-x64", packs(200+i))
	}
	if after := series(); after != before {
		t.Errorf("%d series, %d before", after, before)
	}
	unknown := `collet_release_verdicts_total{channel="",product="",release="unknown",target="",verdict="UPDATE_BINARIES"}`
	wrong := func(want map[string]string) {
		t.Helper()
		for _, s := range slices.Sorted(maps.Keys(want)) {
			if got := servertest.MetricValue(t, m, s); got != want[s] {
				t.Errorf("%s is %q, want %q", s, got, want[s])
			}
		}
	}
	wrong(map[string]string{
		check("stable", "17"): "2", check("stable", "18"): "1", check("stable", "none"): "1", check("beta", "none"): "1",
		check("stable", "15"): "0", check("beta", "15"): "0",
		verdict("stable", "18", "ACCEPT"): "2", verdict("stable", "15", "UPDATE_BINARIES"): "2", verdict("beta", "15", "UPDATE_BINARIES"): "",
		verdict("stable", "17", "UPDATE_BINARIES"): "1", verdict("stable", "several", "UPDATE_BINARIES"): "2",
		unknown: "1",
	})
	if got := m.ClientsOf(entry(18, "stable")); got.Checks != 1 || got.Verdicts["ACCEPT"] != 2 || len(got.Verdicts) != 1 {
		t.Errorf("%+v", got)
	}
	if got := (&origin.Monitor{}).ClientsOf(entry(18, "stable")); got.Checks != 0 || got.Verdicts != nil {
		t.Errorf("%+v without a server", got)
	}
	set.Release.Folder = published(t, all[2:]...).Dir // some are no longer in the list
	if err := h.Reload(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	wrong(map[string]string{check("beta", "15"): "", check("beta", "none"): "", verdict("stable", "15", "UPDATE_BINARIES"): "", check("stable", "17"): "2", unknown: "1"})
}
