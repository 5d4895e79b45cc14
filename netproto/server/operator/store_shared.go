package operator

import (
	"encoding/binary"
	"encoding/json"
	"time"

	bolt "go.etcd.io/bbolt"
)

// A node of a cluster keeps all that the cluster has in a FileStore of its own: it judges by that, also while it reaches no other
// node. Package cluster fills it. Beside what every store has, there are the floors that have not been delivered yet, and how far
// the node has come.
const (
	bucketQueue  = "queue"  // account → i32: raised here, not yet delivered
	bucketShared = "shared" // keyNow → Progress
)

// Progress is how far a node has come with its cluster. The zero value is nothing: the store of a server by itself.
type Progress struct {
	Node string    `json:",omitempty"` // name of the node whose history is, or is about to be, the cluster's
	New  bool      `json:",omitempty"` // this store is a backup that founds the cluster anew, and has not yet
	Made time.Time // when the cluster's floors were first made, which tells them from floors that were made anew; set once this node's own are in them
	Seq  uint64    // of the newest message about floors that is in this store
}

// Progress is what SetProgress or PutFloorSets has written.
func (s *FileStore) Progress() (p Progress, err error) {
	value, err := s.readValue(bucketShared, keyNow)
	if err != nil || value == nil {
		return p, err
	}
	return p, json.Unmarshal(value, &p)
}

// SetProgress writes how far the node has come.
func (s *FileStore) SetProgress(p Progress) error {
	return s.db.Update(func(tx *bolt.Tx) error { return putProgress(tx, p) })
}

func putProgress(tx *bolt.Tx, p Progress) error {
	value, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if _, err := tx.CreateBucketIfNotExists([]byte(bucketShared)); err != nil {
		return err
	}
	return putValue(tx, bucketShared, keyNow, value)
}

// QueueFloor is Raise, and remembers that the floor has to be delivered.
func (s *FileStore) QueueFloor(account string, floor int32) (raised bool, err error) {
	return s.raise(account, floor, func(tx *bolt.Tx) error {
		if _, err := tx.CreateBucketIfNotExists([]byte(bucketQueue)); err != nil {
			return err
		}
		return putValue(tx, bucketQueue, []byte(account), binary.BigEndian.AppendUint32(nil, uint32(floor)))
	})
}

// Queued are at most limit accounts whose floors have to be delivered.
func (s *FileStore) Queued(limit int) (queued []AccountFloor, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(bucketQueue))
		if b == nil {
			return nil
		}
		c := b.Cursor()
		for key, sealed := c.First(); key != nil && len(queued) < limit; key, sealed = c.Next() {
			value, err := unseal([]byte(bucketQueue), key, sealed)
			if err != nil {
				return err
			}
			queued = append(queued, AccountFloor{string(key), floorOf(value)})
		}
		return nil
	})
	return queued, err
}

// Unqueue forgets what was delivered; a floor that has been raised again meanwhile stays.
func (s *FileStore) Unqueue(delivered []AccountFloor) error {
	return s.db.Update(func(tx *bolt.Tx) error {
		for _, a := range delivered {
			value, err := readSealed(tx, bucketQueue, []byte(a.Account))
			if err != nil {
				return err
			}
			if floorOf(value) != a.Floor {
				continue
			}
			if err := tx.Bucket([]byte(bucketQueue)).Delete([]byte(a.Account)); err != nil {
				return err
			}
		}
		return nil
	})
}

// FloorSet is a set of accounts in the form in which a cluster sends it.
type FloorSet struct {
	Number uint16
	Data   []byte
}

// FloorSet is the set with a number; empty if there is none.
func (s *FileStore) FloorSet(n uint16) (FloorSet, error) {
	value, err := s.readValue(bucketFloorSets, floorSetKey(n))
	return FloorSet{Number: n, Data: value}, err
}

// SetOf is the number of the set that an account is in.
func SetOf(account string) uint16 { return floorSetOf(account) }

// Merge is the set with the higher floor of each account of both. The error says that other is not a set in its form.
func (f FloorSet) Merge(other FloorSet) (FloorSet, error) {
	theirs, err := parseFloorSet(f.Number, other.Data)
	f.Data = floorSet(f.Data).merge(theirs)
	return f, err
}

// Check returns what is wrong with the set.
func (f FloorSet) Check() error {
	_, err := parseFloorSet(f.Number, f.Data)
	return err
}

// With is the set with another floor for one of its accounts; 0 takes it out.
func (f FloorSet) With(a AccountFloor) FloorSet {
	f.Data = floorSet(f.Data).with(a)
	return f
}

// PutFloorSets replaces sets by those of the cluster, with what is queued for them here, and writes how far the node has come. The
// error says that a set is not in its form, or is the disk's.
func (s *FileStore) PutFloorSets(sets []FloorSet, p Progress) error {
	moved := map[int32]int{}
	err := s.db.Update(func(tx *bolt.Tx) error {
		clear(moved)
		wanted := map[uint16]bool{}
		for _, set := range sets {
			wanted[set.Number] = true
		}
		queued, err := queuedSets(tx, wanted)
		if err != nil {
			return err
		}
		for _, set := range sets {
			theirs, err := parseFloorSet(set.Number, set.Data)
			if err != nil {
				return err
			}
			ours, err := readFloorSet(tx, set.Number)
			if err != nil {
				return err
			}
			next := theirs.merge(queued[set.Number])
			if len(next) > MaxFloorSet { // what is queued has no room there
				next = theirs
			}
			for sign, set := range map[int]floorSet{-1: ours, 1: next} {
				if err := set.each(func(_ []byte, floor int32) bool { moved[floor] += sign; return true }); err != nil {
					return err
				}
			}
			if err := putFloorSet(tx, set.Number, next, next.accounts()-ours.accounts()); err != nil {
				return err
			}
		}
		return putProgress(tx, p)
	})
	if err == nil {
		s.floors.add(moved)
	}
	return err
}

// queuedSets are the queued floors of some sets.
func queuedSets(tx *bolt.Tx, wanted map[uint16]bool) (map[uint16]floorSet, error) {
	sets := map[uint16]floorSet{}
	b := tx.Bucket([]byte(bucketQueue))
	if b == nil {
		return sets, nil
	}
	err := b.ForEach(func(key, sealed []byte) error {
		n := floorSetOf(string(key))
		if !wanted[n] {
			return nil
		}
		value, err := unseal([]byte(bucketQueue), key, sealed)
		sets[n] = sets[n].with(AccountFloor{string(key), floorOf(value)})
		return err
	})
	return sets, err
}

// add adds to the counts.
func (c *floorCounts) add(more map[int32]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for floor, n := range more {
		if c.byFloor[floor] += n; c.byFloor[floor] <= 0 {
			delete(c.byFloor, floor)
		}
	}
}

// FloorSetNumbers are the numbers of the sets with an account.
func (s *FileStore) FloorSetNumbers() (numbers []uint16, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte(bucketFloorSets)).ForEach(func(key, _ []byte) error {
			numbers = append(numbers, binary.BigEndian.Uint16(key))
			return nil
		})
	})
	return numbers, err
}

// Head are the numbers of the newest revision and of the newest record; 0 is none.
func (s *FileStore) Head() (revision, record uint64, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
		h, err := headOf(tx)
		revision, record = h.Revision, h.Records
		return err
	})
	return revision, record, err
}

// Forget takes an account out of the queue.
func (s *FileStore) Forget(account string) error {
	return s.db.Update(func(tx *bolt.Tx) error {
		if b := tx.Bucket([]byte(bucketQueue)); b != nil {
			return b.Delete([]byte(account))
		}
		return nil
	})
}
