package dashboard

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/text/language"

	"collet/assets"
	"collet/netproto/compat"
	"collet/netproto/server/operator"
)

// english are the English texts without the reasons, which are in the code.
func english() map[string]string {
	plain := assets.Dashboard(fallbackTag)
	maps.DeleteFunc(plain, func(key, _ string) bool { return strings.HasPrefix(key, whyPrefix) })
	return plain
}

// stem is a key without its form, where it has one.
func stem(key string) (base, form string) {
	at := strings.LastIndex(key, ".")
	if at > 0 && slices.Contains([]string{"one", "other"}, key[at+1:]) {
		return key[:at], key[at+1:]
	}
	return key, ""
}

// TestWordsAreUsed wants every key in a page or in the code, and every key there in the tables.
func TestWordsAreUsed(t *testing.T) {
	english := english()
	used, dynamic := keysOfPages(t)
	for key := range keysOfCode(t) {
		if english[key] != "" || english[key+".one"] != "" {
			used[key] = true
		}
	}
	for key := range used {
		if _, counts := english[key+".one"]; english[key] == "" && !counts {
			t.Errorf("a page wants %q, which no table has", key)
		}
	}
	for key := range english {
		base, form := stem(key)
		if form == "" || english[base+".one"] == "" {
			base = key
		}
		if !used[base] && !slices.ContainsFunc(dynamic, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
			t.Errorf("nothing wants %q", key)
		}
	}
}

// keysOfPages are the keys that stand in the pages, and the beginnings of those that are put together there.
func keysOfPages(t *testing.T) (keys map[string]bool, dynamic []string) {
	t.Helper()
	files, err := filepath.Glob("*.html")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	keys = map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`\btn? "([^"]+)"`).FindAllSubmatch(text, -1) {
			keys[string(found[1])] = true
		}
		for _, found := range regexp.MustCompile(`printf "([a-z.]+\.)%[sd]"`).FindAllSubmatch(text, -1) {
			dynamic = append(dynamic, string(found[1]))
		}
	}
	return keys, dynamic
}

// keysOfCode are all texts between quotation marks in the code of the dashboard.
func keysOfCode(t *testing.T) map[string]bool {
	t.Helper()
	keys := map[string]bool{}
	for _, file := range parsed(t, "*.go") {
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, is := n.(*ast.BasicLit); is && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					keys[text] = true
				}
			}
			return true
		})
	}
	for section := range sections() {
		keys["form."+section] = true
	}
	for _, kind := range []string{"older", "active", "newer"} {
		keys["flow."+kind] = true
	}
	return keys
}

// parsed are Go files without tests.
func parsed(t *testing.T, pattern string) (all []*ast.File) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal(pattern, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, file)
	}
	return all
}

// TestReasonsAreTranslated wants every sentence with which settings are refused or commented on in every language but English.
func TestReasonsAreTranslated(t *testing.T) {
	formats := map[string]bool{}
	note := func(call *ast.CallExpr, at int) {
		if at < len(call.Args) {
			if lit, is := call.Args[at].(*ast.BasicLit); is {
				text, _ := strconv.Unquote(lit.Value)
				formats[text] = true
			}
		}
	}
	for _, file := range append(parsed(t, "../../compat/settings_check.go"), parsed(t, "../../compat/settings_hints.go")...) {
		ast.Inspect(file, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is {
				return true
			}
			switch f := call.Fun.(type) {
			case *ast.SelectorExpr:
				if f.Sel.Name == "need" {
					note(call, 2)
				}
			case *ast.Ident:
				if f.Name == "hint" {
					note(call, 1)
				}
			}
			return true
		})
	}
	if len(formats) < 25 {
		t.Fatalf("only %d sentences were found: look where they are now", len(formats))
	}
	languages, _ := allWords()
	for _, w := range languages {
		for format := range formats {
			if _, there := w.texts[whyPrefix+format]; !there {
				t.Errorf("%s: %q is not translated", w.tag, format)
			}
		}
	}
}

// invented are the words of a language with forms of nouns that English has not.
func invented() *words {
	return newWords(language.Polish, map[string]string{
		"clients.one": "{n} klient.", "clients.few": "{n} klienci", "clients.many": "{n} klient\u00f3w",
		"fault.both": "oba", "fault.comment": "komentarz", "fault.confirm": "zgoda",
		"why: %d is above active_max %d": "$1 powy\u017cej active_max $2", "why: it is empty": "puste", "why: %q is there twice": "$1 dwa razy",
		"why: has 1 to %d bytes": "od 1 do $1", "why: clients of %s can't be updated: %s": "klienci $1: $2", "why: of its modules %s": "z jego $1",
		"why: %d without a sidecar": "$1 bez opisu", "why: %d of a logic version that is not active": "$1 nieaktywne",
	}, map[string]string{"clients.one": "{n} client.", "clients.other": "{n} clients", "alone": "alone", "away.one": "{n} away.", "away.other": "{n} aways"})
}

