package compat_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"collet/netproto/compat"
)

// The vectors of docs/COMPATIBILITY.md.
const (
	cameraForm = `(component "Camera" (prop 1 "Pos" (named "Vec" (struct (f 1 "X" f32) (f 2 "Y" f32)))) (prop 2 "FOV" f32) (rpc 1 "Shake" client reliable (arg 1 "Amount" f32)))`
	camera     = 0xa64fc12a8e0c1b84
	camera64   = 0xdf1301673469e89d
	wallet     = 0x344f237d92ca82f0
)

func entry(name string, id uint16, hash uint64) compat.Entry {
	return compat.Entry{Name: name, WireID: id, Hash: hash}
}

// TestT2Vectors holds the hashes to the numbers that other implementations have.
func TestT2Vectors(t *testing.T) {
	for _, row := range []struct {
		form string
		want uint64
	}{
		{cameraForm, camera},
		{strings.NewReplacer(`"X" f32`, `"X" f64`, `"Y" f32`, `"Y" f64`).Replace(cameraForm), camera64},
		{`(component "Wallet" (prop 1 "Gold" i64))`, wallet},
	} {
		if got := compat.ComponentHash(row.form); got != row.want {
			t.Errorf("%s: %016x, want %016x", row.form, got, row.want)
		}
	}
	for _, row := range []struct {
		name string
		set  []compat.Entry
		want uint64
	}{
		{"empty", nil, 0x30cc2710ed48aa5c},
		{"camera, wallet", []compat.Entry{entry("Camera", 1, camera), entry("Wallet", 2, wallet)}, 0x4c37681f163b1204},
		{"wallet, camera", []compat.Entry{entry("Wallet", 2, wallet), entry("Camera", 1, camera)}, 0x4c37681f163b1204},
		{"other ids", []compat.Entry{entry("Camera", 2, camera), entry("Wallet", 1, wallet)}, 0x7edb58535afb9fcf},
		{"another camera", []compat.Entry{entry("Camera", 1, camera64), entry("Wallet", 2, wallet)}, 0x536c49c90dc3ebf0},
	} {
		before := slices.Clone(row.set)
		if got := compat.SetHash(row.set); got != row.want {
			t.Errorf("%s: %016x, want %016x", row.name, got, row.want)
		}
		if !slices.Equal(before, row.set) {
			t.Errorf("%s: the set was changed to %v", row.name, row.set)
		}
	}
	if compat.Derived(7, 0x4c37681f163b1204) != "L7-4c37681f163b1204" {
		t.Error("the derived version is written differently")
	}
}

// TestSetHashOrder checks the hash over random sets in random orders, and that dates and logic versions don't enter it.
func TestSetHashOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 1))
	for range 50 {
		set := make([]compat.Entry, 1+random.IntN(40))
		for i := range set {
			set[i] = entry(fmt.Sprintf("C%d", i), uint16(i), random.Uint64())
		}
		want := compat.SetHash(set)
		random.Shuffle(len(set), func(i, j int) { set[i], set[j] = set[j], set[i] })
		set[0].ChangedAt, set[0].Since = random.Int64(), 4
		if got := compat.SetHash(set); got != want {
			t.Fatalf("%016x in one order, %016x in another", want, got)
		}
		set[0].WireID += 100
		if compat.SetHash(set) == want {
			t.Fatal("an id does not count")
		}
	}
}

