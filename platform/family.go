package platform

import "os/exec"

// Family is the processes that descend from this one, also those whose own parent has ended. Make one with NewFamily before the
// first process is started. It is for a process that does nothing but run one program: NewFamily changes this whole process, until it
// ends. Its methods are not safe for concurrent use, except Kill.
//
//	Linux     this process becomes the parent of orphans (prctl(2), PR_SET_CHILD_SUBREAPER); members are found in /proc
//	Windows   this process enters a job, and all that it starts is in it
//	macOS     members are those of this process's group; one that left the group is not found
//	others    no members are found
//
// On Linux NewFamily also cancels the request of StartProcess to kill this process with its parent, because its orphans would survive
// it. The process then has to notice by its control pipe that its parent ended, and call Kill.
type Family struct{ family }

// Member is one process of a family.
type Member struct {
	Pid int
	Exe string // path of its executable; empty if unknown
	Dir string // its working folder; empty if unknown
}

// NewFamily makes this process the head of its family. After an error Members finds nothing.
func NewFamily() (*Family, error) {
	f := &Family{}
	return f, f.open()
}

// Start starts cmd as a member. On Linux the system kills it when this process ends in any way; cmd must then be started on the main
// thread.
func (f *Family) Start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = memberAttributes()
	return cmd.Start()
}

// WaitFor waits for a started command and returns how it ended.
func WaitFor(cmd *exec.Cmd) ProcessEnd {
	err := cmd.Wait()
	return endOfWait(err, cmd.ProcessState, false)
}

// Members are the living members, without this process. ended has the ends of orphans since the last call, by process id; Linux alone
// reports them. own is the child that another function waits for; its end is left to that function.
func (f *Family) Members(own int) (alive []Member, ended map[int]ProcessEnd) { return f.members(own) }

// Ask asks all members to end, by SIGTERM on Unix. On Windows it does nothing: there windows are asked, package window.
func (f *Family) Ask() {
	alive, _ := f.members(-1)
	for _, m := range alive {
		askProcess(m.Pid)
	}
}

// killRounds limits how often Kill looks for members that were started meanwhile.
const killRounds = 20

// Kill ends all members at once.
func (f *Family) Kill() {
	for range killRounds {
		alive, _ := f.members(-1)
		if len(alive) == 0 {
			return
		}
		for _, m := range alive {
			killProcess(m.Pid)
		}
	}
}
