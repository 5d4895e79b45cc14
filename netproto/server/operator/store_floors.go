package operator

import (
	"cmp"
	"encoding/json"
	"maps"
	"sync"

	bolt "go.etcd.io/bbolt"
)

// Floor implements Store.
func (s *FileStore) Floor(account string) (floor int32, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
		set, err := readFloorSet(tx, floorSetOf(account))
		floor = set.floor(account)
		return err
	})
	return floor, err
}

// Raise implements Store. Raises of many accounts at the same moment share one commit.
func (s *FileStore) Raise(account string, floor int32) error {
	_, err := s.raise(account, floor, func(*bolt.Tx) error { return nil })
	return err
}

// raise raises the floor of an account without a record, with a further change in the same transaction, and reports whether it was lower.
func (s *FileStore) raise(account string, floor int32, also func(*bolt.Tx) error) (raised bool, err error) {
	was, err := s.Floor(account)
	if err != nil || floor <= was {
		return false, err
	}
	err = s.db.Batch(func(tx *bolt.Tx) error {
		n := floorSetOf(account)
		set, err := readFloorSet(tx, n)
		was = set.floor(account)
		if raised = err == nil && floor > was; !raised {
			return err
		}
		if err := putFloorSet(tx, n, set.with(AccountFloor{account, floor}), present(floor)-present(was)); err != nil {
			return err
		}
		return also(tx)
	})
	if raised = raised && err == nil; raised {
		s.floors.moveAccount(was, floor)
	}
	return raised, err
}

// putFloor changes the floor of an account, and the count of floors with it; 0 takes the floor away.
func putFloor(tx *bolt.Tx, a AccountFloor) (was int32, err error) {
	n := floorSetOf(a.Account)
	set, err := readFloorSet(tx, n)
	if err != nil {
		return 0, err
	}
	was = set.floor(a.Account)
	return was, putFloorSet(tx, n, set.with(a), present(a.Floor)-present(was))
}

// putFloorSet replaces a set; more is how many accounts it has more than before.
func putFloorSet(tx *bolt.Tx, n uint16, set floorSet, more int) error {
	h, err := headOf(tx)
	if err != nil {
		return err
	}
	if more > 0 && (h.Floors+more > MaxFloors || len(set) > MaxFloorSet) {
		return ErrStoreFull
	}
	if more != 0 {
		if err := changeHead(tx, func(h *head) { h.Floors += more }); err != nil {
			return err
		}
	}
	if len(set) == 0 {
		return tx.Bucket([]byte(bucketFloorSets)).Delete(floorSetKey(n))
	}
	return putValue(tx, bucketFloorSets, floorSetKey(n), set)
}

// readFloorSet is a set while the transaction lasts; empty if there is none.
func readFloorSet(tx *bolt.Tx, n uint16) (floorSet, error) {
	value, err := readSealed(tx, bucketFloorSets, floorSetKey(n))
	return floorSet(value), err
}

// sortFloors moves the floors of a store of an earlier version, which has one value an account, into sets. An earlier server then
// refuses the store, because it counts no floors.
func sortFloors(tx *bolt.Tx) error {
	if _, err := tx.CreateBucketIfNotExists([]byte(bucketFloorSets)); err != nil {
		return err
	}
	sets := map[uint16]floorSet{}
	err := tx.Bucket([]byte(bucketFloors)).ForEach(func(account, sealed []byte) error {
		value, err := unseal([]byte(bucketFloors), account, sealed)
		n := floorSetOf(string(account))
		sets[n] = sets[n].append(string(account), floorOf(value)) // in order, as accounts come
		return err
	})
	if err != nil || len(sets) == 0 {
		return err
	}
	for n, set := range sets {
		if err := putValue(tx, bucketFloorSets, floorSetKey(n), set); err != nil {
			return err
		}
	}
	if err := tx.DeleteBucket([]byte(bucketFloors)); err != nil {
		return err
	}
	_, err = tx.CreateBucket([]byte(bucketFloors))
	return err
}

// floorCounts are the accounts for each floor. It is safe for concurrent use.
type floorCounts struct {
	mu      sync.Mutex
	byFloor map[int32]int
}

// moveAccount counts an account at another floor; 0 means without a floor.
func (c *floorCounts) moveAccount(from, to int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byFloor[from]--; c.byFloor[from] <= 0 {
		delete(c.byFloor, from)
	}
	if to != 0 {
		c.byFloor[to]++
	}
}

// present is 1 for a floor and 0 for none.
func present(floor int32) int { return cmp.Compare(floor, 0) }

// Floors implements Store.
func (s *FileStore) Floors() map[int32]int {
	s.floors.mu.Lock()
	defer s.floors.mu.Unlock()
	return maps.Clone(s.floors.byFloor)
}

// Tokens implements Store.
func (s *FileStore) Tokens() (tokens []Token, err error) {
	value, err := s.readValue(bucketTokens, keyNow)
	if err != nil || value == nil {
		return nil, err
	}
	return tokens, json.Unmarshal(value, &tokens)
}

// SetTokens replaces the tokens without a record, in a store that is being made.
func (s *FileStore) SetTokens(tokens []Token) error {
	return s.db.Update(func(tx *bolt.Tx) error { return putTokens(tx, tokens) })
}

func putTokens(tx *bolt.Tx, tokens []Token) error {
	value, err := json.Marshal(tokens)
	if err != nil {
		return err
	}
	return putValue(tx, bucketTokens, keyNow, value)
}
