package origin

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// anonymousFault is a fault without a text of its own.
type anonymousFault struct{ code int }

// TestPanicsAreLogged: a handler's panic is logged as a fault of this program, with its type and stack, and aborts the answer. A
// handler that aborts its answer itself is not logged.
func TestPanicsAreLogged(t *testing.T) {
	for _, test := range []struct {
		fault any
		texts []string
	}{
		{anonymousFault{7}, []string{`"level":"error"`, "A fault of this program", "origin.anonymousFault", "/asked", "serve_test.go"}},
		{http.ErrAbortHandler, nil},
	} {
		var log bytes.Buffer
		handler := logPanics(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(test.fault) }), zerolog.New(&log))
		func() {
			defer func() {
				if again := recover(); again != http.ErrAbortHandler {
					t.Errorf("%T: http.Server receives %v", test.fault, again)
				}
			}()
			handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/asked", nil))
		}()
		if test.texts == nil && log.Len() > 0 {
			t.Errorf("%T: logged %s", test.fault, &log)
		}
		for _, text := range test.texts {
			if !strings.Contains(log.String(), text) {
				t.Errorf("%T: %s lacks %q", test.fault, &log, text)
			}
		}
	}
}

// TestWebLogIsForDebugging: clients can make http.Server log texts of theirs.
func TestWebLogIsForDebugging(t *testing.T) {
	var log bytes.Buffer
	webLog{zerolog.New(&log)}.Write([]byte("http: TLS handshake error from 192.0.2.1: panic: I am a stranger\n"))
	if !strings.Contains(log.String(), `"level":"debug"`) || !strings.Contains(log.String(), "I am a stranger") {
		t.Errorf("logged %s", &log)
	}
}
