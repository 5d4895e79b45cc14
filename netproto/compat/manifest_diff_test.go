package compat_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/netproto/compat"
)

// builds of the examples: the client's is 19 days older.
var (
	february = compat.Build{Logic: 7, Time: 1770802200, Seq: 812, ID: "f00d", Branch: "main"}
	march    = compat.Build{Logic: 7, Time: 1772460300, Seq: 841, ID: "cafe", Branch: "main"}
)

// pair are the manifests of a server that has a Mailbox, another Camera, and other ids than its client.
func pair(t *testing.T, server, client compat.Build) (s, c *compat.Manifest) {
	t.Helper()
	s = sealed(t, server, compat.Entry{Name: "Camera", WireID: 1, Hash: camera, ChangedAt: march.Time}, entry("Wallet", 2, wallet),
		entry("Mailbox", 3, 30), entry("Same", 4, 40))
	c = sealed(t, client, compat.Entry{Name: "Camera", WireID: 1, Hash: camera64, ChangedAt: february.Time}, entry("Wallet", 5, wallet),
		entry("Abacus", 6, 60), entry("Same", 4, 40))
	return s, c
}

// TestDiffClasses is the table of classes: each age of the builds, seen from both ends.
func TestDiffClasses(t *testing.T) {
	nobody := compat.Build{Logic: 7}
	for _, row := range []struct {
		name             string
		server, client   compat.Build
		age              compat.Age
		mailbox, abacus  compat.Class
		sentence, suffix string
	}{
		{"client older", march, february, compat.ClientOlder, compat.ClassAdded, compat.ClassRemoved, "Client is older by 19 days, rebuild the client.", " (new there)"},
		{"server older", february, march, compat.ClientNewer, compat.ClassRemoved, compat.ClassAdded, "Server is older by 19 days, rebuild the server.", " (removed in the newer build)"},
		{"unknown", nobody, nobody, compat.AgeUnknown, compat.ClassOneSided, compat.ClassOneSided, "Cannot tell which side is older.", ""},
		{"same commit", march, march, compat.AgeSame, compat.ClassOneSided, compat.ClassOneSided, "Cannot tell which side is older.", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := compat.DiffManifests(pair(t, row.server, row.client))
			want := []struct {
				name  string
				class compat.Class
				side  compat.Side
				age   compat.Age
			}{
				{"Abacus", row.abacus, compat.OnClient, row.age}, {"Camera", compat.ClassModified, compat.OnBoth, compat.ClientOlder},
				{"Mailbox", row.mailbox, compat.OnServer, row.age}, {"Wallet", compat.ClassRenumbered, compat.OnBoth, row.age},
			}
			if len(d.Items) != len(want) || d.Unchanged != 1 || d.Age != row.age || d.Equal() {
				t.Fatalf("%+v", d)
			}
			for i, w := range want {
				if got := d.Items[i]; got.Name != w.name || got.Class != w.class || got.Side != w.side || got.Age != w.age {
					t.Errorf("%+v, want %+v", got, w)
				}
			}
			if d.Sentence() != row.sentence {
				t.Errorf("%q", d.Sentence())
			}
			if got := d.Items[2].Row(); got != "+ Mailbox"+row.suffix {
				t.Errorf("%q", got)
			}
		})
	}
}

// TestDiffSince checks that a component which came with a logic version above the other end's is new, whatever the builds' age.
func TestDiffSince(t *testing.T) {
	for _, row := range []struct {
		server, client compat.Build
		since          int32
		want           compat.Class
	}{
		{compat.Build{Logic: 8}, compat.Build{Logic: 7}, 8, compat.ClassAdded},
		{compat.Build{Logic: 8}, compat.Build{Logic: 7}, 7, compat.ClassOneSided},
		{compat.Build{Logic: 8}, compat.Build{Logic: compat.NoLogic}, 8, compat.ClassOneSided},
		{compat.Build{Logic: 8, Seq: 1}, compat.Build{Logic: 7, Seq: 2}, 8, compat.ClassAdded},
		{compat.Build{Logic: 8, Seq: 1}, compat.Build{Logic: 7, Seq: 2}, 7, compat.ClassRemoved},
	} {
		only := sealed(t, row.server, compat.Entry{Name: "Mailbox", WireID: 3, Hash: 3, Since: row.since})
		d := compat.DiffManifests(only, sealed(t, row.client))
		if d.Items[0].Class != row.want || d.Items[0].Side != compat.OnServer {
			t.Errorf("%+v: %+v", row, d.Items[0])
		}
		// The same with the ends exchanged: ages turn round, classes stay.
		only = sealed(t, row.server, compat.Entry{Name: "Mailbox", WireID: 3, Hash: 3, Since: row.since})
		d = compat.DiffManifests(sealed(t, row.client), only)
		if d.Items[0].Class != row.want || d.Items[0].Side != compat.OnClient {
			t.Errorf("%+v exchanged: %+v", row, d.Items[0])
		}
	}
}

