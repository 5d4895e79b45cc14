package publish_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"collet/build/publish"
	"collet/build/publish/places"
	"collet/build/publish/upload/uploadtest"
	"collet/platform"
	"collet/platform/testwait"
)

// updatePlace brings one place up to date with the fixture's folder.
func (s *fixture) updatePlace(to places.Place, remove bool) (sum places.Result) {
	s.t.Helper()
	s.with(func(f *publish.Folder) (err error) {
		sum, err = updatePlaceOf(context.Background(), f, to, remove)
		return err
	})
	return sum
}

// updatePlaceOf brings one place up to date.
func updatePlaceOf(ctx context.Context, f *publish.Folder, to places.Place, remove bool) (places.Result, error) {
	r, err := f.UpdatePlaces(ctx, []places.Place{to}, places.Options{Remove: remove})
	if err != nil {
		return places.Result{}, err
	}
	return r.Places[0], nil
}

func TestUpdateAFolder(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.set("Keep = 10", "Keep = 1")
	s.publish(game(t, small(1)), publish.Request{})
	web := openDir(t, t.TempDir())
	out := publish.FolderPlace(web)
	if sum := s.updatePlace(out, false); sum.Files == 0 {
		t.Errorf("%+v", sum)
	}
	readWeb := func(n int) {
		t.Helper()
		r, err := s.read(web, query("stable", linux, 0))
		must(t, err)
		got, err := r.files(web)
		must(t, errors.Join(err, same(got, small(n).setOf(linux))))
	}
	readWeb(1)
	if sum := s.updatePlace(out, false); sum.Files != 0 {
		t.Errorf("again: %+v", sum)
	}
	for _, name := range []string{publish.SettingsFile, ".collet", "Resources"} {
		if _, err := web.Lstat(name); err == nil {
			t.Errorf("%s is in the other place", name)
		}
	}
	s.publish(game(t, small(2)), publish.Request{})
	s.updatePlace(out, false)
	readWeb(2)
	s.with(func(f *publish.Folder) error {
		plan, err := f.PlanCollect(context.Background(), 0)
		if err != nil {
			return err
		}
		return f.Collect(context.Background(), plan, s.keys.online())
	})
	if sum := s.updatePlace(out, true); sum.Removed == 0 {
		t.Errorf("after gc: %+v", sum)
	}
	readWeb(2)

	other := newFixture(t) // another publisher's folder, with fewer versions
	f := other.open()
	defer f.Close()
	if _, err := updatePlaceOf(context.Background(), f, out, false); err == nil || !strings.Contains(err.Error(), "another publisher writes there") {
		t.Errorf("over a newer one: %v", err)
	}
}

func TestMirrorOrder(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.publish(game(t, small(1)), publish.Request{})
	log := &loggedPlace{Place: publish.FolderPlace(memory(t))}
	s.updatePlace(log, false)
	stage := 0
	for _, name := range log.names {
		now := map[string]int{"objects": 0, "releases": 1, "metadata": 2, "sequels": 4}[strings.Split(name, "/")[0]]
		if name == "metadata/timestamp.json" {
			now = 3
		}
		if now < stage {
			t.Fatalf("%s comes too late in %v", name, log.names)
		}
		stage = now
	}
	if stage != 4 || log.settled < 4 {
		t.Errorf("stage %d, settled %d times", stage, log.settled)
	}
	// It stops anywhere: readers of the other place see nothing, or all of it.
	for k := range len(log.names) {
		web := memory(t)
		broken := &loggedPlace{Place: publish.FolderPlace(web), fail: k + 1}
		f := s.open()
		if _, err := updatePlaceOf(context.Background(), f, broken, false); !errors.Is(err, errCut) {
			t.Errorf("cut at %d: %v", k, err)
		}
		must(t, f.Close())
		visible := slices.Contains(log.names[:k], "metadata/timestamp.json") // then only sequels are missing
		if r, err := s.read(web, query("stable", linux, 0)); (err == nil) != visible {
			t.Errorf("cut at %d: a reader sees release %d", k, r.Number)
		}
		s.updatePlace(publish.FolderPlace(web), false)
		if _, err := s.read(web, query("stable", linux, 0)); err != nil {
			t.Errorf("cut at %d and done again: %v", k, err)
		}
	}
}

var errCut = errors.New("the line was cut")

// loggedPlace notes what is written, and fails from one write on.
type loggedPlace struct {
	places.Place
	mu      sync.Mutex
	names   []string
	settled int
	fail    int
}

func (l *loggedPlace) Put(ctx context.Context, name string, data io.ReaderAt, size int64, lasting bool) error {
	l.mu.Lock()
	l.names = append(l.names, name)
	cut := l.fail > 0 && len(l.names) >= l.fail
	l.mu.Unlock()
	if cut {
		return errCut
	}
	return l.Place.Put(ctx, name, data, size, lasting)
}

func (l *loggedPlace) Sync(ctx context.Context) error {
	l.settled++
	return l.Place.Sync(ctx)
}

