package dashboard

import (
	"net/http"
	"net/url"

	"collet/netproto/server/operator"
)

// A form that arrives when its session has ended is kept in the login page, so that nothing that was typed is lost. After the login
// it is shown for review: what is kept never changes anything by itself.

// pendingPath is the field of a kept form that says where it was going. Forms of ours have no such field.
const pendingPath = "pending_path"

// encodePending is a form as the login page keeps it.
func encodePending(r *http.Request) string {
	form := url.Values{}
	for name, values := range r.PostForm {
		form[name] = values
	}
	for _, name := range []string{"csrf", "confirm", "pending"} { // a confirmation is given anew, to what is seen then
		form.Del(name)
	}
	form.Set(pendingPath, r.URL.Path)
	return form.Encode()
}

// resume shows what was kept, or the overview.
func (d *request) resume(w http.ResponseWriter, r *http.Request, pending string) {
	form, err := url.ParseQuery(pending)
	shown := map[string]handler{
		root + "/review": (*request).review, root + "/apply": (*request).reviewAgain, root + "/rollback": (*request).rollbackAgain,
		root + "/player/review": (*request).reviewPlayer, root + "/player/apply": (*request).reviewPlayer, root + "/try": (*request).tryClient,
	}[form.Get(pendingPath)]
	if err != nil || shown == nil {
		http.Redirect(w, r, root, http.StatusSeeOther)
		return
	}
	r.PostForm, d.resumed = form, true
	shown(d, w, r)
}

// reviewAgain shows a change that was reviewed before, with what was typed.
func (d *request) reviewAgain(w http.ResponseWriter, r *http.Request) {
	c, err := readChange(r)
	document := r.PostForm.Get("document")
	if err == nil {
		c.Settings, err = d.op.Propose([]byte(document))
	}
	if err != nil {
		d.showError(w, err)
		return
	}
	d.showTyped(w, r, d.sectionPage(r.PostForm.Get("section"), document, c))
}

// rollbackAgain is the same for going back.
func (d *request) rollbackAgain(w http.ResponseWriter, r *http.Request) {
	to, s, err := d.readRevision(r.PostForm.Get("to"))
	var c operator.Change
	if err == nil {
		c, err = readChange(r)
	}
	if err != nil {
		d.showError(w, err)
		return
	}
	d.showTyped(w, r, d.rollbackPage(to, s, c.Revision))
}

// showTyped shows a review with what was typed into it.
func (d *request) showTyped(w http.ResponseWriter, r *http.Request, p reviewPage) {
	p.Comment, p.Kick = r.PostForm.Get("comment"), r.PostForm.Get("kick")
	d.showReview(w, http.StatusOK, p)
}
