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

	"collet/netproto/compat"
	"collet/netproto/server/operator"
)

// tables are the texts of each language without the reasons, which English has in the code.
func tables(t *testing.T) map[string]map[string]string {
	t.Helper()
	all := map[string]map[string]string{}
	languages, _ := readWords()
	for _, w := range languages {
		plain := maps.Clone(w.texts)
		maps.DeleteFunc(plain, func(key, _ string) bool { return strings.HasPrefix(key, whyPrefix) })
		all[w.tag.String()] = plain
	}
	return all
}

// pluralForms are the forms that each language has for whole numbers (CLDR).
func pluralForms() map[string][]string {
	return map[string][]string{"en": {"one", "other"}, "ru": {"few", "many", "one"}}
}

// stem is a key without its form, where it has one.
func stem(key string) (base, form string) {
	at := strings.LastIndex(key, ".")
	if at > 0 && slices.Contains([]string{"one", "few", "many", "other"}, key[at+1:]) {
		return key[:at], key[at+1:]
	}
	return key, ""
}

// TestWordsAreComplete compares the languages: the same keys, the forms that each needs, and the same placeholders.
func TestWordsAreComplete(t *testing.T) {
	all := tables(t)
	counted := map[string]bool{}
	for key := range all["en"] {
		if base, form := stem(key); form == "one" {
			counted[base] = true
		}
	}
	stems := map[string][]string{}
	for tag, texts := range all {
		forms := map[string][]string{}
		for key, text := range texts {
			if strings.TrimSpace(text) != text || text == "" {
				t.Errorf("%s: %s: %q is empty, or has blanks around it", tag, key, text)
			}
			base, form := stem(key)
			if !counted[base] {
				base, form = key, ""
			}
			forms[base] = append(forms[base], form)
		}
		for base, have := range forms {
			slices.Sort(have)
			if want := pluralForms()[tag]; counted[base] && !slices.Equal(have, want) {
				t.Errorf("%s: %s has the forms %v, want %v", tag, base, have, want)
			}
		}
		stems[tag] = slices.Sorted(maps.Keys(forms))
	}
	for tag, keys := range stems {
		if !slices.Equal(keys, stems["en"]) {
			t.Errorf("%s and en differ in %v", tag, difference(keys, stems["en"]))
		}
	}
}

// difference is what only one of two sorted lists has.
func difference(a, b []string) (only []string) {
	for _, x := range [][2][]string{{a, b}, {b, a}} {
		for _, key := range x[0] {
			if !slices.Contains(x[1], key) {
				only = append(only, key)
			}
		}
	}
	return only
}

// TestWordsHaveTheSamePlaceholders in every language.
func TestWordsHaveTheSamePlaceholders(t *testing.T) {
	all := tables(t)
	placeholder := regexp.MustCompile(`\{\w+\}`)
	of := func(text string) string {
		found := placeholder.FindAllString(text, -1)
		slices.Sort(found)
		return strings.Join(slices.Compact(found), " ")
	}
	for tag, texts := range all {
		for key, text := range texts {
			base, form := stem(key)
			english, there := all["en"][key]
			if !there && form != "" {
				english = all["en"][base+".other"]
			}
			if of(text) != of(english) {
				t.Errorf("%s: %s: %q has other placeholders than %q", tag, key, text, english)
			}
		}
	}
}

// TestWordsAreUsed wants every key in a page or in the code, and every key there in the tables.
func TestWordsAreUsed(t *testing.T) {
	english := tables(t)["en"]
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
	languages, _ := readWords()
	for _, w := range languages[1:] {
		for format := range formats {
			if _, there := w.texts[whyPrefix+format]; !there {
				t.Errorf("%s: %q is not translated", w.tag, format)
			}
		}
	}
}

