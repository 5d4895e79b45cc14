package install_test

import (
	"testing"

	"collet/platform"
	"collet/platform/faultfs"
)

// TestBadSector checks that an unreadable file is fetched again, and that the error does not block the update.
func TestBadSector(t *testing.T) {
	for _, name := range []string{"Resources/A.zip", "Lathe.so"} {
		disk := faultfs.New(faultfs.Config{})
		s := start{blobs: append(packs("A.zip", "a1", "B.zip", "b1"), binaries("Lathe.so", "one")...), verify: true, confirm: true}
		if _, err := s.on(t, disk.Open(faultfs.Options{})); err != nil {
			t.Fatal(err)
		}
		bad := disk.Open(faultfs.Options{})
		bad.Inject(faultfs.Rule{Verb: faultfs.Read, Name: name, Err: faultfs.EIO})
		g, err := s.on(t, bad)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(g.plan.Wants) != 1 {
			t.Errorf("%s: %s, want that file alone", name, g)
		}
		bad.Kill()
		after := disk.Open(faultfs.Options{})
		g, err = s.on(t, after)
		if err != nil || len(g.plan.Wants) != 0 {
			t.Errorf("%s: next: %s, %v", name, g, err)
		}
		for file, want := range map[string]string{"Resources/A.zip": "a1", "Resources/B.zip": "b1", "Lathe.so": "one"} {
			if data, err := platform.ReadFile(after, file, 10); err != nil || string(data) != want {
				t.Errorf("%s: %s holds %q, %v", name, file, data, err)
			}
		}
	}
}
