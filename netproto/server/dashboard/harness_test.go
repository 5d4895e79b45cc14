package dashboard_test

import (
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"collet/netproto/server/operator"
	"collet/netproto/server/servertest"
)

// browser keeps cookies and follows no redirects.
type browser struct {
	t    testing.TB
	at   string
	http http.Client
	last string // the page
	code int
	head http.Header
}

func browse(t testing.TB, at string) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{t: t, at: at, http: http.Client{Jar: jar, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// do asks for a page and wants a status, 0 for any. Headers are pairs.
func (b *browser) do(status int, method, path string, form url.Values, headers ...string) string {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.at+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := b.http.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	b.last, b.code, b.head = string(text), answer.StatusCode, answer.Header
	if status != 0 && b.code != status {
		b.t.Fatalf("%s %s: got %s, want %d\n%.3000s", method, path, answer.Status, status, text)
	}
	return b.last
}

func (b *browser) get(status int, path string) string {
	b.t.Helper()
	return b.do(status, "GET", path, nil)
}

// seal is what the forms of the page carry.
func (b *browser) seal() string { b.t.Helper(); return b.hidden("csrf") }

// hidden is a hidden field of the page.
func (b *browser) hidden(name string) string {
	b.t.Helper()
	found := regexp.MustCompile(`<input type="hidden" name="` + name + `" value="([^"]*)"`).FindStringSubmatch(b.last)
	if found == nil {
		b.t.Fatalf("the page has no %s:\n%.2000s", name, b.last)
	}
	return html.UnescapeString(found[1])
}

// send sends a form of the page that is shown, with more than is hidden in it. Fields are pairs.
func (b *browser) send(status int, path string, fields ...string) string {
	b.t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	for _, name := range []string{"csrf", "revision"} {
		if !form.Has(name) && strings.Contains(b.last, `name="`+name+`"`) {
			form.Set(name, b.hidden(name))
		}
	}
	return b.do(status, "POST", path, form)
}

// apply sends the review that is shown.
func (b *browser) apply(status int, fields ...string) string {
	b.t.Helper()
	fields = append(fields, "section", b.hidden("section"), "document", b.hidden("document"))
	return b.send(status, "/admin/apply", fields...)
}

// shows wants texts in the page.
func (b *browser) shows(texts ...string) {
	b.t.Helper()
	page := html.UnescapeString(b.last)
	for _, text := range texts {
		if !strings.Contains(page, text) {
			b.t.Errorf("the page lacks %q:\n%.6000s", text, page)
		}
	}
}

// lacks wants texts not to be in the page.
func (b *browser) lacks(texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		if strings.Contains(b.last, text) {
			b.t.Errorf("the page has %q", text)
		}
	}
}

// enter logs in with servertest.TokenSecret.
func (b *browser) enter() *browser {
	b.t.Helper()
	b.get(200, "/admin/login")
	b.send(303, "/admin/login", "token", servertest.TokenSecret)
	return b
}

// governed is a server with a dashboard, and a browser in front of it that has logged in.
func governed(t testing.TB) (*servertest.Server, *operator.Operator, *browser) {
	t.Helper()
	set := servertest.VersionedSettings(t)
	h, o := servertest.StartWithToken(t, set)
	return h, o, browse(t, servertest.ServeMonitor(t, h, set)).enter()
}

// stays keeps a connection open to the end of the test: the garbage collector closes unreferenced ones.
func stays(t testing.TB, p *servertest.Peer) { t.Cleanup(func() { runtime.KeepAlive(p) }) }
