package supervise

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rs/zerolog"

	"collet/platform/text"
	"collet/runtime/abi"
)

// maxTail is the number of last lines in an Exit: a screenful, at most 128 KiB.
const maxTail = 32

// maxSaid is the largest size in bytes of the module's last error in an Exit: two or three lines of a window.
const maxSaid = 300

// transcript receives all lines of a module, from any goroutine, and keeps those that explain its end.
type transcript struct {
	log    zerolog.Logger
	output func(stream string, level zerolog.Level, line string)

	mu     sync.Mutex
	tail   []string // the last lines of both standard streams
	signal string   // a fatal signal reported by the Go runtime
	words  string   // the runtime's description of the signal
	report string   // another fatal report of the Go runtime
	fault  string   // the last error line of the log service
}

func (t *transcript) stdout(line string) { t.addLine(StreamOut, zerolog.InfoLevel, line) }

func (t *transcript) stderr(line string) { t.addLine(StreamErr, zerolog.InfoLevel, line) }

// module receives a line of the log service. Unknown levels are clamped to the nearest known one.
func (t *transcript) module(level int32, line string) {
	levels := [...]zerolog.Level{
		abi.LogDebug: zerolog.DebugLevel, abi.LogInfo: zerolog.InfoLevel,
		abi.LogWarn: zerolog.WarnLevel, abi.LogError: zerolog.ErrorLevel,
	}
	t.addLine(StreamLog, levels[min(max(level, abi.LogDebug), abi.LogError)], line)
}

func (t *transcript) addLine(stream string, level zerolog.Level, line string) {
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
		t.scan(line)
	}
}

// The Go runtime catches signals on threads that it knows, such as the one of Run. It reports them on standard error and
// exits with code 2. Windows exceptions are handled likewise:
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

// scan keeps the first line of each kind. The caller holds mu.
func (t *transcript) scan(line string) {
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

// logFindings adds the findings to e. Printed lines are only used where they match the end of the process, and they change nothing
// but texts. With core dumps enabled the Go runtime ends by SIGABRT.
func (t *transcript) logFindings(e *Exit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.Tail, e.Said = t.tail, cut(text.Line(t.fault), maxSaid)
	caught := e.Code == goExit && e.Signal == ""
	if t.signal != "" && (caught || e.Signal == "SIGABRT") {
		e.Signal, e.Meaning = t.signal, t.words
	}
	if caught {
		e.Report = t.report
	}
}
