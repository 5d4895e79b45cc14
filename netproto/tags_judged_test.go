package netproto_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/product"
)

// production is a server that tells no more than it must.
func production() *compat.Snapshot {
	return &compat.Snapshot{
		Revision: 12, Compatibility: "L7-4c37681f163b1204", Versioned: true, Supported: compat.Range{Min: 5, Max: 8}, Active: compat.Range{Min: 6, Max: 7},
		Components: serverSet, Baselines: map[int32]uint64{6: 66, 7: serverSet}, Build: serverManifest().Build, Policy: compat.PolicyEnforce,
		Manifest: compat.ManifestNone, Targets: map[string]compat.Target{"Windows-win64": {Payloads: []compat.Payload{{Logic: 7, Components: serverSet}}}},
		StoreURLs: map[string]string{"Android-*": "https://store.example/game"}, Messages: map[string]string{compat.PopupStore: "Get it there.", compat.PopupMaintenance: "At noon."},
	}
}

// development is a developer's.
func development() *compat.Snapshot {
	s := production()
	s.Development, s.Manifest = true, compat.ManifestFull
	return s
}

// clientHello is a hello of the client whose Camera differs.
func clientHello(target string) *compat.Hello {
	return &compat.Hello{Build: clientManifest().Build, Target: target, Tagged: true, Flags: compat.FlagManifest | compat.FlagDevelopment}
}

