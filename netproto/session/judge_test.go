package session_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/session"
)

// TestJudgeIsTheServersAnswer: by the public rules of any server a client comes to all that a connection to it would have told.
func TestJudgeIsTheServersAnswer(t *testing.T) {
	random := rand.New(rand.NewPCG(22, 5))
	reached := map[compat.Verdict]int{}
	for i := range 400 {
		bubble(t, fmt.Sprint(i), func(t *testing.T) {
			server := &meeting{t: t, snapshot: anySnapshot(random)}
			opt, wait := play(t, netproto.C1, server.play)
			opt.Target, opt.Compatibility = one(random, "Windows-win64", "iOS-arm64"), one(random, "L7-0000000000000001", "game-8")
			opt.Identity = &netproto.HelloTags{
				Build: compat.Build{Logic: int32(5 + random.IntN(5)), Components: uint64(1 + random.IntN(2)), Time: 100, Seq: uint64(random.IntN(3))},
				Patch: uint32(random.IntN(3)), Content: one(random, "", "P-1"), Account: one(random, "", "ada"),
			}
			c := connect(t, opt)
			c.Close()
			wait()
			document, err := compat.Rules{Protocol: netproto.VersionC1, Snapshot: *server.snapshot}.Encode()
			if err != nil {
				t.Fatal(err)
			}
			rules, err := compat.ParseRules(document)
			if err != nil {
				t.Fatal(err)
			}
			got, err := opt.Judge(rules, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			want := session.Ruling{Judgement: c.Judgement(), Told: c.Told(), Differences: c.Differences(), Updater: c.Updater()}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("by the rules\n%+v\nby the server\n%+v\n%s", got, want, document)
			}
			reached[got.Judgement.Verdict]++
		})
	}
	for _, v := range []compat.Verdict{compat.Accept, compat.UpdateBinaries, compat.ClientTooNew, compat.Redirect, compat.Maintenance, compat.UpdateViaStore} {
		if reached[v] == 0 {
			t.Errorf("no server said %v: %v", v, reached)
		}
	}
}

// TestJudgeInOtherGenerations: a client that detects the generation is judged, and one that is told to ask for an engine's is not.
func TestJudgeInOtherGenerations(t *testing.T) {
	t.Parallel()
	rules := compat.Rules{Protocol: netproto.VersionC1, Snapshot: compat.Snapshot{Maintenance: true}}
	for _, g := range []netproto.Generation{netproto.G1, netproto.G2a, netproto.G2b, netproto.C1, 0} {
		for _, auto := range []bool{false, true} {
			got, err := session.Options{Generation: g, Auto: auto, Target: "Linux-x64"}.Judge(rules, time.Now())
			switch judged := auto || !g.Engine(); {
			case judged && (err != nil || got.Judgement.Verdict != compat.Maintenance):
				t.Errorf("%v, auto %v: %+v, %v", g, auto, got, err)
			case !judged && (err == nil || !strings.Contains(err.Error(), "asks for "+g.String()+" alone")):
				t.Errorf("%v: %+v, %v", g, got, err)
			}
		}
	}
}

// anySnapshot is a server with rules of every kind.
func anySnapshot(random *rand.Rand) *compat.Snapshot {
	bit := func(n int) bool { return random.IntN(n) == 0 }
	s := &compat.Snapshot{
		Revision: uint64(random.IntN(9)), Compatibility: "L7-0000000000000001", Content: one(random, "", "P-1", "P-2"), Versioned: !bit(6),
		Supported: compat.Range{Min: 5, Max: 8}, Active: compat.Range{Min: int32(5 + random.IntN(3)), Max: int32(7 + random.IntN(2))},
		Components: 1, Baselines: map[int32]uint64{7: 1, 6: 2}, Build: compat.Build{Logic: 7, Components: 1, Time: 200, Seq: 2, ID: "server", Compatibility: "L7-0000000000000001"},
		Policy: []compat.Policy{"", compat.PolicyOff, compat.PolicyWarn, compat.PolicyEnforce}[random.IntN(4)], Development: bit(5),
		Maintenance: bit(4), AllowFetch: bit(2), Targets: map[string]compat.Target{},
		StoreURLs: map[string]string{"iOS-*": "https://apps.apple.com/app/1"}, Messages: map[string]string{compat.PopupNewer: "Wait", compat.PopupMaintenance: "Back soon"},
	}
	if !s.Versioned {
		s.Custom = true
	}
	if s.Maintenance && bit(2) {
		s.Until = time.Now().Add(time.Hour).UTC()
		s.RetryAfter = 3600
	}
	if bit(2) {
		s.PatchRules = []compat.PatchRule{{Logic: 7, Target: "Windows-*", MinPatch: 1}}
	}
	if bit(2) {
		s.Redirect = &compat.Endpoint{Host: "next.example", Port: 4001, TLS: true}
	}
	if !bit(3) {
		s.Targets["Windows-win64"] = compat.Target{Payloads: []compat.Payload{{Logic: 7, Patch: 2, Components: 1}}}
	}
	s.Targets["iOS-arm64"] = compat.Target{Store: bit(2)}
	return s
}

// one is one of several words.
func one(random *rand.Rand, words ...string) string { return words[random.IntN(len(words))] }
