package servertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/compat"
	"collet/netproto/server"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
	"collet/netproto/server/operator"
)

// TokenSecret is the secret of the token of [StartWithToken].
const TokenSecret = "collet_test"

// StartWithToken starts a server on loopback with an operator whose store has a token: the tokens that it already had, or else one
// of TokenSecret named local.
func StartWithToken(t testing.TB, set config.Settings) (*Server, *operator.Operator) {
	t.Helper()
	store, err := operator.OpenStore(set.Compat.Store, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := store.Tokens()
	if err == nil && len(tokens) == 0 {
		err = store.SetTokens([]operator.Token{{Name: "local", Role: operator.RoleAdmin, Created: time.Now().UTC(), Sum: operator.Sum(TokenSecret)}})
	}
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	return StartWithoutToken(t, set)
}

// StartWithoutToken starts a server on loopback with an operator; it adds no token to the store.
func StartWithoutToken(t testing.TB, set config.Settings) (*Server, *operator.Operator) {
	t.Helper()
	s := New()
	o := s.OpenWithOperator(t, set, operator.Options{})
	listener, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.ServeOn(t, listener).WaitUntil(t, s.Ready)
	return s, o
}

// OpenWithOperator opens the catalogue, the server and its operator; it does not serve. The test's end closes the operator, ServeOn
// or the caller the server.
func (s *Server) OpenWithOperator(t testing.TB, set config.Settings, opt operator.Options) *operator.Operator {
	t.Helper()
	catalogue, err := catalogue.Open(t.Context(), set, s.Logger())
	if err != nil {
		t.Fatal(err)
	}
	o, err := operator.Open(set.Compat.Store, catalogue.Declared(), opt, s.Logger())
	if err != nil {
		catalogue.Close()
		t.Fatal(err)
	}
	s.Server = server.New(catalogue, set, s.Logger())
	s.Govern(o)
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

// Editor is an actor with RoleAdmin.
func Editor() operator.Actor {
	return operator.Actor{Name: "ops", Role: operator.RoleAdmin, Source: compat.SourceAPI, Remote: "192.0.2.1"}
}

// ChangeSettings edits the settings in force and applies them, with a comment and confirmed.
func ChangeSettings(t testing.TB, o *operator.Operator, edit func(*compat.Settings)) operator.Outcome {
	t.Helper()
	s := o.Settings()
	edit(&s)
	out, err := o.Change(context.Background(), Editor(), operator.Change{Revision: s.Revision, Settings: s, Comment: "a test", Confirm: true})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Target is what the operator shows about a target, which must be known.
func Target(t testing.TB, o *operator.Operator, name string) operator.TargetState {
	t.Helper()
	for _, target := range o.Show().Targets {
		if target.Name == name {
			return target
		}
	}
	t.Fatalf("no target %s in %+v", name, o.Show().Targets)
	panic("unreachable")
}
