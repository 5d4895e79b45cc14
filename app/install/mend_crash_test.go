package install_test

import (
	"testing"

	"collet/platform/testlevel"
)

// TestRepairSurvivesAStopAnywhere stops a repair before each change of the disk, and inside each write. The pack is then
// unchanged or repaired, and the next start repairs it.
func TestRepairSurvivesAStopAnywhere(t *testing.T) {
	t.Parallel()
	good := noise(1, 2*mib+500)
	damaged := flip(good, mib+1)
	step := testlevel.Stride(2, 5)
	for _, half := range []bool{false, true} {
		k := 1
		if half {
			k += step / 2 // between the stops that were tried before the change
		}
		for ; ; k += step {
			f, s := whole(t, good)
			f.write(packPath, damaged)
			s.verify = true
			w := watch(f.open(), stopAt(k, half))
			w.fast = true
			_, err := s.on(t, w)
			w.die()
			at, reached := w.stopped(k)
			if !reached {
				if err != nil {
					t.Errorf("without a stop: %v", err)
				}
				if k < 15 {
					t.Errorf("a repair of %d changes", k-1)
				}
				break
			}
			if now := f.read(packPath); now != good && now != damaged {
				t.Errorf("stopped before %s: the pack is neither what it was nor what it should be", at)
			}
			if fetched := s.until(f, 2); fetched > int64(len(good)) {
				t.Errorf("stopped before %s: %d bytes fetched afterwards", at, fetched)
			}
			f.healed("stopped before "+at.String(), good)
		}
	}
}
