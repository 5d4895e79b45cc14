package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html"

	"collet/build/qa/report"
)

// nasty is untrusted text with markup and control characters.
const nasty = "</pre></td><script>alert(1)</script>\x1b[2J\x00 \"quoted\" & 'so' ]]> \u202egnp.exe\nsecond line\xff"

// sample is a report with cases of every kind.
func sample() *report.Report {
	r := &report.Report{
		Title: "A <bad> network & more", Product: "Lathe", Target: "Linux-x64", Command: `collet qa net --demo --host "Lathe"`,
		Started: time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC), Took: 4321 * time.Millisecond, Comments: []string{"Seed <7>."},
	}
	for i, name := range []string{"cut", "corrupt"} {
		for j, moment := range []string{"list", "portion", "the end of everything"} {
			c := report.Case{Suite: "net", Name: name, State: report.OK, Detail: "ResourcesReady", Took: time.Duration(100*(i+1)*(j+1)) * time.Millisecond,
				Params: []report.Param{{Name: "direction", Value: "down"}, {Name: "moment", Value: moment}}}
			switch {
			case name == "corrupt" && moment == "portion":
				c.State, c.Detail = report.Violation, nasty
			case name == "cut" && moment == "the end of everything":
				c.State, c.Detail = report.Skipped, "takes 35 s; --long tries it"
			}
			r.Cases = append(r.Cases, c)
		}
	}
	r.Cases = append(r.Cases, report.Case{Suite: nasty, Name: nasty, Params: []report.Param{{Name: nasty, Value: nasty}}, State: "forgotten"})
	return r
}

var rewrite = flag.Bool("update", false, "rewrite the golden files instead of comparing with them")

// golden compares with a file, and writes differing output to testdata/failed.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err == nil && bytes.Equal(got, want) {
		return
	}
	failed := filepath.Join("testdata", "failed", name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(failed), 0o755), os.WriteFile(failed, got, 0o644)); err != nil {
		t.Fatal(err)
	}
	t.Errorf("%s differs from testdata (%v); what was got lies in %s", name, err, failed)
}

func written(t *testing.T, write func(io.Writer) error) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestReportGoldens(t *testing.T) {
	r := sample()
	golden(t, "sample.txt", written(t, r.Table))
	golden(t, "sample.xml", written(t, r.JUnit))
	golden(t, "sample.html", written(t, r.HTML))
	golden(t, "empty.txt", written(t, (&report.Report{}).Table))
}

func TestCount(t *testing.T) {
	r := sample()
	if got := r.Count(); got != (report.Count{OK: 4, Violations: 2, Skipped: 1}) || got.Cases() != 7 {
		t.Errorf("%+v", got)
	}
	if got := r.Count().String(); got != "cases 7, violations 2, skipped 1" {
		t.Error(got)
	}
	if value, has := r.Cases[0].Param("moment"); value != "list" || !has {
		t.Errorf("%q %v", value, has)
	}
	if value, has := r.Cases[0].Param("seed"); value != "" || has {
		t.Errorf("%q %v", value, has)
	}
	if got := r.Cases[0].Title(); got != "cut direction=down moment=list" {
		t.Error(got)
	}
}

// The text of a case can't move the cursor, end another line, or change the writing direction.
func TestTableIsPrintable(t *testing.T) {
	for _, c := range string(written(t, sample().Table)) {
		if c != '\n' && (c < ' ' || c == 0x7F || c == 0x202E) {
			t.Fatalf("%q in the table", c)
		}
	}
	for name, write := range map[string]func(io.Writer) error{"junit": sample().JUnit, "html": sample().HTML} {
		if got := written(t, write); bytes.ContainsAny(got, "\x00\x1b\u202e") || !utf8.Valid(got) {
			t.Errorf("%s holds something unprintable", name)
		}
	}
	long := report.Report{Cases: []report.Case{{Name: "n", State: report.Violation, Detail: strings.Repeat("line\n", 1000)}}}
	if n := bytes.Count(written(t, long.Table), []byte("\n")); n > 50 {
		t.Errorf("%d lines for one violation", n)
	}
	if !bytes.Contains(written(t, long.Table), []byte("970 more lines")) {
		t.Errorf("nothing tells of the lines that were left out")
	}
}