// TestTagsFor is what clients are told of all that there is to tell.
func TestTagsFor(t *testing.T) {
	// A production server keeps its build to itself where the client can do nothing with it.
	identity := []uint16{21, 22, 23, 24, 25}
	tests := []struct {
		name   string
		s      func() *compat.Snapshot
		h      func(*compat.Hello)
		target string
		want   compat.Verdict
		tags   []uint16
	}{
		{"accepted", production, func(h *compat.Hello) { h.Build.Components = serverSet }, "Windows-win64", compat.Accept, []uint16{5, 6, 12, 14, 20}},
		{"has to fetch a module", production, nil, "Windows-win64", compat.UpdateBinaries, append([]uint16{3, 5, 6, 12, 14, 20}, identity...)},
		{"has to go to a store", production, nil, "Android-arm64", compat.UpdateViaStore, []uint16{3, 5, 6, 10, 11, 12, 14, 20}},
		{"no module", production, nil, "Linux-x64", compat.NoNativeUpdate, []uint16{3, 5, 6, 12, 14, 20}},
		{"too new", production, func(h *compat.Hello) { h.Build.Logic = 9 }, "Windows-win64", compat.ClientTooNew, []uint16{3, 5, 6, 12, 14, 20}},
		{"sent on", func() *compat.Snapshot {
			s := production()
			s.Redirect = &compat.Endpoint{Host: "next.example", Port: 4000}
			return s
		}, func(h *compat.Hello) { h.Build.Logic = 9 }, "Windows-win64", compat.Redirect, []uint16{3, 5, 6, 9, 12, 14, 20}},
		{"maintenance", func() *compat.Snapshot {
			s := production()
			s.Maintenance, s.RetryAfter = true, 600
			return s
		}, nil, "Windows-win64", compat.Maintenance, []uint16{3, 5, 6, 11, 12, 13, 14, 20}},
		{"maintenance with files", func() *compat.Snapshot {
			s := production()
			s.Maintenance, s.AllowFetch = true, true
			return s
		}, nil, "Windows-win64", compat.Maintenance, []uint16{3, 5, 6, 11, 12, 14, 16, 20}},
		{"patch", func() *compat.Snapshot {
			s := production()
			s.PatchRules = []compat.PatchRule{{Logic: 7, MinPatch: 4}}
			return s
		}, nil, "Android-arm64", compat.UpdateViaStore, []uint16{3, 5, 6, 8, 10, 11, 12, 14, 20}},
		{"pinned", production, func(h *compat.Hello) { h.Floor = 8 }, "Android-arm64", compat.ClientTooNew, []uint16{3, 5, 6, 7, 10, 12, 14, 20}},
		{"a developer's", development, nil, "Windows-win64", compat.ComponentsMismatch, append([]uint16{3, 5, 6, 12, 14, 15, 20}, identity...)},
		{"another updater", development, func(h *compat.Hello) { h.Updater = compat.UpdaterOlder }, "Windows-win64", compat.UpdaterMismatch, nil},
		{"packs", func() *compat.Snapshot {
			return &compat.Snapshot{Compatibility: "V", Custom: true, Content: "packs-12"}
		},
			func(h *compat.Hello) { h.Build = compat.Build{Logic: compat.NoLogic, Compatibility: "V"} }, "Linux-x64", compat.UpdateResources, []uint16{3, 17}},
		{"packs, and nothing to fetch", func() *compat.Snapshot {
			s := production()
			s.Content = "packs-12"
			return s
		}, func(h *compat.Hello) { h.Floor = 8 }, "Android-arm64", compat.ClientTooNew, []uint16{3, 5, 6, 7, 10, 12, 14, 20}},
		{"packs ahead of the end of a maintenance", func() *compat.Snapshot {
			s := production()
			s.Maintenance, s.AllowFetch, s.Content = true, true, "packs-12"
			return s
		}, nil, "Windows-win64", compat.Maintenance, []uint16{3, 5, 6, 11, 12, 14, 16, 17, 20}},
		{"without a logic version", func() *compat.Snapshot { return &compat.Snapshot{Compatibility: "V", Custom: true} },
			func(h *compat.Hello) { h.Build = compat.Build{Logic: compat.NoLogic, Compatibility: "V"} }, "Linux-x64", compat.Accept, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, h := test.s(), clientHello(test.target)
			if test.h != nil {
				test.h(h)
			}
			h.Store = !product.Target(h.Target).CanSelfUpdate()
			j := compat.Evaluate(s, h)
			if j.Verdict != test.want {
				t.Fatalf("verdict %v, want %v", j.Verdict, test.want)
			}
			answer := netproto.NewAnswer(j)
			if err := answer.Tell(netproto.TagsFor(s, h, j)); err != nil {
				t.Fatal(err)
			}
			if got := numbers(answer.Tags); !slices.Equal(got, test.tags) {
				t.Errorf("tags %v, want %v", got, test.tags)
			}
			j.Payload = nil // the client gets it as a file
			if got := answer.Judgement(netproto.C1); !test.want.Known() || got.Endpoint == nil != (j.Endpoint == nil) || got.Endpoint != nil && *got.Endpoint != *j.Endpoint {
				t.Errorf("endpoint %+v, want %+v", got.Endpoint, j.Endpoint)
			} else if got.Endpoint = j.Endpoint; got != withoutReasons(j) {
				t.Errorf("judgement %+v becomes %+v", j, got)
			}
		})
	}
}

// withoutReasons is what of a judgement travels to a client of another updater generation, and the whole to any other.
func withoutReasons(j compat.Judgement) compat.Judgement {
	if j.UpdaterOutdated() {
		j.Reasons, j.Warnings, j.Age, j.Revision = 0, 0, 0, 0
	}
	return j
}

