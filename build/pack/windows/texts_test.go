package windows

import (
	"strings"
	"testing"

	"collet/assets"
)

func TestEscaped(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                            "plain",
		`a "quoted" 'word' of ` + "`code`": `a $\"quoted$\" $\'word$\' of $\` + "`code$\\`",
		"$5":                               "$$5",
		"${NAME}":                          "$$${U+7B}NAME}",
		"$$INSTDIR":                        "$$$$INSTDIR",
		"$(T_keeps)":                       "$$(T_keeps)",
		`C:\dir\`:                          `C:\dir\`,
		"two\nlines\r\tend":                `two$\nlines$\r$\tend`,
		"Лэйс & co":                        "Лэйс & co",
		"":                                 "",
	} {
		if got := escaped(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestQuotedKeepsItsVariable(t *testing.T) {
	if got, want := quoted(`$INSTDIR\a$INSTDIR`, "$INSTDIR"), `"$INSTDIR\a$$INSTDIR"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := quoted(`$INSTDIR\a`), `"$$INSTDIR\a"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestNSISText(t *testing.T) {
	for _, c := range []struct{ key, text, want string }{
		{"running", "{game} runs", `"A & {version} runs"`},
		{"start", "&Start {game}", `"&Start A && {version}"`},
		{"newer", "{installed} over {version} in {folder}", `"$Installed over 1$$ in $INSTDIR"`},
		{"newer", "${game}", `"$$${U+7B}game}"`},
	} {
		if got := nsisText(c.key, c.text, "A & {version}", "1$"); got != c.want {
			t.Errorf("%q is %s, want %s", c.text, got, c.want)
		}
	}
}

func TestFormatted(t *testing.T) {
	if got, want := formatted("[INSTALLDIR] {x}"), `[\[]INSTALLDIR[\]] [\{]x[\}]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestFileName(t *testing.T) {
	for text, want := range map[string]string{
		"The Lathe": "The Lathe", "Lathe: Reborn": "Lathe Reborn", `a<>:"/\|?*b`: "ab", "Дом. ": "Дом", "???": "Base", "nul": "Base", "": "Base", "Quake III": "Quake III",
	} {
		if got := fileName(text, "Base"); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestLanguages: each language of the texts is in the setup, the default one first, by the names that the maker of setups knows.
func TestLanguages(t *testing.T) {
	if tags := languages(); len(tags) != len(assets.Languages()) || tags[0] != english {
		t.Fatalf("languages %q", tags)
	}
	for _, l := range languagesOf("Game", "1") {
		if l.Name == "" || l.ID == "" || len(l.Texts) != len(assets.Setup(english))-1 {
			t.Errorf("%+v", l)
		}
	}
	for _, tag := range languages() {
		for key, text := range assets.Setup(tag) {
			if strings.Contains(text, "&") && !inControl(key) {
				t.Errorf("%s, %s: %q stands where no letter can be marked", tag, key, text)
			}
		}
	}
}
