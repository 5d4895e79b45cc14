package report_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"collet/build/qa/report"
	"collet/build/qa/scenario"
)

func TestSaveReplacesWholeFiles(t *testing.T) {
	dir := t.TempDir()
	page, xml := filepath.Join(dir, "r.html"), filepath.Join(dir, "r.xml")
	if err := os.WriteFile(page, []byte(strings.Repeat("old ", 1_000_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	r := sample()
	if err := r.Save(page, xml); err != nil {
		t.Fatal(err)
	}
	for path, write := range map[string][]byte{page: written(t, r.HTML), xml: written(t, r.JUnit)} {
		if got, err := os.ReadFile(path); err != nil || string(got) != string(write) {
			t.Errorf("%s: %d bytes, %v", path, len(got), err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
	if err := r.Save("", ""); err != nil {
		t.Error(err)
	}
	if err := r.Save(filepath.Join(dir, "nowhere", "r.html"), ""); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Error(err)
	}
	if err := r.Save(dir, ""); err == nil {
		t.Error("a folder was replaced by a report")
	}
	if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") }) {
		t.Errorf("a temporary file is left: %v, %v", entries, err)
	}
}

func TestWritable(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		"": "", filepath.Join(dir, "new.html"): "", dir: "is a folder; name a file", filepath.Join(dir, "nowhere", "x"): "can't be written",
	} {
		if err := report.Writable(path); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", path, err, want)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestThisTarget(t *testing.T) {
	if got := report.ThisTarget(); runtime.GOOS == "linux" && !strings.HasPrefix(got, "Linux-") {
		t.Error(got)
	}
}

// Cases are delivered in order, and at most jobs of them run at a time.
func TestSpreadKeepsTheOrder(t *testing.T) {
	for _, jobs := range []int{0, 1, 3, 100} {
		var running, most atomic.Int32
		gate := make(chan struct{}, 1)
		var got []int
		report.Spread(t.Context(), jobs, 20, func(_ context.Context, i int) report.Case {
			now := running.Add(1)
			gate <- struct{}{}
			most.Store(max(most.Load(), now))
			<-gate
			runtime.Gosched()
			running.Add(-1)
			return report.Case{Name: fmt.Sprint(i)}
		}, func(i int, c report.Case) {
			if c.Name != fmt.Sprint(i) {
				t.Errorf("case %s as number %d", c.Name, i)
			}
			got = append(got, i)
		})
		if len(got) != 20 || !slices.IsSorted(got) || int(most.Load()) > max(jobs, 1) {
			t.Errorf("%d jobs: %v, %d at a time", jobs, got, most.Load())
		}
	}
	report.Spread(t.Context(), 4, 0, nil, nil)
}

// After an interrupt only the started cases end, and their results are kept.
func TestSpreadStops(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var got []int
	report.Spread(ctx, 2, 1000, func(ctx context.Context, i int) report.Case {
		switch {
		case i == 10:
			cancel(errors.New("enough"))
		case i > 10:
			<-ctx.Done() // however late the interrupt comes
		}
		return report.Case{}
	}, func(i int, _ report.Case) { got = append(got, i) })
	if len(got) < 11 || len(got) > 20 {
		t.Errorf("%d cases were handed over", len(got))
	}
	got = nil
	report.Spread(ctx, 2, 1000, func(context.Context, int) report.Case { t.Error("started"); return report.Case{} }, func(i int, _ report.Case) { got = append(got, i) })
	if len(got) > 0 {
		t.Errorf("%v after the end", got)
	}
}

// TestInterruptedCases checks that interrupted cases are skipped, not violations.
func TestInterruptedCases(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var got []report.Case
	report.Spread(ctx, 1, 4, func(context.Context, int) report.Case {
		cancel()
		return report.Case{Suite: "s", Name: "violated", State: report.Violation, Detail: "context canceled"}
	}, func(_ int, c report.Case) { got = append(got, c) })
	if len(got) != 1 || got[0].State != report.Skipped || got[0].Detail != "not run: interrupted while it was under way" || got[0].Name != "violated" {
		t.Errorf("%+v", got)
	}
	scenarios, err := scenario.Standard()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	var ended int
	err = scenario.Play(ctx, scenarios, scenario.Options{Jobs: 8, Seed: 1}, func(_, _ int, c report.Case) {
		cancel()
		if ended++; c.State == report.Violation {
			t.Errorf("%s %v: %s", c.Name, c.Params, c.Detail)
		}
	})
	if !errors.Is(err, context.Canceled) || ended < 1 {
		t.Errorf("%d cases, %v", ended, err)
	}
}