// TestDiffModes checks that both ends find the same differences when names are hashed on the way, each with the names that it
// knows, and nothing where nothing is told.
func TestDiffModes(t *testing.T) {
	server, client := pair(t, march, february)
	full := compat.DiffManifests(server, client)
	toClient, toServer := server.As(compat.ManifestHashes), client.As(compat.ManifestHashes)
	atClient, atServer := compat.DiffManifests(&toClient, client), compat.DiffManifests(server, &toServer)
	between := compat.DiffManifests(&toClient, &toServer)
	for name, d := range map[string]compat.Differences{"client": atClient, "server": atServer, "onlooker": between} {
		if d.Unchanged != full.Unchanged || len(d.Items) != len(full.Items) {
			t.Errorf("at the %s: %+v", name, d)
		}
		fs, fc, fm, fr := full.Counts()
		if s, c, m, r := d.Counts(); s != fs || c != fc || m != fm || r != fr {
			t.Errorf("at the %s: %d %d %d %d, want %d %d %d %d", name, s, c, m, r, fs, fc, fm, fr)
		}
	}
	hidden := fmt.Sprintf("#%016x", compat.NameHash("Mailbox"))
	want := []string{hidden, "Abacus", "Camera", "Wallet"}
	if names := atClient.Names(all); !slices.Equal(names, want) {
		t.Errorf("the client names %v, want %v", names, want)
	}
	if names := atServer.Names(all); !slices.Contains(names, "Mailbox") || slices.Contains(names, "Abacus") || !slices.Contains(names, "Camera") {
		t.Errorf("the server names %v", names)
	}
	if text := between.Body(); strings.Contains(text, "Camera") || strings.Contains(text, "Abacus") {
		t.Errorf("names leak:\n%s", text)
	}
	none := server.As(compat.ManifestNone)
	d := compat.DiffManifests(&none, client)
	if !d.Untold || len(d.Items) != 0 || d.Equal() || d.Age != compat.ClientOlder || !strings.Contains(d.Body(), "does not tell") {
		t.Errorf("%+v", d)
	}
	if d := compat.DiffManifests(server, server); !d.Equal() || d.Unchanged != 4 {
		t.Errorf("a manifest differs from itself: %+v", d)
	}
}

func all(compat.Difference) bool { return true }

// TestDiffRandom checks DiffManifests against a slow twin over random pairs.
func TestDiffRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 2))
	draw := func(build compat.Build) *compat.Manifest {
		var entries []compat.Entry
		for i := range 30 {
			if random.IntN(3) > 0 {
				entries = append(entries, entry(fmt.Sprintf("C%02d", i), uint16(100*i+random.IntN(2)), uint64(1+random.IntN(2))))
			}
		}
		return sealed(t, build, entries...)
	}
	for range 300 {
		s, c := draw(march), draw(february)
		counts := map[compat.Class]int{}
		for _, item := range compat.DiffManifests(s, c).Items {
			counts[item.Class]++
		}
		want := map[compat.Class]int{}
		for _, a := range s.Entries {
			i := slices.IndexFunc(c.Entries, func(b compat.Entry) bool { return a.Name == b.Name })
			switch {
			case i < 0:
				want[compat.ClassAdded]++
			case c.Entries[i].Hash != a.Hash:
				want[compat.ClassModified]++
			case c.Entries[i].WireID != a.WireID:
				want[compat.ClassRenumbered]++
			}
		}
		for _, b := range c.Entries {
			if !slices.ContainsFunc(s.Entries, func(a compat.Entry) bool { return a.Name == b.Name }) {
				want[compat.ClassRemoved]++
			}
		}
		if fmt.Sprint(counts) != fmt.Sprint(want) {
			t.Fatalf("%v, want %v for %+v and %+v", counts, want, s, c)
		}
	}
}

