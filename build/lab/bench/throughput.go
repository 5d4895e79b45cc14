package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"collet/build/qa/process"
	"collet/netproto/session"
)

const (
	// leastOfCurl is how fast a file arrives on the loopback interface, against curl that takes it from nginx.
	leastOfCurl = 0.85
	// mostOfNginx is how much processor time a byte costs the server, against nginx.
	mostOfNginx = 1.3
	// leastOfCopy is how fast a file arrives from far away, against one stream of TCP.
	leastOfCopy = 0.9
	// quickSize and quickPairs are what --quick measures: MB of 2^20 bytes, and pairs.
	quickSize, quickPairs = 256, 3

	benchCompatibility = "bench"
	benchFile          = "Big.zip"
)

// spent is what one transfer took.
type spent struct {
	wall time.Duration
	cpu  time.Duration // of the server's process
}

// origin is a running server and the file that it offers.
type origin struct {
	folder  string // package folder
	size    int64  // bytes of the file
	process *process.Process
	address string
}

// offer writes a file that does not compress and starts our server in disk mode.
func (b *bench) offer(ctx context.Context, name string) (*origin, error) {
	o := &origin{folder: filepath.Join(b.dir, name), size: b.Transfer << 20}
	packs := filepath.Join(o.folder, "Resources")
	if err := os.MkdirAll(packs, 0o755); err != nil {
		return nil, err
	}
	if err := writeNoise(filepath.Join(packs, benchFile), o.size); err != nil {
		return nil, err
	}
	settings := filepath.Join(o.folder, "server.toml")
	text := fmt.Sprintf("CompatibilityVersion = %q\n[Baking]\nClientResources = \"Resources\"\n", benchCompatibility)
	if err := os.WriteFile(settings, []byte(text), 0o644); err != nil {
		return nil, err
	}
	var err error
	o.process, o.address, err = process.StartServer(ctx, b.program("collet-server"), settings, 0)
	return o, err
}

func (o *origin) stop() {
	o.process.Stop(stopGrace)
	os.RemoveAll(o.folder) // what stays goes with the whole folder
}

// writeNoise writes size random bytes, the same ones in each run.
func writeNoise(path string, size int64) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	noise := rand.NewChaCha8([32]byte{})
	block := make([]byte, 1<<20)
	for left := size; left > 0; left -= int64(len(block)) {
		noise.Read(block)
		if _, err := f.Write(block[:min(left, int64(len(block)))]); err != nil {
			return err
		}
	}
	return nil
}

// fetch takes the file into a new file by C1, as the client does before it checks what it got. The time is that from the
// connection to the last byte written, as curl counts it.
func fetch(ctx context.Context, address, to string, change func(*session.Options)) (time.Duration, error) {
	began := time.Now()
	options := session.Options{Addr: address, Compatibility: benchCompatibility, Target: "Linux-x64"}
	change(&options)
	client, err := session.Dial(ctx, options)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	offers, err := client.List(ctx)
	if err != nil || len(offers) != 1 {
		return 0, errors.Join(err, fmt.Errorf("%d files are offered", len(offers)))
	}
	f, err := os.Create(to)
	if err != nil {
		return 0, err
	}
	ranges := []session.FetchRange{{Index: offers[0].Index, Size: offers[0].Size}}
	err = client.Fetch(ctx, ranges, func(_ int, data []byte) error {
		_, err := f.Write(data)
		return err
	})
	return time.Since(began), errors.Join(err, f.Close())
}

func asItIs(*session.Options) {}

// curl takes a file into a new file and returns the time that curl counts.
func curl(ctx context.Context, url, to string) (time.Duration, error) {
	var complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, "curl", "--fail", "--silent", "--show-error", "--noproxy", "*", "--output", to, "--write-out", "%{time_total}", url)
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("curl: %w: %s", err, &complaint)
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	return time.Duration(seconds * float64(time.Second)), err
}

// taken runs one transfer into a file that is removed, counts the server's processor time, and checks the size.
func (b *bench) taken(size int64, server int, transfer func(to string) (time.Duration, error)) (spent, error) {
	to := filepath.Join(b.dir, "taken")
	defer os.Remove(to)
	before, err := cpuOf(server)
	if err != nil {
		return spent{}, err
	}
	wall, err := transfer(to)
	if err != nil {
		return spent{}, err
	}
	after, err := cpuOf(server)
	if err != nil {
		return spent{}, err
	}
	if info, err := os.Stat(to); err != nil || info.Size() != size {
		return spent{}, errors.Join(err, errors.New("the file that was taken has another size"))
	}
	return spent{wall, after - before}, nil
}

// clockTick is the unit of the times in /proc/<pid>/stat: USER_HZ, which is 100 on every architecture that Go knows.
const clockTick = 10 * time.Millisecond

// cpuOf is the processor time that a process has used, in the program and in the system for it.
func cpuOf(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseCPU(string(data))
}

// parseCPU reads fields 14 and 15; field 2 is a name in parentheses and may hold anything.
func parseCPU(stat string) (time.Duration, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	const user, system = 14 - 3, 15 - 3
	if len(fields) <= system {
		return 0, errors.New("/proc: no times in stat")
	}
	var ticks int64
	for _, i := range []int{user, system} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}

// speed is MB of 10^6 bytes in a second.
func speed(size int64, took time.Duration) float64 { return float64(size) / 1e6 / took.Seconds() }

// walls are the times of transfers.
func walls(all []spent) []time.Duration {
	times := make([]time.Duration, len(all))
	for i, s := range all {
		times[i] = s.wall
	}
	return times
}

// perGB is the processor time of all transfers for each 10^9 bytes, in seconds. The sum is less coarse than a median.
func perGB(size int64, all []spent) float64 {
	var sum time.Duration
	for _, s := range all {
		sum += s.cpu
	}
	return sum.Seconds() / (float64(size) * float64(len(all)) / 1e9)
}

// ratios are theirs to ours, pair by pair: above 1 where ours took less.
func ratios(theirs, ours []spent) []float64 {
	all := make([]float64, len(ours))
	for i := range ours {
		all[i] = theirs[i].wall.Seconds() / ours[i].wall.Seconds()
	}
	return all
}

// middle is the median.
func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// atLeast prints a number beside its bound.
func (b *bench) atLeast(what string, value, bound float64) {
	b.ratio(what, value)
	fmt.Fprintf(b.out, "%-42s %8.2f   bound %g at least: %s\n", what, value, bound, b.least(what, value, bound))
}
