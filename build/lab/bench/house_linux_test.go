package main

import (
	"errors"
	"net"
	"os"
	"strings"
	"testing"
)

// TestHouseIsApart: what is done in a house has its network, and nothing else has.
func TestHouseIsApart(t *testing.T) {
	before, err := os.ReadFile(congestionFile)
	if err != nil {
		t.Skip(err)
	}
	s, err := newHouse("reno")
	if errors.Is(err, os.ErrPermission) {
		t.Skip("a network apart needs the privileges of root: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	var address string
	err = s.do(func() error {
		inside, err := os.ReadFile(congestionFile)
		if err != nil || strings.TrimSpace(string(inside)) != "reno" {
			return errors.Join(err, errors.New("congestion control is "+string(inside)))
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		t.Cleanup(func() { listener.Close() })
		address = listener.Addr().String()
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", address); err == nil {
		t.Error("a client outside the namespace reached a listener inside")
		conn.Close()
	}
	if after, err := os.ReadFile(congestionFile); err != nil || string(after) != string(before) {
		t.Errorf("%v; outside it was %q and is %q", err, before, after)
	}
}
