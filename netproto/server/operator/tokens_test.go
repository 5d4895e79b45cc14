package operator_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"collet/netproto/compat"
	"collet/netproto/server/operator"
	"collet/netproto/server/servertest"
	"collet/platform/testlevel"
)

// TestTokensAreBounded in number and in what they may be called, and their secrets in no answer but the first.
func TestTokensAreBounded(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	_, o := servertest.StartWithoutToken(t, servertest.VersionedSettings(t))
	if _, err := o.Tokens.Create(operator.Actor{Name: "eve", Role: operator.RoleView}, "mine", operator.RoleAdmin); err == nil {
		t.Error("a viewer made a token")
	}
	secrets := map[string]bool{}
	for i := range operator.MaxTokens {
		secret, err := o.Tokens.Create(servertest.Editor(), fmt.Sprint("token-", i), operator.RoleAdmin)
		if err != nil || secrets[secret] || len(secret) < 40 {
			t.Fatalf("token %d is %q, %v", i, secret, err)
		}
		secrets[secret] = true
	}
	for _, name := range []string{"one-more", "token-1", "", "a b", strings.Repeat("x", 65)} {
		if _, err := o.Tokens.Create(servertest.Editor(), name, operator.RoleView); err == nil {
			t.Errorf("%q became a token", name)
		}
	}
	for secret := range secrets {
		if by, known := o.Tokens.Authenticate(secret); !known || by.Role != operator.RoleAdmin || by.Source != compat.SourceAPI {
			t.Errorf("%q is %+v, %t", secret, by, known)
		}
		break
	}
	if _, known := o.Tokens.Authenticate(""); known {
		t.Error("an empty token was accepted")
	}
	for _, token := range o.Tokens.List() {
		if token.Sum != "" || token.Created.IsZero() {
			t.Errorf("%+v", token)
		}
	}
}

// TestTokensOutliveTheServer, and their secrets with them.
func TestTokensOutliveTheServer(t *testing.T) {
	t.Parallel()
	set := servertest.VersionedSettings(t)
	h, o := servertest.StartWithoutToken(t, set)
	secret, err := o.Tokens.Create(servertest.Editor(), "ops", operator.RoleAdmin)
	if err != nil {
		t.Fatal(err)
	}
	h.Stop()
	<-h.Done
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	if image, err := os.ReadFile(set.Compat.Store); err != nil || strings.Contains(string(image), secret) {
		t.Errorf("the secret itself is on disk: %v", err)
	}
	_, o = servertest.StartWithToken(t, set)
	if by, known := o.Tokens.Authenticate(secret); !known || by.Name != "ops" || !o.Tokens.Exist() {
		t.Errorf("%+v, %t", by, known)
	}
}
