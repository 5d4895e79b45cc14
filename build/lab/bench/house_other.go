//go:build !linux

package main

import "errors"

// newHouse exists on Linux only.
func newHouse(string) (*space, error) { return nil, errors.ErrUnsupported }
