package linux

import (
	"strings"
	"testing"

	"collet/build/pack/bundle"
	"collet/netproto/product"
)

func TestNames(t *testing.T) {
	game := bundle.Product{Name: "Lathe", NiceName: "The Lathe", ID: "org.example.lathe"}
	for _, c := range []struct {
		base string
		want names
	}{
		{"Lathe", names{"lathe", "org.example.lathe", "The Lathe"}},
		{"Lathe_OpenGL", names{"lathe-opengl", "org.example.lathe.opengl", "The Lathe (OpenGL)"}},
		{"Lathe_Profiling_OpenGL_Steam", names{"lathe-profiling-opengl-steam", "org.example.lathe.profiling_opengl_steam", "The Lathe (Profiling, OpenGL, Steam)"}},
		{"Drill", names{"drill", "org.example.lathe.drill", "The Lathe (Drill)"}},
	} {
		if got, err := namesOf(bundle.Bundle{Product: game, Base: c.base}); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.base, got, err, c.want)
		}
	}
	for _, c := range []struct{ base, id, want string }{
		{"L", "org.example.lathe", "name of a package"},
		{"Läthe", "org.example.lathe", "name of a package"},
		{"_Lathe", "org.example.lathe", "name of a package"},
		{"Lathe", "example.lathe", "AppStream id"},
		{"Lathe", "org.example.7lathe", "AppStream id"},
		{"Lathe", "org..lathe", "AppStream id"},
	} {
		game.ID = c.id
		if _, err := namesOf(bundle.Bundle{Product: game, Base: c.base}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: %v; want %q", c.base, c.id, err, c.want)
		}
	}
}

func TestPackageVersion(t *testing.T) {
	for version, want := range map[string]string{
		"1": "1", "1.4": "1.4", "1.4.2.65535": "1.4.2.65535", "1.4.2-beta.1": "1.4.2~beta.1", "1.4.2-rc-2": "1.4.2~rc.2", "1.0-1+git": "1.0~1+git",
		"": "", "v1.4": "", "1.4.": "", "1.4-": "", "1:4": "", "1.4 2": "", "1.4~2": "", "1.4\n": "",
	} {
		got, err := packageVersion(version)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", version, got, err, want)
		}
	}
}

func TestProcessorOf(t *testing.T) {
	for target, want := range map[product.Target]string{"Linux-x64": "amd64", "Linux-arm64": "arm64", "Linux-x86": "386", "Linux-arm": "arm7"} {
		if p, err := processorOf(target); err != nil || p.nfpm != want {
			t.Errorf("%s: %v, %v; want %s", target, p, err, want)
		}
	}
	for _, target := range []product.Target{"", "Windows-win64", "Linux-unknown"} {
		if _, err := processorOf(target); err == nil || !strings.Contains(err.Error(), "Linux-x64") {
			t.Errorf("%q: %v", target, err)
		}
	}
}

func TestWrapped(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{
		{"", 5, ""}, {"one", 5, "one"}, {"one two", 7, "one two"}, {"one two", 6, "one|two"}, {"a longestword b", 5, "a|longestword|b"},
		{"äöü äöü", 7, "äöü äöü"}, {"  one\n two ", 80, "one two"},
	} {
		if got := strings.Join(wrapped(c.text, c.columns), "|"); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}

func TestRoff(t *testing.T) {
	for text, want := range map[string]string{
		"plain": "plain", ".SH evil": `\&.SH evil`, "'tis": `\&'tis`, `back\slash`: `back\(rsslash`, "a-b": `a\-b`, "two\nlines": "two lines", `say "x"`: `say \(dqx\(dq`,
	} {
		if got := roff(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestDesktopValue(t *testing.T) {
	for text, want := range map[string]string{`a\b`: `a\\b`, "a\nExec=evil": "a Exec=evil", " x ": "x"} {
		if got := desktopValue(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
