package supervise

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/rs/zerolog"

	"collet/runtime/abi"
)

// maxTail is how many of the last lines an Exit keeps: a screenful, at most 128 KiB.
const maxTail = 32

// maxSaid is how many bytes an Exit keeps of the module's last error: two or three lines of a window.
const maxSaid = 300

// plainLine has no control characters: it becomes an argument of a program.
func plainLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// transcript takes all lines of a module, from any goroutine, and keeps what tells why it ended.
type transcript struct {
	log    zerolog.Logger
	output func(stream string, level zerolog.Level, line string)

	mu     sync.Mutex
	tail   []string // the last lines of both standard streams
	signal string   // what the Go runtime said of a fatal signal
	words  string   // the signal in the runtime's words
	report string   // what the Go runtime said otherwise
	fault  string   // the last line of the log service that is an error
}

func (t *transcript) stdout(line string) { t.take(StreamOut, zerolog.InfoLevel, line) }

func (t *transcript) stderr(line string) { t.take(StreamErr, zerolog.InfoLevel, line) }

// module takes a line of the log service. Levels beyond the known ones are taken for the nearest.
func (t *transcript) module(level int32, line string) {
	levels := [...]zerolog.Level{
		abi.LogDebug: zerolog.DebugLevel, abi.LogInfo: zerolog.InfoLevel,
		abi.LogWarn: zerolog.WarnLevel, abi.LogError: zerolog.ErrorLevel,
	}
	t.take(StreamLog, levels[min(max(level, abi.LogDebug), abi.LogError)], line)
}

func (t *transcript) take(stream string, level zerolog.Level, line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.log.WithLevel(level).Str("stream", stream).Msg(line)
	if t.output != nil {
		t.output(stream, level, line)
	}
	if stream == StreamLog {
		if level == zerolog.ErrorLevel {
			t.fault = line
		}
		return
	}
	if len(t.tail) == maxTail {
		t.tail = slices.Delete(t.tail, 0, 1)
	}
	t.tail = append(t.tail, line)
	if stream == StreamErr {
		t.look(line)
	}
}

// The Go runtime catches signals on threads that it knows, the one of Run among them, says so on standard error and exits
// with code 2; Windows exceptions likewise:
//
//	SIGSEGV: segmentation violation
//	[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x7f…]
//	Exception 0xc0000005 0x0 0x0 0x7ff…
//	[signal 0xc0000005 code=0x0 addr=0x0 pc=0x7ff…]
//	fatal error: …
//	panic: …
var (
	signalLine    = regexp.MustCompile(`^(?:\[signal )?(SIG[A-Z0-9]+): ([a-z/ -]+?)(?: code=.*)?$`)
	exceptionLine = regexp.MustCompile(`^(?:Exception|\[signal) (0x[0-9a-f]+) `)
)

// goExit is the exit code of the Go runtime after a panic or a fatal error.
const goExit = 2

// look remembers the first line of each kind. It needs mu.
func (t *transcript) look(line string) {
	if t.signal == "" {
		if found := signalLine.FindStringSubmatch(line); found != nil {
			t.signal, t.words = found[1], found[2]
		} else if found := exceptionLine.FindStringSubmatch(line); found != nil {
			t.signal = found[1]
		}
	}
	if t.report == "" && (strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "panic: ")) {
		t.report = line
	}
}

// tell adds to e what was learned. What a module prints is believed only where it fits how the process ended, and changes
// nothing but words. SIGABRT is how the Go runtime ends where it is asked for core files.
func (t *transcript) tell(e *Exit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.Tail, e.Said = t.tail, cut(plainLine(t.fault), maxSaid)
	caught := e.Code == goExit && e.Signal == ""
	if t.signal != "" && (caught || e.Signal == "SIGABRT") {
		e.Signal, e.Meaning = t.signal, t.words
	}
	if caught {
		e.Report = t.report
	}
}
