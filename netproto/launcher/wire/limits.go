package wire

import (
	"math"

	"collet/netproto/release"
)

// The caps on what a peer may cause to be allocated.
const (
	// MaxFiles is the largest number of files in one layout: as many as a release may have.
	MaxFiles = release.MaxSet
	// MaxBlocks is the largest number of hashes in one answer: 64 GB in blocks of 64 KiB, and 32 MiB of memory.
	MaxBlocks = 1 << 20
	// MaxBlock is the size in bytes of the largest accepted block. Released desks send 1,024,000;
	// sixteen times that leaves room for others.
	MaxBlock = 16 << 20
	// MaxName is the length of a String8 in bytes: names of devices, profiles, properties and sources of log lines.
	MaxName = math.MaxUint8
	// MaxText is the length of a String16 in bytes: paths, game configuration, arguments, lines of logs.
	MaxText = math.MaxUint16
	// MaxPath is the length in bytes of the longest accepted path. Systems accept 1024 (macOS) or 4096 (Linux) for a
	// whole path; half of the smaller one leaves room for the root.
	MaxPath = 512
	// MaxBulk is the size in bytes of a list message of our own mode. It is sent in one piece, and at 256 KiB the cost
	// of each message is negligible.
	MaxBulk = 256 << 10
	// MaxList is the largest number of entries in one message of our own mode: MaxBulk full of the shortest ones.
	MaxList = MaxBulk / 4
	// MaxDigests is how many known layouts a RequestTree may name.
	MaxDigests = 8
	// MaxOpenFiles is how many files a desk may have open on a device in our own mode.
	MaxOpenFiles = 64
	// PartSize is the size in bytes of the parts of a Draft block (ConnectionPartSize).
	PartSize = 1357
	// PartsPerBatch is how many Draft parts are confirmed together (docs/PROTOCOL.md, "Two dialects").
	PartsPerBatch = 10
)
