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

// protocol is the version of the control protocol. Every change increases it.
const protocol = 5

// Limits in bytes.
const (
	// maxLine limits one message. The longest messages hold the maximum number of components, with about 230 bytes each at
	// most. The longest command line of Windows is 32 KiB.
	maxLine = 1 << 20
	// maxLogText limits one log entry of a module; the rest is cut off. The limit equals that of an output line.
	maxLogText = 4096
	// maxQuote limits the quote of a bad line in an error.
	maxQuote = 80
)

// message is one line. Exactly one member is set.
type message struct {
	Hello      *hello      `json:"hello,omitempty"`
	Run        *run        `json:"run,omitempty"`
	Leave      *struct{}   `json:"leave,omitempty"`
	Stop       *struct{}   `json:"stop,omitempty"`
	Update     *newer      `json:"update,omitempty"`
	Metadata   *metadata   `json:"metadata,omitempty"`
	LoadFailed *loadFailed `json:"load-failed,omitempty"`
	Progress   *progress   `json:"progress,omitempty"`
	Ready      *struct{}   `json:"ready,omitempty"`
	Log        *logEntry   `json:"log,omitempty"`
	Result     *result     `json:"result,omitempty"`
}

type hello struct {
	Protocol int `json:"protocol"`
}

type run struct {
	Args []rawString `json:"args"`
}

type newer struct {
	Version rawString `json:"version"`
}

type metadata struct {
	ABI           uint32    `json:"abi"`
	Name          rawString `json:"name"`
	Build         rawString `json:"build"`
	Compatibility rawString `json:"compatibility"`

	Components *components `json:"components,omitempty"`
}

type loadFailed struct {
	Stage rawString `json:"stage"`
	Text  rawString `json:"text"`
}

type progress struct {
	Text rawString `json:"text"`
}

type logEntry struct {
	Level int32     `json:"level"`
	Text  rawString `json:"text"`
}

// result is abi.Result, or in Fault the reason why a returned Run has no valid result.
type result struct {
	Kind          uint32    `json:"kind"`
	Success       bool      `json:"success"`
	Path          rawString `json:"path,omitempty"`
	Compatibility rawString `json:"compatibility,omitempty"`
	Fault         rawString `json:"fault,omitempty"`
}

// validate validates m beyond its syntax.
func (m *message) validate() error {
	set := 0
	for _, here := range []bool{
		m.Hello != nil, m.Run != nil, m.Leave != nil, m.Stop != nil, m.Update != nil, m.Metadata != nil,
		m.LoadFailed != nil, m.Progress != nil, m.Ready != nil, m.Log != nil, m.Result != nil,
	} {
		if here {
			set++
		}
	}
	if set != 1 {
		return fmt.Errorf("%d messages in a line", set)
	}
	if m.Metadata != nil && m.Metadata.Components != nil {
		return m.Metadata.Components.validate()
	}
	if m.Result != nil && m.Result.Fault == "" {
		return checkResult(m.Result.abi())
	}
	return nil
}

// checkResult validates a module's result, in the child and in the host.
func checkResult(r abi.Result) error {
	switch {
	case r.Kind > abi.FatalError:
		return fmt.Errorf("%w: %d", abi.ErrUnknownKind, uint32(r.Kind))
	case r.Kind == abi.ReloadRequested && r.RequestedRuntimePath == "":
		return abi.ErrNoPath
	}
	return nil
}

// abi converts r to the type of package abi.
func (r *result) abi() abi.Result {
	return abi.Result{
		Kind: abi.ResultKind(r.Kind), Success: r.Success,
		RequestedRuntimePath: string(r.Path), RequestedCompatibilityVersion: string(r.Compatibility),
	}
}

// encode returns the line of m, including the newline.
func encode(m message) ([]byte, error) {
	line, err := json.Marshal(m)
	if err == nil && len(line) >= maxLine {
		err = ErrTooLong
	}
	return append(line, '\n'), err
}

