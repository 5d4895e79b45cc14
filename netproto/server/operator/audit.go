package operator

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"collet/netproto/compat"
)

// AuditLog is the chain of audit records in the store. Every change of settings, floors and tokens appends one record under its
// lock, so changes happen one at a time.
type AuditLog struct {
	store Store

	mu    sync.Mutex    // held during a change
	last  *compat.Audit // the newest record; nil for none
	build string        // id of the server's build, for records
}

// openAuditLog continues the log of a store.
func openAuditLog(store Store, build string) (*AuditLog, error) {
	l := &AuditLog{store: store, build: build}
	return l, l.readLast()
}

// readLast reads the newest record of the store. The caller holds the lock, or is openAuditLog.
func (l *AuditLog) readLast() error {
	newest, err := l.store.Records(0, 1)
	if err == nil && len(newest) > 0 {
		l.last = &newest[0]
	}
	return err
}

// maxMoved is how often a change is tried again that another server of the cluster was faster than.
const maxMoved = 20

// change makes a change while no other one happens here. If another server made one meanwhile, do is called again.
func (l *AuditLog) change(do func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for try := 1; ; try++ {
		err := do()
		if !errors.Is(err, ErrMoved) || try == maxMoved {
			return err
		}
		if err := l.readLast(); err != nil {
			return err
		}
	}
}

// commit completes a change's record as the next one of the chain, and stores both. The caller is within change.
func (l *AuditLog) commit(c Commit) error {
	c.Record.Time, c.Record.Build = time.Now().UTC(), l.build
	c.Record = compat.Chain(l.last, c.Record)
	if err := l.store.Commit(c); err != nil {
		return err
	}
	l.last = &c.Record
	return nil
}

// note is the record of a change that is not about settings.
func note(by Actor, comment, key string, before, after any) (compat.Audit, error) {
	record := compat.Audit{Actor: by.Name, Source: by.Source, Remote: by.Remote, Comment: comment, Keys: []string{key}}
	var faults [2]error
	record.Before, faults[0] = json.Marshal(before)
	record.After, faults[1] = json.Marshal(after)
	return record, errors.Join(faults[:]...)
}

// Note appends a record of something that an actor did outside of the settings. key names it, after describes it. The errors are
// *ForbiddenError, *InputError and the store's.
func (l *AuditLog) Note(by Actor, what Role, comment, key string, after any) error {
	if err := by.CheckRights(what, comment); err != nil {
		return err
	}
	record, err := note(by, comment, key, nil, after)
	if err != nil {
		return err
	}
	return l.change(func() error { return l.commit(Commit{Record: record}) })
}

// Records returns at most limit records, the newest first, with numbers below before; 0 begins with the newest.
func (l *AuditLog) Records(before uint64, limit int) ([]compat.Audit, error) {
	return l.store.Records(before, min(max(limit, 1), MaxRecords))
}

// Verify verifies the chain and counts its records. The error is a *compat.ChainError that names the first bad record, or a read
// error. It detects a truncated log as well, by the stored number of records.
func (l *AuditLog) Verify() (records int, err error) {
	log, head, err := l.store.Log()
	if err != nil {
		return 0, err
	}
	defer log.Close()
	last, err := compat.VerifyChain(log)
	if err != nil {
		return 0, err
	}
	if last != nil {
		records = int(last.Seq)
	}
	if uint64(records) != head {
		err = &compat.ChainError{Line: records + 1, Seq: uint64(records) + 1, Why: fmt.Sprintf("the log ends after %d records, and there were %d", records, head)}
	}
	return records, err
}