// TestExchanges checks that it takes the server's own wish to show anything, and a difference, and a client that can show it.
func TestExchanges(t *testing.T) {
	tests := []struct {
		name   string
		change func(*compat.Snapshot, *compat.Hello)
		want   bool
	}{
		{"a developer's server", func(s *compat.Snapshot, _ *compat.Hello) { s.Development = true }, true},
		{"that warns", func(s *compat.Snapshot, _ *compat.Hello) { s.Development, s.Policy = true, compat.PolicyWarn }, true},
		{"that does not compare", func(s *compat.Snapshot, _ *compat.Hello) { s.Development, s.Policy = true, compat.PolicyOff }, false},
		{"a client that can't show it", func(s *compat.Snapshot, h *compat.Hello) { s.Development, h.Flags = true, compat.FlagDevelopment }, false},
		{"the same components", func(s *compat.Snapshot, h *compat.Hello) { s.Development, h.Build.Components = true, serverSet }, false},
		{"production that enforces", func(s *compat.Snapshot, _ *compat.Hello) { s.Manifest = compat.ManifestFull }, false}, // it updates
		{"production that warns", func(s *compat.Snapshot, _ *compat.Hello) {
			s.Policy, s.Manifest = compat.PolicyWarn, compat.ManifestHashes
		}, true},
		{"production that warns and tells nothing", func(s *compat.Snapshot, _ *compat.Hello) { s.Policy = compat.PolicyWarn }, false},
		{"production, whatever the client says", func(s *compat.Snapshot, h *compat.Hello) { s.Policy, h.Flags = compat.PolicyWarn, 0xFFFFFFFF }, false},
		{"a client that does not play for another reason", func(s *compat.Snapshot, h *compat.Hello) {
			s.Development, s.Policy, s.PatchRules = true, compat.PolicyWarn, []compat.PatchRule{{Logic: 7, MinPatch: 9}}
		}, false},
		{"no logic version", func(s *compat.Snapshot, h *compat.Hello) { s.Development, s.Versioned = true, false }, false},
	}
	for _, test := range tests {
		s, h := production(), clientHello("Windows-win64")
		test.change(s, h)
		j := compat.Evaluate(s, h)
		if got := netproto.Exchanges(s, h, j); got != test.want {
			t.Errorf("%s: %t after %v with warnings %d", test.name, got, j.Verdict, j.Warnings)
		}
	}
}

// TestProtocolNamesTags checks that every tag of the verdict, every cap and every mode stands in the document as it is here.
func TestProtocolNamesTags(t *testing.T) {
	_, section, found := strings.Cut(protocolDoc(t), "### What a verdict is made of")
	if section, _, _ = strings.Cut(section, "\n## "); !found {
		t.Fatal("PROTOCOL.md has no section about the verdict")
	}
	hello, answer, _ := strings.Cut(section, "Tags of the answer.")
	for part, tail := range map[string]netproto.Tags{hello: helloTail(t, fullHello()), answer: answerTail(t, fullAnswer())} {
		for number := range tail.All() {
			row := fmt.Sprintf("\n| %d | ", number)
			if number > netproto.TagServerLogic {
				row = "\n| 21 to 25 | "
			}
			if !strings.Contains(part, row) {
				t.Errorf("PROTOCOL.md has no row %q", row)
			}
		}
	}
	for _, text := range []string{
		fmt.Sprintf("build id | text, at most %d bytes", compat.MaxBuildID), fmt.Sprintf("branch | text, at most %d bytes", compat.MaxBranch),
		fmt.Sprintf("text, at most %d bytes |\n| 10 |", netproto.MaxContent), fmt.Sprintf("text, at most %d bytes |\n| 11 |", netproto.MaxAccount),
	} {
		if !strings.Contains(hello, text) {
			t.Errorf("PROTOCOL.md does not say %q of a hello", text)
		}
	}
	for _, text := range []string{
		fmt.Sprintf("| body of a ComponentManifest | %d KiB |", compat.MaxManifest>>10), fmt.Sprintf("| its components | %d |", compat.MaxEntries),
	} {
		if !strings.Contains(protocolDoc(t), text) {
			t.Errorf("PROTOCOL.md does not say %q", text)
		}
	}
}

// BenchmarkVerdictOnTheWire is what a handshake costs a server beside its rules: reading a hello that says everything, and
// writing an answer that tells all that it has to.
func BenchmarkVerdictOnTheWire(b *testing.B) {
	s, h := development(), clientHello("Windows-win64")
	j := compat.Evaluate(s, h)
	hello := &netproto.Handshake{Version: netproto.VersionC1, Compatibility: "L7-536c49c90dc3ebf0", Target: "Windows-win64", Tags: helloTail(b, fullHello())}
	b.ReportAllocs()
	for b.Loop() {
		judged := hello.Hello(netproto.C1)
		answer := netproto.NewAnswer(j)
		if err := answer.Tell(netproto.TagsFor(s, &judged, j)); err != nil {
			b.Fatal(err)
		}
	}
}
