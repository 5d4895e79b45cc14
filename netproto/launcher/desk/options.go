package desk

import (
	"context"
	"net/netip"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/launcher/tree"
	"collet/netproto/launcher/wire"
)

// Options configure a Desk. Only Root is required; the zero value of every other field is useful.
type Options struct {
	// Root is the working copy, an existing folder.
	Root string
	// Dialect is the dialect of devices without our own mode. The two dialects can't be told apart on the wire.
	Dialect wire.Dialect
	// Ignore are lines in the form of tree.IgnoreFile. They apply before those of the file itself.
	Ignore []string
	// Links is the policy for symbolic links; those left out are named in PushResult.Problems.
	Links tree.LinkPolicy
	// CacheFile keeps the hashes of the working copy across processes. A file beside it, NAME.unfinished, keeps which
	// files of released devices were unfinished when the process was killed. Empty keeps both in memory only. An
	// unreadable or unwritable cache costs time only. Its folder must exist.
	CacheFile string
	// Admit decides about each device after its first message and before any answer. It may ask the user: the device
	// waits up to Times.Admission. It is called from several goroutines. nil admits every device, which is for listeners
	// that only this machine reaches.
	Admit func(ctx context.Context, name string, address netip.AddrPort) Decision
	// MaxDevices caps the devices that are connected at once; 0 is DefaultMaxDevices.
	MaxDevices int
	// ReleasedOnly turns our own mode off, also for devices that support it.
	ReleasedOnly bool
	// Times are the watchdog limits; zero fields have their default.
	Times Times
	// Log receives events of connections and pushes.
	Log zerolog.Logger
}

// Decision is the result of Admit.
type Decision uint8

const (
	Refuse Decision = 0 // close the connection; the protocol has no message for it
	Admit  Decision = 1 // let it in
)

const (
	// DefaultMaxDevices is the default of Options.MaxDevices: more than a developer owns, and few enough that a flood of
	// names costs little memory.
	DefaultMaxDevices = 64
	// MaxLogTail is how many log lines are kept of each device, for StartTimeoutError and LogTail.
	MaxLogTail = 200
	// MaxLogRate is how many log lines a second one device may send; the rest is counted and dropped. A game that logs
	// each frame with twenty lines stays below it.
	MaxLogRate = 5000
	// MaxUnconfirmed is how many bytes of files may be unconfirmed by one device in our own mode: enough for one gigabit
	// a second at 200 ms, and little memory.
	MaxUnconfirmed = 32 << 20
	// MaxUnconfirmedReleased is the same for released devices. Their window holds ten datagrams anyway, and they copy
	// what waits with each of them.
	MaxUnconfirmedReleased = 1 << 20
	// BlockReleased is the block size for released devices: 16 to 64 KiB are fastest there. With path and header, no
	// message may exceed 64 kB: a larger one makes every later datagram slow.
	BlockReleased = 60 << 10
	// MaxAttempts is how often one file may fail, or change while it is sent, before a push continues without it and reports it.
	MaxAttempts = 3
)

// Times are the watchdog limits of a Desk; the protocol itself has none. A watchdog runs only
// while an answer is awaited. Those about files restart with every answer.
type Times struct {
	Greeting  time.Duration // from the connection to connectRequest; default 10 s
	Admission time.Duration // for Admit; default 2 min, because the user may be asked
	Layout    time.Duration // for responseFileLayout; default 10 min, a device hashes everything first
	Hashes    time.Duration // for responseFileBlockHashes, without what HashRate adds; default 60 s
	Answer    time.Duration // for any answer about deletes, writes and blocks; default 30 s
	Finish    time.Duration // for responseFinishWriteFile, without what HashRate adds; default 60 s
	Start     time.Duration // for the run state to become running; default 20 s
	Stop      time.Duration // for the game to end by itself before it is killed; default 5 s
	Kill      time.Duration // for the run state to become stopped after a kill; default 10 s
	KeepAlive time.Duration // without a message before keepAlive is sent; default 10 s, as with released programs
	Return    time.Duration // how long a push waits for a disconnected device; default 60 s
	HashRate  int64         // bytes a second that the slowest device hashes; default 4 MiB/s
}

// PushOptions say which devices a push goes to and what follows it.
type PushOptions struct {
	// Devices are ids or names of DeviceInfo; empty selects every device connected when the push begins.
	Devices []string
	// DeleteIgnored deletes files on devices that the ignore rules exclude here. Without it they stay, since games keep
	// saves and settings there.
	DeleteIgnored bool
	// Start starts the game on each device whose push succeeded. A running game is stopped before anything is written:
	// systems refuse to write open files, and released devices write in place. nil starts and stops nothing.
	Start *StartOptions

	leave bool // don't wait for a disconnected device
}

// StartOptions are the fields of wire.StartApplication.
type StartOptions struct {
	Devices    []string // as in PushOptions; ignored in PushOptions.Start
	GameConfig string   // text of the .degame file; at most 65535 bytes
	Profile    string   // name of a profile of the device; empty is its default; at most 255 bytes
	Arguments  string   // appended to those of the profile; at most 65535 bytes
	Restart    bool     // stop a running game first; without it a running game is an error
	Force      bool     // Force of the stop that Restart makes, as in StopOptions
}

// StopOptions say how a game is stopped.
type StopOptions struct {
	Devices []string // as in PushOptions
	Force   bool     // kill at once instead of asking first and killing after Times.Stop
}

// WatchOptions are for Desk.Watch.
type WatchOptions struct {
	// Push configures each push; its Devices may connect later. Its Start restarts the game after each change.
	Push PushOptions
	// Settle is how long the folder must be unchanged before a push begins; 0 is DefaultSettle. While changes continue,
	// a push begins after MaxSettle at the latest.
	Settle time.Duration
	// Each is called with the result of each push; nil means no callback. It is called from one goroutine, and the next push waits for it.
	Each func(PushResult, error)
}

const (
	// DefaultSettle outlasts the pauses of a compiler or an editor that writes several files.
	DefaultSettle = 250 * time.Millisecond
	// MaxSettle bounds how long continuous changes may delay a push.
	MaxSettle = 5 * time.Second
)

// withDefaults replaces zero fields by their defaults.
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
