package product_test

import (
	"slices"
	"strings"
	"testing"

	"collet/netproto/product"
)

// TestVariantNames is the list of names. A changed name would cut installed clients off from updates.
func TestVariantNames(t *testing.T) {
	for _, test := range []struct {
		variant product.Variant
		base    string
		words   string
	}{
		{product.Variant{}, "Lathe", "plain"},
		{product.Variant{Headless: true}, "Lathe_Headless", "headless"},
		{product.Variant{Profiling: product.TotalProfiling}, "Lathe_Profiling", "profiling"},
		{product.Variant{Profiling: product.OnDemandProfiling}, "Lathe_ProfilingOnDemand", "profiling on demand"},
		{product.Variant{OpenGL: true}, "Lathe_OpenGL", "OpenGL"},
		{product.Variant{Postfix: "Steam"}, "Lathe_Steam", "Steam"},
		{product.Variant{Headless: true, Profiling: product.TotalProfiling}, "Lathe_Headless_Profiling", "headless, profiling"},
		{product.Variant{Profiling: product.TotalProfiling, OpenGL: true, Postfix: "Steam"}, "Lathe_Profiling_OpenGL_Steam", "profiling, OpenGL, Steam"},
		{product.Variant{true, product.OnDemandProfiling, true, "Steam-2"}, "Lathe_Headless_ProfilingOnDemand_OpenGL_Steam-2", "headless, profiling on demand, OpenGL, Steam-2"},
	} {
		if got := test.variant.Base("Lathe"); got != test.base {
			t.Errorf("%+v is called %s, want %s", test.variant, got, test.base)
		}
		if got := test.variant.String(); got != test.words {
			t.Errorf("%+v reads %q, want %q", test.variant, got, test.words)
		}
	}
}

// variantsOf are all variants that exist on a target, with each of the postfixes.
func variantsOf(t product.Target, postfixes ...string) (all []product.Variant) {
	for _, postfix := range postfixes {
		for i := range 12 {
			profiling := []product.Profiling{product.NoProfiling, product.TotalProfiling, product.OnDemandProfiling}[i/4]
			if v := (product.Variant{Headless: i&1 != 0, Profiling: profiling, OpenGL: i&2 != 0, Postfix: postfix}); v.On(t) == nil {
				all = append(all, v)
			}
		}
	}
	return all
}

func TestVariantsThereAndBack(t *testing.T) {
	names := map[string]product.Variant{}
	for _, game := range []string{"Lathe", "LF_Client", "a", "Lathe_OpenGL", "Lathe-2"} {
		clear(names)
		count := 0
		for _, v := range variantsOf("Windows-win64", "", "Steam", "x", "ProfilingX", "OpenGL-2") {
			count++
			base := v.Base(game)
			if other, taken := names[base]; taken {
				t.Errorf("%v and %v are both called %s", v, other, base)
			}
			names[base] = v
			if got, is := product.ParseVariant(game, base); !is || got != v {
				t.Errorf("%s of %s is read as %+v, %t; want %+v", base, game, got, is, v)
			}
			if v.Check() != nil {
				t.Errorf("%v: %v", v, v.Check())
			}
		}
		if want := 2 * 3 * 2 * 5; count != want {
			t.Errorf("there are %d variants, want %d", count, want)
		}
	}
	for _, v := range variantsOf("Linux-x64", "") {
		if v.OpenGL {
			t.Errorf("Linux has %v", v)
		}
	}
}

func TestNoVariant(t *testing.T) {
	for _, base := range []string{
		"", "Lath", "Lathe_", "Lathe__OpenGL", "LatheOpenGL", "lathe", "Lathe_OpenGL_", "Lathe_opengl", "Lathe_OpenGL_OpenGL", "Lathe_OpenGL_Headless",
		"Lathe_Profiling_Headless", "Lathe_Profiling_ProfilingOnDemand", "Lathe_Steam_OpenGL", "Lathe_a_b", "Lathe_é", "Lathe.2", "Lathe_OpenGL.dll",
		"Lathe_HEADLESS", "Lathe_" + strings.Repeat("a", product.MaxPostfix+1), "SDL2", "OtherLathe",
	} {
		if v, is := product.ParseVariant("Lathe", base); is {
			t.Errorf("%q is taken for %v", base, v)
		}
	}
	if _, is := product.ParseVariant("", "Lathe"); is {
		t.Error("a game without a name has variants")
	}
	for _, v := range []product.Variant{
		{Profiling: "sometimes"}, {Postfix: "a_b"}, {Postfix: "OPENGL"}, {Postfix: "headless"}, {Postfix: "Profiling"}, {Postfix: "ProfilingOnDemand"},
		{Postfix: "a b"}, {Postfix: "é"}, {Postfix: strings.Repeat("a", 33)},
	} {
		if v.Check() == nil {
			t.Errorf("%+v is accepted", v)
		}
	}
	if (product.Variant{OpenGL: true}).On("macOS-arm64") == nil {
		t.Error("macOS has OpenGL")
	}
}

