//go:build !nocluster

package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"collet/netproto/server/config"
)

// RefusedError says what an existing NATS cluster lacks or refuses, with what its administrator can do about it. The node tries again.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return "the NATS cluster can't be used: " + e.Err.Error() }

// Unwrap gives the underlying error.
func (e *RefusedError) Unwrap() error { return e.Err }

func refused(format string, args ...any) error {
	return &RefusedError{Err: fmt.Errorf(format, args...)}
}

// minMajor and minMinor are the oldest version of NATS that sends several messages for one request (ADR-31 of NATS, "batch").
const (
	minMajor = 2
	minMinor = 11
)

// connectTime is the time between tries to connect to an existing NATS cluster. A server counts failed ones.
const connectTime = time.Second

// externalOptions are the options for the servers of an existing NATS cluster.
func externalOptions(c Config) ([]nats.Option, error) {
	opt := []nats.Option{nats.ReconnectWait(connectTime)}
	if c.TLS != nil {
		opt = append(opt, nats.Secure(c.TLS))
	}
	if c.Credentials == "" {
		return opt, nil
	}
	text, err := credentials(c.Credentials)
	switch {
	case err != nil:
		return nil, &config.Error{Key: "Cluster.Credentials", Text: err.Error()}
	case strings.Contains(text, "BEGIN NATS USER JWT"):
		return append(opt, nats.UserCredentials(c.Credentials)), nil
	case strings.Contains(text, ":"):
		return append(opt, nats.UserInfoHandler(func() (string, string) { // reads the file again: a changed password needs no restart
			text, _ := credentials(c.Credentials) // without them the server refuses, which is reported
			name, password, _ := strings.Cut(text, ":")
			return name, password
		})), nil
	default:
		return append(opt, nats.TokenHandler(func() string {
			text, _ := credentials(c.Credentials)
			return text
		})), nil
	}
}

// credentials reads a file of credentials.
func credentials(path string) (string, error) {
	data, err := readFile(path, maxToken)
	text := strings.TrimSpace(string(data))
	if err == nil && text == "" {
		err = fmt.Errorf("%s is empty: it has NATS's own credentials (.creds), or a line USER:PASSWORD or TOKEN", path)
	}
	return text, err
}

// problem notes what a connection reports by itself: refused credentials, and requests that are not permitted. nil: it is well.
func (s *Store) problem(err error) {
	if err == nil {
		s.trouble.Store(nil)
		return
	}
	s.trouble.Store(&err)
}

// why adds what the connection or the engine has reported to an error that says no more than that an answer is missing.
func (s *Store) why(err error) error {
	var fault *jetstream.APIError
	if errors.As(err, &fault) && fault.Code == http.StatusServiceUnavailable && !s.config.external() {
		return errNoLeader
	}
	trouble := s.trouble.Load()
	if !isSilence(err) {
		return err
	}
	if trouble == nil {
		return errSilent
	}
	if !s.config.external() {
		return whyMembers(*trouble)
	}
	switch {
	case errors.Is(*trouble, nats.ErrPermissionViolation):
		return refused("it does not permit what a node needs: %w. Permit the user to publish to $JS.API.INFO, $JS.API.STREAM.*.%s, $JS.API.STREAM.*.%s, $JS.API.DIRECT.GET.*, %s and %s, and to subscribe to _INBOX.> and collet.hint.*",
			*trouble, logStream, floorStream, logSubject, floorSubjects)
	case unauthorized(*trouble):
		return refused("it refuses the credentials (%w): put the right ones into Cluster.Credentials", *trouble)
	case errors.Is(*trouble, os.ErrNotExist), errors.Is(*trouble, os.ErrPermission):
		return refused("Cluster.Credentials: %w", *trouble)
	}
	return fmt.Errorf("%w: %w", errSilent, *trouble)
}

// whyMembers is why members do not answer a node: what an operator has to mend, or else no more than that they don't. A network that comes and
// goes has many errors.
func whyMembers(trouble error) error {
	var certificate *tls.CertificateVerificationError
	var op *net.OpError
	switch {
	case errors.Is(trouble, errSilent):
		return trouble
	case unauthorized(trouble):
		return errToken
	case errors.As(trouble, &certificate), errors.As(trouble, &op) && op.Op == "remote error": // what crypto/tls names an alert
		return fmt.Errorf("%w: %w", errSilent, trouble)
	}
	return errSilent
}

