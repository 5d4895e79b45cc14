package netproto_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/platform/testlevel"
)

// manyManifest has n components, whose names have length bytes.
func manyManifest(t testing.TB, n, length int) *compat.Manifest {
	t.Helper()
	m := &compat.Manifest{Mode: compat.ManifestFull, Build: compat.Build{Logic: 7}}
	for i := range n {
		m.Entries = append(m.Entries, compat.Entry{Name: fmt.Sprintf("%0*d", length, i), WireID: uint16(i), Hash: uint64(i) + 1})
	}
	if err := m.Seal(); err != nil {
		t.Fatal(err)
	}
	return m
}

// shown is the message that shows m in a mode.
func shown(t testing.TB, m *compat.Manifest, mode compat.ManifestMode) *netproto.ComponentManifest {
	t.Helper()
	message, err := netproto.NewComponentManifest(m, mode)
	if err != nil {
		t.Fatal(err)
	}
	return message
}

// TestManifestMessage sends a manifest in every mode, in both directions, and checks the received part.
func TestManifestMessage(t *testing.T) {
	original := serverManifest()
	for _, mode := range []compat.ManifestMode{compat.ManifestNone, compat.ManifestHashes, compat.ManifestFull} {
		want := original.As(mode)
		data := frame(t, netproto.C1, shown(t, original, mode))
		m, err := clientConn(t, netproto.C1, data, nil).Read()
		if err != nil {
			t.Fatal(err)
		}
		got := m.(*netproto.ComponentManifest).Manifest
		if len(got.Entries) == 0 {
			got.Entries = nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", mode, got, want)
		}
		for _, name := range []string{"Camera", "Wallet"} {
			if leaks := bytes.Contains(data, []byte(name)); leaks != (mode == compat.ManifestFull) {
				t.Errorf("%s: the name %s is in the message: %t", mode, name, leaks)
			}
		}
		conn := serverConn(append(frame(t, netproto.C1, hello(netproto.C1)), data...), nil)
		if messages := readAll(t, conn); len(messages) != 2 || messages[1].ID() != netproto.IDComponentManifest {
			t.Errorf("%s: a server reads %+v", mode, messages)
		}
	}
	if !reflect.DeepEqual(original, serverManifest()) {
		t.Error("the manifest was changed")
	}
	bare := &compat.Manifest{Build: compat.Build{Components: compat.SetHash(nil)}} // a manifest without a mode tells everything
	if m := shown(t, bare, compat.ManifestFull); m.Manifest.Mode != compat.ManifestFull {
		t.Errorf("mode %q", m.Manifest.Mode)
	}
}

// TestManifestLimits covers the largest manifests, and those that are larger.
func TestManifestLimits(t *testing.T) {
	testlevel.Slow(t)
	all := manyManifest(t, compat.MaxEntries, 30)
	if m := shown(t, all, compat.ManifestFull); m.Manifest.Mode != compat.ManifestFull || len(frame(t, netproto.C1, m)) > compat.MaxManifest+9 {
		t.Errorf("%d entries in mode %s", len(m.Manifest.Entries), m.Manifest.Mode)
	}
	long := shown(t, manyManifest(t, compat.MaxEntries, 100), compat.ManifestFull)
	if data := frame(t, netproto.C1, long); long.Manifest.Mode != compat.ManifestHashes || len(long.Manifest.Entries) != compat.MaxEntries || len(data) > compat.MaxManifest+9 {
		t.Errorf("%d entries with long names in mode %s, %d bytes", len(long.Manifest.Entries), long.Manifest.Mode, len(data))
	} else if m, err := clientConn(t, netproto.C1, data, nil).Read(); err != nil || !reflect.DeepEqual(m, long) {
		t.Errorf("read: %v", err)
	}
	var fault *netproto.FormatError
	var broken *compat.ManifestError
	unsorted := serverManifest()
	slices.Reverse(unsorted.Entries)
	if _, err := netproto.NewComponentManifest(unsorted, compat.ManifestFull); !errors.As(err, &broken) || errors.As(err, &fault) {
		t.Errorf("an unsorted one of our own: %v", err)
	}
	more := manyManifest(t, compat.MaxEntries, 4)
	more.Entries = append(more.Entries, compat.Entry{Name: "x", WireID: 5000, Hash: 1})
	if _, err := netproto.NewComponentManifest(more, compat.ManifestFull); err == nil {
		t.Error("4097 components can be shown")
	}
}

