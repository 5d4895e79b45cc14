package host

import (
	"testing"

	"collet/netproto/product"
)

func TestVariantInLog(t *testing.T) {
	for v := range product.VariantsOf("Windows-win64", "Steam") {
		if got := variant("Lathe", v.Base("Lathe")); got != v.String() {
			t.Errorf("%s is logged as %q, want %q", v.Base("Lathe"), got, v)
		}
	}
	for _, base := range []string{"Other", "Lathe_a_b", ""} {
		if got := variant("Lathe", base); got != "unknown" {
			t.Errorf("%q is logged as %q", base, got)
		}
	}
}
