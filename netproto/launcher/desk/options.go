package desk

import (
	"context"
	"net/netip"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/launcher/tree"
	"collet/netproto/launcher/wire"
)

// Options say what a Desk offers and whom it lets in. Only Root is needed; the zero value of everything else is useful.
type Options struct {
	// Root is the working copy, an existing folder.
	Root string
	// Dialect is what devices speak that do not speak our own mode. The two can't be told apart on the wire.
	Dialect wire.Dialect
	// Ignore are lines in the form of IgnoreFile that hold beside those of the file itself, before them.
	Ignore []string
	// Links is what happens to symbolic links; those that are left out are named in PushResult.Problems.
	Links tree.LinkPolicy
	// CacheFile keeps the hashes of the working copy over the life of a Desk, and a file beside it, NAME.unfinished, which
	// files of released devices a push had not finished when the desk was killed; empty keeps both in memory only. A cache
	// that can't be read or written costs time and nothing else. Its folder must exist.
	CacheFile string
	// Admit decides about each device before it is told anything, after its first message. It may ask a person: the
	// device waits for Times.Admission at most. It is called from several goroutines. nil lets everybody in, which is for
	// listeners that only this machine reaches.
	Admit func(ctx context.Context, name string, address netip.AddrPort) Decision
	// MaxDevices caps the devices that are connected at once; 0 is DefaultMaxDevices.
	MaxDevices int
	// ReleasedOnly does not offer our own messages even to those who know them.
	ReleasedOnly bool
	// Times are the watchdogs; fields that are zero have their default.
	Times Times
	// Log is told what happens to connections and pushes.
	Log zerolog.Logger
}

// Decision is what Admit says about a device.
type Decision uint8

const (
	Refuse Decision = 0 // close the connection; the protocol has no message for it
	Admit  Decision = 1 // let it in
)

const (
	// DefaultMaxDevices is how many devices are connected at once when Options do not say: more than anybody has on
	// a desk, and few enough that a flood of names costs little memory.
	DefaultMaxDevices = 64
	// MaxLogTail is how many log lines are kept of each device, for a start that failed and for those who look later.
	MaxLogTail = 200
	// MaxLogRate is how many log lines a second are taken from one device; the rest is counted and dropped. A game that
	// logs each frame with twenty lines stays below it.
	MaxLogRate = 5000
	// MaxUnconfirmed is how many bytes of files may be on their way to one device of our own mode: enough for one
	// gigabit at 200 ms, and little memory.
	MaxUnconfirmed = 32 << 20
	// MaxUnconfirmedReleased is the same towards released devices, whose window holds ten datagrams anyway; they copy
	// what waits (reference 5.1).
	MaxUnconfirmedReleased = 1 << 20
	// BlockReleased is the size of blocks towards released devices: 16 to 64 KiB are what they take fastest, and with path
	// and header no message may be over 64 kB (reference 4.1 no. 8, 5.1).
	BlockReleased = 60 << 10
	// MaxAttempts is how often one file may fail or change under way before a push goes on without it and says so.
	MaxAttempts = 3
)

// Times are the watchdogs of a Desk: how long it waits for what (reference 4.1 no. 10; the protocol itself has none).
// None of them runs while nothing is awaited, and those of files start again with every answer that arrives.
type Times struct {
	Greeting  time.Duration // from the connection to connectRequest; default 10 s
	Admission time.Duration // for Admit; default 2 min, somebody may have to be asked
	Layout    time.Duration // for responseFileLayout; default 10 min, a device hashes everything first
	Hashes    time.Duration // for responseFileBlockHashes, without what HashRate adds; default 60 s
	Answer    time.Duration // for any answer about deletes, writes and blocks; default 30 s
	Finish    time.Duration // for responseFinishWriteFile, without what HashRate adds; default 60 s
	Start     time.Duration // for the run state to become running; default 20 s
	Stop      time.Duration // for the game to end by itself before it is killed; default 5 s
	Kill      time.Duration // for the run state to become stopped after a kill; default 10 s
	KeepAlive time.Duration // without a message before keepAlive is sent; default 10 s (reference 3.8)
	Return    time.Duration // how long a push waits for a device that went away; default 60 s
	HashRate  int64         // bytes a second that the slowest device hashes; default 4 MiB/s
}

// PushOptions say where a push goes and what follows it.
type PushOptions struct {
	// Devices are ids or names of DeviceInfo; empty is every device that is connected when the push begins.
	Devices []string
	// DeleteIgnored removes files from devices that the ignore rules leave out here. Without it they stay: games keep
	// saves and settings there.
	DeleteIgnored bool
	// Start starts the game on each device that got everything. One that runs is stopped before anything is written: systems
	// refuse to write what is open, and released devices write in place. nil starts and stops nothing.
	Start *StartOptions

	leave bool // a device that goes away is not waited for
}

// StartOptions are what startApplication carries.
type StartOptions struct {
	Devices    []string // as in PushOptions; not looked at in PushOptions.Start
	GameConfig string   // text of the .degame file; at most 65535 bytes
	Profile    string   // name of a profile of the device; empty is its default; at most 255 bytes
	Arguments  string   // appended to those of the profile; at most 65535 bytes
	Restart    bool     // stop a running game first; without it a running game is an error
	Force      bool     // of the stop that Restart makes, as in StopOptions
}

// StopOptions say how a game is stopped.
type StopOptions struct {
	Devices []string // as in PushOptions
	Force   bool     // kill at once instead of asking first and killing after Times.Stop
}

// WatchOptions are for Desk.Watch.
type WatchOptions struct {
	// Push is each push; its Devices may be such that come later. Its Start restarts the game after each change.
	Push PushOptions
	// Settle is how long nothing may have changed before a push begins; 0 is DefaultSettle. A push begins at the latest
	// after MaxSettle even if changes go on.
	Settle time.Duration
	// Each is told the end of each push; nil is nobody. It is called from one goroutine, and the next push waits for it.
	Each func(PushResult, error)
}

const (
	// DefaultSettle outlasts the pauses of a compiler or an editor that writes several files.
	DefaultSettle = 250 * time.Millisecond
	// MaxSettle bounds how long a stream of changes may put a push off.
	MaxSettle = 5 * time.Second
)

// withDefaults fills in what is zero.
func (t Times) withDefaults() Times {
	for _, f := range []struct {
		value *time.Duration
		def   time.Duration
	}{
		{&t.Greeting, 10 * time.Second}, {&t.Admission, 2 * time.Minute}, {&t.Layout, 10 * time.Minute},
		{&t.Hashes, time.Minute}, {&t.Answer, 30 * time.Second}, {&t.Finish, time.Minute}, {&t.Start, 20 * time.Second},
		{&t.Stop, 5 * time.Second}, {&t.Kill, 10 * time.Second}, {&t.KeepAlive, 10 * time.Second}, {&t.Return, time.Minute},
	} {
		if *f.value <= 0 {
			*f.value = f.def
		}
	}
	if t.HashRate <= 0 {
		t.HashRate = 4 << 20
	}
	return t
}

// toHash is how long the slowest device takes to hash so many bytes.
func (t Times) toHash(bytes uint64) time.Duration {
	return time.Duration(float64(bytes) / float64(t.HashRate) * float64(time.Second))
}
