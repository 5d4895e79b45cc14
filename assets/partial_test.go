package assets

import (
	"strings"
	"testing"
)

// A language that lacks a text speaks English there. Shipped languages lack none, so this looks inside.
func TestMissingTextComesFromEnglish(t *testing.T) {
	parsed := 0
	texts := Texts{"xx", map[string]string{"button.quit": "Sair"}, func() map[string]string { parsed++; return parse(languages, fallback, "window") }}
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

// TestTagOf is the table of what a locale finds among some languages.
func TestTagOf(t *testing.T) {
	known := []string{"aa", "bb-cc", "bb-dd", "ee", "ee-ff", "en"}
	for locale, want := range map[string]string{
		"": "en", "C": "en", "POSIX": "en", "C.UTF-8": "en", "en": "en", "en_GB.UTF-8": "en", "EN": "en",
		"aa": "aa", "aa_AA.UTF-8": "aa", "aa_ZZ.KOI8-U": "aa", "aa-AA": "aa", "AA_aa@variant": "aa", "aa-Cyrl-AA": "aa",
		"zz": "en", "zz_ZZ.UTF-8": "en", "zz:aa:en": "aa", "zz:yy": "en", " aa ": "aa", "aaa": "en", "../aa": "en", "_": "en",
		"bb": "bb-cc", "bb_DD": "bb-dd", "bb_YY.UTF-8": "bb-cc", "bb-dd-xx": "bb-dd", "b": "en", "ee": "ee", "ee-FF": "ee-ff", "ee-GG": "ee", "zz:bb_YY": "bb-cc",
		":": "en", strings.Repeat("x-", 1000): "en",
	} {
		if got := tagOf(locale, known); got != want {
			t.Errorf("%q finds %q, want %q", locale, got, want)
		}
	}
}

// TestDecimalMark takes the language's own.
func TestDecimalMark(t *testing.T) {
	texts := Texts{"xx", map[string]string{"number.decimal": ",", "size.mb": "{n} Mo"}, func() map[string]string { return nil }}
	if got := texts.Size(2_340_000); got != "2,3 Mo" {
		t.Error(got)
	}
}
