package origin_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"collet/netproto/release"
	"collet/netproto/releasetest"
	"collet/netproto/server/origin"
	"collet/netproto/server/servertest"
)

// FuzzOrigin asks for any path and range in any method. Nothing is given out but files of a release folder, whole or in
// the part that was asked for.
func FuzzOrigin(f *testing.F) {
	folder := published(f, releasetest.Standard(1))
	servertest.WriteFile(f, filepath.Join(folder.Dir, "metadata", "keys.pem"), "a secret")
	servertest.WriteFile(f, filepath.Join(folder.Dir, "secret.txt"), "a secret")
	set := servertest.ReleaseSettings(folder)
	h := servertest.Start(f, set)
	h.WaitUntil(f, h.Ready)
	var m origin.Monitor
	if err := m.Configure(set, h.Logger()); err != nil {
		f.Fatal(err)
	}
	m.Watch(h.Server)
	files := servertest.ReadFolder(f, folder.Dir)
	patch := release.ObjectOf([]byte(releasetest.Standard(1).Patch)).Path()
	for name := range files {
		f.Add("GET", "/"+name, "bytes=0-5")
	}
	for _, asked := range []string{"bytes=5-", "bytes=-5", "bytes=0-1,3-4", "bytes=9-1", "bytes=99999999999999999999-", "lines=1-2", "bytes=-0", ""} {
		f.Add("GET", "/"+patch, asked)
		f.Add("HEAD", "/"+patch, asked)
	}
	for _, path := range []string{"/metadata/../secret.txt", "/metadata/%2e%2e/secret.txt", "/metadata/keys.pem", "/", "//", "/metadata/1.root.json/..", "/objects/ab/\x00"} {
		f.Add("GET", path, "bytes=0-")
	}
	f.Add("POST", "/metadata/timestamp.json", "")
	f.Fuzz(func(t *testing.T, method, path, asked string) {
		if path == "/healthz" || path == "/readyz" {
			return
		}
		answer := httptest.NewRecorder()
		m.ServeHTTP(answer, &http.Request{Method: method, URL: &url.URL{Path: path}, Header: http.Header{"Range": {asked}}, ProtoMajor: 1})
		code, header, body := answer.Code, answer.Header(), answer.Body.String()
		if strings.Contains(body, "a secret") {
			t.Fatalf("%q gives a secret", path)
		}
		if code != 200 && code != 206 {
			return
		}
		whole, is := files[strings.TrimPrefix(path, "/")]
		if !is {
			t.Fatalf("%q is a file: %d", path, code)
		}
		var first, last, size int
		if code == 206 {
			if n, err := fmt.Sscanf(header.Get("Content-Range"), "bytes %d-%d/%d", &first, &last, &size); n != 3 || err != nil || size != len(whole) {
				t.Fatalf("%q: %q", asked, header.Get("Content-Range"))
			}
			whole = whole[first : last+1]
		}
		if method != http.MethodHead && body != whole {
			t.Fatalf("%q, %q: %d bytes, want %d", path, asked, len(body), len(whole))
		}
	})
}