func TestTableColumnsAreAligned(t *testing.T) {
	r := &report.Report{}
	for _, name := range []string{"a", "eine längere Übung", "b c"} {
		r.Cases = append(r.Cases, report.Case{Suite: "s", Name: name, State: report.OK})
	}
	lines := strings.Split(string(written(t, r.Table)), "\n")
	for _, line := range lines[1:4] {
		if len([]rune(line)) != len([]rune(lines[0])) {
			t.Errorf("%d and %d characters:\n%s\n%s", len([]rune(lines[0])), len([]rune(line)), lines[0], line)
		}
	}
}

// suites is JUnit's XML for a reader, independent of the writer's types.
type suites struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Skipped  int `xml:"skipped,attr"`
	Suites   []struct {
		Name       string  `xml:"name,attr"`
		Tests      int     `xml:"tests,attr"`
		Failures   int     `xml:"failures,attr"`
		Skipped    int     `xml:"skipped,attr"`
		Errors     int     `xml:"errors,attr"`
		Time       float64 `xml:"time,attr"`
		Timestamp  string  `xml:"timestamp,attr"`
		Properties []struct {
			Name  string `xml:"name,attr"`
			Value string `xml:"value,attr"`
		} `xml:"properties>property"`
		Cases []struct {
			Class   string  `xml:"classname,attr"`
			Name    string  `xml:"name,attr"`
			Time    float64 `xml:"time,attr"`
			Failure *struct {
				Message string `xml:"message,attr"`
				Text    string `xml:",chardata"`
			} `xml:"failure"`
			Skipped *struct {
				Message string `xml:"message,attr"`
			} `xml:"skipped"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

func TestJUnitIsRead(t *testing.T) {
	var got suites
	if err := xml.Unmarshal(written(t, sample().JUnit), &got); err != nil {
		t.Fatal(err)
	}
	if got.Tests != 7 || got.Failures != 2 || got.Skipped != 1 || len(got.Suites) != 2 {
		t.Fatalf("%+v", got)
	}
	net := got.Suites[0]
	if net.Name != "net" || net.Tests != 6 || net.Failures != 1 || net.Skipped != 1 || net.Errors != 0 || net.Time != 1.8 ||
		net.Timestamp != "2026-11-21T09:30:00" || len(net.Properties) != 3 || len(net.Cases) != 6 {
		t.Errorf("%+v", net)
	}
	bad := net.Cases[4]
	if bad.Class != "collet.net" || bad.Name != "corrupt direction=down moment=portion" || bad.Time != 0.4 || bad.Failure == nil {
		t.Fatalf("%+v", bad)
	}
	if !strings.HasPrefix(bad.Failure.Text, "</pre></td><script>alert(1)</script>") || !strings.Contains(bad.Failure.Text, "\nsecond line") {
		t.Errorf("%q", bad.Failure.Text)
	}
	if strings.Contains(bad.Failure.Message, "\n") || net.Cases[2].Skipped == nil || net.Cases[0].Failure != nil {
		t.Errorf("%+v", net.Cases)
	}
}

func parsed(t *testing.T, r *report.Report) *html.Node {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(written(t, r.HTML)))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func elements(root *html.Node, tag, class string) (found []*html.Node) {
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.Data == tag && (class == "" || slices.Contains(strings.Fields(attr(n, "class")), class)) {
			found = append(found, n)
		}
	}
	return found
}

func text(n *html.Node) (all string) {
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			all += d.Data
		}
	}
	return all
}

// The page needs no other files, and the text of cases stays text.
func TestHTMLIsSelfContainedAndEscaped(t *testing.T) {
	root := parsed(t, sample())
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		for _, a := range n.Attr {
			outside := slices.Contains([]string{"src", "srcset", "data", "action", "poster", "ping", "background"}, a.Key)
			if outside || a.Key == "href" && !strings.HasPrefix(a.Val, "#") || strings.HasPrefix(a.Key, "on") {
				t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
			}
		}
		if slices.Contains([]string{"link", "img", "iframe", "object", "embed", "base"}, n.Data) {
			t.Errorf("<%s>", n.Data)
		}
	}
	if n := len(elements(root, "script", "")); n != 1 {
		t.Errorf("%d scripts", n)
	}
	policy := attr(elements(root, "meta", "")[1], "content")
	if !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "http") {
		t.Errorf("policy %q", policy)
	}
	if style := text(elements(root, "style", "")[0]); strings.Contains(style, "url(") || strings.Contains(style, "@import") {
		t.Error("the style asks for something from elsewhere")
	}
	for _, pair := range [][2]string{{"td", "detail"}, {"td", "name"}} {
		if !slices.ContainsFunc(elements(root, pair[0], pair[1]), func(n *html.Node) bool {
			return strings.Contains(text(n), "</pre></td><script>alert(1)</script>")
		}) {
			t.Errorf("nothing nasty in <%s class=%s>", pair[0], pair[1])
		}
	}
}

// Each case has one square with its state, and each link leads to the line of its case.
func TestHTMLMatrix(t *testing.T) {
	r := sample()
	root := parsed(t, r)
	lines := map[string]*html.Node{}
	for _, n := range elements(root, "tr", "") {
		if id := attr(n, "id"); id != "" {
			lines["#"+id] = n
		}
	}
	squares := elements(root, "a", "q")
	if len(squares) != len(r.Cases) || len(lines) != len(r.Cases) {
		t.Fatalf("%d squares and %d lines for %d cases", len(squares), len(lines), len(r.Cases))
	}
	states := map[string]int{}
	for _, s := range squares {
		line := lines[attr(s, "href")]
		if line == nil {
			t.Fatalf("%q leads nowhere", attr(s, "href"))
		}
		state := attr(line, "data-state")
		if !slices.Contains(strings.Fields(attr(s, "class")), state) {
			t.Errorf("a %q square leads to a case that is %q", attr(s, "class"), state)
		}
		states[state]++
	}
	if states["ok"] != 4 || states["violation"] != 2 || states["skipped"] != 1 {
		t.Error(states)
	}
	first := elements(root, "table", "squares")[0]
	var heads []string
	for _, th := range elements(first, "th", "") {
		heads = append(heads, text(th))
	}
	want := []string{"direction", "down", "moment", "list", "portion", "the end of everything", "cut", "corrupt"}
	if !slices.Equal(heads, want) {
		t.Errorf("heads %q, want %q", heads, want)
	}
}

// Thousands of points are grouped: the overview shows operation × survival, groups with violations are open, and above the limit of lines
// a case that is ok has only a square.
func TestHTMLOfThousands(t *testing.T) {
	r := &report.Report{}
	ops := []string{"write", "sync", "rename"}
	for at := range 300 {
		for _, kept := range []string{"0", "50", "100"} {
			for _, seed := range []string{"10", "9", "1"} {
				c := report.Case{Suite: "crash", Name: ops[at%3], State: report.OK, Params: []report.Param{
					{Name: "at", Value: fmt.Sprint(at)}, {Name: "kept", Value: kept}, {Name: "seed", Value: seed}}}
				if ops[at%3] == "rename" && kept == "50" {
					c.State = report.Violation
				}
				r.Cases = append(r.Cases, c)
			}
		}
	}
	root := parsed(t, r)
	overview := elements(root, "table", "overview")
	if len(overview) != 1 {
		t.Fatalf("%d overviews", len(overview))
	}
	var rows []string
	for _, tr := range elements(overview[0], "tr", "") {
		var cells []string
		for cell := range tr.ChildNodes() {
			cells = append(cells, strings.TrimSpace(attr(cell, "class")+" "+text(cell)))
		}
		rows = append(rows, strings.Join(cells, "|"))
	}
	want := []string{
		"kept|0|50|100",
		"seed|1|9|10|1|9|10|1|9|10",
		"write" + strings.Repeat("|ok 100", 9), "sync" + strings.Repeat("|ok 100", 9),
		"rename" + strings.Repeat("|ok 100", 3) + strings.Repeat("|violation 100 of 100", 3) + strings.Repeat("|ok 100", 3),
	}
	if !slices.Equal(rows, want) {
		t.Errorf("overview\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
	groups := elements(root, "details", "")
	if len(groups) != 3 || slices.ContainsFunc(groups[0].Attr, isOpen) || !slices.ContainsFunc(groups[2].Attr, isOpen) {
		t.Errorf("%d groups: %v", len(groups), groups)
	}
	if links, plain := len(elements(root, "a", "q")), len(elements(elements(root, "main", "")[0], "i", "q"))-3; links != 2300 || plain != 400 {
		t.Errorf("%d squares lead to a line and %d do not", links, plain)
	}
	if !bytes.Contains(written(t, r.HTML), []byte("400 more cases are ok")) {
		t.Error("nothing tells of the cases without a line")
	}
}

func isOpen(a html.Attribute) bool { return a.Key == "open" }

// Two hundred random kills differ only by their seed: their squares share one cell.
func TestHTMLOfManySeeds(t *testing.T) {
	r := &report.Report{}
	for seed := range 200 {
		r.Cases = append(r.Cases, report.Case{Suite: "kill", Name: "SIGKILL", State: report.OK, Params: []report.Param{{Name: "seed", Value: fmt.Sprint(seed)}}})
	}
	root := parsed(t, r)
	cells := elements(root, "td", "many")
	if len(cells) != 1 || len(elements(cells[0], "a", "q")) != 200 {
		t.Errorf("%d places with many squares", len(cells))
	}
}

func TestReportColumnsAreAsked(t *testing.T) {
	r := sample()
	r.Cases, r.Columns = r.Cases[:6], []string{"direction"}
	var rows []string
	for _, th := range elements(elements(parsed(t, r), "tbody", "")[0], "th", "") {
		rows = append(rows, text(th))
	}
	if len(rows) != 6 || rows[0] != "cut moment=list" {
		t.Errorf("rows %q", rows)
	}
}

type broken struct{ left int }

func (b *broken) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestReportTellsOfWriteErrors(t *testing.T) {
	for name, write := range map[string]func(io.Writer) error{"table": sample().Table, "junit": sample().JUnit, "html": sample().HTML} {
		for _, left := range []int{0, 200} {
			if err := write(&broken{left}); !errors.Is(err, io.ErrShortWrite) {
				t.Errorf("%s with room for %d bytes: %v", name, left, err)
			}
		}
	}
}

// Positions in a stream are sorted: numbers, then percentages.
func TestHTMLColumnsAreSorted(t *testing.T) {
	r := &report.Report{}
	for _, at := range []string{"50%", "1", "100%", "600000", "0", "1%"} {
		r.Cases = append(r.Cases, report.Case{Suite: "net", Name: "cut", Params: []report.Param{{Name: "at", Value: at}}, State: report.OK})
	}
	page := string(written(t, r.HTML))
	last := -1
	for _, at := range []string{"0", "1", "600000", "1%", "50%", "100%"} {
		found := strings.Index(page, `data-label="at=`+at+`"`)
		if found <= last {
			t.Errorf("%s stands at %d, behind %d", at, found, last)
		}
		last = found
	}
}

// The common beginning of all rows appears once, in the corner; the tooltip of a row has the full title.
func TestHTMLRowsAreShort(t *testing.T) {
	r := &report.Report{Columns: []string{"kept"}}
	for _, op := range []string{"001 write a", "002 sync a"} {
		r.Cases = append(r.Cases, report.Case{Suite: "crash", Name: "update", State: report.OK,
			Params: []report.Param{{Name: "op", Value: op}, {Name: "kept", Value: "50"}}})
	}
	page := string(written(t, r.HTML))
	for _, want := range []string{`<b>update op</b>kept</th>`, `title="update op=001 write a">001 write a</th>`, `title="update op=002 sync a">002 sync a</th>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}
