package operator_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/netproto/compat"
	"collet/netproto/server/operator"
	"collet/netproto/server/operator/storetest"
	"collet/platform/testlevel"
)

// stored opens a store in a folder of the test.
func stored(t testing.TB, path string) *operator.FileStore {
	t.Helper()
	s, err := operator.OpenStore(path, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// putValue writes a file.
func putValue(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// fill commits documents of the revisions from one to another, each with its record.
func fill(t testing.TB, s operator.Store, from, to uint64) {
	t.Helper()
	storetest.Fill(t, s, from, to)
}

func documentOf(n uint64) []byte { return storetest.Document(n) }

// closed closes a store, which must go well.
func closed(t testing.TB, s operator.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFileStore holds the file to the contract of every store. Its crash is a copy of the file at that moment.
func TestFileStore(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	storetest.Run(t, func(t testing.TB) func() (operator.Store, func()) {
		path := filepath.Join(t.TempDir(), "compat.db")
		return func() (operator.Store, func()) {
			s := stored(t, path)
			return s, func() {
				image := imageOf(t, path)
				path = filepath.Join(t.TempDir(), "compat.db")
				putValue(t, path, image)
				closed(t, s)
			}
		}
	})
}

// TestStoreIsOneServers refuses a second one in the same file.
func TestStoreIsOneServers(t *testing.T) {
	testlevel.Slow(t)
	path := filepath.Join(t.TempDir(), "compat.db")
	s := stored(t, path)
	defer closed(t, s)
	_, err := operator.OpenStore(path, zerolog.Nop())
	var fault *operator.StoreError
	if !errors.As(err, &fault) || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second one: %v", err)
	}
	_, err = operator.OpenStore(filepath.Join(t.TempDir(), "missing", "compat.db"), zerolog.Nop())
	if !errors.As(err, &fault) || fault.Backup != "" || !strings.Contains(err.Error(), "folder") {
		t.Errorf("without a folder: %v", err)
	}
}

// crash is a store's file before and after one commit.
type crash struct{ before, after []byte }

// crashed makes one.
func crashed(t testing.TB) crash {
	t.Helper()
	path := filepath.Join(t.TempDir(), "compat.db")
	s := stored(t, path)
	fill(t, s, 1, 3)
	if err := s.Raise("ann", 7); err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	before := imageOf(t, path)
	s = stored(t, path)
	fill(t, s, 4, 4)
	closed(t, s)
	return crash{before: before, after: imageOf(t, path)}
}

func imageOf(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// opens says which revision a file holds, or how it is refused. Anything between two revisions fails the test.
func opens(t testing.TB, image []byte) (revision int, fault error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "compat.db")
	putValue(t, path, image)
	s, err := operator.OpenStore(path, zerolog.Nop())
	if err != nil {
		return 0, err
	}
	defer closed(t, s)
	document, _, err := s.Settings()
	if err != nil {
		t.Fatal(err)
	}
	for n := uint64(3); n <= 4; n++ {
		if bytes.Equal(document, documentOf(n)) {
			log, head, err := s.Log()
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(log)
			if err != nil || head != n || bytes.Count(text, []byte("\n")) != int(n) || log.Close() != nil {
				t.Fatalf("revision %d with %d of %d records, %v", n, bytes.Count(text, []byte("\n")), head, err)
			}
			if floor, err := s.Floor("ann"); floor != 7 || err != nil {
				t.Fatalf("floor %d, %v", floor, err)
			}
			return int(n), nil
		}
	}
	t.Fatalf("neither revision: %.60s", document)
	return 0, nil
}

// TestT7PowerCut breaks a commit off at every moment: any part of the pages is on disk, in any order, before the page that makes them
// count is; that page is there in part; or it is there. What is found afterwards is all of the change or nothing of it.
func TestT7PowerCut(t *testing.T) {
	testlevel.Slow(t)
	c := crashed(t)
	page := os.Getpagesize()
	meta := 2 * page // the first two pages take turns in saying which ones count
	grown := append(bytes.Clone(c.before), make([]byte, max(len(c.after)-len(c.before), 0))...)
	var changed []int
	for at := meta; at < len(c.after); at += page {
		if !bytes.Equal(grown[at:at+page], c.after[at:at+page]) {
			changed = append(changed, at)
		}
	}
	if len(changed) < 3 {
		t.Fatalf("a commit changes %d pages", len(changed))
	}
	random := rand.New(rand.NewPCG(6, 2026))
	for round := range 40 {
		image := bytes.Clone(grown)
		for _, at := range changed {
			if random.IntN(2) == 0 || round == 0 {
				copy(image[at:at+page], c.after[at:at+page])
			}
		}
		if got, err := opens(t, image); got != 3 || err != nil {
			t.Fatalf("round %d: revision %d, %v", round, got, err)
		}
		copy(image[meta:], c.after[meta:])
		torn := random.IntN(page)
		for at := 0; at < meta; at += page {
			copy(image[at:at+torn], c.after[at:at+torn])
		}
		if got, err := opens(t, image); got != 3 && got != 4 || err != nil {
			t.Fatalf("round %d, torn at %d: revision %d, %v", round, torn, got, err)
		}
	}
	if got, err := opens(t, c.after); got != 4 || err != nil {
		t.Fatalf("after it all: revision %d, %v", got, err)
	}
}

// TestT7Damage changes a store's file in all kinds of places: either the damaged part is not needed, or the server does not start and says
// where a good copy is. Nothing else is ever served.
func TestT7Damage(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	c := crashed(t)
	random := rand.New(rand.NewPCG(6, 2026))
	refused := 0
	for range 150 {
		image := bytes.Clone(c.after)
		at := random.IntN(len(image))
		for i := range 1 + random.IntN(64) {
			if at+i < len(image) {
				image[at+i] ^= byte(1 + random.IntN(255))
			}
		}
		if _, err := opens(t, image); err != nil {
			refused++
		}
	}
	for cut := 0; cut < len(c.after); cut += 1777 {
		if cut == 0 {
			continue // an empty file is a new one
		}
		if _, err := opens(t, c.after[:cut]); err != nil {
			refused++
		}
	}
	if refused < 20 {
		t.Errorf("only %d were refused", refused)
	}
}

// TestT7B2 refuses a store that is damaged, gone or another one, names the copy, and starts from that.
func TestT7B2(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"damaged": func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("no store"), 4096), 0o600) },
		"cut":     func(path string) error { return os.Truncate(path, 5000) },
		"empty":   func(path string) error { return os.Truncate(path, 0) },
		"gone":    os.Remove,
	} {
		path := filepath.Join(t.TempDir(), "compat.db")
		if err := boot(t, path, declared(), operator.Options{}, func(o *operator.Operator) {
			change(t, o, func(s *compat.Settings) { s.ActiveMin = 6 })
		}); err != nil {
			t.Fatal(err)
		}
		if err := spoil(path); err != nil {
			t.Fatal(err)
		}
		_, err := operator.Open(path, declared(), operator.Options{}, zerolog.Nop())
		var fault *operator.StoreError
		if !errors.As(err, &fault) || fault.Backup != operator.Backup(path) || !strings.Contains(err.Error(), fault.Backup) {
			t.Fatalf("%s: %v", name, err)
		}
		if err := os.Rename(fault.Backup, path); err != nil {
			t.Fatal(err)
		}
		again, err := operator.Open(path, declared(), operator.Options{}, zerolog.Nop())
		if err != nil || again.Settings().ActiveMin != 6 {
			t.Fatalf("%s: from the copy: %v", name, err)
		}
		if n, err := again.Audit.Verify(); n != 2 || err != nil {
			t.Errorf("%s: %d records, %v", name, n, err)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestCopyIsReplacedWhole leaves no half of a copy behind that could be taken for one.
func TestCopyIsReplacedWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "compat.db")
	s := stored(t, path)
	fill(t, s, 1, 2)
	closed(t, s)
	putValue(t, operator.Backup(path)+".part", []byte("half of one"))
	s = stored(t, path)
	closed(t, s)
	if _, err := os.Stat(operator.Backup(path) + ".part"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the half is still there: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(operator.Backup(path), path); err != nil {
		t.Fatal(err)
	}
	s = stored(t, path)
	defer closed(t, s)
	if document, _, err := s.Settings(); !bytes.Equal(document, documentOf(2)) || err != nil {
		t.Errorf("the copy has %.40s, %v", document, err)
	}
}

// TestLostValuesAreNoticed takes a whole value out, which no checksum of values can tell.
func TestLostValuesAreNoticed(t *testing.T) {
	for _, bucket := range []string{"settings", "revisions", "audit", "floorsets"} {
		path := filepath.Join(t.TempDir(), "compat.db")
		s := stored(t, path)
		fill(t, s, 1, 3)
		if err := s.Raise("ann", 7); err != nil {
			t.Fatal(err)
		}
		closed(t, s)
		if err := operator.DropOne(path, bucket); err != nil {
			t.Fatal(err)
		}
		s, err := operator.OpenStore(path, zerolog.Nop())
		var fault *operator.StoreError
		if !errors.As(err, &fault) {
			t.Errorf("%s: opened, %v", bucket, err)
			closed(t, s)
		}
	}
}

// TestTamperedLog names the record that was changed behind the server's back.
func TestTamperedLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "compat.db")
	if err := boot(t, path, declared(), operator.Options{}, func(o *operator.Operator) {
		for low := int32(6); low <= 8; low++ {
			change(t, o, func(s *compat.Settings) { s.ActiveMin = low })
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := operator.Tamper(path, 2, []byte("a test"), []byte("no test")); err != nil {
		t.Fatal(err)
	}
	o, err := operator.Open(path, declared(), operator.Options{}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	records, err := o.Audit.Verify()
	var chain *compat.ChainError
	if !errors.As(err, &chain) || chain.Line != 2 {
		t.Errorf("verified %d records, %v", records, err)
	}
}

// TestCopyThatCantBeWritten is told of, and the change it was for holds all the same; at a start it is a reason to stop.
func TestCopyThatCantBeWritten(t *testing.T) {
	path, log := filepath.Join(t.TempDir(), "compat.db"), &bytes.Buffer{}
	s, err := operator.OpenStore(path, zerolog.New(log))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(operator.Backup(path)+".part", 0o700); err != nil { // in its way
		t.Fatal(err)
	}
	fill(t, s, 1, 1)
	closed(t, s)
	if text := log.String(); !strings.Contains(text, `"level":"error"`) || !strings.Contains(text, "copy of the compatibility store") {
		t.Errorf("the log has %s", text)
	}
	if _, err := operator.OpenStore(path, zerolog.Nop()); err == nil || !strings.Contains(err.Error(), "copy") {
		t.Errorf("a start without a copy: %v", err)
	}
	if err := os.Remove(operator.Backup(path) + ".part"); err != nil {
		t.Fatal(err)
	}
	s = stored(t, path)
	defer closed(t, s)
	if document, _, err := s.Settings(); err != nil || !bytes.Equal(document, documentOf(1)) {
		t.Errorf("%.40s, %v", document, err)
	}
}

// FuzzStoreFile walks anything as a store's file: it ends, and says so.
func FuzzStoreFile(f *testing.F) {
	path := filepath.Join(f.TempDir(), "compat.db")
	s := stored(f, path)
	fill(f, s, 1, 2)
	closed(f, s)
	image := imageOf(f, path)
	f.Add(image)
	f.Add(image[:len(image)/2])
	f.Add([]byte("no store"))
	f.Fuzz(func(t *testing.T, data []byte) {
		putValue(t, path, data)
		operator.Walk(path)
	})
}
