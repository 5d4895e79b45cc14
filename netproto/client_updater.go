package netproto

import "collet/netproto/compat"

// Updater says which side is outdated after a verdict of UpdaterMismatch, as far as the answer tells. If a C1 server has
// an older minor version, the client waits for the server's update. Any other server needs a newer client. For an
// engine's server, which gives no version, and after other verdicts it is compat.UpdaterSame.
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
