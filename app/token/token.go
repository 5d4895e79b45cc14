// Package token has the bearer token of private releases (RFC 6750): a text of the settings, or the output of a command that signs in.
//
// # Where it goes
//
// For gives the token only for addresses with the origin (scheme, host and port) of a mirror that the settings or the command line name.
// Mirrors that a release, a server or a redirect names get none. Package download sends it no further.
//
// # The command
//
// It is started without a shell, in the install folder, with the environment and the standard error of this program, and without standard input. Its
// standard output is the token, with white space around it. It has CommandTime, and writes at most MaxOutput bytes. It is started when
// the first request needs the token, and again when a mirror rejects the token, at most MaxRenewals times: tokens expire while a
// download runs. While it runs, other requests wait for it.
//
// The token is in no error and no log.
package token

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/release/location"
)

const (
	// CommandTime is how long the command may take: a browser may have to be asked, by a person who is signed in already.
	CommandTime = 30 * time.Second
	// MaxOutput is the largest output of the command in bytes. Servers accept 8 KiB of headers; tokens have up to about 4000.
	MaxOutput = 6 << 10
	// MaxRenewals is how often a start of the client asks the command for another token: each hour for a day.
	MaxRenewals = 24
	// failureTime is how long a failure of the command counts for the requests that follow: all of one attempt, and not those after a
	// person has signed in and tries again.
	failureTime = 2 * time.Second
	// killTime is how long what the command left behind may hold its output.
	killTime = time.Second
)

// form is a token as RFC 6750, section 2.1 writes it.
var form = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)

// Fault checks a token of the settings. The error does not repeat it.
func Fault(token string) error {
	if token != "" && (!form.MatchString(token) || len(token) > MaxOutput) {
		return fmt.Errorf("it is no bearer token: want at most %d letters, digits and ._~+/-, which = may follow", MaxOutput)
	}
	return nil
}

// Options configure a Source.
type Options struct {
	Token   string   // empty: there is the command
	Command []string // program and arguments
	Folder  string   // of the command
	Mirrors []string // addresses of the configured mirrors, see location.ParsePrivate
	Log     zerolog.Logger
}

// Source has the token. A nil Source has none. It is safe for concurrent use.
type Source struct {
	o       Options
	origins map[string]bool
	busy    chan struct{} // holds a value while the fields below are used
	token   string
	err     error     // of the last command
	ended   time.Time // of the last command
	asked   int       // commands started
}

// New makes a Source; nil without a token and a command.
func New(o Options) *Source {
	if o.Token == "" && len(o.Command) == 0 {
		return nil
	}
	s := &Source{o: o, origins: map[string]bool{}, busy: make(chan struct{}, 1), token: o.Token}
	for _, address := range o.Mirrors {
		if at, err := location.ParsePrivate(address); err == nil {
			s.origins[at.Origin()] = true
		}
	}
	return s
}

// For is download.HTTPOptions.Token for an address; nil where no token is sent.
func (s *Source) For(address string) func(ctx context.Context, rejected string) (string, error) {
	if s == nil {
		return nil
	}
	if at, err := location.ParsePrivate(address); err != nil || !s.origins[at.Origin()] {
		return nil
	}
	return s.get
}

// get returns the token. If it is the rejected one, it asks the command for another.
func (s *Source) get(ctx context.Context, rejected string) (string, error) {
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if len(s.o.Command) == 0 || s.token != "" && s.token != rejected {
		return s.token, nil
	}
	if s.err != nil && time.Since(s.ended) < failureTime || s.asked > MaxRenewals {
		return s.token, s.err
	}
	s.asked++
	token, err := s.run(ctx)
	s.ended = time.Now()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if s.err = err; err != nil {
		s.o.Log.Warn().Err(err).Msg("the command of Release.TokenCommand gave no token")
		return "", err
	}
	s.token = token
	return token, nil
}

// run starts the command.
func (s *Source) run(ctx context.Context) (string, error) {
	limited, cancel := context.WithTimeout(ctx, CommandTime)
	defer cancel()
	name := s.o.Command[0]
	out := &output{}
	run := exec.CommandContext(limited, name, s.o.Command[1:]...)
	run.Dir, run.Stdout, run.Stderr, run.WaitDelay = s.o.Folder, out, os.Stderr, killTime
	err := run.Run()
	switch {
	case limited.Err() != nil && ctx.Err() == nil:
		return "", fmt.Errorf("%s did not end within %s", name, CommandTime)
	case out.over:
		return "", fmt.Errorf("%s wrote more than %d bytes, which are no token", name, MaxOutput)
	case err != nil:
		return "", fmt.Errorf("%s: %w", name, err)
	}
	token := string(bytes.TrimSpace(out.data))
	if token == "" {
		return "", errors.New(name + " wrote nothing to its standard output")
	}
	if err := Fault(token); err != nil {
		return "", fmt.Errorf("what %s wrote: %w", name, err)
	}
	return token, nil
}

// output keeps the first MaxOutput bytes that are written to it, and drops the others.
type output struct {
	data []byte
	over bool
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	n := min(len(p), MaxOutput-len(o.data))
	o.data, o.over = append(o.data, p[:n]...), o.over || n < len(p)
	return len(p), nil
}