// TestManifestFrameCap declares messages around the cap without data: above it nothing is allocated.
func TestManifestFrameCap(t *testing.T) {
	for size, text := range map[int]string{compat.MaxManifest: "EOF", compat.MaxManifest + 1: "262145 is above the limit of 262144", 1 << 20: "above the limit"} {
		input := rawFrame(netproto.IDComponentManifest, "\x02")
		binary.LittleEndian.PutUint32(input[4:], uint32(size+9))
		var err error
		cost := allocated(func() { _, err = clientConn(t, netproto.C1, input, nil).Read() })
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%d bytes: %v", size, err)
		}
		if cost > smallCost {
			t.Errorf("%d bytes allocated for a frame that declares %d", cost, size)
		}
	}
}

// TestManifestCountCostsNothing declares components without data: nothing is allocated.
func TestManifestCountCostsNothing(t *testing.T) {
	cost := func(count int) uint64 {
		input := rawFrame(netproto.IDComponentManifest, manifestBody(2, serverSet, count))
		return allocated(func() { _, _ = clientConn(t, netproto.C1, input, nil).Read() })
	}
	if none, many := cost(0), cost(compat.MaxEntries); many > none+16<<10 {
		t.Errorf("%d bytes allocated for components that are only declared, %d for none", many, none)
	}
}

// manifestBody is the body of a message with entries as they are given, in the order and with the count that is given.
func manifestBody(mode byte, set uint64, count int, entries ...string) string {
	body := append([]byte{mode}, binary.LittleEndian.AppendUint32(nil, 7)...)
	body = binary.LittleEndian.AppendUint64(body, set)
	body = append(body, make([]byte, 8+8+4+4)...)
	body = binary.LittleEndian.AppendUint16(body, uint16(count))
	return string(body) + strings.Join(entries, "")
}

// entryBody is one entry with a name.
func entryBody(name string, id uint16, hash uint64) string {
	body := binary.LittleEndian.AppendUint32(nil, uint32(len(name)))
	body = binary.LittleEndian.AppendUint16(append(body, name...), id)
	body = binary.LittleEndian.AppendUint64(body, hash)
	return string(append(body, make([]byte, 8+4)...))
}

// TestManifestFaults covers manifests that no correct peer sends.
func TestManifestFaults(t *testing.T) {
	camera, wallet := entryBody("Camera", 1, cameraHash), entryBody("Wallet", 2, walletHash)
	empty := compat.SetHash(nil)
	head := manifestBody(2, serverSet, 0)
	head = head[:len(head)-2]
	tests := []struct{ name, body, text string }{
		{"an unknown mode", manifestBody(3, empty, 0), "3 is unknown"},
		{"unsorted", manifestBody(2, serverSet, 2, wallet, camera), "before its place"},
		{"twice", manifestBody(2, serverSet, 2, camera, camera), "twice"},
		{"one id twice", manifestBody(2, serverSet, 2, camera, entryBody("Wallet", 1, walletHash)), "its id 1 is that of Camera"},
		{"no hash", manifestBody(2, serverSet, 1, entryBody("Camera", 1, 0)), "has no hash"},
		{"no name", manifestBody(2, serverSet, 1, entryBody("", 1, 5)), "1 to 128 bytes"},
		{"a name that is none", manifestBody(2, serverSet, 1, entryBody("Cam\nera", 1, 5)), "is no name"},
		{"a long name", manifestBody(2, serverSet, 1, entryBody(strings.Repeat("x", 129), 1, 5)), "129 is above the limit of 128"},
		{"another hash over all", manifestBody(2, clientSet, 2, camera, wallet), "the entries have 4c37681f163b1204"},
		{"components without being told", manifestBody(0, serverSet, 1, camera), "none are told"},
		{"too many", manifestBody(2, serverSet, 4097), "4097 is above the limit of 4096"},
		{"fewer than declared", manifestBody(2, serverSet, 3, camera, wallet), "beyond the end"},
		{"more than declared", manifestBody(2, compat.SetHash([]compat.Entry{{Name: "Camera", WireID: 1, Hash: cameraHash}}), 1, camera, wallet), "left over"},
		{"no count", head, "beyond the end"},
		{"names among hashes", manifestBody(1, serverSet, 2, camera, wallet), ""},
		{"a long build id", "\x02" + strings.Repeat("\x00", 4+8+8+8) + "\x41\x00\x00\x00" + strings.Repeat("i", 65), "65 is above the limit of 64"},
		{"nothing", "", "beyond the end"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			data := rawFrame(netproto.IDComponentManifest, test.body)
			_, err := clientConn(t, netproto.C1, data, nil).Read()
			wantFault(t, err, netproto.IDComponentManifest, test.text)
			server := serverConn(append(frame(t, netproto.C1, hello(netproto.C1)), data...), nil)
			if _, err := server.Read(); err != nil {
				t.Fatal(err)
			}
			_, err = server.Read()
			wantFault(t, err, netproto.IDComponentManifest, test.text)
		})
	}
	if _, err := clientConn(t, netproto.C1, rawFrame(netproto.IDComponentManifest, manifestBody(2, serverSet, 2, camera, wallet)), nil).Read(); err != nil {
		t.Errorf("the one that they are made of: %v", err)
	}
}

