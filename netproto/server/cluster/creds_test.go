//go:build !nocluster

package cluster_test

import (
	"path/filepath"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	"github.com/rs/zerolog"

	"collet/netproto/server/cluster"
	"collet/platform/testlevel"
)

// claimed signs claims about a new key, and returns that key.
func claimed(t testing.TB, prefix nkeys.PrefixByte, by nkeys.KeyPair, claims func(public string) jwt.Claims) (key nkeys.KeyPair, public, token string) {
	t.Helper()
	key, err := nkeys.CreatePair(prefix)
	noError(t, err)
	public, err = key.PublicKey()
	noError(t, err)
	if by == nil {
		by = key
	}
	token, err = claims(public).Encode(by)
	noError(t, err)
	return key, public, token
}

// TestExternalCreds uses a NATS server with an operator, accounts and users as JWT, and a .creds file with the fewest permissions. A user of
// another account without JetStream, and one that the server does not know, are refused with the cause.
func TestExternalCreds(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	operatorKey, _, operatorToken := claimed(t, nkeys.PrefixByteOperator, nil, func(public string) jwt.Claims { return jwt.NewOperatorClaims(public) })
	accounts := &server.MemAccResolver{}
	account := func(by nkeys.KeyPair, jetStream bool) (nkeys.KeyPair, string) {
		key, public, token := claimed(t, nkeys.PrefixByteAccount, by, func(public string) jwt.Claims {
			c := jwt.NewAccountClaims(public)
			if jetStream {
				c.Limits.DiskStorage, c.Limits.MemoryStorage = jwt.NoLimit, jwt.NoLimit
			}
			return c
		})
		noError(t, accounts.Store(public, token))
		return key, public
	}
	_, system := account(operatorKey, false)
	game, _ := account(operatorKey, true)
	plain, _ := account(operatorKey, false)
	strangerKey, _, _ := claimed(t, nkeys.PrefixByteOperator, nil, func(public string) jwt.Claims { return jwt.NewOperatorClaims(public) })
	unknown, _, _ := claimed(t, nkeys.PrefixByteAccount, strangerKey, func(public string) jwt.Claims { return jwt.NewAccountClaims(public) })
	creds := func(by nkeys.KeyPair) string {
		key, _, token := claimed(t, nkeys.PrefixByteUser, by, func(public string) jwt.Claims {
			c := jwt.NewUserClaims(public)
			c.Pub.Allow.Add("$JS.API.INFO", "$JS.API.STREAM.*.COLLET_LOG", "$JS.API.STREAM.*.COLLET_FLOORS", "$JS.API.DIRECT.GET.*", "collet.log", "collet.floors.*")
			c.Sub.Allow.Add("_INBOX.>", "collet.hint.*")
			return c
		})
		seed, err := key.Seed()
		noError(t, err)
		text, err := jwt.FormatUserConfig(token, seed)
		noError(t, err)
		return written(t, string(text))
	}
	at := natsServer(t, func(o *server.Options) {
		claims, err := jwt.DecodeOperatorClaims(operatorToken)
		noError(t, err)
		o.TrustedOperators, o.AccountResolver, o.SystemAccount = []*jwt.OperatorClaims{claims}, accounts, system
	})
	dir := t.TempDir()
	with := func(name, file string) cluster.Config {
		c := named(name, at)
		c.Credentials = file
		return c
	}
	a := serving(t, filepath.Join(dir, "a.db"), with("a", creds(game)), zerolog.Nop())
	defer a.closed(t)
	b := serving(t, filepath.Join(dir, "b.db"), with("b", creds(game)), zerolog.Nop())
	defer b.closed(t)
	noError(t, a.says("by a"))
	b.hears(t, "by a")
	refusesStart(t, filepath.Join(dir, "plain.db"), with("c", creds(plain)), "has no JetStream")
	refusesStart(t, filepath.Join(dir, "unknown.db"), with("d", creds(unknown)), "refuses the credentials")
}
