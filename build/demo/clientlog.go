package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

// maxLogRead is how many bytes of the log are taken at once; a whole demo writes a few hundred lines.
const maxLogRead = 1 << 20

// line is one line of the client's log that was JSON.
type line struct {
	Level   string    `json:"level"`
	Time    time.Time `json:"time"`
	Message string    `json:"message"`
	PID     int       `json:"pid"`
	Phase   string    `json:"phase"`
	Mode    string    `json:"mode"`
	Runtime string    `json:"runtime"`
	Role    string    `json:"role"`
	Build   string    `json:"build"`
	Compat  string    `json:"compat"`
	Outcome string    `json:"outcome"`
	Error   string    `json:"error"`
	Verdict string    `json:"verdict"`
	File    string    `json:"file"`
	Exit    string    `json:"exit"`
}

// follower reads what a program appends to its log. It is not safe for concurrent use.
type follower struct {
	path   string
	offset int64
	rest   []byte // the beginning of a line whose end was not there yet
}

// nextLines returns the complete lines since the last call. A log that does not exist yet has none. Lines that are not JSON
// (what the game prints) are left out; so are those of a wrong shape.
func (f *follower) nextLines() ([]line, error) {
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.NewSectionReader(file, f.offset, maxLogRead))
	if err != nil {
		return nil, err
	}
	f.offset += int64(len(data))
	data = append(f.rest, data...)
	end := bytes.LastIndexByte(data, '\n') + 1
	f.rest = bytes.Clone(data[end:])
	var lines []line
	for text := range bytes.Lines(data[:end]) {
		var l line
		if json.Unmarshal(text, &l) == nil {
			lines = append(lines, l)
		}
	}
	return lines, nil
}
