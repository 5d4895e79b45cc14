package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// space is a network of its own, apart from that of the machine: a goroutine on a thread that has left it. What do runs
// there makes its sockets, and the processes that it starts, in the space; they stay there wherever they are used.
type space struct {
	jobs chan func()
	done chan struct{}
}

// newSpace needs the privileges of root.
func newSpace() (*space, error) {
	s := &space{jobs: make(chan func()), done: make(chan struct{})}
	ready := make(chan error)
	go func() { // close waits for it
		defer close(s.done)
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		err := os.NewSyscallError("unshare", syscall.Unshare(syscall.CLONE_NEWNET))
		ready <- err
		for job := range s.jobs {
			job()
		}
	}()
	if err := <-ready; err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// do runs job in the space and waits for it.
func (s *space) do(job func() error) (err error) {
	ended := make(chan struct{})
	s.jobs <- func() { defer close(ended); err = job() }
	<-ended
	return err
}

func (s *space) close() {
	close(s.jobs)
	<-s.done
}

// link is a line between two spaces that behaves like a bad one on the internet: packets are late, of a limited number a
// second, and get lost at random. They are carried by this program, between two devices of the system (TUN), so it needs
// no module of the kernel for that.
type link struct {
	near, far         *space
	nearAddr, farAddr netip.Addr
	devices           []*os.File
	work              sync.WaitGroup
}

// linkOptions say how a link behaves, in both directions alike.
type linkOptions struct {
	delay time.Duration // one way
	rate  float64       // bytes a second
	queue time.Duration // what fits into the queue before the line, as time at that rate
	loss  float64       // share of packets
	seed  uint64

	reorder   float64       // share of packets that others overtake
	late      time.Duration // how much later those come
	duplicate float64       // share of packets that come twice
}

// startLink makes a link between two new spaces.
func startLink(o linkOptions) (*link, error) {
	l := &link{nearAddr: netip.AddrFrom4([4]byte{10, 203, 0, 2}), farAddr: netip.AddrFrom4([4]byte{10, 203, 0, 1})}
	for _, end := range []struct {
		in        **space
		own, peer netip.Addr
	}{{&l.near, l.nearAddr, l.farAddr}, {&l.far, l.farAddr, l.nearAddr}} {
		var err error
		if *end.in, err = newSpace(); err == nil {
			err = (*end.in).do(func() error { return l.device(end.own, end.peer) })
		}
		if err != nil {
			l.close()
			return nil, err
		}
	}
	l.work.Go(func() { carry(l.devices[0], l.devices[1], o, rand.New(rand.NewPCG(o.seed, 1))) })
	l.work.Go(func() { carry(l.devices[1], l.devices[0], o, rand.New(rand.NewPCG(o.seed, 2))) })
	return l, nil
}

// close takes the link down. Sockets on it fall silent.
func (l *link) close() {
	for _, device := range l.devices {
		device.Close()
	}
	l.work.Wait()
	if l.near != nil {
		l.near.close()
	}
	if l.far != nil && l.far != l.near {
		l.far.close()
	}
}

// Calls of ioctl(2) and their flags, from linux/sockios.h, linux/if_tun.h and linux/if.h.
const (
	tunSetInterface  = 0x400454CA
	setFlags         = 0x8914
	setAddress       = 0x8916
	setPeer          = 0x8918
	setQueue         = 0x8943
	tunPlain         = 0x1001 // IFF_TUN, IFF_NO_PI
	flagsUp          = 0x41   // IFF_UP, IFF_RUNNING
	deviceName       = "lnk0"
	deviceQueue      = 10_000 // packets: the queue that counts is ours
	maxPacket        = 1600   // bytes; the devices carry 1500
	noMetrics        = "/proc/sys/net/ipv4/tcp_no_metrics_save"
	requestSize      = 40 // of struct ifreq
	requestUnion     = 16 // where its union begins
	packetsUnderWay  = 1 << 14
	shortestOfSleeps = 50 * time.Microsecond
)

// device makes the end of the link in the space that it is called in.
func (l *link) device(own, peer netip.Addr) error {
	fd, err := syscall.Open("/dev/net/tun", syscall.O_RDWR|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open /dev/net/tun: %w", err)
	}
	control, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return errors.Join(os.NewSyscallError("socket", err), syscall.Close(fd))
	}
	defer syscall.Close(control)
	for _, step := range []struct {
		on    int
		call  uintptr
		value []byte
	}{
		{fd, tunSetInterface, native16(tunPlain)},
		{control, setAddress, internet(own)},
		{control, setPeer, internet(peer)},
		{control, setQueue, binary.NativeEndian.AppendUint32(nil, deviceQueue)},
		{control, setFlags, native16(flagsUp)},
	} {
		var request [requestSize]byte
		copy(request[:requestUnion], deviceName)
		copy(request[requestUnion:], step.value)
		if _, _, fault := syscall.Syscall(syscall.SYS_IOCTL, uintptr(step.on), step.call, uintptr(unsafe.Pointer(&request))); fault != 0 {
			return errors.Join(fmt.Errorf("ioctl %#x of a network device: %w", step.call, fault), syscall.Close(fd))
		}
	}
	l.devices = append(l.devices, os.NewFile(uintptr(fd), deviceName)) // not blocking, so Close ends a Read
	return os.WriteFile(noMetrics, []byte("1"), 0)                     // what one transfer learnt of the line is not for the next
}

func native16(v uint16) []byte { return binary.NativeEndian.AppendUint16(nil, v) }

// internet is a struct sockaddr_in.
func internet(a netip.Addr) []byte {
	return append(append(native16(syscall.AF_INET), 0, 0), a.AsSlice()...)
}

// packet is one that is on its way.
type packet struct {
	due  time.Time
	data []byte
}

// carry takes packets from one device to the other until the first is closed.
func carry(from, to *os.File, o linkOptions, random *rand.Rand) {
	way := make(chan packet, packetsUnderWay)
	var deliver sync.WaitGroup
	defer deliver.Wait()
	defer close(way)
	deliver.Go(func() {
		for p := range way {
			if wait := time.Until(p.due); wait > shortestOfSleeps {
				time.Sleep(wait)
			}
			to.Write(p.data) // a device that is closed loses it, like everything behind it
		}
	})
	free := time.Now() // when the line has sent what it was given
	for {
		data := make([]byte, maxPacket)
		n, err := from.Read(data)
		if err != nil {
			return
		}
		now := time.Now()
		if free.Before(now) {
			free = now
		}
		if random.Float64() < o.loss || free.Sub(now) > o.queue {
			continue
		}
		free = free.Add(time.Duration(float64(n) / o.rate * float64(time.Second)))
		p := packet{free.Add(o.delay), data[:n]}
		if o.reorder > 0 && random.Float64() < o.reorder {
			deliver.Go(func() {
				time.Sleep(time.Until(p.due.Add(o.late)))
				to.Write(p.data)
			})
			continue
		}
		way <- p
		if o.duplicate > 0 && random.Float64() < o.duplicate {
			way <- p
		}
	}
}

// withCongestion makes a socket use an algorithm, and those that it accepts.
func withCongestion(algorithm string) func(network, address string, conn syscall.RawConn) error {
	return func(_, _ string, conn syscall.RawConn) error {
		var fault error
		err := conn.Control(func(fd uintptr) {
			fault = syscall.SetsockoptString(int(fd), syscall.IPPROTO_TCP, syscall.TCP_CONGESTION, algorithm)
		})
		return errors.Join(err, os.NewSyscallError("setsockopt", fault))
	}
}
