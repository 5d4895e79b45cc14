package cluster

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/server/certificate"
	"collet/netproto/server/config"
)

// maxToken and maxAuthority are the largest files that are read, in bytes.
const (
	maxToken     = 4 << 10
	maxAuthority = 1 << 20
)

// FromSettings is the configuration of a node whose settings name a cluster. The errors are *config.Error and *certificate.Error.
func FromSettings(set config.Settings, env func(string) string, log zerolog.Logger) (Config, error) {
	from := set.Cluster
	if from.External() {
		return external(from, log)
	}
	peers, err := from.Members()
	if err != nil {
		return Config{}, &config.Error{Key: "Cluster.Peers", Text: err.Error()}
	}
	c := Config{Name: from.Name, Listen: from.Listen, ListenNodes: from.ListenNodes, Folder: set.ClusterFolder()}
	for _, p := range peers {
		c.Members, c.Peers = append(c.Members, p.Name), append(c.Peers, p.Address)
	}
	if c.Token, err = token(from, env); err != nil {
		return Config{}, err
	}
	if from.Certificate != "" {
		c.TLS, err = secured(from, log)
	}
	return c, err
}

// external is the configuration of a client of an existing NATS cluster.
func external(from config.Cluster, log zerolog.Logger) (c Config, err error) {
	c = Config{Name: from.Name, Servers: from.Servers, Credentials: from.Credentials, Replicas: cmp.Or(from.Replicas, config.DefaultReplicas), Found: from.Found}
	if from.Authority == "" && from.Certificate == "" {
		return c, nil // an address with tls:// is believed by the authorities of this machine
	}
	c.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	if from.Authority != "" {
		if c.TLS.RootCAs, err = authorities(from.Authority); err != nil {
			return c, err
		}
	}
	if from.Certificate == "" {
		return c, nil
	}
	pair, err := certificate.Open(from.Certificate, from.PrivateKey, log, time.Now)
	if err != nil {
		return c, err
	}
	own := pair.Config()
	c.TLS.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return own.GetCertificate(&tls.ClientHelloInfo{})
	}
	return c, nil
}

// token reads the token that all nodes have.
func token(from config.Cluster, env func(string) string) (string, error) {
	key, text := "Cluster.TokenFile", env(config.ClusterToken)
	if from.TokenFile != "" {
		data, err := readFile(from.TokenFile, maxToken)
		if err != nil {
			return "", &config.Error{Key: key, Text: err.Error() + ": write the token there that all nodes of the cluster have"}
		}
		text = string(data)
	}
	text = strings.TrimSpace(text)
	if len(text) < MinToken {
		return "", &config.Error{Key: key, Text: fmt.Sprintf("the token of the cluster has %d bytes, and needs %d or more: give every node the same one, in a file or in %s; \"openssl rand -hex 32\" makes one", len(text), MinToken, config.ClusterToken)}
	}
	return text, nil
}

// secured is TLS between nodes: both sides show a certificate of the authority. A changed pair is used within seconds; a changed
// authority at the next start.
func secured(from config.Cluster, log zerolog.Logger) (*tls.Config, error) {
	pair, err := certificate.Open(from.Certificate, from.PrivateKey, log, time.Now)
	if err != nil {
		return nil, err
	}
	authority, err := authorities(from.Authority)
	if err != nil {
		return nil, err
	}
	c := pair.Config()
	c.MinVersion, c.RootCAs, c.ClientCAs, c.ClientAuth = tls.VersionTLS13, authority, authority, tls.RequireAndVerifyClientCert
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return c.GetCertificate(&tls.ClientHelloInfo{})
	}
	return c, nil
}

// authorities reads the certificates of authorities.
func authorities(path string) (*x509.CertPool, error) {
	text, err := readFile(path, maxAuthority)
	pool := x509.NewCertPool()
	if err == nil && !pool.AppendCertsFromPEM(text) {
		err = fmt.Errorf("%s has no certificate in PEM", path)
	}
	if err != nil {
		return nil, &config.Error{Key: "Cluster.Authority", Text: err.Error()}
	}
	return pool, nil
}

func readFile(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > limit:
		return nil, fmt.Errorf("%s is no file of at most %d bytes", path, limit)
	}
	return os.ReadFile(path)
}
