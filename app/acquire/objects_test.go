package acquire

import (
	"bytes"
	"crypto/sha256"
	"sync"
	"testing"

	"collet/app/download"
	"collet/netproto/release"
	"collet/platform/faultfs"
)

// TestPrefetchedFromSeveralGoroutines: the release notes and objects that are fetched ahead look for what came with the sequel while
// the set patch takes it and lets go of it.
func TestPrefetchedFromSeveralGoroutines(t *testing.T) {
	source, err := NewSource(Options{
		Mirrors: []download.Mirror{nil}, Root: []byte("a root"), FS: faultfs.New(faultfs.Config{}).Open(faultfs.Options{}), Folder: "Cache",
	})
	if err != nil {
		t.Fatal(err)
	}
	s := source.objects
	if err := s.openSpool(); err != nil {
		t.Fatal(err)
	}
	defer s.close()
	var objects []release.Object
	var contents [][]byte
	for n := range 50 {
		content := bytes.Repeat([]byte{byte(n)}, 100)
		contents = append(contents, content)
		objects = append(objects, release.Object{Sum: release.SHA256Digest(sha256.Sum256(content)), Size: 100})
	}
	done := make(chan struct{})
	var looking sync.WaitGroup
	for range 3 {
		looking.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
					s.countReceived(objects[n%len(objects)])
				}
			}
		})
	}
	for i, o := range objects {
		s.setSequel(&sequel{
			cancel: func() {}, table: true, step: make(chan struct{}),
			parts: []*sequelPart{{name: o.Path(), size: o.Size, data: contents[i]}},
		})
		for range 2 { // for the listing, and for the contents
			content, err := s.fetchSpooled(t.Context(), o, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]byte, o.Size)
			if _, err := content.ReadAt(got, 0); err != nil || !bytes.Equal(got, contents[i]) || s.countReceived(o) != o.Size {
				t.Errorf("object %d: %v, %d bytes here", i, err, s.countReceived(o))
			}
		}
		if err := s.discard(t.Context(), o); err != nil || s.countReceived(o) != 0 {
			t.Errorf("object %d is still here: %v", i, err)
		}
	}
	close(done)
	looking.Wait()
}