// sealed is a manifest of entries, with everything told.
func sealed(t *testing.T, build compat.Build, entries ...compat.Entry) *compat.Manifest {
	t.Helper()
	m := &compat.Manifest{Mode: compat.ManifestFull, Build: build, Entries: entries}
	if err := m.Seal(); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestManifestCheck is the table of what no honest end sends.
func TestManifestCheck(t *testing.T) {
	good := sealed(t, compat.Build{Logic: 7}, entry("Wallet", 2, wallet), entry("Camera", 1, camera))
	if good.Entries[0].Name != "Camera" || good.Build.Components != 0x4c37681f163b1204 {
		t.Fatalf("sealed to %+v", good)
	}
	hashes := good.As(compat.ManifestHashes)
	if err := hashes.Check(); err != nil {
		t.Fatal(err)
	}
	many := make([]compat.Entry, compat.MaxEntries+1)
	tests := []struct {
		name   string
		base   *compat.Manifest
		change func(m *compat.Manifest)
		want   string
	}{
		{"unsorted", good, func(m *compat.Manifest) { slices.Reverse(m.Entries) }, "before its place"},
		{"twice", good, func(m *compat.Manifest) { m.Entries[1] = m.Entries[0]; m.Entries[1].WireID = 9 }, "there twice"},
		{"one id", good, func(m *compat.Manifest) { m.Entries[1].WireID = 1 }, "its id 1 is that of Camera"},
		{"no hash", good, func(m *compat.Manifest) { m.Entries[1].Hash = 0 }, "it has no hash"},
		{"no name", good, func(m *compat.Manifest) { m.Entries[0].Name = "" }, "a name has 1 to 128 bytes"},
		{"long name", good, func(m *compat.Manifest) { m.Entries[0].Name = strings.Repeat("a", 129) }, "this one has 129"},
		{"bad name", good, func(m *compat.Manifest) { m.Entries[0].Name = "Ca mera" }, "is no name"},
		{"name and hash of it", good, func(m *compat.Manifest) { m.Entries[0].NameHash = 5 }, "not told in the way"},
		{"another set", good, func(m *compat.Manifest) { m.Entries[0].Hash++ }, "is told, but the entries have"},
		{"mode", good, func(m *compat.Manifest) { m.Mode = "some" }, `"some" is not none, hashes or full`},
		{"none with entries", good, func(m *compat.Manifest) { m.Mode = compat.ManifestNone }, "none are told"},
		{"too many", good, func(m *compat.Manifest) { m.Entries = many }, "4097 are more than 4096"},
		{"build id", good, func(m *compat.Manifest) { m.Build.ID = strings.Repeat("a", 65) }, "65 bytes are more than 64"},
		{"branch", good, func(m *compat.Manifest) { m.Build.Branch = strings.Repeat("a", 33) }, "33 bytes are more than 32"},
		{"hashes, unsorted", &hashes, func(m *compat.Manifest) { slices.Reverse(m.Entries) }, "before its place"},
		{"hashes with a name", &hashes, func(m *compat.Manifest) { m.Entries[0].Name = "Camera" }, "not told in the way"},
		{"hashes without", &hashes, func(m *compat.Manifest) { m.Entries[0].NameHash = 0 }, "not told in the way"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := *test.base
			m.Entries = slices.Clone(m.Entries)
			test.change(&m)
			var broken *compat.ManifestError
			if err := m.Check(); !errors.As(err, &broken) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
	empty := compat.Manifest{Build: compat.Build{Components: compat.SetHash(nil)}}
	if err := empty.Check(); err != nil {
		t.Errorf("a program without components: %v", err)
	}
	if err := (&compat.Manifest{Mode: compat.ManifestNone, Build: compat.Build{Components: 5}}).Check(); err != nil {
		t.Errorf("a server that tells only its build: %v", err)
	}
}

// TestManifestAs checks that a mode never tells more than it says, whatever it is made from, and leaves the source alone.
func TestManifestAs(t *testing.T) {
	full := sealed(t, compat.Build{Logic: 7, ID: "x"}, entry("Camera", 1, camera), entry("Wallet", 2, wallet), entry("Mailbox", 3, 7))
	before := slices.Clone(full.Entries)
	modes := []compat.ManifestMode{compat.ManifestNone, compat.ManifestHashes, compat.ManifestFull}
	for from, source := range modes {
		for to, asked := range modes {
			start := full.As(source)
			got := start.As(asked)
			if want := modes[min(from, to)]; got.Mode != want {
				t.Errorf("%s as %s is %s, want %s", source, asked, got.Mode, want)
			}
			if err := got.Check(); err != nil {
				t.Errorf("%s as %s: %v", source, asked, err)
			}
			if text := fmt.Sprintf("%+v", got); got.Mode != compat.ManifestFull && strings.Contains(text, "Camera") {
				t.Errorf("%s as %s tells a name: %s", source, asked, text)
			}
			if got.Build != full.Build {
				t.Errorf("%s as %s has another build", source, asked)
			}
		}
	}
	if !slices.Equal(before, full.Entries) {
		t.Error("the source was changed")
	}
}

// TestManifestFile checks that a file is the manifest, that one manifest has one file, and what is refused.
func TestManifestFile(t *testing.T) {
	m := sealed(t, compat.Build{Logic: 7, Time: 1772460300, Seq: 841, ID: "abc", Branch: "main"},
		compat.Entry{Name: "Camera", WireID: 1, Hash: camera, ChangedAt: 1770802200, Since: 6}, entry("Wallet", 2, wallet))
	data, err := compat.EncodeManifest(m)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
  "logic": 7,
  "set_hash": "4c37681f163b1204",
  "build": {
    "time": 1772460300,
    "seq": 841,
    "id": "abc",
    "branch": "main"
  },
  "components": [
    {
      "name": "Camera",
      "id": 1,
      "hash": "a64fc12a8e0c1b84",
      "changed_at": 1770802200,
      "since": 6
    },
    {
      "name": "Wallet",
      "id": 2,
      "hash": "344f237d92ca82f0"
    }
  ]
}
`
	if string(data) != want {
		t.Errorf("the file is\n%s", data)
	}
	back, err := compat.ParseManifest(data)
	if err != nil || back.Build != m.Build || !slices.Equal(back.Entries, m.Entries) || back.Mode != compat.ManifestFull {
		t.Errorf("%v; back came %+v", err, back)
	}
	for name, broken := range map[string]string{
		"unknown key":   strings.Replace(want, `"logic"`, `"logik"`, 1),
		"two documents": want + want,
		"upper case":    strings.Replace(want, "a64fc12a8e0c1b84", "A64FC12A8E0C1B84", 1),
		"short hash":    strings.Replace(want, "4c37681f163b1204", "4c37681f163b120", 1),
		"another set":   strings.Replace(want, "4c37681f163b1204", "4c37681f163b1205", 1),
		"big id":        strings.Replace(want, `"id": 1,`, `"id": 65536,`, 1),
		"twice":         strings.Replace(want, `"Wallet"`, `"Camera"`, 1),
		"nothing":       "",
		"too long":      want + strings.Repeat(" ", compat.MaxManifestFile),
	} {
		var fault *compat.ManifestError
		if _, err := compat.ParseManifest([]byte(broken)); !errors.As(err, &fault) {
			t.Errorf("%s: %v", name, err)
		}
	}
	hashed := m.As(compat.ManifestHashes)
	if _, err := compat.EncodeManifest(&hashed); err == nil {
		t.Error("a manifest without names became a file")
	}
	m.Entries[0].Hash++
	if _, err := compat.EncodeManifest(m); err == nil {
		t.Error("a manifest with a wrong hash became a file")
	}
}

// FuzzParseManifest checks that no bytes are taken that don't come out as a manifest again.
func FuzzParseManifest(f *testing.F) {
	m := &compat.Manifest{Build: compat.Build{Logic: 7}, Entries: []compat.Entry{entry("Camera", 1, camera), entry("Wallet", 2, wallet)}}
	if err := m.Seal(); err != nil {
		f.Fatal(err)
	}
	seed, err := compat.EncodeManifest(m)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte(`{"logic":-1,"set_hash":"30cc2710ed48aa5c","components":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := compat.ParseManifest(data)
		if err != nil {
			return
		}
		again, err := compat.EncodeManifest(&m)
		if err != nil {
			t.Fatalf("taken, but can't be written: %v", err)
		}
		if back, err := compat.ParseManifest(again); err != nil || !slices.Equal(back.Entries, m.Entries) || back.Build != m.Build {
			t.Fatalf("%v: %+v became %+v", err, m, back)
		}
	})
}