// ErrTooLong reports a value that exceeds the limit of a control message, such as arguments of over 1 MiB.
var ErrTooLong = errors.New("longer than a control message may be")

// decode parses a line without its newline.
func decode(line []byte) (m message, err error) {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&m); err != nil {
		return message{}, &ControlError{Fault: Malformed, Line: quote(line), Err: err}
	}
	if decoder.More() {
		return message{}, &ControlError{Fault: Malformed, Line: quote(line), Err: errors.New("more after the message")}
	}
	if err := m.validate(); err != nil {
		return message{}, &ControlError{Fault: Malformed, Line: quote(line), Err: err}
	}
	return m, nil
}

// lines reads messages. It is not safe for concurrent use.
type lines struct{ scanner *bufio.Scanner }

func newLines(r io.Reader) *lines {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, maxLine) // grows on demand
	scanner.Split(splitComplete)
	return &lines{scanner}
}

// splitComplete is bufio.ScanLines without an incomplete last line: the message of a process that died while writing it is
// ignored.
func splitComplete(data []byte, _ bool) (advance int, token []byte, err error) {
	if end := bytes.IndexByte(data, '\n'); end >= 0 {
		return end + 1, data[:end], nil
	}
	return 0, nil, nil
}

// nextMessage returns the next message, a *ControlError, or io.EOF after any failure of the pipe.
func (l *lines) nextMessage() (message, error) {
	if l.scanner.Scan() {
		return decode(l.scanner.Bytes())
	}
	if errors.Is(l.scanner.Err(), bufio.ErrTooLong) {
		return message{}, &ControlError{Fault: TooLong, Err: fmt.Errorf("over %d bytes without an end", maxLine)}
	}
	return message{}, io.EOF
}

// ControlFault is a kind of ControlError. The values are texts for logs.
type ControlFault string

const (
	Malformed  ControlFault = "malformed message"    // invalid JSON, an unknown member, none or several messages in a line
	TooLong    ControlFault = "message too long"     // no newline within the limit
	OutOfOrder ControlFault = "message out of order" // a known message at the wrong time
	Closed     ControlFault = "control pipe closed"  // while the process keeps running
)

// ControlError reports a violation of the control protocol by the other side.
type ControlError struct {
	Fault ControlFault
	Line  string // the beginning of the message, quoted; may be empty
	Err   error  // details; may be nil
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

// Unwrap returns the underlying error.
func (e *ControlError) Unwrap() error { return e.Err }

// outOfOrder is the error for a message at the wrong time.
func outOfOrder(m message) error {
	line, _ := encode(m)
	return &ControlError{Fault: OutOfOrder, Line: quote(bytes.TrimSpace(line))}
}

// quote quotes the beginning of a line.
func quote(line []byte) string {
	if len(line) <= maxQuote {
		return fmt.Sprintf("%q", line)
	}
	return fmt.Sprintf("%q…", line[:maxQuote])
}

// rawString is a string that may contain invalid UTF-8, such as a path or a message from C code. JSON preserves its bytes.
type rawString string

type rawBytes struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON implements json.Marshaler.
func (t rawString) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(rawBytes{Base64: []byte(t)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *rawString) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(data, []byte{'{'}) {
		return json.Unmarshal(data, (*string)(t))
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var raw rawBytes
	if err := decoder.Decode(&raw); err != nil {
		return err
	}
	*t = rawString(raw.Base64)
	return nil
}

// texts and plain convert lists.
func texts(list []string) []rawString {
	converted := make([]rawString, len(list))
	for i, s := range list {
		converted[i] = rawString(s)
	}
	return converted
}

func plain(list []rawString) []string {
	converted := make([]string, len(list))
	for i, s := range list {
		converted[i] = string(s)
	}
	return converted
}

// cut shortens s to at most limit bytes, at the boundary of a character, and marks the cut.
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
