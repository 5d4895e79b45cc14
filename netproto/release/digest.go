package release

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"sync"

	"github.com/minio/sha256-simd"
)

// Algorithm is the hash function of a digest. The numbers are stored on disk and never change.
type Algorithm uint8

const (
	// NoDigest is the zero value: nothing is known about the content.
	NoDigest Algorithm = 0
	// SHA256 is used by our own generation and by every manifest: 32 bytes.
	SHA256 Algorithm = 1
	// FNV1a64 is used by the engine's generations: 8 bytes, big-endian here, little-endian on their wire.
	FNV1a64 Algorithm = 2
)

// String is the prefix of a digest's text form.
func (a Algorithm) String() string {
	switch a {
	case SHA256:
		return "sha256"
	case FNV1a64:
		return "fnv1a64"
	default:
		return "none"
	}
}

// size is the number of significant bytes.
func (a Algorithm) size() int {
	switch a {
	case SHA256:
		return 32
	case FNV1a64:
		return 8
	default:
		return 0
	}
}

// NewHash returns a streaming hash of this algorithm. NoDigest is a bug of the caller and panics.
func (a Algorithm) NewHash() hash.Hash {
	switch a {
	case SHA256:
		return sha256.New()
	case FNV1a64:
		return fnv.New64a()
	default:
		panic("release: internal error: hash of no algorithm")
	}
}

// Digest is the hash of a whole file together with the algorithm that made it. It is a comparable value; the zero value
// means unknown and equals no digest of a file.
type Digest struct {
	Algorithm Algorithm
	sum       [32]byte
}

// SHA256Digest wraps a finished SHA-256 sum.
func SHA256Digest(sum [32]byte) Digest { return Digest{Algorithm: SHA256, sum: sum} }

// FNVDigest wraps a finished FNV-1a-64 sum.
func FNVDigest(sum uint64) Digest {
	d := Digest{Algorithm: FNV1a64}
	binary.BigEndian.PutUint64(d.sum[:], sum)
	return d
}

// hashApart is the smallest write, in bytes, for which hashing on another processor pays off.
const hashApart = 64 << 10

// WriteHashed writes b by write and to sum, at the same time if b is large. It returns the result of write; after an error the sum is of no use.
func WriteHashed(write func(b []byte) (int, error), sum io.Writer, b []byte) (int, error) {
	if len(b) < hashApart {
		_, _ = sum.Write(b) // Hash.Write never fails
		return write(b)
	}
	var hashing sync.WaitGroup
	hashing.Go(func() { _, _ = sum.Write(b) })
	defer hashing.Wait()
	return write(b)
}

// SumOf finishes h, which must be a hash made by a.NewHash.
func (a Algorithm) SumOf(h hash.Hash) Digest {
	d := Digest{Algorithm: a}
	copy(d.sum[:a.size()], h.Sum(nil))
	return d
}

// DigestOf reads r to its end in constant memory and returns the digest of the data.
func (a Algorithm) DigestOf(r io.Reader) (Digest, error) {
	h := a.NewHash()
	if _, err := io.Copy(h, r); err != nil {
		return Digest{}, err
	}
	return a.SumOf(h), nil
}

// IsZero reports whether the digest is unknown.
func (d Digest) IsZero() bool { return d.Algorithm == NoDigest }

// SHA256 returns the sum of a SHA-256 digest; ok is false for any other algorithm.
func (d Digest) SHA256() (sum [32]byte, ok bool) { return d.sum, d.Algorithm == SHA256 }

// FNV returns the sum of an FNV-1a-64 digest; ok is false for any other algorithm.
func (d Digest) FNV() (sum uint64, ok bool) {
	return binary.BigEndian.Uint64(d.sum[:8]), d.Algorithm == FNV1a64
}

// String is the text form, algorithm:hex, for example "fnv1a64:cbf29ce484222325". ParseDigest reads it back.
func (d Digest) String() string { return string(d.Append(nil)) }

// Append appends the text form to b.
func (d Digest) Append(b []byte) []byte {
	b = append(append(b, d.Algorithm.String()...), ':')
	return hex.AppendEncode(b, d.sum[:d.Algorithm.size()])
}

// ParseDigest reads the text form. Anything but the exact lower-case form of a known algorithm is rejected.
func ParseDigest(s string) (Digest, error) { return parseDigest(s) }

func parseDigest[T string | []byte](s T) (Digest, error) {
	for _, a := range []Algorithm{SHA256, FNV1a64} {
		prefix := len(a.String()) + 1
		if len(s) != prefix+2*a.size() || string(s[:prefix-1]) != a.String() || s[prefix-1] != ':' {
			continue
		}
		d := Digest{Algorithm: a}
		if !decodeLowerHex(d.sum[:], s[prefix:]) {
			break
		}
		return d, nil
	}
	return Digest{}, fmt.Errorf("digest %q: want sha256 or fnv1a64, a colon and lower-case hex digits", s)
}

// MarshalText is String, so that digests are readable in JSON; the zero digest is an empty text. An algorithm that
// UnmarshalText would reject is an error.
func (d Digest) MarshalText() ([]byte, error) {
	switch {
	case d.IsZero():
		return nil, nil
	case d.Algorithm.size() == 0:
		return nil, fmt.Errorf("digest of unknown algorithm %d", d.Algorithm)
	default:
		return []byte(d.String()), nil
	}
}

// UnmarshalText is ParseDigest; an empty text is the zero digest. After an error d is unchanged.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = Digest{}
		return nil
	}
	parsed, err := parseDigest(text)
	if err == nil {
		*d = parsed
	}
	return err
}
