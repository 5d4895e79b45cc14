package dentest

import (
	"errors"
	"time"
)

// errClosed is why a session ended when nothing was wrong.
var errClosed = errors.New("peer said goodbye")

// Link refuses: only the server creates links (2.7).
func (d *Session) Link(message []byte, _ bool) *State {
	d.server.violate("2.7", "the device links %x; only the server creates links", message)
	return nil
}

// Changed wakes who waits for the run state.
func (d *Session) Changed(_ time.Time, s *State, i int) {
	d.runs = append(d.runs, s.Values[i].Data[0])
	d.wake()
}

// Closed wakes everybody.
func (d *Session) Closed(error) { d.wake() }

// Tick sends keepAlives (3.8) and wakes who waits for something of the transport.
func (d *Session) Tick(now time.Time) {
	d.wake()
	if d.accepted && now.Sub(d.processed) >= d.server.options.KeepAlive {
		d.processed = now
		d.core.Send(now, Build(KeepAlive))
	}
}

// Receive takes one message of the device.
func (d *Session) Receive(now time.Time, payload []byte, _, stale bool) {
	defer d.wake()
	m, err := Parse(payload)
	d.processed = now
	switch {
	case err != nil:
		d.server.violate("1", "%v", err)
	case !d.accepted:
		d.welcome(now, m)
	default:
		d.overheard.add(m)
		d.answer(now, m, stale)
	}
}

// welcome accepts a device, or closes: anything else than a connectRequest with the right signature ends the connection
// (3.4).
func (d *Session) welcome(now time.Time, m Message) {
	if m.Code != ConnectRequest || m.Text(0) != ClientSignature {
		d.server.violate("3.4", "first message is %s: the server closes", m)
		d.core.Close()
		return
	}
	d.accepted, d.name = true, m.Text(2)
	d.core.Send(now, Build(ConnectAccepted, ServerSignature, 0))
	d.core.Link(now, []byte{1}, d.run, false)
	for _, name := range d.server.options.Properties {
		d.core.Send(now, Build(RequestSystemProperty, name))
	}
	d.server.joined(d)
}

func (d *Session) answer(now time.Time, m Message, stale bool) {
	switch m.Code {
	case Logs:
		d.logs = append(d.logs, Line{byte(m.Number(0)), m.Text(1), m.Text(2)})
	case ResponseSystemProperty:
		d.properties[m.Text(0)] = m.Text(1)
	case KeepAlive:
	case ResponseFileLayout, ResponseFileHashes, ResponseDeleteFile, ResponseWriteFile, FileDataReceived, ResponseFinishFile:
		if d.sync == nil {
			d.odd(stale, "%s without a synchronisation", m.Name())
			return
		}
		d.sync.answer(now, m, stale)
	case ConnectRequest:
		d.odd(stale, "second connectRequest")
	default:
		d.server.note(NoteUnknownMessage, "%s", m.Name())
	}
}

// odd is an answer that the released server logs and ignores; a device that sends one has lost count.
func (d *Session) odd(stale bool, format string, args ...any) {
	if stale {
		d.server.note(NoteIgnored, format, args...)
		return
	}
	d.server.violate("3.5", format, args...)
}
