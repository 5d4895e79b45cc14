package places_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"collet/build/publish/places"
	"collet/platform"
	"collet/platform/faultfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// files are those of a release folder with a list of that version: it names an object and a head of its own, and those that all versions have.
func files(version int) map[string]string {
	names := []string{"objects/aa/common", fmt.Sprintf("objects/bb/%d", version), fmt.Sprintf("objects/cc/%d", version), fmt.Sprintf("releases/%d", version)}
	all := map[string]string{}
	for _, name := range names {
		all[name] = "content of " + name
	}
	all[fmt.Sprintf("metadata/%d.targets.json", version)] = strings.Join(names, "\n")
	all[fmt.Sprintf("sequels/%d.sequel", version)] = fmt.Sprintf("sequel %d", version)
	all[places.Timestamp] = fmt.Sprintf(`{"signed": {"version": %d}}`, version)
	return all
}

// folder is the release folder with these files.
func folder(t *testing.T, all map[string]string) places.Folder {
	t.Helper()
	disk := faultfs.New(faultfs.Config{}).Open(faultfs.Options{})
	t.Cleanup(disk.Kill)
	f := places.Folder{FS: disk, Start: func(int64) {}, Wrote: func(int64, string) {}}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		must(t, disk.MkdirAll(name[:strings.LastIndex(name, "/")], 0o755))
		must(t, platform.WriteFile(disk, name, []byte(all[name])))
		switch top, _, _ := strings.Cut(name, "/"); top {
		case "objects":
			f.Objects = append(f.Objects, name)
		case "releases":
			f.Heads = append(f.Heads, name)
		}
	}
	return f
}

var errStore = errors.New("the store is out of order")

// store is a place in memory. It fails where it is told to, and notes when its lists name what it lacks.
type store struct {
	name string
	fail func(operation, name string) bool

	mu      sync.Mutex
	files   map[string]string
	puts    []string
	lacking []string
}

func (s *store) String() string { return s.name }

func (s *store) fails(operation, name string) bool { return s.fail != nil && s.fail(operation, name) }

func (s *store) List(_ context.Context, folder string) (map[string]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails("list", folder) {
		return nil, errStore
	}
	list := map[string]int64{}
	for name, data := range s.files {
		if strings.HasPrefix(name, folder+"/") {
			list[name] = int64(len(data))
		}
	}
	return list, nil
}

func (s *store) Get(_ context.Context, name string, _ int64) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, found := s.files[name]
	switch {
	case s.fails("get", name):
		return nil, errStore
	case !found:
		return nil, fs.ErrNotExist
	}
	return []byte(data), nil
}

func (s *store) Put(_ context.Context, name string, data io.ReaderAt, size int64, _ bool) error {
	all, err := io.ReadAll(io.NewSectionReader(data, 0, size))
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails("put", name) {
		return errStore
	}
	s.files[name] = string(all)
	s.puts = append(s.puts, name)
	s.check()
	return nil
}

func (s *store) Remove(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails("remove", name) {
		return errStore
	}
	delete(s.files, name)
	s.check()
	return nil
}

func (s *store) Sync(context.Context) error { return nil }

// check notes what the place's lists name and the place lacks.
func (s *store) check() {
	for name, data := range s.files {
		if !strings.HasSuffix(name, ".targets.json") {
			continue
		}
		for _, object := range strings.Split(data, "\n") {
			if _, found := s.files[object]; !found {
				s.lacking = append(s.lacking, fmt.Sprintf("%s names %s", name, object))
			}
		}
	}
}

// version is that of the list that players see; 0 without one.
func (s *store) version() (v int) {
	_, _ = fmt.Sscanf(s.files[places.Timestamp], `{"signed": {"version": %d}}`, &v)
	return v
}

// one counts calls of an operation, and fails from the nth on.
func one(operation, prefix string, n int) func(string, string) bool {
	return func(o, name string) bool {
		if o == operation && strings.HasPrefix(name, prefix) {
			n--
			return n < 0
		}
		return false
	}
}