// downloaded copies a bucket to a folder, so that a reader can be let loose on it.
func downloaded(t *testing.T, out places.Place) platform.FS {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{"objects", "releases", "metadata"} {
		list, err := out.List(context.Background(), folder)
		must(t, err)
		for name, size := range list {
			data, err := out.Get(context.Background(), name, size)
			must(t, err)
			writeTree(t, dir, tree{name: string(data)})
		}
	}
	return openDir(t, dir)
}

// holds publishes to a bucket in steps, and reads it back.
func (s *fixture) holds(address string, env map[string]string) {
	t := s.t.(*testing.T)
	t.Helper()
	out, closer, err := publish.OpenPlace(address, func(name string) string { return env[name] }, unnoticed(t))
	must(t, err)
	defer closer.Close()
	big := noise(1, 1_000_000)
	for n := 1; n <= 2; n++ {
		g := small(n).with(tree{"Resources/Big.zip": big[n:]})
		s.publish(game(t, g), publish.Request{})
		sum := s.updatePlace(out, n == 2)
		if sum.Files == 0 {
			t.Errorf("%+v", sum)
		}
		web := downloaded(t, out)
		r, err := s.read(web, query("stable", linux, 0))
		must(t, err)
		got, err := r.files(web)
		must(t, errors.Join(err, same(got, g.setOf(linux))))
	}
	if sum := s.updatePlace(out, true); sum.Files+sum.Removed != 0 {
		t.Errorf("again: %+v", sum)
	}
	if err := out.Remove(context.Background(), "metadata/timestamp.json"); err != nil {
		t.Errorf("remove: %v", err)
	}
	if _, err := out.Get(context.Background(), "metadata/timestamp.json", 100); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what is gone: %v", err)
	}
}

func TestMirrorToABucket(t *testing.T) {
	t.Parallel()
	fake := uploadtest.NewS3(t.Cleanup)
	s := newFixture(t)
	address := "s3://games/lathe?insecure=true&region=us-east-1&endpoint=" + fake.Host
	env := map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
	s.holds(address, env)
	for name, o := range fake.Objects() {
		want := "public, max-age=31536000, immutable"
		if strings.HasSuffix(name, "timestamp.json") || strings.HasSuffix(name, ".sequel") {
			want = "max-age=0, s-maxage=30, stale-while-revalidate=60, stale-if-error=86400"
		}
		if o.Cache != want || !strings.HasPrefix(name, "lathe/") {
			t.Errorf("%s: %q", name, o.Cache)
		}
	}
}

func TestBucketFaultsAreNamed(t *testing.T) {
	t.Parallel()
	fake := uploadtest.NewS3(t.Cleanup)
	env := map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
	for address, want := range map[string]string{
		"s3://":                    "no address of a bucket",
		"s3://games/x?endpont=a":   "not known",
		"s3://u:p@games/x":         "no address of a bucket",
		"s3://games/?endpoint=a b": "open",
	} {
		if _, _, err := publish.OpenPlace(address, func(name string) string { return env[name] }, unnoticed(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
	address := "s3://nowhere/?insecure=true&region=us-east-1&endpoint=" + fake.Host
	if _, _, err := publish.OpenPlace(address, func(string) string { return "" }, unnoticed(t)); err == nil || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
		t.Errorf("no credentials: %v", err)
	}
	out, _, err := publish.OpenPlace(address, func(name string) string { return env[name] }, unnoticed(t))
	must(t, err)
	if _, err := out.List(context.Background(), "objects"); err == nil || !strings.Contains(err.Error(), "make the bucket first") {
		t.Errorf("no bucket: %v", err)
	}
}

// TestMirrorToARealStore starts versitygw, a real S3 server on a folder, if it is installed: COLLET_S3_SERVER names it, or it
// is on the path (go install github.com/versity/versitygw/cmd/versitygw@latest).
func TestMirrorToARealStore(t *testing.T) {
	t.Parallel()
	program := os.Getenv("COLLET_S3_SERVER")
	if program == "" {
		var err error
		if program, err = exec.LookPath("versitygw"); err != nil {
			t.Skip("no S3 server: install versitygw or name it in COLLET_S3_SERVER")
		}
	}
	root := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(root, "games"), 0o755))
	at := testwait.FreeAddress(t)
	server := exec.Command(program, "--access", "key", "--secret", "secretsecret", "--port", at, "posix", root)
	var log bytes.Buffer
	server.Stdout, server.Stderr = &log, &log
	must(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		if t.Failed() {
			t.Logf("%s", log.Bytes())
		}
	})
	waitFor(t, "http://"+at)
	s := newFixture(t)
	s.holds("s3://games/lathe?insecure=true&region=us-east-1&endpoint="+at, map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secretsecret"})
}

// waitFor returns when a server answers. Another program's start has no event to wait for, so it is asked again and again.
func waitFor(t *testing.T, address string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	testwait.Until(t, func() bool {
		answer, err := client.Get(address)
		if err == nil {
			must(t, answer.Body.Close())
		}
		return err == nil
	}, "the store starts")
}
