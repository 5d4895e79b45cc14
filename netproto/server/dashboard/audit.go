package dashboard

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"collet/netproto/compat"
	"collet/netproto/server/admin"
	"collet/netproto/server/operator"
	"collet/netproto/server/releases"
)

// auditRow is a record of the audit log for display.
type auditRow struct {
	compat.Audit
	Revision uint64 // of the changed settings; 0 if the record is not about settings
	Current  bool   // it is the one in force
	Changes  []changedKey
}

func (w *words) auditRows(records []compat.Audit, current uint64) []auditRow {
	rows := make([]auditRow, len(records))
	for i, a := range records {
		rows[i] = auditRow{Audit: a}
		var after struct {
			Revision uint64 `json:"revision"`
		}
		if json.Unmarshal(a.After, &after) == nil && after.Revision > 0 {
			rows[i].Revision, rows[i].Current = after.Revision, after.Revision == current
			rows[i].Changes = changedKeys(a.Keys, a.Before, a.After)
		} else {
			for _, key := range a.Keys {
				if proposed := w.releaseChange(key, a.After); proposed != "" {
					rows[i].Changes = append(rows[i].Changes, changedKey{Key: key, After: proposed})
					continue
				}
				rows[i].Changes = append(rows[i].Changes, changedKey{Key: key, Before: plainText(a.Before), After: plainText(a.After)})
			}
		}
	}
	return rows
}

// releaseChange puts a record of a proposal, or of a rollout that drives itself, in words; empty for other records.
func (w *words) releaseChange(key string, after json.RawMessage) string {
	var c struct {
		Action  string `json:"action"`
		Percent int    `json:"percent"`
		Into    string `json:"into"`
	}
	if !strings.HasPrefix(key, releaseKey) || json.Unmarshal(after, &c) != nil {
		return ""
	}
	text, err := w.lookUp(releaseKey + c.Action)
	if err != nil {
		return ""
	}
	if c.Action == string(releases.Rollout) || c.Action == string(releases.Promote) {
		text += ": " + w.text("offer.percent", "n", strconv.Itoa(c.Percent))
	}
	if c.Into != "" {
		text += " → " + c.Into
	}
	return text
}

// releaseKey begins the key of a record about a release, and those of the texts about changes of releases.
const releaseKey = "releases."

// plainText is a small document without its punctuation.
func plainText(document json.RawMessage) string {
	if text := strings.Trim(string(document), `{}"`); text != "" && text != "null" {
		return strings.ReplaceAll(text, `"`, "")
	}
	return "—"
}

// auditPage is the audit log.
type auditPage struct {
	frame
	Rows     []auditRow
	Before   uint64 // where the next page begins; 0 is the end
	Paged    bool   // it is not the first page
	Verified *admin.VerifyAnswer
}

func showAudit(d *request, w http.ResponseWriter, r *http.Request) {
	const rows = 25 // of a page
	before, err := admin.Number(r, "before", 0)
	if err != nil {
		d.renderError(w, err)
		return
	}
	records, err := d.op.Audit.Records(before, rows)
	if err != nil {
		d.renderError(w, err)
		return
	}
	p := auditPage{frame: d.newFrame(d.words.text("nav.audit"), "audit"), Rows: d.words.auditRows(records, d.op.Settings().Revision), Paged: before != 0}
	if n := len(records); n > 0 && records[n-1].Seq > 1 {
		p.Before = records[n-1].Seq
	}
	if r.URL.Query().Has("verify") {
		count, err := d.op.Audit.Verify()
		p.Verified = &admin.VerifyAnswer{Good: err == nil, Records: count}
		if err != nil {
			p.Verified.Why = err.Error()
		}
	}
	d.renderPage(w, http.StatusOK, "audit.html", p)
}

// accessPage has the tokens.
type accessPage struct {
	frame
	Tokens []operator.Token
	Made   *admin.TokenAnswer // with its secret, this once
	Fault  string
	Typed  string // name for a token that was refused
}

func showAccess(d *request, w http.ResponseWriter, _ *http.Request) {
	renderAccess(d, w, http.StatusOK, accessPage{})
}

func renderAccess(d *request, w http.ResponseWriter, status int, p accessPage) {
	p.frame, p.Tokens = d.newFrame(d.words.text("nav.access"), "access"), d.op.Tokens.List()
	d.renderPage(w, status, "access.html", p)
}

// createToken creates a token, and shows its secret once.
func createToken(d *request, w http.ResponseWriter, r *http.Request) {
	name, role := strings.TrimSpace(r.PostForm.Get("name")), operator.Role(r.PostForm.Get("role"))
	secret, err := d.op.Tokens.Create(d.by, name, role)
	if err != nil {
		renderAccessError(d, w, err, name)
		return
	}
	renderAccess(d, w, http.StatusCreated, accessPage{Made: &admin.TokenAnswer{Name: name, Role: role, Secret: secret}})
}

func dropToken(d *request, w http.ResponseWriter, r *http.Request) {
	if err := d.op.Tokens.Drop(d.by, r.PostForm.Get("name")); err != nil {
		renderAccessError(d, w, err, "")
		return
	}
	http.Redirect(w, r, root+"/access", http.StatusSeeOther)
}

// renderAccessError shows the page again with an input error, or another error on a page of its own.
func renderAccessError(d *request, w http.ResponseWriter, err error, name string) {
	if input := (*operator.InputError)(nil); errors.As(err, &input) {
		renderAccess(d, w, http.StatusUnprocessableEntity, accessPage{Fault: d.words.translateError(err), Typed: name})
		return
	}
	d.renderError(w, err)
}
