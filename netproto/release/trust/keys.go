package trust

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/secure-systems-lab/go-securesystemslib/encrypted"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/theupdateframework/go-tuf/v2/metadata"
)

// KeyRole is a role of TUF; a key of the role signs its document. The words are those of TUF.
type KeyRole string

const (
	// RoleRoot names the keys of all roles. Its keys stay offline.
	RoleRoot KeyRole = metadata.ROOT
	// RoleTargets signs releases.
	RoleTargets KeyRole = metadata.TARGETS
	// RoleSnapshot binds the versions of lists together. Its key is online and of low value.
	RoleSnapshot KeyRole = metadata.SNAPSHOT
	// RoleTimestamp attests that the rest is current. Its key is online and of low value.
	RoleTimestamp KeyRole = metadata.TIMESTAMP
)

// KeyRoles are all roles, in the order in which they are set up.
func KeyRoles() []KeyRole { return []KeyRole{RoleRoot, RoleTargets, RoleSnapshot, RoleTimestamp} }

const (
	// MaxKeyFile is the largest key file in bytes; ours have some 600.
	MaxKeyFile = 16 << 10
	// MinPassphrase is the length of the shortest accepted passphrase in bytes. scrypt makes each guess cost a tenth of
	// a second and 128 MiB, which does not protect a shorter one.
	MinPassphrase = 8

	blockEncrypted   = "COLLET ENCRYPTED PRIVATE KEY" // securesystemslib's scrypt and secretbox over PKCS #8
	blockDevelopment = "COLLET DEVELOPMENT PRIVATE KEY"
	blockPublic      = "COLLET PUBLIC KEY"
	blockDevPublic   = "COLLET DEVELOPMENT PUBLIC KEY"
)

// ErrPassphrase says that the passphrase does not decrypt the key file, or that the file was changed.
var ErrPassphrase = errors.New("the passphrase does not open this key file")

// PrivateKey is an Ed25519 signing key. It is read-only and safe for concurrent use.
type PrivateKey struct {
	key         ed25519.PrivateKey
	development bool
}

// GenerateKey makes a new key from the system's random numbers. A development key is stored unencrypted and marked:
// releases signed with it are rejected unless explicitly allowed.
func GenerateKey(development bool) (*PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return &PrivateKey{key: key, development: development}, nil
}

// Public is the public half.
func (k *PrivateKey) Public() PublicKey {
	p := PublicKey{Development: k.development}
	copy(p.key[:], k.key.Public().(ed25519.PublicKey))
	return p
}

// Development reports whether the key is marked as a development key.
func (k *PrivateKey) Development() bool { return k.development }

// Encode writes the key file: PEM around PKCS #8, encrypted by scrypt (N = 2^17, r = 8, p = 1) and NaCl's secretbox in
// the form of TUF and sigstore. A development key takes no passphrase, any other needs one.
func (k *PrivateKey) Encode(passphrase []byte) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.key)
	switch {
	case err != nil:
		return nil, fmt.Errorf("write key: %w", err)
	case k.development && len(passphrase) > 0:
		return nil, errors.New("write key: a development key takes no passphrase")
	case k.development:
		return pem.EncodeToMemory(&pem.Block{Type: blockDevelopment, Bytes: der}), nil
	case len(passphrase) < MinPassphrase:
		return nil, fmt.Errorf("write key: the passphrase has less than %d bytes", MinPassphrase)
	}
	box, err := encrypted.EncryptWithCustomKDFParameters(der, passphrase, encrypted.OWASP)
	if err != nil {
		return nil, fmt.Errorf("write key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: blockEncrypted, Bytes: box}), nil
}

// NeedsPassphrase reports whether a key file is encrypted.
func NeedsPassphrase(file []byte) bool {
	block, _ := pem.Decode(file)
	return block != nil && block.Type == blockEncrypted
}

// ParsePrivateKey reads a key file. A wrong passphrase is ErrPassphrase.
func ParsePrivateKey(file, passphrase []byte) (*PrivateKey, error) {
	block, err := keyBlock(file, blockEncrypted, blockDevelopment)
	if err != nil {
		return nil, err
	}
	der := block.Bytes
	if block.Type == blockEncrypted {
		if der, err = encrypted.Decrypt(der, passphrase); err != nil {
			return nil, ErrPassphrase
		}
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	private, is := key.(ed25519.PrivateKey)
	if !is {
		return nil, fmt.Errorf("read key: it is a %T; only Ed25519 keys sign releases", key)
	}
	return &PrivateKey{key: private, development: block.Type == blockDevelopment}, nil
}

// keyBlock finds the one block of a key file.
func keyBlock(file []byte, kinds ...string) (*pem.Block, error) {
	if len(file) > MaxKeyFile {
		return nil, fmt.Errorf("read key: %w", ErrTooLong)
	}
	block, rest := pem.Decode(file)
	if block == nil || len(rest) > 0 {
		return nil, errors.New("read key: the file is not exactly one PEM block")
	}
	for _, kind := range kinds {
		if block.Type == kind {
			return block, nil
		}
	}
	return nil, fmt.Errorf("read key: the file holds a %q, want a %q", block.Type, kinds[0])
}

// signer is the key in the form of TUF's library.
func (k *PrivateKey) signer() (signature.Signer, error) { return signature.LoadED25519Signer(k.key) }

// PublicKey verifies signatures. It is a comparable value.
type PublicKey struct {
	key         [ed25519.PublicKeySize]byte
	Development bool
}

// ID is the key's name in metadata: 64 hex digits. The mark of a development key does not change it.
func (p PublicKey) ID() string {
	id, err := p.metadataKey().ID()
	if err != nil {
		panic("trust: internal error: a key without an id: " + err.Error())
	}
	return id
}

// metadataKey is the key in the form of TUF's library.
func (p PublicKey) metadataKey() *metadata.Key {
	return &metadata.Key{
		Type: metadata.KeyTypeEd25519, Scheme: metadata.KeySchemeEd25519,
		Value: metadata.KeyVal{PublicKey: hex.EncodeToString(p.key[:])},
	}
}

// Encode writes the public key file, which is needed for setting up the roles.
func (p PublicKey) Encode() ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(ed25519.PublicKey(p.key[:]))
	if err != nil {
		return nil, fmt.Errorf("write key: %w", err)
	}
	kind := blockPublic
	if p.Development {
		kind = blockDevPublic
	}
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), nil
}

// ParsePublicKey reads the result of PublicKey.Encode.
func ParsePublicKey(file []byte) (PublicKey, error) {
	block, err := keyBlock(file, blockPublic, blockDevPublic)
	if err != nil {
		return PublicKey{}, err
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return PublicKey{}, fmt.Errorf("read key: %w", err)
	}
	public, is := key.(ed25519.PublicKey)
	if !is {
		return PublicKey{}, fmt.Errorf("read key: it is a %T; only Ed25519 keys sign releases", key)
	}
	p := PublicKey{Development: block.Type == blockDevPublic}
	copy(p.key[:], public)
	return p, nil
}
