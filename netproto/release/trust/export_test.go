package trust

import (
	"github.com/sigstore/sigstore/pkg/signature"
)

// Signer lets tests sign what no publisher would.
func (k *PrivateKey) Signer() (signature.Signer, error) { return k.signer(), nil }

// CheckJSON is checkJSON.
func CheckJSON(data []byte) error { return checkJSON(data) }

// Unfinished reports whether a rotation of keys was interrupted, see ErrUnfinished.
func (r *Repo) Unfinished() bool { return r.pending }
