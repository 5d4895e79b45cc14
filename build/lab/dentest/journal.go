package dentest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
)

// Names of counts.
const (
	CountResend         = "resend"          // a numbered datagram was sent again
	CountStoredOld      = "stored old"      // a copy of a delivered number was stored for the next lap
	CountStoredTwice    = "stored twice"    // a future number was stored a second time
	CountStaleDelivered = "stale delivered" // a stored copy was delivered one lap later in place of the genuine message
	CountOutside        = "outside window"  // dropped without acknowledgement
)

// Journal collects what a peer noticed. Its zero value is ready; it is safe for concurrent use.
type Journal struct {
	mu         sync.Mutex
	violations []string
	counts     map[string]int
}

// violate notes something that the released programs do not survive.
func (j *Journal) violate(section, format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.violations = append(j.violations, fmt.Sprintf(format, args...)+" ("+section+")")
}

func (j *Journal) count(name string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.counts == nil {
		j.counts = map[string]int{}
	}
	j.counts[name]++
}

// Violations are all faults of the other side so far.
func (j *Journal) Violations() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.violations)
}

// Count is how often something was noticed.
func (j *Journal) Count(name string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.counts[name]
}

// MustBeClean fails the test if there is a violation.
func (j *Journal) MustBeClean(t testing.TB) {
	t.Helper()
	const shown = 20
	all := j.Violations()
	for _, v := range all[:min(len(all), shown)] {
		t.Errorf("violation: %s", v)
	}
	if len(all) > shown {
		t.Errorf("%d violations in all", len(all))
	}
}
