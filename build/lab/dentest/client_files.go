package dentest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// Results of messages 8, 10, 12 and 14 (3.2).
const (
	resultSuccess  byte = 0
	resultFailure  byte = 1
	resultMismatch byte = 2
)

func (c *ReferenceClient) full(path string) string {
	return filepath.Join(c.options.Root, filepath.FromSlash(path))
}

// answerLayout scans once and answers from memory from then on (3.6).
func (c *ReferenceClient) answerLayout(to *Conn) {
	c.mu.Lock()
	scanned := c.scanned
	c.mu.Unlock()
	if !scanned {
		found, err := Scan(c.options.Root)
		if err != nil {
			c.note(NoteIgnored, "scan: %v", err)
		}
		c.mu.Lock()
		c.layout, c.scanned = map[string]File{}, true
		for _, f := range found {
			c.layout[f.Path] = f
		}
		c.mu.Unlock()
	}
	c.send(to, Build(ResponseFileLayout, c.listed()))
	c.mu.Lock()
	waiting := c.deletes
	c.deletes = nil
	c.mu.Unlock()
	for _, path := range waiting {
		c.deleteFile(to, path)
	}
}

// listed is the layout in the order of the options.
func (c *ReferenceClient) listed() []File {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []File
	for _, f := range c.layout {
		all = append(all, f)
	}
	rank := func(f File) int {
		if i := slices.Index(c.options.Order, f.Path); i >= 0 {
			return i
		}
		return len(c.options.Order)
	}
	slices.SortFunc(all, func(a, b File) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(a.Path, b.Path)) })
	return all
}

// hashRequest answers with the hashes of the blocks; a block size of zero divides by it (3.6). The caller holds mu.
func (c *ReferenceClient) hashRequest(to *Conn, path string, size uint64) {
	c.safe(path)
	if size == 0 {
		c.crash("3.6", "hash request for %q with block size 0", path)
		return
	}
	c.task(func() {
		c.mu.Lock()
		_, known := c.layout[path]
		known = known && c.scanned
		c.mu.Unlock()
		var all []string
		if known && !unsafePath(path) {
			all, _ = BlockHashes(c.full(path), size) // a failure is an empty list (0)
		}
		c.send(to, Build(ResponseFileHashes, path, all))
	})
}

// deleteFile removes a file or an empty folder; absent is success, parents stay. It waits for a layout (3.6).
func (c *ReferenceClient) deleteFile(to *Conn, path string) {
	c.mu.Lock()
	if !c.scanned {
		c.deletes = append(c.deletes, path)
		c.mu.Unlock()
		return
	}
	delete(c.layout, path)
	c.mu.Unlock()
	result := resultSuccess
	if unsafePath(path) {
		result = resultFailure
	} else if err := os.Remove(c.full(path)); err != nil && !os.IsNotExist(err) {
		result = resultFailure
	}
	if result != resultSuccess {
		c.dropLayout()
	}
	c.send(to, Build(ResponseDeleteFile, path, result))
}

// dropLayout is what every failed operation does: the next layout request scans again, writes are refused until then.
func (c *ReferenceClient) dropLayout() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.scanned, c.layout = false, map[string]File{}
}

// writeRequest notes the file at once, so that data may follow; the worker makes it ready and answers. The caller holds
// mu.
func (c *ReferenceClient) writeRequest(to *Conn, m Message) {
	w := &writing{path: m.Text(0), size: m.Number(1), block: m.Number(2), count: m.Number(3), got: map[uint64]bool{}}
	c.safe(w.path)
	switch {
	case w.block == 0:
		c.violate("4.1 #6", "write request for %q with block size 0", w.path)
	case w.count != Blocks(w.size, w.block):
		c.violate("3.5", "write request for %q: %d bytes in blocks of %d are %d blocks, not %d", w.path, w.size, w.block, Blocks(w.size, w.block), w.count)
	}
	c.writes[w.path] = w
	c.task(func() { c.send(to, Build(ResponseWriteFile, w.path, c.prepare(w))) })
}

// prepare empties the file when its known size differs, and creates nothing (3.6).
func (c *ReferenceClient) prepare(w *writing) byte {
	c.mu.Lock()
	known, there := c.layout[w.path]
	scanned := c.scanned
	c.mu.Unlock()
	if !scanned || unsafePath(w.path) {
		if !scanned {
			c.violate("4.1 #3", "write request for %q without a layout is refused", w.path)
		}
		c.mu.Lock()
		delete(c.writes, w.path)
		c.mu.Unlock()
		return resultFailure
	}
	resized := !there || known.Size != w.size
	if there && resized {
		if err := os.Truncate(c.full(w.path), 0); err != nil && !os.IsNotExist(err) {
			c.dropLayout()
			return resultFailure
		}
	}
	c.mu.Lock()
	w.ready, w.resized = true, resized
	c.mu.Unlock()
	return resultSuccess
}

