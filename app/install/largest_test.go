package install_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/app/install"
	"collet/app/update"
	"collet/netproto/release"
	"collet/platform"
	"collet/platform/testlevel"
)

// TestLargestOfferIsBounded checks that the memory for the list of an untrusted server grows linearly with its length. The
// longest list has release.MaxSet files; the test uses a tenth of that.
func TestLargestOfferIsBounded(t *testing.T) {
	testlevel.Slow(t)
	const (
		files     = release.MaxSet / 10
		allocated = 5000 // bytes per file; 3200 were measured with paths of 70 bytes, 4000 with the race detector
		kept      = 850  // the same, for memory kept until the next plan; 590 were measured
	)
	dir, err := platform.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	d, err := install.Open(t.Context(), install.Config{
		FS: dir, Names: install.Names{Runtime: "Lathe", Ext: ".so", Resources: "Resources", Cache: "Cache"}, Log: zerolog.Nop(), Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	offer := make([]release.File, files)
	for i := range offer {
		offer[i] = release.File{Path: fmt.Sprintf("Folder%03d/%060d.zip", i%500, i), Size: 100, Digest: release.FNVDigest(uint64(i + 1)), Role: release.Resource, Index: uint32(i)}
	}
	before := memory()
	plan, err := d.Plan(t.Context(), update.Resources, offer, func(string, int64, int64) {})
	if err != nil || len(plan.Wants) != files {
		t.Fatalf("%d files wanted, %v", len(plan.Wants), err)
	}
	after := memory()
	if got := (after.TotalAlloc - before.TotalAlloc) / files; got > allocated {
		t.Errorf("%d bytes were allocated for each file, want at most %d", got, allocated)
	}
	if got := int64(after.HeapAlloc-before.HeapAlloc) / files; got > kept {
		t.Errorf("%d bytes are kept for each file, want at most %d", got, kept)
	}
	runtime.KeepAlive(offer)
	runtime.KeepAlive(plan)
}

// memory is the memory in use after garbage collection; pools are emptied by the second collection.
func memory() (m runtime.MemStats) {
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}
