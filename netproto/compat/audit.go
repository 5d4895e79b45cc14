package compat

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/minio/sha256-simd"
)

// Sources of an audit record. The words stand in records.
const (
	SourceDashboard = "dashboard"
	SourceCLI       = "cli"
	SourceBoot      = "boot"
	SourceAPI       = "api"
)

// MaxAuditLine is how many bytes a line of an audit log may have: the largest settings twice, if they are all made
// of characters that take six bytes there.
const MaxAuditLine = 2 << 20

// MaxComment is how many bytes an operator's comment may have: a long paragraph, in any script.
const MaxComment = 2_000

// Audit is one record of a change, with its time and actor. Records are lines of JSON in a chain: each has the hash of the
// previous one, so VerifyChain detects altered, missing and moved records. Detecting that the last ones are missing needs the
// last hash or number.
type Audit struct {
	Seq     uint64          `json:"seq"` // 1 and up, without a gap
	Time    time.Time       `json:"time"`
	Actor   string          `json:"actor"`
	Source  string          `json:"source"`
	Remote  string          `json:"remote"`  // address of the operator; empty for none
	Comment string          `json:"comment"` // mandatory for a lowering
	Before  json.RawMessage `json:"before"`  // settings, as Encode gives them; null where there were none
	After   json.RawMessage `json:"after"`
	Keys    []string        `json:"changed"` // as in Diff
	Impact  Impact          `json:"impact"`
	Build   string          `json:"build"`       // id of the server's build
	Prev    string          `json:"prev_sha256"` // Sum of the record before; empty for the first
	Sum     string          `json:"sha256"`      // of this record's line with this field empty, in hex
}

// Impact counts the clients and accounts that settings lock out, as far as known at the change. A forecast counts all of them;
// the record of a change counts only those that the settings before it did not lock out.
type Impact struct {
	Sessions int `json:"sessions"` // connected clients that could not reconnect
	Floors   int `json:"floors"`   // accounts with a floor above the new maximum
}

// ChainError names the first record of an audit log that is not as it was written.
type ChainError struct {
	Line int    // from 1
	Seq  uint64 // of the last good record
	Why  string
}

func (e *ChainError) Error() string {
	return fmt.Sprintf("audit log, line %d: %s; the records up to number %d are as they were written", e.Line, e.Why, e.Seq)
}

// Chain completes a record as the one after prev, nil for the first: its number, its time in UTC, and both hashes.
func Chain(prev *Audit, record Audit) Audit {
	record.Seq, record.Prev = 1, ""
	if prev != nil {
		record.Seq, record.Prev = prev.Seq+1, prev.Sum
	}
	record.Time = record.Time.UTC().Round(0) // without the monotonic clock, which no file keeps
	record.Keys = append([]string{}, record.Keys...)
	record.Sum = record.sum()
	return record
}

// Line is the record as one line of JSON in its one form, with its end. Before and After must be JSON or nil.
func (a Audit) Line() []byte {
	line, err := json.Marshal(a)
	if err != nil {
		panic(fmt.Sprintf("compat: an audit record of something else than settings: %v", err))
	}
	return append(line, '\n')
}

// sum is the hash of the line, in which Sum is empty and Prev stands for everything before.
func (a Audit) sum() string {
	a.Sum = ""
	digest := sha256.Sum256(a.Line())
	return hex.EncodeToString(digest[:])
}

// VerifyChain reads an audit log to its end. last is its last good record, nil where there is none; its number is how many there
// are. The error is a *ChainError that names the first bad record, or what reading said.
func VerifyChain(log io.Reader) (last *Audit, err error) {
	lines := bufio.NewReader(log)
	var line []byte
	for n := 1; ; n++ {
		line, err = nextLine(lines, line[:0])
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return last, nil
		}
		record, why := nextAudit(last, line, err)
		switch {
		case record != nil:
			last = record
		case why != "":
			return last, &ChainError{Line: n, Seq: last.seq(), Why: why}
		default:
			return last, fmt.Errorf("audit log, line %d: %w", n, err)
		}
	}
}

// nextLine reads a line to behind buffer's content, and no further than MaxAuditLine: the error is then bufio.ErrBufferFull.
func nextLine(lines *bufio.Reader, buffer []byte) ([]byte, error) {
	for {
		part, err := lines.ReadSlice('\n')
		buffer = append(buffer, part...)
		if len(buffer) > MaxAuditLine {
			return buffer, bufio.ErrBufferFull
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return buffer, err
		}
	}
}

// nextAudit is the record of a line that was read with err, or why it is none that could follow last. Neither means that reading
// went wrong.
func nextAudit(last *Audit, line []byte, err error) (record *Audit, why string) {
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Sprintf("it has more than %d bytes", MaxAuditLine)
	case errors.Is(err, io.EOF):
		return nil, "it is cut off"
	case err != nil:
		return nil, ""
	}
	a, err := ParseAudit(line)
	if err == nil {
		err = a.Follows(last)
	}
	if err != nil {
		return nil, err.Error()
	}
	return &a, ""
}

// Follows returns an error unless the record is as it was written, and comes right after last, which is nil for the first one.
func (a Audit) Follows(last *Audit) error {
	switch {
	case a.Seq != last.seq()+1:
		return fmt.Errorf("its number is %d, %d was expected: records are missing or in another order", a.Seq, last.seq()+1)
	case last != nil && a.Prev != last.Sum, last == nil && a.Prev != "":
		return errors.New("it follows another record than the one before it")
	case a.Sum != a.sum():
		return errors.New("its hash is not that of what it says: it was altered")
	}
	return nil
}

// ParseAudit reads a line of an audit log, which must be exactly what Line writes. The hashes are not looked at.
func ParseAudit(line []byte) (Audit, error) {
	var a Audit
	if len(line) > MaxAuditLine {
		return Audit{}, fmt.Errorf("it has more than %d bytes", MaxAuditLine)
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return Audit{}, fmt.Errorf("it is no record: %w", err)
	}
	if !bytes.Equal(a.Line(), line) {
		return Audit{}, errors.New("it is not written as records are: it was altered")
	}
	return a, nil
}

// seq is the number of the last record; 0 where there is none.
func (a *Audit) seq() uint64 {
	if a == nil {
		return 0
	}
	return a.Seq
}
