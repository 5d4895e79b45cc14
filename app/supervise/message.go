package supervise

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"collet/runtime/abi"
)

// protocol is the version of the control protocol. It rises with every change.
const protocol = 3

// Limits in bytes.
const (
	// maxLine caps one message. The longest is about as many components as there may be, with the longest names and numbers:
	// about 230 bytes each. The longest command line of Windows is 32 KiB.
	maxLine = 1 << 20
	// maxLogText caps one log entry of a module; the rest is cut off. It is the same as a line of its output.
	maxLogText = 4096
	// maxQuote is how much of a bad line an error quotes.
	maxQuote = 80
)

// message is one line. Exactly one member is set.
type message struct {
	Hello      *hello      `json:"hello,omitempty"`
	Run        *run        `json:"run,omitempty"`
	Leave      *struct{}   `json:"leave,omitempty"`
	Stop       *struct{}   `json:"stop,omitempty"`
	Metadata   *metadata   `json:"metadata,omitempty"`
	LoadFailed *loadFailed `json:"load-failed,omitempty"`
	Ready      *struct{}   `json:"ready,omitempty"`
	Log        *logEntry   `json:"log,omitempty"`
	Result     *result     `json:"result,omitempty"`
}

type hello struct {
	Protocol int `json:"protocol"`
}

type run struct {
	Args []text `json:"args"`
}

type metadata struct {
	ABI           uint32 `json:"abi"`
	Name          text   `json:"name"`
	Build         text   `json:"build"`
	Compatibility text   `json:"compatibility"`

	Components *components `json:"components,omitempty"`
}

type loadFailed struct {
	Stage text `json:"stage"`
	Text  text `json:"text"`
}

type logEntry struct {
	Level int32 `json:"level"`
	Text  text  `json:"text"`
}

// result is abi.Result, or in Fault why there is none although Run returned.
type result struct {
	Kind          uint32 `json:"kind"`
	Success       bool   `json:"success"`
	Path          text   `json:"path,omitempty"`
	Compatibility text   `json:"compatibility,omitempty"`
	Fault         text   `json:"fault,omitempty"`
}

// check reports what is wrong with m beyond its syntax.
func (m *message) check() error {
	set := 0
	for _, here := range []bool{
		m.Hello != nil, m.Run != nil, m.Leave != nil, m.Stop != nil, m.Metadata != nil,
		m.LoadFailed != nil, m.Ready != nil, m.Log != nil, m.Result != nil,
	} {
		if here {
			set++
		}
	}
	if set != 1 {
		return fmt.Errorf("%d messages in a line", set)
	}
	if m.Metadata != nil && m.Metadata.Components != nil {
		return m.Metadata.Components.check()
	}
	if m.Result != nil && m.Result.Fault == "" {
		return checkResult(m.Result.abi())
	}
	return nil
}

// checkResult reports what is wrong with a result that a module reported, whoever loaded it.
func checkResult(r abi.Result) error {
	switch {
	case r.Kind > abi.FatalError:
		return fmt.Errorf("%w: %d", abi.ErrUnknownKind, uint32(r.Kind))
	case r.Kind == abi.ReloadRequested && r.RequestedRuntimePath == "":
		return abi.ErrNoPath
	}
	return nil
}

// abi is r as the rest of the project knows it.
func (r *result) abi() abi.Result {
	return abi.Result{
		Kind: abi.ResultKind(r.Kind), Success: r.Success,
		RequestedRuntimePath: string(r.Path), RequestedCompatibilityVersion: string(r.Compatibility),
	}
}

// encode gives the line of m, with its end.
func encode(m message) ([]byte, error) {
	line, err := json.Marshal(m)
	if err == nil && len(line) >= maxLine {
		err = ErrTooLong
	}
	return append(line, '\n'), err
}

// ErrTooLong says that something is too long for a control message, such as arguments of over 1 MiB.
var ErrTooLong = errors.New("longer than a control message may be")

// decode parses a line without its end.
func decode(line []byte) (m message, err error) {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&m); err != nil {
		return message{}, &ControlError{Fault: Malformed, Line: quote(line), Err: err}
	}
	if decoder.More() {
		return message{}, &ControlError{Fault: Malformed, Line: quote(line), Err: errors.New("more after the message")}
	}
	if err := m.check(); err != nil {
		return message{}, &ControlError{Fault: Malformed, Line: quote(line), Err: err}
	}
	return m, nil
}

// lines reads messages. It is not safe for concurrent use.
type lines struct{ scanner *bufio.Scanner }

func newLines(r io.Reader) *lines {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, maxLine) // grows as lines need it
	scanner.Split(splitComplete)
	return &lines{scanner}
}

// splitComplete is bufio.ScanLines without the last line if that has no end: a process that dies in the middle of a line
// has said nothing.
func splitComplete(data []byte, _ bool) (advance int, token []byte, err error) {
	if end := bytes.IndexByte(data, '\n'); end >= 0 {
		return end + 1, data[:end], nil
	}
	return 0, nil, nil
}

// next returns the next message, a *ControlError, or io.EOF when the pipe broke in whatever way.
func (l *lines) next() (message, error) {
	if l.scanner.Scan() {
		return decode(l.scanner.Bytes())
	}
	if errors.Is(l.scanner.Err(), bufio.ErrTooLong) {
		return message{}, &ControlError{Fault: TooLong, Err: fmt.Errorf("over %d bytes without an end", maxLine)}
	}
	return message{}, io.EOF
}

// ControlFault is a kind of ControlError. The values are words of logs.
type ControlFault string

const (
	Malformed  ControlFault = "malformed message"    // no JSON, an unknown member, none or several messages in a line
	TooLong    ControlFault = "message too long"     // a line that does not end
	OutOfOrder ControlFault = "message out of order" // a known message at the wrong time
	Closed     ControlFault = "control pipe closed"  // although the process goes on
)

// ControlError says that the other side broke the control protocol.
type ControlError struct {
	Fault ControlFault
	Line  string // the beginning of the message, quoted; empty if there is none
	Err   error  // nil if Fault says it all
}

func (e *ControlError) Error() string {
	text := string(e.Fault)
	if e.Line != "" {
		text += " " + e.Line
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives the underlying error.
func (e *ControlError) Unwrap() error { return e.Err }

// outOfOrder names a message that came at the wrong time.
func outOfOrder(m message) error {
	line, _ := encode(m)
	return &ControlError{Fault: OutOfOrder, Line: quote(bytes.TrimSpace(line))}
}

// quote makes the beginning of a line readable.
func quote(line []byte) string {
	if len(line) <= maxQuote {
		return fmt.Sprintf("%q", line)
	}
	return fmt.Sprintf("%q…", line[:maxQuote])
}

// text is a string that survives the journey even if it is not UTF-8, as paths and what C code says may be.
type text string

type rawText struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON implements json.Marshaler.
func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(rawText{Base64: []byte(t)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(data, []byte{'{'}) {
		return json.Unmarshal(data, (*string)(t))
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var raw rawText
	if err := decoder.Decode(&raw); err != nil {
		return err
	}
	*t = text(raw.Base64)
	return nil
}

// texts and strings convert lists.
func texts(list []string) []text {
	converted := make([]text, len(list))
	for i, s := range list {
		converted[i] = text(s)
	}
	return converted
}

func plain(list []text) []string {
	converted := make([]string, len(list))
	for i, s := range list {
		converted[i] = string(s)
	}
	return converted
}

// cut shortens s to at most limit bytes at the border of a character, and shows that it did.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const mark = "…"
	end := limit - len(mark)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return strings.Clone(s[:end]) + mark
}