// TestMeetingLine holds the log's line to the example of docs/COMPATIBILITY.md, "When two ends differ", and a peer's words to their places.
func TestMeetingLine(t *testing.T) {
	server := sealed(t, march, entry("Camera", 1, camera), entry("Wallet", 2, wallet), entry("Mailbox", 3, 30))
	client := sealed(t, february, entry("Camera", 1, camera64), entry("Wallet", 2, wallet))
	m := compat.Meeting{
		Judgement: compat.Judgement{Verdict: compat.ComponentsMismatch, Rule: compat.RuleComponents, Revision: 12},
		Peer:      "10.0.0.7", Target: "Windows-win64", Differences: compat.DiffManifests(server, client),
	}
	want := fmt.Sprintf("compat verdict=COMPONENTS_MISMATCH rule=9 peer=10.0.0.7 target=Windows-win64 client=L7-536c49c90dc3ebf0 server=L7-%016x age=client_older "+
		"client_build=2026-02-11T09:30Z#812 server_build=2026-03-02T14:05Z#841 rev=12 only_server=Mailbox only_client= differs=Camera renumbered=", server.Build.Components)
	if got := m.Line(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	m.Target = "x verdict=ACCEPT\nforged"
	if got := m.Line(); strings.Contains(got, "\n") || !strings.Contains(got, `target="x verdict=ACCEPT\nforged"`) {
		t.Errorf("a peer's words get out: %s", got)
	}
	m.Differences = compat.Differences{}
	if got := m.Line(); !strings.HasSuffix(got, "age=unknown client_build= server_build= rev=12 only_server= only_client= differs= renumbered=") {
		t.Errorf("%s", got)
	}
}

// TestBody holds the developer's text to its form: sentence, builds, at most 12 rows, and what the log has more.
func TestBody(t *testing.T) {
	d := compat.DiffManifests(pair(t, march, february))
	want := fmt.Sprintf(`Client is older by 19 days, rebuild the client.
client %s f00d main 2026-02-11T09:30Z#812, server %s cafe main 2026-03-02T14:05Z#841
- Abacus (removed in the newer build)
~ Camera (client 2026-02-11, server 2026-03-02)
+ Mailbox (new there)
# Wallet (client id 5, server id 2)`, compat.Derived(7, d.Client.Components), compat.Derived(7, d.Server.Components))
	if got := d.Body(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	d.Client.ID = "x\n+ Forged\x1b[2J"
	if got := d.Body(); strings.Contains(got, "\x1b") || strings.Contains(got, "\n+ Forged") {
		t.Errorf("a peer's build id moves the cursor: %q", got)
	}
	for n, tail := range map[int]string{12: "C11", 13: "and 1 more, see log", 40: "and 28 more, see log"} {
		var entries []compat.Entry
		for i := range n {
			entries = append(entries, entry(fmt.Sprintf("C%02d", i), uint16(i), 1))
		}
		body := compat.DiffManifests(sealed(t, compat.Build{}, entries...), sealed(t, compat.Build{})).Body()
		if !strings.HasSuffix(body, tail) || strings.Count(body, "\n+ ") != 12 {
			t.Errorf("%d differences:\n%s", n, body)
		}
	}
}

// TestSentenceSpans checks the words for how far builds are apart, to the ends of what a peer may claim.
func TestSentenceSpans(t *testing.T) {
	for _, row := range []struct {
		client, server int64
		want           string
	}{
		{1000, 1000 + 61, "Client is older by 1 minute, rebuild the client."},
		{1000, 1000 + 59, "Cannot tell which side is older."},
		{1000, 1000 + 7200, "Client is older by 2 hours, rebuild the client."},
		{1000 + 86400, 1000, "Server is older by 1 day, rebuild the server."},
		{1, 1 << 50, "Client is older by 36500 days, rebuild the client."},
		{0, 5000, "Cannot tell which side is older."},
	} {
		d := compat.DiffManifests(sealed(t, compat.Build{Time: row.server}), sealed(t, compat.Build{Time: row.client}))
		if !strings.HasPrefix(d.Body(), row.want+"\n") || d.Sentence() != row.want {
			t.Errorf("%d, %d: %q, want %q", row.client, row.server, d.Sentence(), row.want)
		}
	}
	extreme := compat.Differences{Age: compat.ClientNewer, Server: compat.Build{Time: -1 << 63}, Client: compat.Build{Time: 1<<63 - 1}}
	if by := extreme.By(); by != 36500*24*time.Hour {
		t.Errorf("the ends of time are apart by %v", by)
	}
	for _, age := range []compat.Age{compat.AgeUnknown, compat.AgeSame, compat.ClientOlder} {
		if extreme.Age = age; extreme.By() != 0 {
			t.Errorf("the times say otherwise, or nothing, and %s is by %v", age, extreme.By())
		}
	}
	d := compat.DiffManifests(sealed(t, compat.Build{Branch: "a", Seq: 5}), sealed(t, compat.Build{Branch: "a", Seq: 4}))
	if got := d.Sentence(); got != "Client is older, rebuild the client." {
		t.Errorf("%q", got)
	}
}

// TestToast checks the warn policy's line and that it is shown as long as its words take.
func TestToast(t *testing.T) {
	text, shown := compat.DiffManifests(pair(t, march, february)).Toast()
	if text != "Client and server differ: 1 only on the server, 1 only on the client, 1 changed, 1 renumbered." {
		t.Errorf("%q", text)
	}
	if want := 2*time.Second + 18*300*time.Millisecond; shown != want {
		t.Errorf("shown for %v, want %v", shown, want)
	}
}

// BenchmarkDiff is two largest manifests that differ in everything, which is what a peer can make a server compare.
func BenchmarkDiff(b *testing.B) {
	var s, c compat.Manifest
	for i := range compat.MaxEntries {
		s.Entries = append(s.Entries, entry(fmt.Sprintf("Server%04d", i), uint16(i), 1))
		c.Entries = append(c.Entries, entry(fmt.Sprintf("Client%04d", i), uint16(i), 1))
	}
	for b.Loop() {
		if d := compat.DiffManifests(&s, &c); len(d.Items) != 2*compat.MaxEntries {
			b.Fatal(len(d.Items))
		}
	}
}
