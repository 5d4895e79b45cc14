package download

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"slices"

	"collet/netproto/release"
	"collet/platform"
	"collet/platform/span"
)

// This file has the log of a part's writes since its last record. Each write adds a note with a checksum of its bytes. The log is not
// synced, so it is cheap: after the process is killed, the next one has every byte; after a power cut the checksums show which bytes
// were lost. Each record starts the log anew.

const (
	// noteSize is the size of a note in bytes: size of the object (-1 unknown), offset, length, CRC-32C of the bytes, CRC-32C of
	// the fields before; 8, 8, 4, 4 and 4 bytes, little-endian.
	noteSize = 28
	// maxCame is the largest log of a part in bytes: 9,362 notes in two seconds. Later writes are in the next record.
	maxCame = 256 << 10
)

// writeLog is the log of a part that is being written.
type writeLog struct {
	file platform.File // nil before the first note
	size int64         // of the log, in bytes
	tail []byte        // notes since the last record was begun
	off  bool          // the disk failed, or the log is full: no notes until the next record
}

// appendNote appends a note for bytes at an offset.
func appendNote(log []byte, size, off int64, data []byte) []byte {
	from := len(log)
	log = binary.LittleEndian.AppendUint64(log, uint64(size))
	log = binary.LittleEndian.AppendUint64(log, uint64(off))
	log = binary.LittleEndian.AppendUint32(log, uint32(len(data)))
	log = binary.LittleEndian.AppendUint32(log, crc32.Checksum(data, castagnoli))
	return binary.LittleEndian.AppendUint32(log, crc32.Checksum(log[from:], castagnoli))
}

// replayLog adds the ranges of a log to the state of a part, if the part's bytes match their checksums.
func (s *Spool) replayLog(d release.Digest, log []byte, what *partState) {
	f, err := s.fs.OpenFile(s.partName(d), os.O_RDONLY, 0)
	if err != nil {
		return // without the part the log is of no use
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return
	}
	have, before := slices.Clone(what.have), span.Total(what.have)
	for ; len(log) >= noteSize; log = log[noteSize:] {
		size, off := int64(binary.LittleEndian.Uint64(log)), int64(binary.LittleEndian.Uint64(log[8:]))
		n := int64(binary.LittleEndian.Uint32(log[16:]))
		if crc32.Checksum(log[:noteSize-4], castagnoli) != binary.LittleEndian.Uint32(log[noteSize-4:]) {
			break
		}
		if off < 0 || off > info.Size()-n || size >= 0 && what.size >= 0 && size != what.size {
			continue
		}
		sum := crc32.New(castagnoli)
		if _, err := io.Copy(sum, io.NewSectionReader(f, off, n)); err == nil && sum.Sum32() == binary.LittleEndian.Uint32(log[20:]) {
			what.size = max(what.size, size)
			have.Add(span.Of(off, off+n))
		}
	}
	if what.have = have; span.Total(have) != before {
		what.recorded = false
	}
}

// logWrite logs written bytes. An error of the disk only disables the log. The caller holds mu.
func (p *part) logWrite(off int64, data []byte) {
	log := &p.came
	if log.off || len(data) == 0 {
		return
	}
	if log.size+noteSize > maxCame {
		log.off = true
		return
	}
	from := len(log.tail)
	log.tail = appendNote(log.tail, p.size, off, data)
	p.appendLog(log.tail[from:])
}

// appendLog writes notes at the end of the log. The caller holds mu.
func (p *part) appendLog(notes []byte) {
	log := &p.came
	var err error
	if log.file == nil {
		log.file, err = p.s.fs.OpenFile(p.s.cameName(p.digest), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	}
	if err == nil {
		_, err = log.file.Write(notes)
		log.size += int64(len(notes))
	}
	log.off = err != nil
}

// restartLog starts the log anew after a record that covers the first known bytes of its notes.
func (p *part) restartLog(known int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	log := &p.came
	log.tail = slices.Clone(log.tail[min(known, len(log.tail)):])
	if log.file == nil {
		return
	}
	err := log.file.Truncate(0)
	if err == nil {
		_, err = log.file.Seek(0, io.SeekStart)
	}
	if log.size, log.off = 0, err != nil; !log.off {
		p.appendLog(log.tail)
	}
}

// closeLog closes the log, and removes it if the record covers it.
func (p *part) closeLog(recorded bool) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.came.file == nil {
		return nil
	}
	err = p.came.file.Close()
	if p.came.file = nil; err == nil && recorded {
		err = platform.RemoveIfThere(p.s.fs, p.s.cameName(p.digest))
	}
	return err
}
