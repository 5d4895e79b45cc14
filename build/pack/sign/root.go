package sign

import (
	"time"

	"collet/netproto/release"
)

// CheckRoot holds the trusted root that clients are packed with to what players need (release.RootInfo.Check): no development
// keys, which lie in the clear, and no root that one person, or one lost key, decides about, unless asked for by name; and it
// must not have expired, as clients would then never say that they are current.
func CheckRoot(root []byte, allow release.Allow, now time.Time) error {
	info, err := release.InspectRoot(root)
	if err != nil {
		return because(err, "export it with: collet keys export", "the trusted root")
	}
	if err := info.Check(allow); err != nil {
		return because(err, "make keys for releases (docs/RELEASING.md), or ask for it by name (--allow-development, --allow-single-root)", "the trusted root")
	}
	if !now.Before(info.Expires) {
		return wrong("sign a new one (docs/RELEASING.md)", "the trusted root expired on %s", day(info.Expires))
	}
	return nil
}
