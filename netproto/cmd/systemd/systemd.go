// Package systemd holds the units that run collet-server as a service: collet-server.service, and a socket for each port that
// can stay open while the program is replaced. docs/OPERATING.md says how to use them; packages install them.
package systemd

import "embed"

// Units are the unit files by their names, without a folder.
//
//go:embed *.service *.socket
var Units embed.FS
