package origin_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"collet/netproto/release"
	"collet/netproto/releasetest"
	"collet/netproto/server/servertest"
	"collet/netproto/session"
)

// benchObject is a release folder with one large object.
func benchObject(b *testing.B) (s *site, name string, size int64) {
	b.Helper()
	r := releasetest.Standard(1)
	r.Patch = strings.Repeat("0123456789abcdef", 8<<20)
	f := published(b, r)
	set := servertest.ReleaseSettings(f)
	set.Network.UpdateFileMaxPortionSize = 1_000_000
	s = openSite(b, set)
	s.dir = f.Dir
	return s, release.ObjectOf([]byte(r.Patch)).Path(), int64(len(r.Patch))
}

// BenchmarkObject takes 128 MiB of a release folder over the updater connection, on the loopback interface.
func BenchmarkObject(b *testing.B) {
	s, name, size := benchObject(b)
	client, err := session.Dial(b.Context(), session.Options{Addr: s.Addr, Compatibility: "compat-1", Target: "Linux-x64", Unlisted: true})
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	b.SetBytes(size)
	for b.Loop() {
		var got int64
		if err := client.Object(b.Context(), name, 0, size, func(data []byte) error { got += int64(len(data)); return nil }); err != nil || got != size {
			b.Fatalf("%d bytes, %v", got, err)
		}
	}
}

// BenchmarkOrigin takes the same over HTTP.
func BenchmarkOrigin(b *testing.B) {
	s, name, size := benchObject(b)
	takeOver(b, s.client, s.url+"/"+name, size)
}

// BenchmarkNginx takes the same from nginx as the operator's document has it.
func BenchmarkNginx(b *testing.B) {
	s, name, size := benchObject(b)
	plain, _, _ := startNginx(b, s.dir)
	takeOver(b, s.client, "http://"+plain+"/"+name, size)
}

func takeOver(b *testing.B, client *http.Client, url string, size int64) {
	b.SetBytes(size)
	for b.Loop() {
		answer, err := client.Get(url)
		if err != nil {
			b.Fatal(err)
		}
		got, err := io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		if err != nil || got != size || answer.StatusCode != http.StatusOK {
			b.Fatalf("%d bytes, %v", got, err)
		}
	}
}
