package compat

// The popups by their keys. They stand in settings and on the wire.
const (
	PopupStore       = "P-STORE"
	PopupNoBinary    = "P-NOBIN"
	PopupNewer       = "P-NEWER"
	PopupUpdater     = "P-UPDATER"
	PopupPinned      = "P-PIN"
	PopupMaintenance = "P-MAINT"
	PopupLoop        = "P-LOOP" // the client's own: no verdict leads to it
	PopupDeveloper   = "P-DEV"
)

// Popups are all of them, in the order of the table.
func Popups() []string {
	return []string{PopupStore, PopupNoBinary, PopupNewer, PopupUpdater, PopupPinned, PopupMaintenance, PopupLoop, PopupDeveloper}
}

// Popup is what a client shows for a verdict: empty where it shows progress instead, or plays. That an account is pinned is told
// whatever the verdict. u is how its updater stands to the
// server's: one that is newer waits for the server.
func (j Judgement) Popup(u Updater) string {
	if j.Pinned() {
		return PopupPinned
	}
	switch j.Verdict {
	case UpdateViaStore:
		return PopupStore
	case NoNativeUpdate:
		return PopupNoBinary
	case ClientTooNew:
		return PopupNewer
	case UpdaterMismatch:
		if u == UpdaterNewer {
			return PopupNewer
		}
		return PopupUpdater
	case ComponentsMismatch:
		return PopupDeveloper
	case Maintenance:
		return PopupMaintenance
	default:
		return ""
	}
}

// Message is the popup that a client is told to show and the operator's text for it; both are empty where there is none, and the
// client shows its own.
func (s *Snapshot) Message(j Judgement, u Updater) (key, text string) {
	key = j.Popup(u)
	text = s.Messages[key]
	if key == "" || text == "" {
		return "", ""
	}
	return key, text
}

// StoreURL is where players of a target get another version; empty is unknown. A target's own name goes before a pattern, and a
// longer pattern before a shorter one.
func (s *Snapshot) StoreURL(target string) (link string) {
	if link, known := s.StoreURLs[target]; known {
		return link
	}
	best := ""
	for pattern, candidate := range s.StoreURLs {
		if matches(pattern, target) && (len(pattern) > len(best) || len(pattern) == len(best) && pattern < best) {
			best, link = pattern, candidate
		}
	}
	return link
}
