package update_test

import (
	"strings"
	"testing"

	"collet/app/update"
)

func TestWhere(t *testing.T) {
	many := make([]update.Range, 23)
	for i := range many {
		many[i] = update.Range{Start: int64(10 * i), End: int64(10*i + 2)}
	}
	for want, d := range map[string]update.Damage{
		"":                   {},
		"0–0":                {Ranges: []update.Range{{Start: 0, End: 1}}},
		"0–99, 1000–1048575": {Ranges: []update.Range{{Start: 0, End: 100}, {Start: 1000, End: 1 << 20}}},
		"70–71, and 15 more": {Ranges: many},
	} {
		if got := d.Where(); got != want && !(len(d.Ranges) == len(many) && strings.HasSuffix(got, want)) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