func TestUpdateFailures(t *testing.T) {
	t.Parallel()
	steps := []struct {
		name string
		fail func() func(operation, name string) bool
		step places.Step
	}{
		{"the list can't be read", func() func(string, string) bool { return one("get", places.Timestamp, 0) }, places.StepLook},
		{"files can't be listed", func() func(string, string) bool { return one("list", "objects", 0) }, places.StepLook},
		{"before objects", func() func(string, string) bool { return one("put", "objects", 0) }, places.StepObjects},
		{"in the middle of objects", func() func(string, string) bool { return one("put", "objects", 1) }, places.StepObjects},
		{"heads", func() func(string, string) bool { return one("put", "releases", 0) }, places.StepHeads},
		{"lists", func() func(string, string) bool { return one("put", "metadata/2.", 0) }, places.StepLists},
		{"timestamp", func() func(string, string) bool { return one("put", places.Timestamp, 0) }, places.StepTimestamp},
		{"sequels", func() func(string, string) bool { return one("put", "sequels", 0) }, places.StepSequels},
		{"removal", func() func(string, string) bool { return one("remove", "objects", 0) }, places.StepRemoval},
	}
	for _, s := range steps {
		for _, quorum := range []int{0, 1, 2, 3} { // of 3; 0 is 2
			for broken := 1; broken <= 3; broken++ {
				for _, filled := range []bool{false, true} { // whether players have a list there
					if s.step == places.StepRemoval && !filled {
						continue // there is nothing to remove
					}
					t.Run(fmt.Sprintf("%s/quorum %d/%d broken/filled %v", s.name, quorum, broken, filled), func(t *testing.T) {
						t.Parallel()
						f := folder(t, files(2))
						var all []*store
						var outs []places.Place
						for i := range 3 {
							one := &store{name: fmt.Sprintf("place %d", i), files: map[string]string{}}
							if filled {
								one.files = files(1)
							}
							if i < broken { // the first ones, so that a timestamp that fails is the first to be written
								one.fail = s.fail()
							}
							all, outs = append(all, one), append(outs, one)
						}
						r, err := places.Update(t.Context(), f, outs, places.Options{Quorum: quorum, Remove: true})
						need := places.NeedOf(quorum, 3)
						met := 3-broken >= need
						if (err == nil) != met || r.Need != need {
							t.Fatalf("need %d, error %v", r.Need, err)
						}
						var lost *places.QuorumError
						if err != nil && (!errors.As(err, &lost) || !errors.Is(err, errStore)) {
							t.Errorf("error %v", err)
						}
						judge(t, s.step, met, broken, filled, all, r)
						for _, one := range all { // the same again brings all of them up to date
							one.fail = nil
						}
						r, err = places.Update(t.Context(), f, outs, places.Options{Quorum: quorum, Remove: true})
						if err != nil || slices.ContainsFunc(r.Places, func(p places.Result) bool { return p.Err != nil }) || len(r.Places) != 3 {
							t.Fatalf("again: %+v, %v", r, err)
						}
						for _, one := range all {
							if !maps.Equal(one.files, files(2)) {
								t.Errorf("again: %s has %v", one.name, slices.Sorted(maps.Keys(one.files)))
							}
						}
					})
				}
			}
		}
	}
}

// judge checks what the places have, and what the report says about them.
func judge(t *testing.T, step places.Step, met bool, broken int, filled bool, all []*store, r places.Report) {
	t.Helper()
	late := step == places.StepSequels || step == places.StepRemoval // the release is visible by then
	before := 0
	if filled {
		before = 1
	}
	for i, one := range all {
		p := r.Places[i]
		if len(one.lacking) > 0 {
			t.Errorf("%s: %v", one.name, one.lacking)
		}
		want := before
		if late || met && i >= broken {
			want = 2
		}
		if one.version() != want || p.Shown != (want == 2) {
			t.Errorf("%s: players see list %d (%v in the report), want %d", one.name, one.version(), p.Shown, want)
		}
		if (p.Err != nil) != (i < broken) && step != places.StepTimestamp || p.Err != nil && p.Failed != step {
			t.Errorf("%s: the report has %q: %v", one.name, p.Failed, p.Err)
		}
		if p.Known && p.Before != int64(before) || !p.Known && !errors.Is(p.Err, errStore) {
			t.Errorf("%s: the report has list %d before (%v)", one.name, p.Before, p.Known)
		}
	}
}

