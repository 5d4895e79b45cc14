package soak

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/platform/testlevel"
)

// gentle is a run with so little load that tests beside it have their processors.
func gentle(t *testing.T, program string, d time.Duration) Options {
	return Options{
		Program: program, Scratch: t.TempDir(), Time: d, Seed: 1, Idle: 24, Workers: 3, Rest: 60 * time.Millisecond,
		Tell: func(s Status) {
			if s.Elapsed.Seconds() < 1 || int(s.Elapsed.Seconds())%20 == 0 {
				t.Logf("%+v", s)
			}
		},
	}
}

// soaked runs a soak and wants nothing left of it.
func soaked(t *testing.T, ctx context.Context, o Options) *Result {
	t.Helper()
	result, err := Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(o.Scratch); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	var text strings.Builder
	if err := result.Table(&text); err != nil {
		t.Error(err)
	}
	t.Log(text.String())
	if want := "soak: " + result.word() + "\n"; !strings.HasSuffix(text.String(), want) {
		t.Errorf("the table does not end with %q", want)
	}
	return result
}

// TestSoak is `collet bench soak` for two minutes, with little load.
func TestSoak(t *testing.T) {
	testlevel.Lab(t) // it takes two minutes: fewer show no slow growth
	t.Parallel()
	o := gentle(t, needsServer(t), 2*time.Minute)
	o.Workers, o.Rest = 6, time.Second // many that rest do about as much on slow machines as on fast ones
	r := soaked(t, t.Context(), o)
	if !r.Holds() {
		t.Error("the server does not hold")
	}
	if r.Downloads() < 30 || r.Published < 10 || len(r.Samples) < 5 || r.Early {
		t.Errorf("too little happened: %d downloads, %d publications, %d samples", r.Downloads(), r.Published, len(r.Samples))
	}
	for _, s := range stalledClients() {
		if s.limit == handshakeTime && r.Done[s.name] == 0 {
			t.Errorf("no connection that %s lasted until the server ended it: %v", s.name, r.Done)
		}
	}
}

// TestFaultsAreFound runs servers that are wrong in one way each, and wants exactly that to be found. make test has the first
// and the last: one that grows, and one that ends.
func TestFaultsAreFound(t *testing.T) {
	t.Parallel()
	needsServer(t)
	every := testlevel.Stride(5, 5)
	for i, test := range []struct {
		leak string
		row  string // what must not hold; empty: any
		text string // what must be said
	}{
		{"goroutines", "goroutines", "DOES NOT HOLD"},
		{"descriptors", "file descriptors", "DOES NOT HOLD"},
		{"heap", "heap in use", "DOES NOT HOLD"},
		{"answers", "", "connect"},
		{"old lists", "", "publi"},
		{"dies", "", "with code 2"},
	} {
		if i%every > 0 {
			continue
		}
		t.Run(test.leak, func(t *testing.T) {
			t.Parallel()
			o := gentle(t, os.Args[0], Shortest*3/2)
			o.Env = append(os.Environ(), leakVariable+"="+test.leak)
			o.Workers, o.Rest = 4, 10*time.Millisecond
			r := soaked(t, t.Context(), o)
			if r.Holds() {
				t.Error("nothing was found")
			}
			var text strings.Builder
			r.Table(&text)
			if !strings.Contains(text.String(), test.text) {
				t.Errorf("nothing is said of %q", test.text)
			}
			if test.row == "" {
				return
			}
			if r.NoRows != nil || r.Faulty > 0 {
				t.Errorf("more was found than what leaks: %v, %q", r.NoRows, r.Faults)
			}
			for _, row := range r.Rows {
				if row.Holds == (row.Name == test.row) && row.Name != "resident memory" {
					t.Errorf("%s: holds: %v", row.Name, row.Holds)
				}
			}
		})
	}
}

