package release

import (
	"github.com/sigstore/sigstore/pkg/signature"
)

// Signer lets tests sign what no publisher would.
func (k *PrivateKey) Signer() (signature.Signer, error) { return k.signer() }

// CheckJSON is checkJSON.
func CheckJSON(data []byte) error { return checkJSON(data) }

// NumbersAgain reads the memory of release numbers and writes it again.
func NumbersAgain(data []byte) ([]byte, error) {
	var n numbers
	if err := readDocument("numbers", data, maxNumbers, n.code); err != nil {
		return nil, err
	}
	return writeDocument("numbers", maxNumbers, n.code)
}
