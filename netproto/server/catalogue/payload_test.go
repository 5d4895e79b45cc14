package catalogue_test

import (
	"testing"

	"collet/netproto/server/catalogue"
)

// FuzzSidecar reads anything as what lies beside a module.
func FuzzSidecar(f *testing.F) {
	for _, seed := range []string{`{"logic": 7, "patch": 2, "set_hash": "4c37681f163b1204", "build": {"id": "v1", "seq": 2}}`, `{"logic": 7}`, `{"logic": -1}`, `{}`, `[]`, `{"logic": 7, "set_hash": "zz"}`, `{"logic":7,"components":[{"name":"A"}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		logic, why := catalogue.Sidecar(text)
		if why == "" && logic < 0 {
			t.Errorf("%q is of version %d", text, logic)
		}
	})
}
