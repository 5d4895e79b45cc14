package host

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"

	"collet/app/splash"
	"collet/app/update"
	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/session"
)

// serverReply is the rest of the last server's answer, beside its verdict. The zero value means no answer.
type serverReply struct {
	tags        netproto.AnswerTags
	differences compat.Differences
	updater     compat.Updater // this program's updater compared with the server's
	secure      bool           // TLS authenticated the server
}

// recordReply records a server's answer.
func (s *source) recordReply(c *session.Client) {
	s.reply = serverReply{tags: c.Told(), differences: c.Differences(), updater: c.Updater(), secure: s.secure}
}

// Server implements update.Teller.
func (s *source) Server() string {
	client := s.session()
	if client == nil {
		return ""
	}
	return firstOf(s.reply.tags.Server.ID, client.Judgement().Compatibility)
}

// tolerated reports whether the server admits this client although components differ.
func (r serverReply) tolerated() bool { return r.tags.Warnings&compat.WarnComponents != 0 }

// popups are the keys of the popups by the outcome of an update.
var popups = map[update.Outcome]string{
	update.PlatformUnsupported: compat.PopupStore, update.ServerMissingNativeUpdate: compat.PopupNoBinary,
	update.ClientTooNew: compat.PopupNewer, update.UpdaterOutdated: compat.PopupUpdater, update.PlayerPinned: compat.PopupPinned,
	update.Maintenance: compat.PopupMaintenance, update.UpdateLoop: compat.PopupLoop, update.ComponentsMismatch: compat.PopupDeveloper,
}

// popup is the key of the popup for an outcome; empty if the outcome does not come from a verdict.
func (r serverReply) popup(o update.Outcome) string {
	if o == update.UpdaterOutdated && r.updater == compat.UpdaterNewer {
		return compat.PopupNewer
	}
	return popups[o]
}

// verdictInfo adds the server's answer to the explanation of an end.
func (h *host) verdictInfo(e outcome, info *splash.EndInfo) {
	j, tags := e.status.Judgement, h.reply.tags
	info.Client = h.meta.CompatibilityVersion
	info.Withheld = j.Withheld
	info.Floor = firstOf(j.Floor, tags.Floor)
	info.Offered = e.outcome == update.PlayerPinned && j.Verdict == compat.UpdateBinaries && h.target.CanSelfUpdate()
	info.ServerOlder = h.reply.updater == compat.UpdaterNewer
	if e.outcome == update.UpdateLoop {
		info.Code = loopCode(e.status.Offer)
	}
	if key := h.reply.popup(e.outcome); key != "" && key == tags.MessageKey {
		info.Message = tags.Message
	}
	if e.outcome == update.ComponentsMismatch {
		info.Differences, info.Allowed = &h.reply.differences, info.Allowed || h.reply.tolerated()
	}
	if info.StoreURL == "" && opens(tags.StoreURL, h.reply.secure) {
		info.StoreURL = tags.StoreURL
	}
}

// stores are the hosts of shops with reviewed content: an unauthenticated server may link to them and to no other host. A name that
// begins with a dot stands for its subdomains.
var stores = []string{
	"apps.apple.com", "play.google.com", "store.steampowered.com", "apps.microsoft.com", "www.microsoft.com",
	"store.epicgames.com", "appgallery.huawei.com", "galaxystore.samsung.com", "f-droid.org", "flathub.org", "snapcraft.io",
	"www.gog.com", "itch.io", ".itch.io",
}

// opens reports whether a button may open a page that a server names: an https page, and either the server is authenticated or the page
// is of a known shop.
func opens(page string, secure bool) bool {
	u, err := url.Parse(page)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	for _, store := range stores {
		if host == store || strings.HasPrefix(store, ".") && strings.HasSuffix(host, store) {
			return secure || u.Port() == ""
		}
	}
	return secure
}

// tolerance is the toast for differences that the server tolerates. It is due if both ends named their components, or if this is a
// developer's client.
func (u *updates) tolerance() (t splash.Toast, due bool) {
	if !u.reply.tolerated() {
		return t, false
	}
	t = splash.ComposeToast(u.reply.differences, u.texts)
	u.log.Warn().Str("toast", t.Text).Msg("components differ, which the server tolerates")
	return t, !u.reply.differences.Untold || u.settings.Compatibility.Development
}

// toast shows a toast until its time is over, the player asks for details, or the game ends. It reports whether details were asked for.
func (g *game) toast(ctx context.Context, f view, t splash.Toast) bool {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	over, done := g.child.Done(), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-over:
			cancel()
		case <-watching.Done():
		}
	}()
	pressed := f.Toast(watching, t)
	cancel()
	<-done
	return pressed
}

// reportVerdict writes the last server's verdict and differences to a report.
func (h *host) reportVerdict(out io.Writer, e *outcome) {
	if j := e.status.Judgement; e.status.Mode != update.Undecided || j != (compat.Judgement{}) {
		fmt.Fprintf(out, "verdict %v by rule %d, reasons %b, warnings %b, revision %d, age %v\n", j.Verdict, j.Rule, j.Reasons, j.Warnings, j.Revision, j.Age)
	}
	if e.outcome == update.UpdateLoop {
		fmt.Fprintf(out, "code %s\n", loopCode(e.status.Offer))
	}
	if d := h.reply.differences; !d.Equal() && len(d.Items) > 0 || h.reply.tolerated() {
		fmt.Fprintln(out, d.Sentence())
		for _, item := range d.Items {
			fmt.Fprintln(out, item.Row())
		}
		fmt.Fprintf(out, "%d components are the same\n", d.Unchanged)
	}
}