// TestInterruptedSoakJudgesWhatItHas ends runs early: before there is a verdict, and after.
func TestInterruptedSoakJudgesWhatItHas(t *testing.T) {
	t.Parallel()
	program := needsServer(t)
	for _, test := range []struct {
		name  string
		quiet int // moments to wait for
		word  string
	}{{"at once", 0, "no verdict"}, {"later", leastSamples, "holds"}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			o := gentle(t, program, Shortest*8) // time for far more than are waited for
			o.Workers, o.Rest = 2, 300*time.Millisecond
			o.Tell = func(s Status) {
				if s.Quiet >= test.quiet {
					cancel()
				}
			}
			r := soaked(t, ctx, o)
			if !r.Early || r.Took >= o.Time || r.word() != test.word || r.Faulty > 0 {
				t.Errorf("after %v, early %v: %s, %d faults", r.Took, r.Early, r.word(), r.Faulty)
			}
		})
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	good := Options{Program: "x", Time: time.Hour, Idle: 1, Workers: 1}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Options){
		"program": func(o *Options) { o.Program = "" },
		"8s":      func(o *Options) { o.Time = Shortest - 1 },
		"crowd":   func(o *Options) { o.Idle = maxIdle + 1 },
		"workers": func(o *Options) { o.Workers = 0 },
		"rest":    func(o *Options) { o.Rest = -1 },
	} {
		o := good
		change(&o)
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCollectorHasItsDefaults wants the server's environment to have nothing that sets the garbage collector, whatever ours has.
func TestCollectorHasItsDefaults(t *testing.T) {
	t.Setenv("GOGC", "400")
	t.Setenv("GOMEMLIMIT", "1GiB")
	for _, env := range [][]string{nil, {"GOGC=off", "A=1", "GOMEMLIMIT=2GiB"}} {
		env := (&exec.Cmd{Env: Options{Env: env}.environment()}).Environ()
		for _, name := range []string{"GOGC=", "GOMEMLIMIT="} {
			if set := slices.DeleteFunc(slices.Clone(env), func(s string) bool { return !strings.HasPrefix(s, name) }); !slices.Equal(set, []string{name}) {
				t.Errorf("the server starts with %q", set)
			}
		}
	}
}

func TestServersThatDoNotStart(t *testing.T) {
	needsServer(t)
	if _, err := Run(t.Context(), gentle(t, filepath.Join(t.TempDir(), "no such server"), time.Minute)); err == nil {
		t.Error("a program that is not there was started")
	}
	o := gentle(t, os.Args[0], time.Minute)
	o.Env = []string{leakVariable + "=x", "GOCOVERDIR=" + t.TempDir()}
	o.Scratch = filepath.Join(o.Scratch, strings.Repeat("long", 30)) // no socket has such a path
	if err := os.Mkdir(o.Scratch, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "shorter path") {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(o.Scratch); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestSchedule wants enough quiet moments in runs of every length, and time for load between them.
func TestSchedule(t *testing.T) {
	for _, d := range []time.Duration{Shortest, 10 * time.Second, time.Minute, 2 * time.Minute, time.Hour, 24 * time.Hour} {
		o := Options{Time: d}
		moments := int((d - o.warmUp()) / o.cycle())
		if moments < 2*leastSamples || o.cycle() < shortestCycle {
			t.Errorf("%v: %d moments, one in %v", d, moments, o.cycle())
		}
	}
	if (Options{Time: 2 * time.Minute}).cycle()*(quietShare-1)/quietShare < handshakeTime+time.Second {
		t.Error("two minutes are too short for the time of a handshake")
	}
}

func TestServerLog(t *testing.T) {
	j := newServerLog()
	const all = 3 // the part that ends with the last address
	for i, part := range []string{
		`{"level":"info","at":"127.0.0.1:4","message":"Listens for WebSocket"}` + "\n",
		`{"level":"info","address":"127.0.0.1:3","message":"Listening"}` + "\n" + `{"level":"info","address":"127.0.0.1:3","message":"Listening"}` + "\n",
		`{"level":"info","metrics":"127.0.0.1:1","message":"Metrics a`, "re served\"}\n{\"level\":\"info\",\"at\":\"127.0.0.1:2\",\"message\":\"Listens for TLS\"}\n",
		`{"level":"error","message":"Could not reload; what was offered before stays"}` + "\n" + `{"level":"warn","message":"x"}` + "\n",
	} {
		if n, err := j.Write([]byte(part)); n != len(part) || err != nil {
			t.Error(n, err)
		}
		told := false
		select {
		case <-j.listens:
			told = true
		default:
		}
		if told != (i >= all) {
			t.Errorf("after part %d: told %v", i, told)
		}
	}
	said := j.addresses()
	if said["Metrics are served"] != "127.0.0.1:1" || said["Listens for TLS"] != "127.0.0.1:2" || said["Listening"] != "127.0.0.1:3" || len(j.problems()) > 0 {
		t.Errorf("%v, odd: %q", said, j.problems())
	}
	bad := []string{`{"level":"error","message":"x"}`, `{"level":"panic","message":"y"}`, "panic: z", "WARNING: DATA RACE"}
	j.Write([]byte(strings.Join(bad, "\n") + "\n"))
	if odd := j.problems(); len(odd) != len(bad) || !slices.ContainsFunc(odd, func(s string) bool { return strings.Contains(s, "DATA RACE") }) {
		t.Errorf("%q", odd)
	}
	j.Write(make([]byte, 2*maxLine))
	if len(j.rest) > maxLine {
		t.Errorf("%d bytes are kept of a line without end", len(j.rest))
	}
}
