package windows

import (
	"bytes"
	"encoding/binary"
	"errors"
	"time"
)

// Layout of a property set ([MS-OLEPS] 2.21 and 2.20) and of the summary information (Windows Installer, "Summary Property
// Descriptions").
const (
	summaryFormat = "\xe0\x85\x9f\xf2\xf9\x4f\x68\x10\xab\x91\x08\x00\x2b\x27\xb3\xd9" // FMTID_SummaryInformation
	createTime    = 12
	saveTime      = 13
	typeFileTime  = 0x40
	maxProperties = 64   // Windows Installer knows 19
	maxSet        = 4096 // bytes; larger streams of a compound file may be scattered
	epochDistance = 116444736000000000
)

var errSummary = errors.New("wixl has written summary information of an unknown kind; version 0.101 is known to work")

// pinSummary writes the product's time over both times of the summary information, which tools take from the clock. The property
// set is below 4096 bytes and the tools write it in one piece, so it is patched where it lies.
func pinSummary(database []byte, when time.Time) error {
	at := bytes.Index(database, []byte(summaryFormat))
	if at < 28 || bytes.Count(database, []byte(summaryFormat)) != 1 || at+20 > len(database) {
		return errSummary
	}
	set := database[at-28:] // the property set's header is 28 bytes long
	section := uint64(binary.LittleEndian.Uint32(database[at+16:]))
	if section+8 > uint64(min(len(set), maxSet)) {
		return errSummary
	}
	properties := set[section:min(len(set), maxSet)]
	count := binary.LittleEndian.Uint32(properties[4:])
	if count > maxProperties || 8+int(count)*8 > len(properties) {
		return errSummary
	}
	pinned := 0
	for i := range int(count) {
		entry := properties[8+8*i:]
		id, offset := binary.LittleEndian.Uint32(entry), binary.LittleEndian.Uint32(entry[4:])
		if id != createTime && id != saveTime {
			continue
		}
		if uint64(offset)+12 > uint64(len(properties)) || binary.LittleEndian.Uint32(properties[offset:]) != typeFileTime {
			return errSummary
		}
		binary.LittleEndian.PutUint64(properties[offset+4:], uint64(when.Unix()*1e7+epochDistance))
		pinned++
	}
	if pinned != 2 {
		return errSummary
	}
	return nil
}
