package operator

import (
	"bytes"
	"slices"
	"strings"

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
}

// Accounts implements Store. It reads all floors: with 10 million of them it takes a second (BenchmarkAccounts).
func (s *FileStore) Accounts(q AccountQuery) (accounts []AccountFloor, next string, err error) {
	prefix, after := []byte(q.Prefix), []byte(q.After)
	look := func(name []byte, floor int32) bool {
		full := len(accounts) > q.Limit
		switch {
		case !bytes.HasPrefix(name, prefix), bytes.Compare(name, after) <= 0, full && string(name) > accounts[q.Limit].Account, !q.Want(floor):
			return true
		}
		at, _ := slices.BinarySearchFunc(accounts, string(name), func(a AccountFloor, name string) int { return strings.Compare(a.Account, name) })
		accounts = slices.Insert(accounts, at, AccountFloor{string(name), floor})
		accounts = accounts[:min(len(accounts), q.Limit+1)] // one more, which says that there is a next page
		return true
	}
	err = s.db.View(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte(bucketFloorSets)).ForEach(func(key, sealed []byte) error {
			set, err := unseal([]byte(bucketFloorSets), key, sealed)
			if err != nil {
				return err
			}
			return floorSet(set).each(look)
		})
	})
	if len(accounts) > q.Limit {
		accounts = accounts[:q.Limit]
		next = accounts[q.Limit-1].Account
	}
	return accounts, next, err
}
