package operator

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// readValue is a copy of a value; nil if not found.
func (s *FileStore) readValue(bucket string, key []byte) (value []byte, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
		value, err = readSealed(tx, bucket, key)
		value = bytes.Clone(value)
		return err
	})
	return value, err
}

func readSealed(tx *bolt.Tx, bucket string, key []byte) ([]byte, error) {
	b := tx.Bucket([]byte(bucket))
	if b == nil {
		return nil, nil
	}
	sealed := b.Get(key)
	if sealed == nil {
		return nil, nil
	}
	return unseal([]byte(bucket), key, sealed)
}

// putValue stores a value with its hash.
func putValue(tx *bolt.Tx, bucket string, key, value []byte) error {
	return tx.Bucket([]byte(bucket)).Put(key, append(seal([]byte(bucket), key, value), value...))
}

// seal is the hash before a value. It covers bucket and key, too, so values can't be exchanged.
func seal(bucket, key, value []byte) []byte {
	h := sha256.New()
	for _, part := range [][]byte{bucket, key, value} {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part))))
		h.Write(part)
	}
	return h.Sum(nil)
}

// unseal is the value without its hash, which must match.
func unseal(bucket, key, sealed []byte) ([]byte, error) {
	if len(sealed) < sumSize || !bytes.Equal(seal(bucket, key, sealed[sumSize:]), sealed[:sumSize]) {
		return nil, fmt.Errorf("the value of %s %x is not the one that was written", bucket, key)
	}
	return sealed[sumSize:], nil
}

func numberKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// numberOf is 0 for no key.
func numberOf(key []byte) uint64 {
	if len(key) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(key)
}

func floorOf(value []byte) int32 {
	if len(value) != 4 {
		return 0
	}
	return int32(binary.BigEndian.Uint32(value))
}
