package device_test

import (
	"maps"
	"testing"

	"collet/netproto/den"
	"collet/netproto/launcher/wire"
	"collet/platform/faultfs"
)

// TestCaseOfNames: where names that differ in case are one file, a file that changed its case is written and then deleted
// under the old name, and is there in the end.
func TestCaseOfNames(t *testing.T) {
	for _, folds := range []bool{true, false} {
		disk := faultfs.New(faultfs.Config{FoldCase: folds})
		for _, name := range []string{"Map", "Dir/x", "keep"} {
			if err := disk.Plant(name, "content of "+name); err != nil {
				t.Fatal(err)
			}
		}
		desk := greeted(t, setting{fsys: disk.Open(faultfs.Options{}), protocol: den.ProtocolCollet, name: "d"})
		desk.tree()
		for new, old := range map[string]string{"map": "Map", "dirs/x": "Dir/x"} {
			m := opening(1, new, "content of "+old, 1000)
			m.Base = old
			desk.say(m)
			if r, text, _ := desk.closes(1); r != wire.Success {
				t.Errorf("%s: %v %s", new, r, text)
			}
		}
		desk.answers(&wire.DeleteFiles{Batch: 1, Paths: []string{"Map", "Dir/x", "KEEP"}}, &wire.BatchReport{Batch: 1, Failures: []wire.BatchFailure{}})
		want := map[string]string{"map": "content of Map", "dirs/x": "content of Dir/x", "keep": "content of keep"}
		if got := filesOf(disk); !maps.Equal(got, want) {
			t.Errorf("folding %v: %q", folds, got)
		}
	}
}
