package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/server/admin"
	"collet/netproto/session"
)

// TestT13CommandLine asks the command line and a connection of a real client the same questions, by chance, under changing settings: they
// are told the same.
func TestT13CommandLine(t *testing.T) {
	g := govern(t)
	random := rand.New(rand.NewPCG(13, 2026))
	own, err := compat.ParseManifest([]byte(readAll(t, g.manifest)))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[compat.Verdict]bool{}
	for _, settings := range [][]string{
		nil,
		{"--active", "6-7", "--yes", "--comment", "a test"},
		{"--patch-rule", "7@Linux-*=3", "--redirect", "tcp://next.example:4000", "--base-url", "https://next.example/"},
		{"--maintenance", "on", "--until", "30m", "--for", "Windows-*"},
	} {
		if settings != nil {
			if code, out, errs := g.collet(append([]string{"set"}, settings...)...); code != 0 {
				t.Fatalf("%v: code %d, %s%s", settings, code, out, errs)
			}
		}
		for range 20 {
			tags := netproto.HelloTags{Patch: uint32(random.IntN(5)), Account: []string{"", "ann"}[random.IntN(2)]}
			tags.Build = compat.Build{Logic: random.Int32N(6) + 4, Seq: uint64(800 + random.IntN(90)), Branch: "main"}
			tags.Build.Components = []uint64{own.Build.Components, 99}[random.IntN(2)]
			target := []string{"Linux-x64", "Windows-win64", "Android-arm64"}[random.IntN(3)]
			code, out, errs := g.collet("verdict", "--json", "--logic", fmt.Sprint(tags.Build.Logic), "--hash", fmt.Sprintf("%016x", tags.Build.Components),
				"--patch", fmt.Sprint(tags.Patch), "--target", target, "--account", tags.Account, "--build-number", fmt.Sprint(tags.Build.Seq), "--branch", "main")
			var told admin.VerdictAnswer
			if err := json.Unmarshal([]byte(out), &told); code != 0 || err != nil {
				t.Fatalf("code %d, %v: %s%s", code, err, out, errs)
			}
			c, err := session.Dial(t.Context(), session.Options{
				Addr: g.listener.Addr().String(), Compatibility: compat.Derived(tags.Build.Logic, tags.Build.Components), Target: target, Identity: &tags,
			})
			if err != nil {
				t.Fatal(err)
			}
			j := c.Judgement()
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			var reasons compat.Reasons
			for _, rule := range told.Reasons {
				reasons |= compat.ReasonOf(compat.Rule(rule))
			}
			if told.Verdict != j.Verdict.String() || told.Rule != uint8(j.Rule) || reasons != j.Reasons || told.Revision != j.Revision || told.Floor != j.Floor || told.MinPatch != j.MinPatch {
				t.Fatalf("%s %+v: the command line says %+v, the connection %+v", target, tags, told, j)
			}
			seen[j.Verdict] = true
		}
	}
	if len(seen) < 6 {
		t.Errorf("only %v came up", seen)
	}
}