func TestPayloadBase(t *testing.T) {
	for _, test := range []struct {
		target product.Target
		file   string
		want   string
	}{
		{"Windows-win64", "Lathe_OpenGL.dll", "Lathe_OpenGL"},
		{"Windows-win64", "Lathe_OpenGL.dll.pdb", "Lathe_OpenGL"},
		{"Windows-win64", "Lathe_OpenGL.pdb", "Lathe_OpenGL"},
		{"Windows-win64", "Lathe_OpenGL.exe", "Lathe_OpenGL"},
		{"Windows-win64", "Lathe", ""},
		{"Windows-win64", "Lathe.so", ""},
		{"Linux-x64", "Lathe.so", "Lathe"},
		{"Linux-x64", "Lathe.so.debug", "Lathe"},
		{"Linux-x64", "game-1.2.so", "game-1.2"},
		{"Linux-x64", "Lathe", "Lathe"},
		{"Linux-x64", "Lathe.exe", ""},
		{"macOS-arm64", "Lathe.dylib", "Lathe"},
		{"Windows-win64", "Lathe_Steam.program", "Lathe_Steam"},
		{"Linux-x64", "Lathe.program", "Lathe"},
		{"Linux-x64", "", ""},
	} {
		if got := test.target.PayloadBase(test.file); got != test.want {
			t.Errorf("%s of %s belongs to %q, want %q", test.file, test.target, got, test.want)
		}
	}
}

func TestGameOf(t *testing.T) {
	for _, test := range []struct {
		bases []string
		want  string
	}{
		{nil, ""},
		{[]string{"Lathe"}, "Lathe"},
		{[]string{"Lathe_OpenGL", "Lathe", "Lathe_Steam"}, "Lathe"},
		{[]string{"Lathe_OpenGL", "Lathe", "SDL2"}, "Lathe"},
		{[]string{"Lathe", "Lathe", "SDL2"}, "Lathe"},
		{[]string{"SDL2", "Lathe", "Lathe"}, "Lathe"},
		{[]string{"Lathe", "SDL2"}, ""},
		{[]string{"A", "B", "B_OpenGL"}, "B"},
		{[]string{"A", "A_Steam", "B", "B_OpenGL"}, ""},
		{[]string{"LF_Client_OpenGL", "LF_Client"}, "LF_Client"},
		{slices.Repeat([]string{"a", "b"}, 3000), ""},
	} {
		if got := product.GameOf(test.bases); got != test.want {
			t.Errorf("%.60q are of %q, want %q", test.bases, got, test.want)
		}
	}
}

func TestTargetsAreAllNames(t *testing.T) {
	list := product.Targets()
	for _, want := range []product.Target{"Windows-win64", "Windows-unknown", "Linux-x64", "macOS-arm64", "Web-wasm"} {
		if !slices.Contains(list, want) {
			t.Errorf("%s is missing", want)
		}
	}
	sorted := slices.Clone(list)
	slices.Sort(sorted)
	if len(slices.Compact(sorted)) != len(list) {
		t.Errorf("some are there twice: %v", list)
	}
}

// FuzzVariant holds the two functions to being each other's inverse, whatever they get.
func FuzzVariant(f *testing.F) {
	f.Add("Lathe", "Lathe_Headless_Profiling_OpenGL_Steam")
	f.Add("Lathe_OpenGL", "Lathe_OpenGL_OpenGL")
	f.Add("_", "__Headless_")
	f.Fuzz(func(t *testing.T, game, base string) {
		v, is := product.ParseVariant(game, base)
		if is && (v.Base(game) != base || v.Check() != nil) {
			t.Errorf("%q of %q is read as %+v, which is called %q", base, game, v, v.Base(game))
		}
	})
}