// TestManifestsAreOfC1 passes over the message in the engine's generations, where its number means something else or nothing.
func TestManifestsAreOfC1(t *testing.T) {
	for _, g := range []netproto.Generation{netproto.G1, netproto.G2a, netproto.G2b} {
		if err := clientConn(t, g, nil, nil).Write(shown(t, clientManifest(), compat.ManifestFull)); err == nil {
			t.Errorf("%v: written", g)
		}
		m, err := clientConn(t, g, frame(t, netproto.C1, shown(t, serverManifest(), compat.ManifestFull)), nil).Read()
		if _, unknown := m.(*netproto.Unknown); err != nil || !unknown {
			t.Errorf("%v: read %+v, %v", g, m, err)
		}
	}
}

// TestDifferencesTravel sends random manifests to both ends: both find the same differences, whatever the mode, with the
// same names if the mode includes them.
func TestDifferencesTravel(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 5))
	for range 200 {
		server, client := randomManifest(t, random), randomManifest(t, random)
		for _, mode := range []compat.ManifestMode{compat.ManifestFull, compat.ManifestHashes, compat.ManifestNone} {
			toClient := travel(t, shown(t, server, mode))
			toServer := travel(t, shown(t, client, toClient.Mode))
			atClient, atServer := compat.DiffManifests(toClient, client), compat.DiffManifests(server, toServer)
			if mode == compat.ManifestFull && !reflect.DeepEqual(atClient, atServer) {
				t.Fatalf("the client finds\n%+v\nthe server\n%+v", atClient, atServer)
			}
			s1, c1, m1, r1 := atClient.Counts()
			if s2, c2, m2, r2 := atServer.Counts(); [4]int{s1, c1, m1, r1} != [4]int{s2, c2, m2, r2} || atClient.Unchanged != atServer.Unchanged || atClient.Untold != (mode == compat.ManifestNone) {
				t.Fatalf("%s: the client counts %d %d %d %d, the server %d %d %d %d", mode, s1, c1, m1, r1, s2, c2, m2, r2)
			}
		}
	}
}

// randomManifest has some of twenty components, each in one of two shapes and under one of two ids.
func randomManifest(t *testing.T, random *rand.Rand) *compat.Manifest {
	t.Helper()
	m := &compat.Manifest{Mode: compat.ManifestFull, Build: compat.Build{Logic: random.Int32N(3) + 6, Time: random.Int64N(3) * 86400, Branch: "main"}}
	for i := range 20 {
		if random.IntN(4) > 0 {
			m.Entries = append(m.Entries, compat.Entry{
				Name: fmt.Sprintf("C%d", i), WireID: uint16(i + 20*random.IntN(2)), Hash: uint64(1 + random.IntN(2)), ChangedAt: random.Int64N(3), Since: random.Int32N(9),
			})
		}
	}
	if err := m.Seal(); err != nil {
		t.Fatal(err)
	}
	return m
}

// travel is what arrives of a manifest.
func travel(t *testing.T, m *netproto.ComponentManifest) *compat.Manifest {
	t.Helper()
	got, err := clientConn(t, netproto.C1, frame(t, netproto.C1, m), nil).Read()
	if err != nil {
		t.Fatal(err)
	}
	return &got.(*netproto.ComponentManifest).Manifest
}
