package operator

import (
	"bytes"

	bolt "go.etcd.io/bbolt"
)

// AccountFloor is an account with its floor.
type AccountFloor struct {
	Account string
	Floor   int32
}

// AccountQuery selects accounts.
type AccountQuery struct {
	Prefix string           // prefix of the names; empty for all
	After  string           // only names after this one; empty for the first page
	Want   func(int32) bool // selects by floor
	Limit  int              // largest number of results, at least 1
	Looks  int              // largest number of accounts that are read, at least 1
}

// Accounts implements Store.
func (s *boltStore) Accounts(q AccountQuery) (accounts []AccountFloor, next string, err error) {
	prefix := []byte(q.Prefix)
	err = s.db.View(func(tx *bolt.Tx) error {
		cursor := tx.Bucket([]byte(bucketFloors)).Cursor()
		from := prefix
		if bytes.Compare([]byte(q.After), from) > 0 {
			from = []byte(q.After)
		}
		key, sealed := cursor.Seek(from)
		for looks := 0; key != nil && bytes.HasPrefix(key, prefix); key, sealed = cursor.Next() {
			if string(key) <= q.After {
				continue
			}
			value, err := unseal([]byte(bucketFloors), key, sealed)
			if err != nil {
				return err
			}
			if floor := floorOf(value); q.Want(floor) {
				accounts = append(accounts, AccountFloor{string(key), floor})
			}
			if looks++; looks >= q.Looks || len(accounts) >= q.Limit {
				next = string(key)
				if more, _ := cursor.Next(); more == nil || !bytes.HasPrefix(more, prefix) {
					next = ""
				}
				return nil
			}
		}
		return nil
	})
	return accounts, next, err
}