// TestUpdateTimestamps: if the quorum is missed by the last write itself, the places before it are ahead, and the report says so.
func TestUpdateTimestamps(t *testing.T) {
	t.Parallel()
	good, bad := &store{name: "good", files: files(1)}, &store{name: "bad", files: files(1), fail: one("put", places.Timestamp, 0)}
	r, err := places.Update(t.Context(), folder(t, files(2)), []places.Place{good, bad}, places.Options{})
	if err == nil || !strings.Contains(err.Error(), "collet release sync") || good.version() != 2 || bad.version() != 1 || !r.Places[0].Shown || r.Places[1].Shown || r.Places[1].Failed != places.StepTimestamp {
		t.Errorf("%d, %d: %+v, %v", good.version(), bad.version(), r, err)
	}
}

// TestUpdateOrder: no place gets a file of a step before all places have those of the step before.
func TestUpdateOrder(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var order []string
	var outs []places.Place
	for i := range 3 {
		outs = append(outs, &store{name: fmt.Sprint(i), files: map[string]string{}, fail: func(operation, name string) bool {
			mu.Lock()
			defer mu.Unlock()
			if operation == "put" {
				order = append(order, name)
			}
			return false
		}})
	}
	_, err := places.Update(t.Context(), folder(t, files(2)), outs, places.Options{})
	must(t, err)
	step := func(name string) int {
		if name == places.Timestamp {
			return 3
		}
		top, _, _ := strings.Cut(name, "/")
		return map[string]int{"objects": 0, "releases": 1, "metadata": 2, "sequels": 4}[top]
	}
	if !slices.IsSortedFunc(order, func(a, b string) int { return step(a) - step(b) }) || len(order) != 3*len(files(2)) {
		t.Errorf("order %v", order)
	}
}

// TestUpdateRefusesNewer: a place with a newer list stops the update everywhere, whatever the quorum.
func TestUpdateRefusesNewer(t *testing.T) {
	t.Parallel()
	old, newer := &store{name: "old", files: files(1)}, &store{name: "newer", files: files(3)}
	_, err := places.Update(t.Context(), folder(t, files(2)), []places.Place{old, newer}, places.Options{Quorum: 1})
	var found *places.NewerError
	if !errors.As(err, &found) || found.Place != "newer" || found.Theirs != 3 || len(old.puts)+len(newer.puts) > 0 {
		t.Errorf("%v; %v, %v", err, old.puts, newer.puts)
	}
}

// TestUpdateCanceled: after the end of the context it is the error, and nothing becomes visible.
func TestUpdateCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	one := &store{name: "one", files: files(1), fail: func(operation, name string) bool {
		if operation == "put" && strings.HasPrefix(name, "releases") {
			cancel()
		}
		return false
	}}
	if _, err := places.Update(ctx, folder(t, files(2)), []places.Place{one}, places.Options{}); !errors.Is(err, context.Canceled) || one.version() != 1 {
		t.Errorf("%v; list %d", err, one.version())
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	f := folder(t, files(2))
	one := &store{name: "one", files: files(1)}
	d, err := places.Compare(t.Context(), f, one)
	if err != nil || d.Version != 2 || d.Before != 1 || d.Files != 4 || d.Bytes == 0 { // two objects, a head, a list
		t.Errorf("%+v, %v", d, err)
	}
	if len(one.puts) > 0 {
		t.Errorf("it wrote %v", one.puts)
	}
}
