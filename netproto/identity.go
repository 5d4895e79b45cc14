package netproto

import (
	"fmt"

	"collet/netproto/compat"
)

// identified completes the client's identity. It does not modify data shared with the caller.
func (o ClientOptions) identified() ClientOptions {
	if o.Identity == nil && o.Manifest == nil {
		return o
	}
	said := HelloTags{}
	switch {
	case o.Identity != nil:
		said = *o.Identity
	default:
		said.Build = o.Manifest.Build
	}
	said.Flags &^= compat.FlagManifest
	if o.Manifest != nil {
		said.Flags |= compat.FlagManifest
		said.Count = uint16(min(len(o.Manifest.Entries), compat.MaxEntries))
	}
	o.Identity = &said
	return o
}

// checkIdentity is the error for an identity that can't be encoded or is inconsistent: a manifest that is incomplete or of another build.
func (o ClientOptions) checkIdentity() error {
	if o.Identity == nil {
		return nil
	}
	if err := o.Identity.check(); err != nil || o.Manifest == nil {
		return err
	}
	if _, err := NewComponentManifest(o.Manifest, compat.ManifestFull); err != nil {
		return err
	}
	if ours := o.Manifest.Build.Components; ours != o.Identity.Build.Components {
		return fmt.Errorf("the manifest has the components %016x, and the build says %016x", ours, o.Identity.Build.Components)
	}
	return nil
}

// says reports whether the hello has tags.
func (o ClientOptions) says() bool { return o.Identity != nil && o.Identity.any() }
