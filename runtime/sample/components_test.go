package sample_test

import (
	"testing"

	"collet/netproto/compat"
	"collet/runtime/sample/protocol"
)

// TestComponentsOfTheGame asks the game what it shares with servers, and compares that with what a server that was made from
// the same declarations has.
func TestComponentsOfTheGame(t *testing.T) {
	told := load(t).Metadata().Components
	if told == nil {
		t.Fatal("the game does not say what it has")
	}
	if told.BuildSeq != uint64(madeOptions.Release) || told.BuildID != madeOptions.BuildHash || told.Logic != protocol.CompatLogic {
		t.Errorf("the build is told as %+v", told)
	}
	client := compat.Manifest{Mode: compat.ManifestFull, Build: compat.Build{Logic: told.Logic, Components: told.Set}}
	for _, e := range told.Entries {
		client.Entries = append(client.Entries, compat.Entry{Name: e.Name, WireID: e.WireID, Hash: e.Hash, ChangedAt: e.ChangedAt, Since: e.Since})
	}
	if err := client.Check(); err != nil {
		t.Error(err)
	}
	var r compat.Registry
	if err := protocol.CompatRegister(&r); err != nil {
		t.Fatal(err)
	}
	server, err := r.Manifest(compat.Build{Logic: protocol.CompatLogic})
	if err != nil {
		t.Fatal(err)
	}
	if d := compat.DiffManifests(&server, &client); !d.Equal() || d.Unchanged != 2 || client.Build != server.Build {
		t.Errorf("the game differs from its declarations:\n%s", d.Body())
	}
}
