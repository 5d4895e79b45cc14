package dashboard

import (
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"

	"collet/assets"
	"collet/netproto/release"
	"collet/netproto/server/operator"
	"collet/platform/text"
)

// wordsCookie keeps the language that was chosen; without it the browser's own counts.
const wordsCookie = "collet_language"

// wordsFor is how long that is kept.
const wordsFor = 365 * 24 * time.Hour

// words are the texts of the dashboard in one language, and its pages with them. The tables are assets/lang/*/dashboard.json: a key and
// its text, with {names} for what is put in; a text that counts something has a key for each form that the language has of it
// ("clients.one", "clients.many"); a key that begins with "why: " is one of the reasons that settings are refused for, as
// fmt.Sprintf has it. They are fixed once they are read.
type words struct {
	tag      language.Tag
	texts    map[string]string
	fallback map[string]string // for what texts lack
	reasons  []reasonPattern
	pages    *template.Template
}

// reasonPattern is one of compat or of an operator's method that a language has of its own.
type reasonPattern struct {
	pattern *regexp.Regexp
	text    string // with $1 and so on for what is in it
}

// wordLanguage is a language of the dashboard by its own name.
type wordLanguage struct{ Tag, Name string }

// wordLanguages are those of package assets, the fallback first.
func wordLanguages() (all []wordLanguage) {
	for _, tag := range assets.Languages() {
		all = append(all, wordLanguage{language.MustParse(tag).String(), assets.AboutOf(tag).Name})
	}
	slices.SortStableFunc(all, func(a, b wordLanguage) int { return fallbackFirst(a.Tag) - fallbackFirst(b.Tag) })
	return all
}

// fallbackTag is the language that has every text.
const fallbackTag = "en"

func fallbackFirst(tag string) int {
	if tag == fallbackTag {
		return 0
	}
	return 1
}

// allWords is readWords, once for all dashboards of this process: the result is fixed, and takes longer to read than to use.
var allWords = sync.OnceValues(readWords)

// readWords reads every language and makes its pages. A fault in what is embedded ends the first test.
func readWords() (all []*words, matcher language.Matcher) {
	var tags []language.Tag
	fallback := assets.Dashboard(fallbackTag)
	for _, l := range wordLanguages() {
		w := newWords(language.MustParse(l.Tag), assets.Dashboard(strings.ToLower(l.Tag)), fallback)
		w.pages = template.Must(template.New("").Funcs(w.funcs()).ParseFS(files, "*.html"))
		all, tags = append(all, w), append(tags, w.tag)
	}
	return all, language.NewMatcher(tags)
}

func newWords(tag language.Tag, texts, fallback map[string]string) *words {
	return &words{tag: tag, texts: texts, fallback: fallback, reasons: reasonsOf(texts)}
}

// whyPrefix begins the key of a reason.
const whyPrefix = "why: "

// verb is a place in a format of fmt.Sprintf.
var verb = regexp.MustCompile(`%[dsqv]`)

