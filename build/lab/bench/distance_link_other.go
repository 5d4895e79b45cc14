//go:build !linux

package main

import (
	"errors"
	"net/netip"
	"syscall"
	"time"
)

// space and link exist on Linux only.
type space struct{}

func (*space) do(func() error) error { return errors.ErrUnsupported }

func (*space) close() {}

type link struct {
	near, far         *space
	nearAddr, farAddr netip.Addr
}

type linkOptions struct {
	delay time.Duration
	rate  float64
	queue time.Duration
	loss  float64
	seed  uint64

	reorder   float64
	late      time.Duration
	duplicate float64
}

func startLink(linkOptions) (*link, error) { return nil, errors.ErrUnsupported }

func (*link) close() {}

func withCongestion(string) func(network, address string, conn syscall.RawConn) error { return nil }
