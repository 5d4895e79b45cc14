package admin_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"collet/netproto/server/admin"
)

// TestRulesAsJSON: programs of others read the numbers of rules, so they are numbers.
func TestRulesAsJSON(t *testing.T) {
	t.Parallel()
	for want, rules := range map[string]admin.Rules{"[]": nil, "[3,5,11]": {3, 5, 11}} {
		text, err := json.Marshal(admin.VerdictAnswer{Reasons: rules})
		if err != nil || !strings.Contains(string(text), `"reasons":`+want) {
			t.Errorf("%v: %s", err, text)
		}
		var back admin.VerdictAnswer
		if err := json.Unmarshal(text, &back); err != nil || !slices.Equal(back.Reasons, rules) {
			t.Errorf("%v: %v", err, back.Reasons)
		}
	}
	for _, bad := range []string{`"Cg=="`, `[256]`, `[-1]`, `{}`, `["R3"]`} {
		if err := json.Unmarshal([]byte(bad), new(admin.Rules)); err == nil {
			t.Errorf("%s is a list of rules", bad)
		}
	}
}
