//go:build !unix

package main

import (
	"errors"
	"os"
)

// upgradeSignals are none.
func upgradeSignals() []os.Signal { return nil }

// startSuccessor refuses: this system passes no sockets on.
func (r *running) startSuccessor(string) (*successor, error) {
	return nil, errors.New("this system can't pass on open ports: stop the server and start the new one, with several nodes one after the other")
}
