package remote

import (
	"context"
	"fmt"
	"net/netip"
	"sync"

	"collet/netproto/launcher/desk"
)

// maxRejected limits the remembered rejected devices. Above the limit, which suggests abuse, strangers are rejected without a question.
const maxRejected = 100

// admission decides which devices are admitted: paired ones, and those that a person admits. Devices on this machine are asked about, too,
// because it may have other users. It is safe for concurrent use.
type admission struct {
	pairs *Pairs
	ask   func(ctx context.Context, name string, address netip.Addr) bool // nil: unknown devices are rejected
	note  func(text string)

	asking sync.Mutex // one question at a time

	mu       sync.Mutex
	rejected map[Pair]bool // rejected devices by name and address, since a rejected device reconnects every few seconds
}

// admit is desk.Options.Admit.
func (d *admission) admit(ctx context.Context, name string, from netip.AddrPort) desk.Decision {
	address := machine(from.Addr())
	d.asking.Lock()
	defer d.asking.Unlock()
	known, err := d.pairs.Knows(name, address)
	if err != nil {
		d.note(err.Error())
	}
	if known {
		return desk.Admit
	}
	if ctx.Err() != nil || d.isRejected(name, address) {
		return desk.Refuse
	}
	if err := checkName(name); err != nil {
		return d.reject(name, address, err.Error())
	}
	if d.ask == nil {
		return d.reject(name, address, fmt.Sprintf("there is no terminal to ask at; allow it with: collet remote pair %q %s", name, address))
	}
	if !d.ask(ctx, name, address) {
		if ctx.Err() != nil {
			return desk.Refuse // unanswered; the question is repeated when the device reconnects
		}
		return d.reject(name, address, fmt.Sprintf("you said no; to change your mind: collet remote pair %q %s", name, address))
	}
	if err := d.pairs.Add(name, address); err != nil {
		d.note(fmt.Sprintf("%q is admitted but not remembered: %v", name, err))
	}
	return desk.Admit
}

// isRejected reports whether a device is rejected without a question.
func (d *admission) isRejected(name string, address netip.Addr) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rejected[Pair{Name: name, Address: address}] || len(d.rejected) >= maxRejected
}

// reject rejects a device and reports the reason once.
func (d *admission) reject(name string, address netip.Addr, why string) desk.Decision {
	d.mu.Lock()
	d.rejected[Pair{Name: name, Address: address}] = true
	full := len(d.rejected) == maxRejected
	d.mu.Unlock()
	d.note(fmt.Sprintf("device %q at %s is turned away: %s", name, address, why))
	if full {
		d.note(fmt.Sprintf("%d devices were rejected; all further unknown devices are rejected until the desk starts again", maxRejected))
	}
	return desk.Refuse
}
