package host

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"collet/app/acquire"
	"collet/app/splash"
	"collet/app/update"
	"collet/netproto/release/trust"
	"collet/platform/text"
)

// terminal prints a start: phases, files and the outcome, as text or as one JSON object a line. It never asks: host.answer decides.
// One goroutine at a time uses it.
type terminal struct {
	out  io.Writer
	err  io.Writer // for texts that a window would show as a dialog or a toast
	json bool
	host *host
	mu   sync.Mutex // of lines of JSON
}

var _ view = (*terminal)(nil)

// line is one JSON object of --json. Empty members are left out.
type line struct {
	Phase     string `json:"phase,omitempty"`
	Mode      string `json:"mode,omitempty"`
	Verdict   string `json:"verdict,omitempty"`
	File      string `json:"file,omitempty"`
	Files     int    `json:"files,omitempty"`
	FilesDone int    `json:"files_done,omitempty"`
	Bytes     int64  `json:"bytes,omitempty"`
	BytesDone int64  `json:"bytes_done,omitempty"`
	Rate      int64  `json:"bytes_per_second,omitempty"`
	Line      int64  `json:"line_bytes,omitempty"`
	LineDone  int64  `json:"line_bytes_done,omitempty"`
	Hashed    int64  `json:"bytes_hashed,omitempty"`
	ToHash    int64  `json:"bytes_to_hash,omitempty"`
	Damage    []hurt `json:"damage,omitempty"`
	Attempt   int    `json:"attempt,omitempty"`
	Note      string `json:"note,omitempty"`
	Notes     string `json:"release_notes,omitempty"`
	Release   uint64 `json:"release,omitempty"`
	Version   string `json:"version,omitempty"`
	From      uint64 `json:"from_release,omitempty"`
	Means     means  `json:"bytes_by_means,omitempty"`
	Fetched   *int64 `json:"bytes_fetched,omitempty"`
	Saved     *int64 `json:"bytes_saved,omitempty"`
	Stale     string `json:"stale,omitempty"`
	Outcome   string `json:"outcome,omitempty"`
	Cause     string `json:"cause,omitempty"`
	Error     string `json:"error,omitempty"`
	Text      string `json:"text,omitempty"`
	Exit      *int   `json:"exit,omitempty"`
}

// means is the number of bytes by the strategy that obtained them.
type means map[acquire.Strategy]int64

// String lists the strategies with their bytes, the largest first.
func (m means) String() string {
	order := slices.SortedFunc(maps.Keys(m), func(a, b acquire.Strategy) int { return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b)) })
	words := make([]string, len(order))
	for i, name := range order {
		words[i] = fmt.Sprintf("%s %d", name, m[name])
	}
	return strings.Join(words, ", ")
}

// hurt is a damaged file in --json. Each range is half-open: its first byte, and the one after its last.
type hurt struct {
	File   string     `json:"file"`
	Size   int64      `json:"size"`
	Ranges [][2]int64 `json:"ranges"`
}

// damageRows lists damage for --json.
func damageRows(d *update.Damages) (list []hurt) {
	if d == nil {
		return nil
	}
	for _, file := range d.Files {
		h := hurt{File: file.File, Size: file.Size, Ranges: [][2]int64{}}
		for _, r := range file.Ranges {
			h.Ranges = append(h.Ranges, [2]int64{r.Start, r.End})
		}
		list = append(list, h)
	}
	return list
}

const (
	// manyFiles is how many lines about files are printed at once. Further lines are at least manyPause apart, because printing ten
	// thousand lines takes as long as the update.
	manyFiles = 200
	manyPause = 100 * time.Millisecond
)

// Follow implements view: it prints a line when the phase or the file changes, and one a second in between.
func (p *terminal) Follow(ctx context.Context, w watcher) func() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		last, printed, files := update.Status{}, time.Time{}, 0
		for range w.Watch(ctx) {
			s := w.Status()
			if s.Phase == last.Phase && s.File == last.File && s.Damage == last.Damage && time.Since(printed) < time.Second {
				continue
			}
			if files > manyFiles && s.File != "" && s.Damage == last.Damage && time.Since(printed) < manyPause {
				continue
			}
			p.progress(s, s.Damage != last.Damage)
			if last, printed = s, time.Now(); s.File != "" {
				files++
			}
		}
	}()
	return func() { <-done }
}

