package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collet/netproto/compat"
)

// shipped is the manifest that a project generated, as a build with it would tell it.
func shipped(t *testing.T, dir string, b compat.Build) *compat.Manifest {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := compat.ParseManifest(data)
	if err != nil {
		t.Fatal(err)
	}
	b.Logic, b.Components = m.Build.Logic, m.Build.Components
	m.Build = b
	return &m
}

// TestReorderedCallsAreNamed sorts two calls of a component alphabetically in the client only, and
// leaves the server as it was. Both ends name the component and say who is older, whatever is told of
// names.
func TestReorderedCallsAreNamed(t *testing.T) {
	t.Parallel()
	dir := harbour(t)
	must(t, "gen", dir)
	server := shipped(t, dir, compat.Build{Time: 1770802200, Seq: 812, Branch: "main", ID: "f00d"})
	crane := filepath.Join(dir, "components", "Crane.AutoComponent.xml")
	const grab = `<RemoteProcedure Name="Grab" InvokeFrom="Autonomous" HandleOn="Authority" IsPublic="true" IsReliable="true" GenerateEventBindings="false" Description=""/>`
	release := strings.Replace(grab, "Grab", "Release", 1)
	change(t, crane, grab+"\n  "+release, release+"\n  "+grab)
	mustAt(t, "1772460300", "gen", dir)
	client := shipped(t, dir, compat.Build{Time: 1772460300, Seq: 841, Branch: "main", ID: "cafe"})
	for _, mode := range []compat.ManifestMode{compat.ManifestFull, compat.ManifestHashes} {
		fromServer, fromClient := server.As(mode), client.As(mode)
		for end, d := range map[string]compat.Differences{"client": compat.DiffManifests(&fromServer, client), "server": compat.DiffManifests(server, &fromClient)} {
			if len(d.Items) != 1 || d.Unchanged != len(server.Entries)-1 {
				t.Fatalf("%s at the %s: %+v", mode, end, d)
			}
			item := d.Items[0]
			if item.Name != "Harbour.CraneComponent" || item.Class != compat.ClassModified || item.Age != compat.ClientNewer || d.Age != compat.ClientNewer {
				t.Errorf("%s at the %s: %+v", mode, end, item)
			}
			want := "Server is older by 19 days, rebuild the server.\n" +
				"client " + compat.Derived(7, client.Build.Components) + " cafe main 2026-03-02T14:05Z#841, server " + compat.Derived(7, server.Build.Components) + " f00d main 2026-02-11T09:30Z#812\n" +
				"~ Harbour.CraneComponent (client 2026-03-02, server 2026-02-11)"
			if d.Body() != want {
				t.Errorf("%s at the %s:\n%s\nwant\n%s", mode, end, d.Body(), want)
			}
			line := compat.Meeting{Judgement: compat.Judgement{Verdict: compat.ComponentsMismatch, Rule: compat.RuleComponents}, Differences: d}.Line()
			if !strings.HasSuffix(line, "only_server= only_client= differs=Harbour.CraneComponent renumbered=") {
				t.Errorf("%s at the %s: %s", mode, end, line)
			}
		}
	}
}

// TestIDsAreNamed is the case that other systems can't see: the same components, registered under other ids.
func TestIDsAreNamed(t *testing.T) {
	t.Parallel()
	dir := harbour(t)
	must(t, "gen", dir)
	server := shipped(t, dir, compat.Build{})
	change(t, filepath.Join(dir, "components", "Ferry.AutoComponent.xml"), `Id="40"`, `Id="41"`)
	must(t, "gen", dir)
	client := shipped(t, dir, compat.Build{})
	d := compat.DiffManifests(server, client)
	if len(d.Items) != 1 || d.Items[0].Row() != "# Harbour.FerryComponent (client id 41, server id 40)" || server.Build.Components == client.Build.Components {
		t.Errorf("%+v", d)
	}
}

// TestServersSideIsIgnored checks that what clients never see does not part them from a server.
func TestServersSideIsIgnored(t *testing.T) {
	t.Parallel()
	dir := harbour(t)
	must(t, "gen", dir)
	server := shipped(t, dir, compat.Build{})
	change(t, filepath.Join(dir, "components", "Customs.AutoComponent.xml"), `Type="uint32_t" Name="Suspicion"`, `Type="float" Name="Suspicion"`)
	must(t, "gen", dir)
	if d := compat.DiffManifests(server, shipped(t, dir, compat.Build{})); !d.Equal() {
		t.Errorf("%+v", d)
	}
}
