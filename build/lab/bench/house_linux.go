package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

const congestionFile = "/proc/sys/net/ipv4/tcp_congestion_control"

// newHouse is a space with a loopback interface, in which everything uses one congestion control, or the system's if it is empty.
func newHouse(congestion string) (*space, error) {
	s, err := newSpace()
	if err != nil {
		return nil, err
	}
	err = s.do(func() error {
		if err := loopbackUp(); err != nil || congestion == "" {
			return err
		}
		return os.WriteFile(congestionFile, []byte(congestion), 0) // of the space that the thread is in
	})
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// loopbackUp switches the interface on, which is down in a new space.
func loopbackUp() error {
	control, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	var request [requestSize]byte
	copy(request[:requestUnion], "lo")
	copy(request[requestUnion:], native16(flagsUp))
	_, _, fault := syscall.Syscall(syscall.SYS_IOCTL, uintptr(control), setFlags, uintptr(unsafe.Pointer(&request)))
	if fault != 0 {
		return errors.Join(fmt.Errorf("switch on the loopback interface: %w", fault), syscall.Close(control))
	}
	return syscall.Close(control)
}