// progress prints a line. damage says that the damaged files belong to it; they are printed once.
func (p *terminal) progress(s update.Status, damage bool) {
	l := line{
		Phase: s.Phase.String(), Mode: s.Mode.String(), File: s.File, Files: s.Files, FilesDone: s.FilesDone,
		Bytes: s.Bytes, BytesDone: s.BytesDone, Rate: s.Rate, Attempt: s.Attempt,
		Hashed: s.Hashed, ToHash: s.ToHash, Line: s.Traffic.Total, LineDone: s.Traffic.Done,
	}
	if damage {
		l.Damage = damageRows(s.Damage)
	}
	if s.Mode != update.Undecided {
		l.Verdict = s.Judgement.Verdict.String()
	}
	if s.Phase == update.Waiting && s.Fault != nil {
		l.Error = s.Fault.Error()
	}
	if p.json {
		p.print(l)
		return
	}
	if damage && s.Damage != nil {
		for _, d := range s.Damage.Files {
			where := cmp.Or(d.Where(), fmt.Sprintf("%d…", d.Size)) // no range: the file is only too long
			fmt.Fprintln(p.out, p.host.texts.Get("headless.damage", "file", d.File, "ranges", where, "size", d.Size))
		}
	}
	fmt.Fprintln(p.out, splash.Compose(s, time.Now(), p.host.texts).Line())
}

// Note implements view.
func (p *terminal) Note(text string) {
	if p.json {
		p.print(line{Note: text})
		return
	}
	fmt.Fprintln(p.out, text)
}

// ReleaseNotes implements view. Only --json prints release notes, for tools.
func (p *terminal) ReleaseNotes(text string) {
	if p.json {
		p.print(line{Notes: text})
	}
}

// Report implements view.
func (p *terminal) Report(r acquire.Report) {
	saved := r.Saved()
	if p.json {
		p.print(line{
			Release: r.Release.Number, Version: r.Release.Version, From: r.From, Means: r.Bytes, Fetched: &r.Fetched, Saved: &saved, Stale: string(r.Stale),
		})
		return
	}
	if r.Stale != trust.NotStale {
		fmt.Fprintf(p.out, "%s (%s)\n", p.host.texts.Get("note.notcurrent"), r.Stale)
	}
	if r.Release.Number == 0 {
		return
	}
	from := strconv.FormatUint(r.From, 10)
	if r.From == 0 {
		from = "-"
	}
	fmt.Fprintln(p.out, p.host.texts.Get("headless.release", "number", strconv.FormatUint(r.Release.Number, 10), "version", r.Release.Version,
		"from", from, "means", cmp.Or(means(r.Bytes).String(), string(acquire.Unneeded)), "fetched", r.Fetched, "saved", saved))
}

// Toast implements view. It prints the text and does not wait.
func (p *terminal) Toast(_ context.Context, t splash.Toast) bool {
	fmt.Fprintln(p.err, t.Text)
	return false
}

// Ask implements view.
func (p *terminal) Ask(_ context.Context, e outcome) update.Action { return p.host.answer(e) }

// finish prints the end of a start and returns the exit code.
func (p *terminal) finish(e outcome) int {
	end := e.row()
	text := p.host.explain(e)
	if p.host.reply.popup(e.outcome) != "" {
		fmt.Fprintln(p.err, text)
		if !p.json {
			text = ""
		}
	}
	if p.json {
		l := line{Outcome: end.Outcome.String(), Cause: end.Cause.String(), Text: text, Exit: &end.Exit}
		l.Error = e.reason()
		p.print(l)
		return end.Exit
	}
	fmt.Fprint(p.out, p.host.texts.Get("headless.ended", "outcome", end.Outcome.String(), "code", strconv.Itoa(end.Exit)))
	if text != "" {
		fmt.Fprintf(p.out, ": %s", text)
	}
	fmt.Fprintln(p.out)
	if reason := e.reason(); reason != "" {
		fmt.Fprintf(p.out, "reason: %s\n", reason)
	}
	return end.Exit
}

func (p *terminal) print(l line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	object, err := json.Marshal(l)
	if err != nil {
		object = fmt.Appendf(nil, `{"error":%q}`, err)
	}
	fmt.Fprintf(text.NewJSONWriter(p.out), "%s\n", object)
}
