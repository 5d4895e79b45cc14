package compat_test

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"collet/netproto/compat"
)

// TestDocumented: docs/COMPATIBILITY.md has each verdict with its number, each key of the settings, and the bounds.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/COMPATIBILITY.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for v := compat.Accept; v <= compat.Maintenance; v++ {
		want = append(want, fmt.Sprintf("%d %s", uint8(v), v))
	}
	for r := compat.RuleUpdater; r <= compat.RuleAccept; r++ {
		want = append(want, fmt.Sprintf("| R%d |", r))
	}
	for _, key := range compat.Popups() {
		if key != compat.PopupLoop { // the client's own
			want = append(want, "`"+key+"`")
		}
	}
	for _, of := range []any{compat.Settings{}, compat.RedirectSettings{}, compat.MaintenanceSettings{}, compat.PatchRule{}} {
		for i := range reflect.TypeOf(of).NumField() {
			name, _, _ := strings.Cut(reflect.TypeOf(of).Field(i).Tag.Get("json"), ",")
			want = append(want, "`"+name+"`")
		}
	}
	for _, step := range []string{"B1", "B2", "B3", "B4", "B5", "B6", "B7"} {
		want = append(want, "| "+step+" |")
	}
	want = append(want, fmt.Sprintf("at most %d. The strictest", compat.MaxPatchRules), fmt.Sprintf("own scheme; at most %d", compat.MaxTargeted), fmt.Sprintf("stop; at most %d", compat.MaxDevelopers))
	for _, part := range want {
		if !strings.Contains(string(page), part) {
			t.Errorf("nothing is said of %s", part)
		}
	}
}
