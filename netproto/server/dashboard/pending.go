package dashboard

import (
	"net/http"
	"net/url"
)

// A form that arrives after the end of its session is kept in the login page, so that no input is lost. After the login it is shown
// for review. A kept form never changes anything by itself.

// pendingPath is the field of a kept form that says where it was going. Forms of ours have no such field.
const pendingPath = "pending_path"

// encodePending encodes a form for the login page.
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

// resumePending shows the kept form, or the overview.
func resumePending(d *request, w http.ResponseWriter, r *http.Request, pending string) {
	form, err := url.ParseQuery(pending)
	shown := map[string]handler{
		root + "/review": reviewChange, root + "/apply": reviewAgain, root + "/rollback": reviewRollbackAgain,
		root + "/player/review": reviewFloor, root + "/player/apply": reviewFloor, root + "/try": tryClient,
	}[form.Get(pendingPath)]
	if err != nil || shown == nil {
		http.Redirect(w, r, root, http.StatusSeeOther)
		return
	}
	r.PostForm, d.resumed = form, true
	shown(d, w, r)
}