// reasonsOf are the reasons in a table, the longest first: a format may begin like another one.
func reasonsOf(texts map[string]string) (all []reasonPattern) {
	for key, text := range texts {
		format, is := strings.CutPrefix(key, whyPrefix)
		if !is {
			continue
		}
		var pattern strings.Builder
		from := 0
		for _, at := range verb.FindAllStringIndex(format, -1) {
			group := map[string]string{"%d": `(-?\d+)`}[format[at[0]:at[1]]]
			pattern.WriteString(regexp.QuoteMeta(format[from:at[0]]))
			pattern.WriteString(orElse(group, `((?s:.*))`))
			from = at[1]
		}
		pattern.WriteString(regexp.QuoteMeta(format[from:]))
		all = append(all, reasonPattern{pattern: regexp.MustCompile(`\A` + pattern.String() + `\z`), text: text})
	}
	slices.SortFunc(all, func(a, b reasonPattern) int { return len(b.pattern.String()) - len(a.pattern.String()) })
	return all
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// lookUp is the text for a key. args are pairs of a placeholder's name and its value. A key that is not in the table is a fault of the
// page.
func (w *words) lookUp(key string, args ...any) (string, error) {
	text, found := w.texts[key]
	if !found {
		text, found = w.fallback[key]
	}
	if !found {
		return "", fmt.Errorf("language %q has no text %q", w.tag, key)
	}
	var pairs []string
	for i := 0; i+1 < len(args); i += 2 {
		pairs = append(pairs, "{"+fmt.Sprint(args[i])+"}", fmt.Sprint(args[i+1]))
	}
	return strings.NewReplacer(pairs...).Replace(text), nil
}

// text is lookUp for keys that are written in this package; a test compares them with the tables.
func (w *words) text(key string, args ...any) string {
	text, err := w.lookUp(key, args...)
	if err != nil {
		return key
	}
	return text
}

// count is the form of a text for a number, which stands in it as {n}.
func (w *words) count(key string, n int, args ...any) (string, error) {
	form := key + "." + pluralNames()[plural.Cardinal.MatchPlural(w.tag, n, 0, 0, 0, 0)]
	if _, own := w.texts[form]; !own {
		form = key + "." + pluralNames()[plural.Cardinal.MatchPlural(language.English, n, 0, 0, 0, 0)]
	}
	return w.lookUp(form, append(args, "n", n)...)
}

// pluralNames are the names of forms in the tables.
func pluralNames() map[plural.Form]string {
	return map[plural.Form]string{plural.Other: "other", plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many"}
}

// translateReason is a reason in this language, with the reasons that stand in it one after the other; one that is not in the table stays as it is.
func (w *words) translateReason(text string) string {
	for _, r := range w.reasons {
		found := r.pattern.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		pairs := make([]string, 0, 2*len(found))
		for i := len(found) - 1; i > 0; i-- {
			parts := strings.Split(found[i], ", ")
			for j, part := range parts {
				if part != text { // a pattern of nothing but a place would never end
					parts[j] = w.translateReason(part)
				}
			}
			pairs = append(pairs, fmt.Sprintf("$%d", i), strings.Join(parts, ", "))
		}
		return strings.NewReplacer(pairs...).Replace(r.text)
	}
	return text
}

// translateError is what an operator's method said, in this language.
func (w *words) translateError(err error) string {
	var confirm *operator.ConfirmError
	var input *operator.InputError
	switch {
	case errors.As(err, &confirm) && confirm.NeedsComment && confirm.NeedsConfirm:
		return w.text("fault.both")
	case errors.As(err, &confirm) && confirm.NeedsComment:
		return w.text("fault.comment")
	case errors.As(err, &confirm):
		return w.text("fault.confirm")
	case errors.As(err, &input):
		return input.Field + ": " + w.translateReason(input.Why)
	default:
		return err.Error()
	}
}

// dateForm is how a day and a time are written.
func (w *words) dateForm() string { return w.text("date.form") }

// funcs are what pages call.
func (w *words) funcs() template.FuncMap {
	return template.FuncMap{
		"t": w.lookUp, "tn": w.count, "why": w.translateReason, "kicks": kickChoices, "lang": w.tag.String, "languages": wordLanguages,
		"iso":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"when":  func(t time.Time) string { return t.UTC().Format(w.dateForm()) },
		"input": inputTime,
		"shown": text.Line, // foreign text where it is shown; in a form's value it stays as it is
		"bytes": text.Bytes,
		"offer": w.offer,
		"deref": func(e *release.Entry) release.Entry { return *e },
		"join":  strings.Join,
		"rest":  func(height int) int { return 100 - height },
		"short": func(s string) string { return s[:min(len(s), 8)] },
	}
}

// wordsOf are those for a request: of the language that was chosen, or else of what the browser asks for.
func (b *dashboard) wordsOf(r *http.Request) *words {
	chosen := ""
	if c, err := r.Cookie(wordsCookie); err == nil {
		chosen = c.Value
	}
	_, at := language.MatchStrings(b.matcher, chosen, r.Header.Get("Accept-Language"))
	return b.languages[at]
}

// setLanguage keeps a language for this browser, and shows the page again that it looked at.
func setLanguage(d *request, w http.ResponseWriter, r *http.Request) {
	tag := r.PostForm.Get("language")
	if !slices.ContainsFunc(wordLanguages(), func(l wordLanguage) bool { return l.Tag == tag }) {
		d.renderError(w, &operator.InputError{Field: "language", Why: fmt.Sprintf("the dashboard has no language %s", text.Quote(tag))})
		return
	}
	http.SetCookie(w, &http.Cookie{Name: wordsCookie, Value: tag, Path: root, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: byTLS(r), MaxAge: int(wordsFor / time.Second)})
	http.Redirect(w, r, backTo(r.PostForm.Get("back")), http.StatusSeeOther)
}

// backTo is a page of the dashboard that may be shown again; the overview for everything else, so that a link leads nowhere else.
func backTo(page string) string {
	at, query, _ := strings.Cut(page, "?")
	if _, there := routes()[http.MethodGet+" "+at]; !there {
		return root
	}
	if query == "" {
		return at
	}
	return at + "?" + query
}
