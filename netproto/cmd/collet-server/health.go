package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"collet/netproto/server/config"
)

const (
	// healthPatience is how long the running server may take to answer.
	healthPatience = 5 * time.Second
	// maxHealthText is how much of an answer is read, in bytes.
	maxHealthText = 1 << 10
)

var errNoHealth = errors.New("no port for health: give --http ADDR, or set Operations.HTTPAddress in the settings file")

// checkHealth asks the running server on this machine for /healthz, at the address for health that the settings have.
func checkHealth(ctx context.Context, at config.Operations) error {
	scheme, address := "http", at.HTTPAddress
	switch {
	case address != "" && at.HTTPCertificate != "":
		scheme = "https"
	case address == "":
		address = at.MetricsAddress
	}
	if address == "" {
		return errNoHealth
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("health: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	ctx, cancel := context.WithTimeout(ctx, healthPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+net.JoinHostPort(host, port)+"/healthz", nil)
	if err != nil {
		return fmt.Errorf("health: %w", err)
	}
	// The certificate is for the names that players know. Nothing secret is sent or believed.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("health: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(answer.Body, maxHealthText)) // the status says enough
		return fmt.Errorf("health: status %d %q", answer.StatusCode, said)
	}
	return nil
}

// healthAddress are the addresses of the options alone, for health without settings.
func (o options) healthAddress() config.Operations {
	return config.Operations{HTTPAddress: cmp.Or(o.HTTP, o.Metrics)}
}
