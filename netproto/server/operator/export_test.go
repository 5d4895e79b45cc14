package operator

import (
	"bytes"
	"errors"
)

import bolt "go.etcd.io/bbolt"

// DropOne removes the last value of a bucket of a store's file; of the settings that is the document in force.
func DropOne(path, bucket string) error {
	return inStore(path, func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(bucket))
		key, _ := b.Cursor().Last()
		return b.Delete(key)
	})
}

// Tamper replaces bytes in one audit record and keeps the file's format valid.
func Tamper(path string, number uint64, old, changed []byte) error {
	return inStore(path, func(tx *bolt.Tx) error {
		line, err := readSealed(tx, bucketAudit, numberKey(number))
		if err != nil {
			return err
		}
		return putValue(tx, bucketAudit, numberKey(number), bytes.Replace(line, old, changed, 1))
	})
}

func inStore(path string, change func(tx *bolt.Tx) error) error {
	db, err := bolt.Open(path, storeMode, &bolt.Options{NoFreelistSync: true})
	if err != nil {
		return err
	}
	return errors.Join(db.Update(change), db.Close())
}

// Walk checks the pages of a store's file.
func Walk(path string) error { return walkFile(path) }

// Readers is the number of transactions that read a store's file, which grows with each change until they end.
func (s *FileStore) Readers() int { return s.db.Stats().OpenTxN }
