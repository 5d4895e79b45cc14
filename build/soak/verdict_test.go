package soak

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// series is n samples of a server that rests, with what runtimes do by themselves: a goroutine more or less, and a heap
// that is filled differently each time.
func series(n int, change func(i int, s *Sample)) []Sample {
	r := rand.New(rand.NewPCG(1, 2))
	var all []Sample
	for i := range n {
		s := Sample{
			At: time.Duration(i) * time.Second, Goroutines: 416 + float64(r.IntN(2)), Descriptors: 231 + float64(r.IntN(2)), Connections: 200,
			Heap: (7 + r.Float64()) * megabyte, Resident: (40 + 4*r.Float64()) * megabyte,
		}
		change(i, &s)
		all = append(all, s)
	}
	return all
}

func TestJudge(t *testing.T) {
	for _, test := range []struct {
		name   string
		n      int
		change func(i int, s *Sample)
		broken []string
	}{
		{"nothing grows", 200, func(int, *Sample) {}, nil},
		{"as few as there may be", 3, func(int, *Sample) {}, nil},
		{"a goroutine in each sample", 12, func(i int, s *Sample) { s.Goroutines += float64(i) }, []string{"goroutines"}},
		{"a goroutine in twenty samples", 200, func(i int, s *Sample) { s.Goroutines += float64(i / 20) }, []string{"goroutines"}},
		{"goroutines end", 12, func(i int, s *Sample) { s.Goroutines -= float64(i) }, []string{"goroutines"}},
		{"descriptors", 12, func(i int, s *Sample) { s.Descriptors += float64(i) }, []string{"file descriptors"}},
		{"one connection that stays", 12, func(i int, s *Sample) { s.Connections += float64(i / 6) }, []string{"connections"}},
		{"heap", 30, func(i int, s *Sample) { s.Heap += float64(i) * megabyte / 3 }, []string{"heap in use"}},
		{"heap of a large server", 30, func(i int, s *Sample) { s.Heap = 100*megabyte + float64(i)*megabyte }, []string{"heap in use"}},
		{"heap that shrinks", 30, func(i int, s *Sample) { s.Heap -= float64(i) * megabyte / 5 }, nil},
		{"resident memory", 30, func(i int, s *Sample) { s.Resident += float64(i) * megabyte }, []string{"resident memory"}},
		{"one moment that is far off", 30, func(i int, s *Sample) {
			if i == 29 {
				*s = Sample{Goroutines: 9999, Descriptors: 9999, Connections: 9999, Heap: 1 << 40, Resident: 1 << 40}
			}
		}, nil},
		{"no number", 12, func(_ int, s *Sample) { s.Heap = math.NaN() }, []string{"heap in use"}},
		{"everything", 12, func(i int, s *Sample) {
			n := float64(i)
			*s = Sample{Goroutines: n, Descriptors: n, Connections: n, Heap: n * megabyte, Resident: n * 4 * megabyte}
		}, []string{"goroutines", "file descriptors", "connections", "heap in use", "resident memory"}},
	} {
		rows, err := Judge(series(test.n, test.change))
		var broken []string
		for _, row := range rows {
			if !row.Holds {
				broken = append(broken, row.Name)
			}
		}
		if err != nil || !slices.Equal(broken, test.broken) || len(rows) != len(Bounds()) {
			t.Errorf("%s: %q do not hold, want %q; %v", test.name, broken, test.broken, err)
		}
		r := Result{Rows: rows}
		if r.Holds() != (test.broken == nil) {
			t.Errorf("%s: holds: %v", test.name, r.Holds())
		}
	}
}

// TestJudgeAtTheBound tells what is allowed from what is one too many.
func TestJudgeAtTheBound(t *testing.T) {
	for _, b := range Bounds() {
		for _, over := range []float64{0, 1} {
			last := Sample{Goroutines: 100, Descriptors: 100, Connections: 100, Heap: 100 * megabyte, Resident: 100 * megabyte}
			all := []Sample{last, last, last}
			allowed := max(b.Slack, b.Share*b.of(last))
			for _, field := range []*float64{&all[2].Goroutines, &all[2].Descriptors, &all[2].Connections, &all[2].Heap, &all[2].Resident} {
				was := b.of(all[2])
				if *field++; b.of(all[2]) == was {
					*field--
					continue
				}
				*field += allowed + over - 1
			}
			rows, err := Judge(all)
			i := slices.IndexFunc(rows, func(r Row) bool { return r.Name == b.Name })
			if err != nil || rows[i].Holds != (over == 0) {
				t.Errorf("%s: %+v, %v", b.Name, rows[i], err)
			}
		}
	}
}

func TestTooFewSamples(t *testing.T) {
	for n := range leastSamples {
		rows, err := Judge(series(n, func(int, *Sample) {}))
		if !errors.Is(err, ErrTooFew) || rows != nil {
			t.Errorf("%d samples: %v, %v", n, rows, err)
		}
	}
	if r := (Result{NoRows: ErrTooFew}); r.Holds() {
		t.Error("a run without a verdict holds")
	}
}

func TestAFaultIsEnough(t *testing.T) {
	rows, err := Judge(series(12, func(int, *Sample) {}))
	r := Result{Rows: rows, NoRows: err, Counts: Counts{Faulty: 1}}
	if r.Holds() {
		t.Error("a run with a fault holds")
	}
}