// data takes one block. Unknown files and indexes get no answer (3.6). The caller holds mu.
func (c *ReferenceClient) data(to *Conn, m Message, stale bool) {
	w, i, data := c.writes[m.Text(0)], m.Number(1), m.Values[2].([]byte)
	if w == nil {
		c.ignore(stale, "data for %q, whose writing was not asked for, gets no answer", m.Text(0))
		return
	}
	if i >= w.count {
		w.failed = true
		c.violate("3.6", "block %d of %q, which has %d: no answer, the file has failed", i, w.path, w.count)
		return
	}
	want := min(w.block, w.size-min(w.size, i*w.block))
	if uint64(len(data)) > want {
		c.crash("3.6", "%d bytes for block %d of %q, which has %d: heap overflow", len(data), i, w.path, want)
		return
	}
	if uint64(len(data)) < want {
		c.violate("3.6", "%d bytes for block %d of %q, which has %d: the rest becomes zeros", len(data), i, w.path, want)
		data = append(data, make([]byte, want-uint64(len(data)))...)
	}
	if w.got[i] && !stale {
		c.note(NoteIgnored, "block %d of %q came again", i, w.path)
	}
	w.got[i] = true
	w.unanswered++
	c.received += uint64(len(data))
	c.task(func() { c.writeBlock(to, w, i, data) })
}

// ignore records what a released device drops without a word. A peer that waits for an answer hangs.
func (c *ReferenceClient) ignore(stale bool, format string, args ...any) {
	if stale {
		c.note(NoteIgnored, format, args...)
		return
	}
	c.violate("3.6", format, args...)
}

// writeBlock opens, writes and closes for each block, and answers.
func (c *ReferenceClient) writeBlock(to *Conn, w *writing, i uint64, data []byte) {
	result := resultSuccess
	if unsafePath(w.path) || c.writeAt(w.path, int64(i*w.block), data) != nil {
		result = resultFailure
		c.dropLayout()
	}
	c.mu.Lock()
	w.unanswered--
	c.mu.Unlock()
	c.send(to, Build(FileDataReceived, w.path, i, result))
}

func (c *ReferenceClient) writeAt(path string, at int64, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(c.full(path)), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(c.full(path), os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, at)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// finishRequest is honoured only after the answer to the write request has gone out (3.6). The caller holds mu.
func (c *ReferenceClient) finishRequest(to *Conn, m Message, stale bool) {
	w := c.writes[m.Text(0)]
	switch {
	case w == nil || !w.ready || w.failed:
		c.ignore(stale, "finish of %q before its write request was answered, or after it failed, gets no answer", m.Text(0))
		return
	case stale:
		c.note(NoteIgnored, "stale finish of %q", m.Text(0))
	case w.unanswered > 0:
		c.violate("4.1 #5", "finish of %q with %d blocks unanswered", w.path, w.unanswered)
	case w.resized && uint64(len(w.got)) < w.count:
		c.violate("4.1 #6", "finish of %q, whose size changed, with %d of %d blocks", w.path, len(w.got), w.count)
	case !plainHash(m.Text(1)):
		c.violate("3.3", "hash %q is not 64 lowercase digits", m.Text(1))
	}
	delete(c.writes, w.path)
	c.task(func() { c.send(to, Build(ResponseFinishFile, w.path, c.finish(w, m.Text(1)))) })
}

// finish hashes the first bytes of the file, as many as were announced, and compares texts. A file of no bytes passes
// even when it doesn't exist (3.6).
func (c *ReferenceClient) finish(w *writing, want string) byte {
	sum := sha256.New()
	f, err := os.Open(c.full(w.path))
	switch {
	case err == nil:
		_, err = io.CopyN(sum, f, int64(w.size))
		_ = f.Close() // only read
	case os.IsNotExist(err) && w.size == 0:
		err = nil
	}
	switch {
	case err != nil:
		c.dropLayout()
		return resultFailure
	case hex.EncodeToString(sum.Sum(nil)) != want:
		c.dropLayout()
		return resultMismatch
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.layout[w.path] = File{w.path, w.size, want}
	return resultSuccess
}
