package assets

import "testing"

// A language that lacks a text speaks English there. Shipped languages lack none, so this looks inside.
func TestMissingTextComesFromEnglish(t *testing.T) {
	parsed := 0
	texts := Texts{"xx", map[string]string{"button.quit": "Sair"}, func() map[string]string { parsed++; return parse("en") }}
	if got := texts.Get("button.quit"); got != "Sair" || parsed != 0 {
		t.Errorf("own text is %q, English was parsed %d times", got, parsed)
	}
	if got := texts.Get("button.retry"); got != "Try again" || !texts.Has("button.retry") {
		t.Errorf("missing text is %q", got)
	}
	if texts.Get("no.such.key") != "no.such.key" || texts.Has("no.such.key") {
		t.Error("a key that English lacks too is found")
	}
}

func TestTagsOfLocales(t *testing.T) {
	for in, want := range map[string]string{"zh_Hant_TW.Big5": "zh-hant-tw", "pt_BR@abnt": "pt-br", "": "", "C.UTF-8": "c"} {
		if got := normal(in); got != want {
			t.Errorf("normal(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"zh-hant-tw": "zh-hant", "zh-hant": "zh", "zh": "", "": ""} {
		if got := general(in); got != want {
			t.Errorf("general(%q) = %q, want %q", in, got, want)
		}
	}
}
