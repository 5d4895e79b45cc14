package compat_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"collet/netproto/compat"
)

// unchecked makes a manifest of bytes, as no honest end would: unsorted, names twice or hashed or both, ids twice.
func unchecked(data []byte) compat.Manifest {
	take := func(n int) []byte {
		n = min(n, len(data))
		piece := data[:n]
		data = data[n:]
		return piece
	}
	number := func() (n int64) {
		for _, b := range take(2) {
			n = n<<8 | int64(b)
		}
		return n - 1<<14
	}
	m := compat.Manifest{Mode: []compat.ManifestMode{"", compat.ManifestFull, compat.ManifestHashes, compat.ManifestNone}[uint64(number())%4]}
	m.Build = compat.Build{Logic: int32(number()), Components: uint64(number()), Time: number() << 40, Seq: uint64(number()), ID: string(take(3)), Branch: string(take(1))}
	for len(data) > 0 {
		e := compat.Entry{WireID: uint16(number()), Hash: uint64(number()), ChangedAt: number(), Since: int32(number())}
		if name := take(2); m.Mode == compat.ManifestHashes {
			e.NameHash = compat.NameHash(string(name))
		} else {
			e.Name = string(name)
		}
		m.Entries = append(m.Entries, e)
	}
	return m
}

// turned is a class and a side as the other end would call them if ends were exchanged.
func turned(s compat.Side) compat.Side {
	switch s {
	case compat.OnServer:
		return compat.OnClient
	case compat.OnClient:
		return compat.OnServer
	default:
		return s
	}
}

// FuzzDiff compares unchecked manifests: nothing breaks, every entry is accounted for, exchanged ends find the same on the other
// side, and no word of a peer gets out of its line.
func FuzzDiff(f *testing.F) {
	f.Add([]byte("server"), []byte("client"))
	f.Add([]byte("\x40\x00\x40\x07\x40\x01\x40\x01\x40\x01abcm\x40\x01\x40\x05\x40\x00\x40\x00Aa"), []byte("\x40\x00\x40\x07\x40\x01\x40\x01\x40\x02abcm\x40\x02\x40\x05\x40\x00\x40\x00Aa"))
	f.Add([]byte("\x40\x02\x40\x07\x40\x01\x40\x01\x40\x01a\n\x1bm\x40\x01\x40\x05\x40\x00\x40\x00Aa"), []byte("\x40\x00\x40\x07\x40\x01\x40\x01\x40\x02abcm\x40\x02\x40\x06\x40\x00\x40\x00Aa"))
	f.Fuzz(func(t *testing.T, one, other []byte) {
		server, client := unchecked(one), unchecked(other)
		d, back := compat.DiffManifests(&server, &client), compat.DiffManifests(&client, &server)
		onServer, onClient, differ, renumbered := d.Counts()
		if len(d.Items) != onServer+onClient+differ+renumbered {
			t.Fatalf("%d items, counted %d %d %d %d", len(d.Items), onServer, onClient, differ, renumbered)
		}
		if len(d.Items)+d.Unchanged > len(server.Entries)+len(client.Entries) {
			t.Fatalf("%d items and %d unchanged of %d and %d", len(d.Items), d.Unchanged, len(server.Entries), len(client.Entries))
		}
		if server.Check() == nil && client.Check() == nil {
			sameTurned(t, d, back)
		}
		if server.Check() == nil && !d.Untold {
			if same := compat.DiffManifests(&server, &server); !same.Equal() || same.Unchanged != len(server.Entries) {
				t.Fatalf("%+v differs from itself: %+v", server, same)
			}
		}
		line := compat.Meeting{Peer: string(one), Target: string(other), Differences: d}.Line()
		body := d.Body()
		toast, _ := d.Toast()
		if strings.ContainsAny(line+toast, "\n\r\x1b") || strings.ContainsAny(body, "\r\x1b") || strings.Count(body, "\n") > 15 {
			t.Fatalf("a peer's words get out:\n%q\n%q", line, body)
		}
		if !utf8.ValidString(line) || !utf8.ValidString(body) {
			t.Fatalf("no text: %q %q", line, body)
		}
	})
}

// sameTurned holds what one end finds to what it would find on the other side.
func sameTurned(t *testing.T, d, back compat.Differences) {
	t.Helper()
	if len(d.Items) != len(back.Items) || d.Unchanged != back.Unchanged || d.Untold != back.Untold {
		t.Fatalf("%+v, and with the ends exchanged %+v", d, back)
	}
	for i, item := range d.Items {
		twin := back.Items[i]
		if item.Name != twin.Name || item.Class != twin.Class || item.Side != turned(twin.Side) || item.Server != twin.Client || item.Client != twin.Server {
			t.Fatalf("%+v, and with the ends exchanged %+v", item, twin)
		}
	}
}
