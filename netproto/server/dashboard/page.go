package dashboard

import (
	"bytes"
	"net/http"

	"collet/netproto/server/operator"
)

// page answers with a page, or a part of one, if it can be made wholly.
func (d *request) page(w http.ResponseWriter, status int, name string, content any) {
	var text bytes.Buffer
	if err := d.words.pages.ExecuteTemplate(&text, name, content); err != nil {
		d.log.Error().Err(err).Str("page", name).Msg("A page of the dashboard can't be made")
		http.Error(w, "this page can't be made; the log says why", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Language", d.words.tag.String())
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // the client may have gone
}

// frame is what every page shows.
type frame struct {
	Title    string
	Page     string // which of the menu's
	User     string // name of the logged-in actor; empty without a login
	CanEdit  bool
	CSRF     string
	Revision uint64
	Build    string
	Clear    bool   // the form is sent to another machine without TLS
	Back     string // the page itself, where it can be shown again in another language; empty where it can't
}

// frame is that of a page.
func (d *request) frame(title, page string) frame {
	f := frame{Title: title, Page: page, CSRF: d.browser.seal, Back: d.back}
	if d.op == nil {
		return f
	}
	if d.known {
		f.User, f.CanEdit = d.by.Name, d.by.Role == operator.RoleEdit
		f.Revision, f.Build = d.op.Settings().Revision, d.op.Snapshot().Build.ID
	}
	return f
}

// notice is a page with nothing but a message.
type notice struct {
	frame
	Text string
}

// showSorry shows an error. title is a key, text is shown as it is.
func (d *request) showSorry(w http.ResponseWriter, status int, title, text string) {
	d.page(w, status, "notice.html", notice{frame: d.frame(d.words.text(title), ""), Text: text})
}
