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

// appendRecord completes a record as the next one of the chain, and lets write store it. The caller holds the lock.
func (l *AuditLog) appendRecord(record compat.Audit, write func(compat.Audit) error) error {
	record.Time, record.Build = time.Now().UTC(), l.build
	next := compat.Chain(l.last, record)
	if err := write(next); err != nil {
		return err
	}
	l.last = &next
	return nil
}

// appendNote appends a record that is not about settings. The caller holds the lock.
func (l *AuditLog) appendNote(by Actor, comment, key string, before, after any) error {
	record := compat.Audit{Actor: by.Name, Source: by.Source, Remote: by.Remote, Comment: comment, Keys: []string{key}}
	var faults [2]error
	record.Before, faults[0] = json.Marshal(before)
	record.After, faults[1] = json.Marshal(after)
	if err := errors.Join(faults[:]...); err != nil {
		return err
	}
	return l.appendRecord(record, l.store.Append)
}

// Note appends a record of something that an actor did outside of the settings. key names it, after describes it. The errors are
// *ForbiddenError, *InputError and the store's.
func (l *AuditLog) Note(by Actor, what Role, comment, key string, after any) error {
	if err := by.CheckRights(what, comment); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.appendNote(by, comment, key, nil, after)
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
