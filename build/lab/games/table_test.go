package games

import (
	"fmt"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// row is what the table says of one game.
type row struct {
	name                string
	files               int
	bytes, archive      int64
	wrap, publish, pack time.Duration // of the developer's commands
	unpack, start       time.Duration // of the archive; from the start of the client to that of the game
	by, ready, end      string        // by what it was ready, after how many seconds; how it was ended
	update              int64         // bytes, with those before the kill
	rest                time.Duration // of the update after the kill, to the start of the game
	back, verify        time.Duration // two starts that fail; a verification with a repair
}

// table is that of one run. It is safe for concurrent use.
type table struct {
	mu   sync.Mutex
	rows []*row
}

func (t *table) add(name string) *row {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &row{name: name}
	t.rows = append(t.rows, r)
	return r
}

// String is the table for people.
func (t *table) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var text strings.Builder
	out := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "game\tfiles\tMB\twrap s\tpublish s\tpack s\tarchive MB\tunpack s\tstart s\tready by\tafter s\tended\tupdate kB\tupdate s\tback s\tverify s")
	for _, r := range t.rows {
		fmt.Fprintf(out, "%s\t%d\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%s\t%s\t%s\t%.0f\t%.1f\t%.1f\t%.1f\n", r.name, r.files, mega(r.bytes),
			r.wrap.Seconds(), r.publish.Seconds(), r.pack.Seconds(), mega(r.archive), r.unpack.Seconds(), r.start.Seconds(), r.by, r.ready, r.end,
			float64(r.update)/1e3, r.rest.Seconds(), r.back.Seconds(), r.verify.Seconds())
	}
	_ = out.Flush() // to memory
	return text.String()
}

func mega(bytes int64) float64 { return float64(bytes) / 1e6 }
