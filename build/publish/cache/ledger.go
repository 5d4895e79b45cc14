package cache

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"

	"collet/build/advice"
	"collet/netproto/release"
	"collet/platform"
)

const (
	ledgerFile = ".collet/made"
	// maxLedger limits the ledger in bytes: about 200 for each object of some hundred releases. A longer ledger is discarded.
	maxLedger = 256 << 20
)

// Result is what one operation made. Object is zero for a patch that was not worth it.
type Result struct {
	Object   release.Object
	Encoding release.Encoding // of a whole object
}

// Ledger maps each blob to the object made of it, so that an interrupted publication can resume. A line is written when the object has its
// name: kind, input, encoding or "-", digest and size of the object. It is safe for concurrent use.
type Ledger struct {
	mu    sync.Mutex
	known map[string]Result
	out   platform.File
}

// WholeKey is the key of the whole object of a content.
func WholeKey(content release.Digest) string { return "whole " + content.String() }

// PatchKey is the key of the patch from one set to another.
func PatchKey(from, to release.Digest) string { return "patch " + from.String() + ">" + to.String() }

// OpenLedger reads the ledger and opens it for appending. A line that can't be parsed was cut off and is skipped.
func OpenLedger(fsys platform.FS) (*Ledger, error) {
	l := &Ledger{known: map[string]Result{}}
	data, err := platform.ReadFile(fsys, ledgerFile, maxLedger)
	flag := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	switch {
	case errors.Is(err, platform.ErrTooLong):
		flag = os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, advice.Because(err, "", "read the ledger")
	default:
		for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
			l.parse(lines.Text())
		}
	}
	if l.out, err = fsys.OpenFile(ledgerFile, flag, 0o644); err != nil {
		return nil, advice.Because(err, "", "open the ledger")
	}
	if len(data) > 0 && data[len(data)-1] != '\n' {
		_, err = l.out.Write([]byte("\n")) // ends a line that was cut off
	}
	return l, err
}

func (l *Ledger) parse(line string) {
	fields := strings.Fields(line)
	if len(fields) != 5 {
		return
	}
	n, err := strconv.ParseInt(fields[4], 10, 64)
	key := fields[0] + " " + fields[1]
	if err != nil || n < 0 {
		return
	}
	if fields[3] == "-" {
		l.known[key] = Result{}
		return
	}
	sum, err := release.ParseDigest(fields[3])
	if err == nil && sum.Algorithm == release.SHA256 {
		l.known[key] = Result{release.Object{Sum: sum, Size: n}, release.Encoding(strings.Trim(fields[2], "-"))}
	}
}

// FindResult looks up the result of an operation.
func (l *Ledger) FindResult(key string) (Result, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m, known := l.known[key]
	return m, known
}

// AddResult records the result of an operation.
func (l *Ledger) AddResult(key string, m Result) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known[key] = m
	encoding, object := string(m.Encoding), "-"
	if encoding == "" {
		encoding = "-"
	}
	if !m.Object.IsZero() {
		object = m.Object.Sum.String()
	}
	if _, err := fmt.Fprintf(l.out, "%s %s %s %d\n", key, encoding, object, m.Object.Size); err != nil {
		return advice.Because(err, "", "write the ledger")
	}
	return nil
}

// RowKey is the key of the nth object of an operation that makes several. Behind the last one is a result without an object.
func RowKey(operation string, n int) string { return operation + "/" + strconv.Itoa(n) }

// FindObjects looks up the objects of an operation that makes several. complete is false if it was interrupted, or is unknown.
func (l *Ledger) FindObjects(operation string) (objects []release.Object, complete bool) {
	for {
		r, known := l.FindResult(RowKey(operation, len(objects)))
		if !known || r.Object.IsZero() {
			return objects, known
		}
		objects = append(objects, r.Object)
	}
}

// EndObjects records that an operation made n objects, and no more.
func (l *Ledger) EndObjects(operation string, n int) error {
	return l.AddResult(RowKey(operation, n), Result{})
}

// Close closes the file.
func (l *Ledger) Close() error { return l.out.Close() }
