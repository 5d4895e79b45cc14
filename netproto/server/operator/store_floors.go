package operator

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"sync"

	bolt "go.etcd.io/bbolt"
)

// Floor implements Store.
func (s *boltStore) Floor(account string) (int32, error) {
	value, err := s.readValue(bucketFloors, []byte(account))
	return floorOf(value), err
}

// SetFloor implements Store. Raises of many accounts at the same moment share one commit.
func (s *boltStore) SetFloor(account string, floor int32, lower bool) (was int32, err error) {
	if was, err = s.Floor(account); err != nil || floor == was || floor < was && !lower {
		return was, err
	}
	var changed bool
	err = s.db.Batch(func(tx *bolt.Tx) error {
		value, err := readSealed(tx, bucketFloors, []byte(account))
		was, changed = floorOf(value), false
		if err != nil || floor == was || floor < was && !lower {
			return err
		}
		h, err := headOf(tx)
		if err != nil {
			return err
		}
		if h.Floors >= MaxFloors && value == nil {
			return ErrStoreFull
		}
		changed = true
		if err := changeHead(tx, func(h *head) { h.Floors += present(floor) - present(was) }); err != nil {
			return err
		}
		if floor == 0 {
			return tx.Bucket([]byte(bucketFloors)).Delete([]byte(account))
		}
		return putValue(tx, bucketFloors, []byte(account), binary.BigEndian.AppendUint32(nil, uint32(floor)))
	})
	if err == nil && changed {
		s.floors.moveAccount(was, floor)
	}
	return was, err
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
func present(floor int32) int {
	if floor == 0 {
		return 0
	}
	return 1
}

// Floors implements Store.
func (s *boltStore) Floors() map[int32]int {
	s.floors.mu.Lock()
	defer s.floors.mu.Unlock()
	return maps.Clone(s.floors.byFloor)
}

// Tokens implements Store.
func (s *boltStore) Tokens() (tokens []Token, err error) {
	value, err := s.readValue(bucketTokens, keyNow)
	if err != nil || value == nil {
		return nil, err
	}
	return tokens, json.Unmarshal(value, &tokens)
}

// SetTokens implements Store.
func (s *boltStore) SetTokens(tokens []Token) error {
	value, err := json.Marshal(tokens)
	if err != nil {
		return err
	}
	return s.db.Update(func(tx *bolt.Tx) error { return putValue(tx, bucketTokens, keyNow, value) })
}
