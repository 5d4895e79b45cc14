package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"collet/netproto/server/operator"
)

// read reads the body of a request.
func read(body []byte, into any) error {
	r := httptest.NewRequest(http.MethodPost, "/api/compat/evaluate", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return readRequest(httptest.NewRecorder(), r, into)
}

// FuzzAsk: a body of the admin API is read whole or refused as the asker's fault, and one that is taken says the same when it is
// written again.
func FuzzAsk(f *testing.F) {
	for _, body := range []string{
		`{"settings":{"active_max":8},"comment":"c","confirm":true,"kick_seconds":300}`, `{"revision":1,"comment":"","confirm":false,"kick_seconds":null}`,
		`{"hello":{"target":"Linux-x64","logic":7,"components":"00ff"}}`, `{"name":"ops","role":"edit"}`, `{"floor":-1,"lower":true,"comment":"x"}`,
		`{} {}`, `{"NAME":1}`, `[]`, `null`, `{"settings":`, "", strings.Repeat("[", 20_000), `{"comment":"\ud800"}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, ask := range []any{new(ChangeRequest), new(RollbackRequest), new(EvaluateRequest), new(TokenRequest), new(FloorRequest)} {
			err := read(body, ask)
			var fault *operator.InputError
			if err != nil {
				if !errors.As(err, &fault) || fault.Why == "" {
					t.Fatalf("%q: %T %v", body, err, err)
				}
				continue
			}
			again := reflect.New(reflect.TypeOf(ask).Elem()).Interface()
			written, err := json.Marshal(ask)
			if err == nil {
				err = read(written, again)
			}
			if rewritten, _ := json.Marshal(again); err != nil || string(rewritten) != string(written) {
				t.Fatalf("%q: %s became %s, %v", body, written, rewritten, err)
			}
		}
	})
}
