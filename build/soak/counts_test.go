package soak

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestCounterKeepsTheFirstFaultsAndCountsAll(t *testing.T) {
	counts := newCounter()
	for i := range 3 * maxFaults {
		counts.fault("fault %d", i)
	}
	before := counts.now()
	counts.recordFirst("what explains them")
	got := counts.now()
	if got.Faulty != 3*maxFaults+1 || len(got.Faults) != maxFaults || got.Faults[0] != "what explains them" || !strings.HasSuffix(got.Faults[1], ": fault 0") {
		t.Errorf("%d faults: %q", got.Faulty, got.Faults)
	}
	if len(before.Faults) != maxFaults || !strings.HasSuffix(before.Faults[0], ": fault 0") {
		t.Errorf("an earlier copy has changed: %q", before.Faults)
	}
}

func TestCounterForManyGoroutines(t *testing.T) {
	counts := newCounter()
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			for range 100 {
				counts.did(fmt.Sprint(i % 2))
				counts.change(func(n *Counts) { n.Pairs["C1 over TCP"]++; n.Bytes += 2 })
				counts.now()
			}
		})
	}
	work.Wait()
	if got := counts.now(); got.Done["0"] != 400 || got.Done["1"] != 400 || got.Downloads() != 800 || got.Bytes != 1600 || !slices.Equal(got.Faults, nil) {
		t.Errorf("%+v", got)
	}
}
