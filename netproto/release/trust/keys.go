package trust

import (
	"crypto"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"

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
	blockForeign     = "PUBLIC KEY" // of other programs, RFC 7468

	derSequence = 0x30 // begins PKIX in DER
)

// ErrPassphrase says that the passphrase does not decrypt the key file, or that the file was changed.
var ErrPassphrase = errors.New("the passphrase does not open this key file")

// PrivateKey is an Ed25519 signing key: one in memory, or one that another program or device signs with. It is read-only and safe for
// concurrent use.
type PrivateKey struct {
	key         ed25519.PrivateKey // nil for an external key
	development bool

	public [ed25519.PublicKeySize]byte
	sign   func(message []byte) (signature []byte, err error)
}

// NewExternalKey is a key whose private half another program or device has. sign signs one message; its signature is checked before use.
// It may be called by several goroutines at once.
func NewExternalKey(public PublicKey, sign func(message []byte) (signature []byte, err error)) *PrivateKey {
	return &PrivateKey{development: public.Development, public: public.key, sign: sign}
}

// GenerateKey makes a new key from the system's random numbers. A development key is stored unencrypted and marked:
// releases signed with it are rejected unless explicitly allowed.
func GenerateKey(development bool) (*PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return inMemory(key, development), nil
}

// inMemory is a key whose private half is here.
func inMemory(key ed25519.PrivateKey, development bool) *PrivateKey {
	sign := func(message []byte) ([]byte, error) { return ed25519.Sign(key, message), nil }
	return &PrivateKey{key: key, development: development, public: [ed25519.PublicKeySize]byte(key.Public().(ed25519.PublicKey)), sign: sign}
}

// Public is the public half.
func (k *PrivateKey) Public() PublicKey { return PublicKey{key: k.public, Development: k.development} }

// Development reports whether the key is marked as a development key.
func (k *PrivateKey) Development() bool { return k.development }

// Encode writes the key file: PEM around PKCS #8, encrypted by scrypt (N = 2^17, r = 8, p = 1) and NaCl's secretbox in
// the form of TUF and sigstore. A development key takes no passphrase, any other needs one. An external key has no file.
func (k *PrivateKey) Encode(passphrase []byte) ([]byte, error) {
	if k.key == nil {
		return nil, errors.New("write key: its private half is not here")
	}
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
	return inMemory(private, block.Type == blockDevelopment), nil
}

// keyBlock finds the one block of a key file.
func keyBlock(file []byte, kinds ...string) (*pem.Block, error) {
	if len(file) > MaxKeyFile {
		return nil, fmt.Errorf("read key: %w", ErrTooLong)
	}
	block, rest := pem.Decode(file)
	if block == nil || len(rest) > 0 {
		return nil, errors.New("read key: this is not exactly one PEM block, from its line -----BEGIN to its line -----END")
	}
	for _, kind := range kinds {
		if block.Type == kind {
			return block, nil
		}
	}
	return nil, fmt.Errorf("read key: the file holds a %q, want a %q", block.Type, kinds[0])
}

// signer is the key in the form of TUF's library. fault is the error of the last signature, which that library does not pass on.
type signer struct {
	key   *PrivateKey
	fault error
}

var _ signature.Signer = (*signer)(nil)

func (k *PrivateKey) signer() *signer { return &signer{key: k} }

// PublicKey implements signature.Signer.
func (s *signer) PublicKey(...signature.PublicKeyOption) (crypto.PublicKey, error) {
	return ed25519.PublicKey(s.key.public[:]), nil
}

// SignMessage implements signature.Signer.
func (s *signer) SignMessage(message io.Reader, _ ...signature.SignOption) ([]byte, error) {
	data, err := io.ReadAll(message)
	if err == nil {
		data, err = s.key.Sign(data)
	}
	s.fault = err
	return data, err
}

// Sign signs a message. An external key that signs wrongly is an error.
func (k *PrivateKey) Sign(message []byte) ([]byte, error) {
	made, err := k.sign(message)
	if err != nil {
		return nil, err
	}
	if !ed25519.Verify(k.public[:], message, made) {
		return nil, fmt.Errorf("the signature that was made is not one of key %s: its public half belongs to another key, or the message was signed in another way than by Ed25519", k.Public().ID())
	}
	return made, nil
}

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

// ParsePublicKey reads the result of PublicKey.Encode, or the public key that another program or a device wrote: PKIX as PEM or DER.
func ParsePublicKey(file []byte) (PublicKey, error) {
	if len(file) > 0 && file[0] == derSequence {
		file = pem.EncodeToMemory(&pem.Block{Type: blockForeign, Bytes: file})
	}
	block, err := keyBlock(file, blockPublic, blockDevPublic, blockForeign)
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
