package host

import (
	"testing"

	"collet/netproto/product"
)

func TestVariantInLog(t *testing.T) {
	for _, v := range []product.Variant{
		{}, {Headless: true}, {Profiling: product.OnDemandProfiling, OpenGL: true}, {OpenGL: true, Postfix: "Steam"}, {Postfix: "Steam"},
	} {
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
