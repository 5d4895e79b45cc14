package platform

import (
	"os"

	"golang.org/x/sys/unix"
)

type family struct{}

func (family) open() error { return nil }

// stateZombie is SZOMB of sys/proc.h.
const stateZombie = 5

// members reads the sysctl kern.proc.pgrp.
func (family) members(int) (alive []Member, ended map[int]ProcessEnd) {
	found, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", unix.Getpgrp())
	if err != nil {
		return nil, nil
	}
	for _, p := range found {
		if pid := int(p.Proc.P_pid); pid != os.Getpid() && p.Proc.P_stat != stateZombie {
			alive = append(alive, Member{Pid: pid})
		}
	}
	return alive, nil
}
