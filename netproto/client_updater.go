package netproto

import "collet/netproto/compat"

// Updater says how this program stands to the server after a verdict of UpdaterMismatch, as far as the answer tells: a server
// of C1 that speaks an older minor version is waited for, any other one wants a newer client. An engine's server does not say.
func (c *Client) Updater() compat.Updater {
	switch {
	case c.judgement.Verdict != compat.UpdaterMismatch || c.Generation().Engine():
		return compat.UpdaterSame
	case c.answer.Version < VersionC1:
		return compat.UpdaterNewer
	default:
		return compat.UpdaterOlder
	}
}
