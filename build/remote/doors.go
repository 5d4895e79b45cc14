package remote

import (
	"context"
	"fmt"
	"net/netip"
	"sync"

	"collet/netproto/launcher/desk"
)

// maxTurned is how many devices that were turned away are remembered. When there are more, somebody plays tricks, and no
// stranger is asked about any more.
const maxTurned = 100

// doors decide who comes in: who was paired, and who a person lets in, also from this machine, which may have other users. It
// is safe for concurrent use.
type doors struct {
	pairs *Pairs
	ask   func(ctx context.Context, name string, address netip.Addr) bool // nil: nobody
	note  func(text string)

	asking sync.Mutex // one question at a time

	mu     sync.Mutex
	turned map[Pair]bool // who was turned away, by name and address: a device that is refused comes back every few seconds
}

// admit is desk.Options.Admit.
func (d *doors) admit(ctx context.Context, name string, from netip.AddrPort) desk.Decision {
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
	if ctx.Err() != nil || d.wasTurned(name, address) {
		return desk.Refuse
	}
	if err := checkName(name); err != nil {
		return d.turn(name, address, err.Error())
	}
	if d.ask == nil {
		return d.turn(name, address, fmt.Sprintf("nobody can be asked here; let it in with: collet remote pair %q %s", name, address))
	}
	if !d.ask(ctx, name, address) {
		if ctx.Err() != nil {
			return desk.Refuse // nobody answered; it is asked about again when it comes back
		}
		return d.turn(name, address, fmt.Sprintf("you said no; to change your mind: collet remote pair %q %s", name, address))
	}
	if err := d.pairs.Add(name, address); err != nil {
		d.note(fmt.Sprintf("%q is let in and not remembered: %v", name, err))
	}
	return desk.Admit
}

// wasTurned reports whether a device was turned away before.
func (d *doors) wasTurned(name string, address netip.Addr) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.turned[Pair{Name: name, Address: address}] || len(d.turned) >= maxTurned
}

// turn turns a device away and says why, once.
func (d *doors) turn(name string, address netip.Addr, why string) desk.Decision {
	d.mu.Lock()
	d.turned[Pair{Name: name, Address: address}] = true
	full := len(d.turned) == maxTurned
	d.mu.Unlock()
	d.note(fmt.Sprintf("device %q at %s is turned away: %s", name, address, why))
	if full {
		d.note(fmt.Sprintf("%d devices were turned away; no more strangers are looked at until the desk is started again", maxTurned))
	}
	return desk.Refuse
}