// unauthorized reports whether a server refuses who a client says it is.
func unauthorized(err error) bool {
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) || errors.Is(err, nats.ErrAuthRevoked) || errors.Is(err, nats.ErrAccountAuthExpired)
}

// checkServers returns what an existing NATS cluster lacks.
func (s *Store) checkServers(ctx context.Context) error {
	if !s.conn.IsConnected() {
		return errSilent
	}
	version, major, minor := s.conn.ConnectedServerVersion(), 0, 0
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil || major < minMajor || major == minMajor && minor < minMinor {
		return refused("its server has version %q, and a node needs %d.%d or later: upgrade the NATS servers", version, minMajor, minMinor)
	}
	ctx, stop := context.WithTimeout(ctx, answerTime)
	defer stop()
	_, err := s.js.AccountInfo(ctx)
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return refused("the account of these credentials has no JetStream: turn it on for that account, or use another one")
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, nats.ErrNoResponders):
		return refused("its servers run without JetStream: turn it on (jetstream in nats-server's settings)")
	}
	return err
}

// externalStream makes a stream of an existing NATS cluster, or looks whether the one that is there keeps what it is told.
func (s *Store) externalStream(ctx context.Context, want jetstream.StreamConfig) error {
	ctx, stop := context.WithTimeout(ctx, 2*answerTime)
	defer stop()
	stream, err := s.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = s.js.CreateStream(ctx, want)
	}
	var fault *jetstream.APIError
	switch {
	case errors.As(err, &fault):
		return refused("stream %s with Cluster.Replicas = %d can't be made there: %s (%d)", want.Name, want.Replicas, fault.Description, fault.ErrorCode)
	case err != nil:
		return err
	}
	if differs := unlike(want, stream.CachedInfo().Config); differs != "" {
		return refused("stream %s is there with another %s than a node needs: it is another program's, or was changed by hand. Use an account of its own for Collet, or let the node make the stream", want.Name, differs)
	}
	return nil
}

// minStream is the smallest limit of a stream in bytes that a node accepts, where an account has to have one: four times what ten million floors
// take, or a hundred thousand changes of 20 KB.
const minStream = 2 << 30

// unlike names what a stream has that would lose, change or refuse messages; empty for nothing.
func unlike(want, has jetstream.StreamConfig) string {
	republished := ""
	if has.RePublish != nil {
		republished = has.RePublish.Destination
	}
	for _, of := range []struct {
		name string
		good bool
	}{
		{"subject", slices.Equal(want.Subjects, has.Subjects)}, {"retention", has.Retention == want.Retention}, {"discard policy", has.Discard == want.Discard},
		{"number of messages for each subject", max(has.MaxMsgsPerSubject, 0) == want.MaxMsgsPerSubject}, {"age of messages", has.MaxAge == 0},
		{"number of messages", has.MaxMsgs <= 0}, {"direct access", has.AllowDirect}, {"hint (republish)", republished == want.RePublish.Destination},
		{"storage", has.Storage == want.Storage}, {"source", has.Mirror == nil && len(has.Sources) == 0},
		{"number of copies (replicas)", has.Replicas >= want.Replicas},
		{"size of all messages (max_bytes)", has.MaxBytes <= 0 || has.MaxBytes >= minStream},
		{"size of a message (max_msg_size)", has.MaxMsgSize <= 0 || has.MaxMsgSize >= want.MaxMsgSize},
		{"seal", !has.Sealed}, {"acknowledgement (no_ack)", !has.NoAck}, {"discard policy for each subject", !has.DiscardNewPerSubject},
		{"first number", has.FirstSeq <= 1}, {"transformation of subjects", has.SubjectTransform == nil}, {"counter", !has.AllowMsgCounter},
		{"compression", has.Compression == want.Compression}, // see streams
	} {
		if !of.good {
			return of.name
		}
	}
	return ""
}
