//go:build !nocluster

package cluster_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/server/cluster"
	"collet/netproto/server/config"
	"collet/netproto/server/operator"
	"collet/netproto/server/operator/storetest"
	"collet/platform/testlevel"
	"collet/platform/testwait"
)

// authority signs certificates of nodes for loopback.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{file: filepath.Join(t.TempDir(), "authority.pem")}
	a.cert, a.key = a.sign(t, a.file, filepath.Join(t.TempDir(), "key"))
	return a
}

// sign writes a certificate with its key: of the authority itself, if it has none yet.
func (a *authority) sign(t *testing.T, certFile, keyFile string) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "node"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA: a.cert == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	by, byKey := a.cert, a.key
	if by == nil {
		by, byKey = form, key
	}
	der, err := x509.CreateCertificate(rand.Reader, form, by, &key.PublicKey, byKey)
	keyDER, err2 := x509.MarshalPKCS8PrivateKey(key)
	cert, err3 := x509.ParseCertificate(der)
	if err := errors.Join(err, err2, err3,
		os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600)); err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// settings are those of a node: a member if it is among the names.
func settings(t *testing.T, a *authority, name string, names []string, at, further map[string]string) config.Settings {
	t.Helper()
	dir := t.TempDir()
	set := config.Defaults()
	set.CompatibilityVersion, set.Compat.Store = "v", filepath.Join(dir, "compat.db")
	c := config.Cluster{Name: name, Listen: at[name], ListenNodes: further[name], Certificate: filepath.Join(dir, "cert"), PrivateKey: filepath.Join(dir, "key"), Authority: a.file}
	for _, peer := range names {
		address := at[peer]
		if c.Listen == "" {
			address = further[peer]
		}
		c.Peers = append(c.Peers, peer+"="+address)
	}
	a.sign(t, c.Certificate, c.PrivateKey)
	set.Cluster = c
	if err := set.Validate(); err != nil {
		t.Fatal(err)
	}
	return set
}

func open(ctx context.Context, t *testing.T, set config.Settings, token string) (operator.Store, error) {
	t.Helper()
	c, err := cluster.FromSettings(set, func(string) string { return token }, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	c.Patience = time.Second
	return cluster.OpenNode(ctx, always(c), set.Compat.Store, zerolog.Nop())
}

// TestMembers runs three members and a further node over TLS: floors come to all of them, wait where there is no majority, and are
// delivered later. No node joins with another token or a certificate of another authority.
func TestMembers(t *testing.T) {
	testlevel.Lab(t)
	const token = "0123456789abcdef"
	a, names := newAuthority(t), []string{"a", "b", "c"}
	at, further := map[string]string{}, map[string]string{}
	for _, name := range names {
		at[name], further[name] = testwait.FreeAddress(t), testwait.FreeAddress(t)
	}
	sets := map[string]config.Settings{}
	for _, name := range append(names, "d", "stranger", "guest") {
		by := a
		if name == "stranger" {
			by = newAuthority(t)
			by.file = a.file // it believes the members, and they don't believe it
		}
		sets[name] = settings(t, by, name, names, at, further)
	}
	nodes := map[string]operator.Store{}
	start := func(names ...string) {
		t.Helper()
		var all sync.WaitGroup
		var mu sync.Mutex
		for _, name := range names {
			all.Go(func() {
				s, err := open(t.Context(), t, sets[name], token)
				if err != nil {
					t.Error(name, err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				nodes[name] = s
				if revision, _, err := s.(*cluster.Node).Head(); name == "a" && err == nil && revision == 0 {
					storetest.Fill(t, s, 1, 1) // as the operator of the founder does
				}
			})
		}
		all.Wait()
		if t.Failed() {
			t.FailNow()
		}
	}
	start("a", "b", "c")
	start("d")
	defer func() {
		for name, s := range nodes {
			if err := s.Close(); err != nil {
				t.Error(name, err)
			}
		}
	}()
	has := func(account string, floor int32, names ...string) {
		t.Helper()
		for _, name := range names {
			testwait.Until(t, func() bool { got, err := nodes[name].Floor(account); return got == floor && err == nil }, fmt.Sprintf("node %s has no floor %d of %s", name, floor, account))
		}
	}
	if err := nodes["d"].Raise("ann", 7); err != nil {
		t.Fatal(err)
	}
	has("ann", 7, "a", "b", "c", "d")

	for _, impostor := range []struct{ name, token string }{{"guest", "another token 123"}, {"stranger", token}} {
		ctx, stop := context.WithTimeout(t.Context(), 4*time.Second)
		s, err := open(ctx, t, sets[impostor.name], impostor.token)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: joined %v, %v", impostor.name, s, err)
		}
		stop()
	}

	for _, name := range []string{"b", "c"} {
		if err := nodes[name].Close(); err != nil {
			t.Error(err)
		}
		delete(nodes, name)
	}
	if err := errors.Join(nodes["a"].Raise("ann", 8), nodes["d"].Raise("bob", 6)); err != nil {
		t.Error(err)
	}
	has("ann", 8, "a")
	has("bob", 6, "d")
	var readOnly *operator.ReadOnlyError
	testwait.Until(t, func() bool { return errors.As(nodes["a"].Writable(), &readOnly) }, "a without a majority is writable")
	if err := nodes["a"].Commit(storetest.Next(t, nodes["a"], 2)); !errors.As(err, &readOnly) || time.Since(readOnly.Since) < cluster.QuietTime || !strings.Contains(err.Error(), "since") {
		t.Errorf("a change without a majority: %v", err)
	}
	if err := nodes["a"].Close(); err != nil { // what is queued stays so
		t.Error(err)
	}
	delete(nodes, "a")
	start("a", "b", "c")
	has("ann", 8, "a", "b", "c", "d")
	has("bob", 6, "a", "b", "c", "d")
	testwait.Until(t, func() bool { return nodes["b"].Writable() == nil }, "b is not writable")
	storetest.Fill(t, nodes["b"], 2, 3)
	testwait.Until(t, func() bool {
		revision, _, err := nodes["d"].(*cluster.Node).Head()
		return revision == 3 && err == nil
	}, "d does not have the changes")
	for _, name := range names {
		testwait.Until(t, func() bool {
			queued, err := nodes[name].(*cluster.Node).Queued(1)
			return len(queued) == 0 && err == nil
		}, name+" has floors queued")
	}
}