// TestReasons are said in the language, with what stands in them; others stay as they are.
func TestReasons(t *testing.T) {
	languages, _ := readWords()
	en, ru := languages[0], languages[1]
	for _, c := range [][2]string{
		{"8 is above active_max 6", "8 больше active_max 6"},
		{"99 is not in the supported range 5-8", "99 не входит в поддерживаемый диапазон 5-8"},
		{`"a\nb" is there twice`, `"a\nb" указано дважды`},
		{"it is empty", "пусто"},
		{"clients of A can't be updated: of its modules 1 without a sidecar", "клиентов A не обновить: из его модулей 1 без файла описания"},
		{"of its modules 2 of a logic version that is not active, 1 without a sidecar", "из его модулей 2 неактивной логической версии, 1 без файла описания"},
		{"an unknown text", "an unknown text"},
		{"", ""},
	} {
		if got := ru.translateReason(c[0]); got != c[1] {
			t.Errorf("%q became %q, want %q", c[0], got, c[1])
		}
		if got := en.translateReason(c[0]); got != c[0] {
			t.Errorf("%q became %q in English", c[0], got)
		}
	}
	if got := ru.translateError(fmt.Errorf("x: %w", &operator.InputError{Field: "floor", Why: "has 1 to 64 bytes"})); got != "floor: от 1 до 64 байт" {
		t.Error(got)
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{&operator.ConfirmError{NeedsComment: true, NeedsConfirm: true}, "fault.both"}, {&operator.ConfirmError{NeedsComment: true}, "fault.comment"}, {&operator.ConfirmError{NeedsConfirm: true}, "fault.confirm"},
	} {
		if got := ru.translateError(c.err); got != ru.texts[c.want] {
			t.Errorf("%v: %q", c.err, got)
		}
	}
	if got := ru.translateError(errors.New("odd")); got != "odd" {
		t.Error(got)
	}
}

// TestCounts takes the form that the language has for a number.
func TestCounts(t *testing.T) {
	languages, _ := readWords()
	for n, want := range map[int][2]string{
		0: {"0 clients are", "0 клиентов"}, 1: {"1 client is", "1 клиент."}, 2: {"2 clients are", "2 клиента"}, 5: {"5 clients are", "5 клиентов"},
		11: {"11 clients are", "11 клиентов"}, 21: {"21 clients are", "21 клиент."}, 22: {"22 clients are", "22 клиента"}, 112: {"112 clients are", "112 клиентов"}, 1000: {"1000 clients are", "1000 клиентов"},
	} {
		for i, w := range languages {
			got, err := w.count("hero.connected", n)
			if err != nil || !strings.Contains(got, want[i]) {
				t.Errorf("%s: %d: %q, %v", w.tag, n, got, err)
			}
		}
	}
	if _, err := languages[0].count("nothing", 1); err == nil {
		t.Error("counts what is in no table")
	}
	if got := languages[0].text("nothing"); got != "nothing" {
		t.Error(got)
	}
}

// TestLanguageOfARequest is the one that was chosen, else what the browser asks for, else English.
func TestLanguageOfARequest(t *testing.T) {
	b := &dashboard{}
	b.languages, b.matcher = readWords()
	for _, c := range []struct{ cookie, accept, want string }{
		{"", "", "en"}, {"", "ru-RU,ru;q=0.9,en;q=0.8", "ru"}, {"", "de-DE,de;q=0.9,ru;q=0.5", "ru"}, {"", "fr", "en"}, {"", "en-GB,ru;q=0.1", "en"},
		{"ru", "en-US", "ru"}, {"en", "ru", "en"}, {"xx", "ru", "ru"}, {strings.Repeat("x-", 3000), "ru", "ru"}, {"", strings.Repeat("a-b,", 3000), "en"}, {"", ";;;q=x", "en"},
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
	languages, _ := readWords()
	f.Fuzz(func(t *testing.T, text string) {
		got := languages[1].translateReason(text)
		for _, number := range regexp.MustCompile(`[0-9]{5,}`).FindAllString(text, -1) {
			if !strings.Contains(got, number) {
				t.Errorf("%q became %q without %s", text, got, number)
			}
		}
		var page bytes.Buffer
		if err := languages[1].pages.ExecuteTemplate(&page, "mistakes", []compat.Mistake{{Field: text, Why: text}}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.ToLower(page.String()), "<script") {
			t.Errorf("%q is no text any more: %s", text, page.String())
		}
	})
}
