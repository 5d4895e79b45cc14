package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"collet/netproto/compat"
	"collet/netproto/server/admin"
	"collet/netproto/server/operator"
	"collet/platform/text"
)

// tryPage is an invented client with its verdict.
type tryPage struct {
	frame
	Form      url.Values // the input
	Versioned bool
	Targets   []string
	Choices   []string // where its components come from
	Updaters  []string
	Mistakes  []compat.Mistake
	Answer    *admin.VerdictAnswer // nil: nothing was asked, or not rightly
	Kind      string               // how the verdict looks
	Rules     []triedRule
	Warnings  []string // keys of texts
	Retry     int      // seconds
	Popup     string   // what the client shows; empty for nothing
}

// triedRule is the result of one rule for a client.
type triedRule struct {
	Number int
	State  string // "decides", "applies" beside the one that decides, "passes", or "moot": the last one where another has decided
}

// More reports whether a field of the collapsed part has input.
func (p tryPage) More() bool {
	return slices.ContainsFunc([]string{"compatibility", "branch", "seq", "time", "dev", "redirected", "retried"}, func(name string) bool { return p.Form.Get(name) != "" }) ||
		p.Form.Has("updater") && p.Form.Get("updater") != "same"
}

// The choices for the components of a client.
const (
	ofOwn    = "own"    // those of its logic version
	ofUnsaid = "unsaid" // it names none
	ofTyped  = "typed"
)

// newTryPage is the page with an input.
func newTryPage(d *request, form url.Values) tryPage {
	s := d.op.Snapshot()
	p := tryPage{
		frame: d.newFrame(d.words.text("nav.try"), "try"), Form: form, Versioned: s.Versioned,
		Choices: []string{ofOwn, ofUnsaid, ofTyped}, Updaters: []string{"same", "older", "newer"},
	}
	for name := range s.Targets {
		p.Targets = append(p.Targets, name)
	}
	slices.Sort(p.Targets)
	return p
}

// showTryForm shows the form, filled in with the newest active client.
func showTryForm(d *request, w http.ResponseWriter, _ *http.Request) {
	p := newTryPage(d, url.Values{"packs": {"1"}, "of": {ofOwn}})
	if p.Versioned {
		p.Form.Set("logic", strconv.Itoa(int(d.op.Settings().ActiveMax)))
	}
	if len(p.Targets) > 0 {
		p.Form.Set("target", p.Targets[0])
	}
	d.renderPage(w, http.StatusOK, "try.html", p)
}

// tryClient shows the verdict of the client.
func tryClient(d *request, w http.ResponseWriter, r *http.Request) {
	p := newTryPage(d, r.PostForm)
	ask, mistakes := readHello(d.op.Snapshot(), r.PostForm)
	status := http.StatusOK
	if p.Mistakes = mistakes; len(mistakes) == 0 {
		if err := evaluateClient(d.op, &p, ask); err != nil {
			p.Mistakes = []compat.Mistake{mistakeOf(err)}
		}
	}
	part := "try.html"
	if r.Header.Get(fragmentHeader) != "" {
		part = "answer"
	} else if len(p.Mistakes) > 0 {
		status = http.StatusUnprocessableEntity
	}
	d.renderPage(w, status, part, p)
}

// evaluateClient judges a client as a connection would.
func evaluateClient(op *operator.Operator, p *tryPage, ask admin.HelloRequest) error {
	h, err := ask.Hello()
	if err != nil {
		return err
	}
	j, err := op.Evaluate(h, ask.Account)
	if err != nil {
		return err
	}
	answer := admin.Explain(op.Snapshot(), h, j)
	p.Popup = j.Popup(h.Updater)
	p.Answer, p.Kind, p.Retry = answer, verdictKind(answer.Verdict), int(answer.RetryAfter)
	for number := 1; number <= int(compat.RuleAccept); number++ {
		p.Rules = append(p.Rules, triedRule{number, ruleState(answer, uint8(number))})
	}
	for _, warning := range []struct {
		bit compat.Warnings
		key string
	}{{compat.WarnComponents, "warning.components"}, {compat.WarnNewer, "warning.newer"}, {compat.WarnNoBaseline, "warning.baseline"}} {
		if compat.Warnings(answer.Warnings)&warning.bit != 0 {
			p.Warnings = append(p.Warnings, warning.key)
		}
	}
	return nil
}

func ruleState(a *admin.VerdictAnswer, number uint8) string {
	switch {
	case a.Rule == number:
		return "decides"
	case slices.Contains(a.Reasons, number):
		return "applies"
	case number == uint8(compat.RuleAccept):
		return "moot"
	default:
		return "passes"
	}
}

// mistakeOf is an error as the page lists it.
func mistakeOf(err error) compat.Mistake {
	if input, is := err.(*operator.InputError); is {
		return compat.Mistake{Field: input.Field, Why: input.Why}
	}
	return compat.Mistake{Field: "hello", Why: err.Error()}
}

// readHello reads the client of a form.
func readHello(s *compat.Snapshot, form url.Values) (admin.HelloRequest, []compat.Mistake) {
	f := formReader{Values: form}
	ask := admin.HelloRequest{
		Target: f.text("target"), Compatibility: f.text("compatibility"), Updater: f.text("updater"), Account: f.text("account"),
		Branch: f.text("branch"), BuildSeq: uint64(f.optional("seq", 63)), Patch: uint32(f.optional("patch", 33)), Flags: flagsOf(form),
	}
	if f.Has("packs") {
		ask.Content = s.ContentFor(ask.Target)
	}
	if text := f.text("logic"); text != "" && s.Versioned {
		logic := int32(f.number(text, "logic", 32))
		ask.Logic = &logic
	}
	if typed := f.text("time"); typed != "" {
		at, err := time.Parse(formTime, typed)
		if err != nil {
			f.mistakes = append(f.mistakes, compat.Mistake{Field: "time", Why: fmt.Sprintf("%s is no date and time", text.Quote(typed))})
		}
		ask.BuildTime = at.Unix()
	}
	ask.Components = componentsOf(s, f, ask.Logic)
	if ask.Compatibility == "" {
		ask.Compatibility = compatibilityOf(s, ask)
	}
	return ask, f.mistakes
}

// optional is a whole number that may be left out.
func (f *formReader) optional(name string, bits int) int64 {
	if f.text(name) == "" {
		return 0
	}
	return f.number(f.text(name), name, bits)
}

func flagsOf(form url.Values) (bits uint32) {
	for name, flag := range map[string]compat.Flags{"dev": compat.FlagDevelopment | compat.FlagManifest, "redirected": compat.FlagRedirected, "retried": compat.FlagAfterUpdate} {
		if form.Has(name) {
			bits |= uint32(flag)
		}
	}
	return bits
}

// componentsOf is the hash of a client's components; empty if it names none.
func componentsOf(s *compat.Snapshot, f formReader, logic *int32) string {
	switch {
	case f.text("of") == ofTyped:
		return strings.ToLower(f.text("components"))
	case f.text("of") == ofOwn && logic != nil:
		return operator.HexSum(s.Baselines[*logic])
	default:
		return ""
	}
}

// compatibilityOf is the compatibility version of a client that names none: the server's own where games have theirs, else the one
// that follows from what it says.
func compatibilityOf(s *compat.Snapshot, ask admin.HelloRequest) string {
	if s.Custom || ask.Logic == nil {
		return s.Compatibility
	}
	sum, _ := strconv.ParseUint(ask.Components, 16, 64) // what is no hash is refused later
	return compat.Derived(*ask.Logic, sum)
}