// TestReasons are said in the language, with what stands in them; others stay as they are.
func TestReasons(t *testing.T) {
	languages, _ := allWords()
	en, w := languages[0], invented()
	for _, c := range [][2]string{
		{"8 is above active_max 6", "8 powy\u017cej active_max 6"},
		{`"a\nb" is there twice`, `"a\nb" dwa razy`},
		{"it is empty", "puste"},
		{"clients of A can't be updated: of its modules 1 without a sidecar", "klienci A: z jego 1 bez opisu"},
		{"of its modules 2 of a logic version that is not active, 1 without a sidecar", "z jego 2 nieaktywne, 1 bez opisu"},
		{"an unknown text", "an unknown text"},
		{"", ""},
	} {
		if got := w.translateReason(c[0]); got != c[1] {
			t.Errorf("%q became %q, want %q", c[0], got, c[1])
		}
		if got := en.translateReason(c[0]); got != c[0] {
			t.Errorf("%q became %q in English", c[0], got)
		}
	}
	if got := w.translateError(fmt.Errorf("x: %w", &operator.InputError{Field: "floor", Why: "has 1 to 64 bytes"})); got != "floor: od 1 do 64" {
		t.Error(got)
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{&operator.ConfirmError{NeedsComment: true, NeedsConfirm: true}, "oba"}, {&operator.ConfirmError{NeedsComment: true}, "komentarz"}, {&operator.ConfirmError{NeedsConfirm: true}, "zgoda"}, {errors.New("odd"), "odd"},
	} {
		if got := w.translateError(c.err); got != c.want {
			t.Errorf("%v: %q", c.err, got)
		}
	}
}

// TestCounts takes the form that the language has for a number, and the English one for a text that it lacks.
func TestCounts(t *testing.T) {
	w := invented()
	for n, want := range map[int][2]string{
		0: {"0 klient\u00f3w", "0 aways"}, 1: {"1 klient.", "1 away."}, 2: {"2 klienci", "2 aways"}, 5: {"5 klient\u00f3w", "5 aways"},
		12: {"12 klient\u00f3w", "12 aways"}, 22: {"22 klienci", "22 aways"}, 112: {"112 klient\u00f3w", "112 aways"}, 1000: {"1000 klient\u00f3w", "1000 aways"},
	} {
		for i, key := range []string{"clients", "away"} {
			if got, err := w.count(key, n); err != nil || got != want[i] {
				t.Errorf("%s, %d: %q, %v, want %q", key, n, got, err, want[i])
			}
		}
	}
	if _, err := w.count("nothing", 1); err == nil {
		t.Error("counts what is in no table")
	}
	if got := w.text("nothing") + w.text("alone"); got != "nothingalone" {
		t.Error(got)
	}
}

// TestLanguageOfARequest is the one that was chosen, else what the browser asks for, else English.
func TestLanguageOfARequest(t *testing.T) {
	b := &dashboard{languages: []*words{newWords(language.English, nil, nil), newWords(language.Polish, nil, nil)}}
	b.matcher = language.NewMatcher([]language.Tag{language.English, language.Polish})
	for _, c := range []struct{ cookie, accept, want string }{
		{"", "", "en"}, {"", "pl-PL,pl;q=0.9,en;q=0.8", "pl"}, {"", "el-GR,el;q=0.9,pl;q=0.5", "pl"}, {"", "xx", "en"}, {"", "en-GB,pl;q=0.1", "en"},
		{"pl", "en-US", "pl"}, {"en", "pl", "en"}, {"xx", "pl", "pl"}, {strings.Repeat("x-", 3000), "pl", "pl"}, {"", strings.Repeat("a-b,", 3000), "en"}, {"", ";;;q=x", "en"},
	} {
		r := httptest.NewRequest("GET", "/admin", nil)
		r.Header.Set("Accept-Language", c.accept)
		if c.cookie != "" {
			r.Header.Set("Cookie", wordsCookie+"="+c.cookie)
		}
		if got := b.wordsOf(r).tag.String(); got != c.want {
			t.Errorf("%.20q, %.20q: %s, want %s", c.cookie, c.accept, got, c.want)
		}
	}
}

// TestWayBack leads to pages of the dashboard and nowhere else.
func TestWayBack(t *testing.T) {
	for page, want := range map[string]string{
		"/admin": "/admin", "/admin/audit?before=9": "/admin/audit?before=9", "/admin/player?id=a%26b": "/admin/player?id=a%26b", "": "/admin", "//evil.example": "/admin",
		"https://evil.example/admin": "/admin", "/admin/../x": "/admin", "/admin/apply": "/admin", "/admin/logout": "/admin", `/\evil.example`: "/admin", "/admin\r\nX: y": "/admin",
	} {
		if got := backTo(page); got != want {
			t.Errorf("%q leads to %q, want %q", page, got, want)
		}
	}
}

// FuzzReasons says whatever comes, and loses nothing that stands in it.
func FuzzReasons(f *testing.F) {
	for _, text := range []string{"8 is above active_max 6", `"x" is there twice`, "it is empty", "$1 is this server: clients would come back for ever", ""} {
		f.Add(text)
	}
	w := invented()
	languages, _ := allWords()
	f.Fuzz(func(t *testing.T, text string) {
		got := w.translateReason(text)
		for _, number := range regexp.MustCompile(`[0-9]{5,}`).FindAllString(text, -1) {
			if !strings.Contains(got, number) {
				t.Errorf("%q became %q without %s", text, got, number)
			}
		}
		var page bytes.Buffer
		if err := languages[0].pages.ExecuteTemplate(&page, "mistakes", []compat.Mistake{{Field: text, Why: text}}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.ToLower(page.String()), "<script") {
			t.Errorf("%q is no text any more: %s", text, page.String())
		}
	})
}
