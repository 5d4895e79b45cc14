package platform

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// killCode is the exit code of a process that os.Process.Kill ended; the job uses the same.
const killCode = 1

// attach lets the child inherit only its two pipe ends (PROC_THREAD_ATTRIBUTE_HANDLE_LIST), with the same handle numbers as here.
// CREATE_NEW_PROCESS_GROUP keeps Ctrl-C from it. os.Pipe makes inheritable handles, so the ends of this process are made private first.
func attach(cmd *exec.Cmd, pipes *controlPipes) (numbers string, err error) {
	for _, f := range []*os.File{pipes.from, pipes.to} {
		if err := windows.SetHandleInformation(windows.Handle(f.Fd()), windows.HANDLE_FLAG_INHERIT, 0); err != nil {
			return "", os.NewSyscallError("SetHandleInformation", err)
		}
	}
	read, write := pipes.childFrom.Fd(), pipes.childTo.Fd()
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CreationFlags:              windows.CREATE_NEW_PROCESS_GROUP,
		AdditionalInheritedHandles: []syscall.Handle{syscall.Handle(read), syscall.Handle(write)},
	}
	return fmt.Sprintf("%d,%d", read, write), nil
}

// tree is a process and the job of it and its descendants. job is 0 if the system refused one, as inside of some foreign jobs; then only
// the broken control pipe ends the child.
type tree struct {
	leader *os.Process
	job    windows.Handle
}

// newTree puts the process into a job that ends with its last handle, which this process has: the job always ends with this process.
// Processes that the child starts before it is in the job don't belong to it, so a child waits for its first order.
func newTree(leader *os.Process) tree {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return tree{leader: leader}
	}
	err = limitJob(job, windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE)
	if err == nil {
		var assigned error
		err = leader.WithHandle(func(process uintptr) {
			assigned = windows.AssignProcessToJobObject(job, windows.Handle(process))
		})
		err = errors.Join(err, assigned)
	}
	if err != nil {
		windows.CloseHandle(job)
		return tree{leader: leader}
	}
	return tree{leader, job}
}

// limitJob is SetInformationJobObject with the extended limits.
func limitJob(job windows.Handle, flags uint32) error {
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = flags
	_, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	return err
}

// kill is TerminateProcess for the leader, then TerminateJobObject for the rest. It reports whether the leader was still running.
func (t tree) kill() bool {
	if t.leader.Kill() != nil {
		return false
	}
	if t.job != 0 {
		_ = windows.TerminateJobObject(t.job, killCode)
	}
	return true
}

// release closes the job and lets the remaining processes continue.
func (t tree) release() {
	if t.job != 0 {
		_ = limitJob(t.job, 0)
		windows.CloseHandle(t.job)
	}
}

// Exit codes of processes that the system ended: NTSTATUS values (ntstatus.h). DBG_TERMINATE_PROCESS is the code after the end of the
// session.
var exceptions = map[uint32]ProcessEnd{
	0xC0000005: {Signal: "STATUS_ACCESS_VIOLATION", Meaning: "access violation"},
	0xC000001D: {Signal: "STATUS_ILLEGAL_INSTRUCTION", Meaning: "illegal instruction"},
	0xC0000094: {Signal: "STATUS_INTEGER_DIVIDE_BY_ZERO", Meaning: "integer division by zero"},
	0xC00000FD: {Signal: "STATUS_STACK_OVERFLOW", Meaning: "stack overflow"},
	0xC0000135: {Signal: "STATUS_DLL_NOT_FOUND", Meaning: "a library is missing"},
	0xC0000139: {Signal: "STATUS_ENTRYPOINT_NOT_FOUND", Meaning: "a library lacks a function"},
	0xC0000142: {Signal: "STATUS_DLL_INIT_FAILED", Meaning: "a library did not start"},
	0xC0000374: {Signal: "STATUS_HEAP_CORRUPTION", Meaning: "heap corruption"},
	0xC0000409: {Signal: "STATUS_STACK_BUFFER_OVERRUN", Meaning: "stack buffer overrun"},
	0xE06D7363: {Signal: "0xE06D7363", Meaning: "C++ exception"},
	0xE0434352: {Signal: "0xE0434352", Meaning: ".NET exception"},
	0xC000013A: {Signal: "STATUS_CONTROL_C_EXIT", Meaning: "Ctrl-C or a closed console", Asked: true},
	0x40010004: {Signal: "DBG_TERMINATE_PROCESS", Meaning: "the session ended", Asked: true},
}

// From firstError on are NTSTATUS values of severity "error"; programs don't exit with such a code themselves. From firstNegative on are
// the small negative numbers with which many programs exit, such as -1.
const (
	firstError    = 0xC0000000
	firstNegative = 0xFFFF0000
)

// endOf reads the exit code, which is the exception's number if an exception ended the process.
func endOf(state *os.ProcessState) ProcessEnd {
	code := uint32(state.ExitCode())
	end, known := exceptions[code]
	if !known && code >= firstError && code < firstNegative {
		end.Signal = fmt.Sprintf("0x%08X", code)
	}
	end.Code = int(code)
	return end
}

// isKill reports whether e is the end by kill.
func isKill(e ProcessEnd) bool { return e.Code == killCode }

// checkControl checks the kind with GetFileType. Windows does not report the direction of a pipe.
func checkControl(handle uintptr, _ bool) error {
	kind, err := windows.GetFileType(windows.Handle(handle))
	if err != nil {
		return os.NewSyscallError("GetFileType", err)
	}
	if kind != windows.FILE_TYPE_PIPE {
		return errNoPipe
	}
	return nil
}

// openControl first makes the handle private, so that children don't inherit it.
func openControl(handle uintptr, name string) (*os.File, error) {
	if err := windows.SetHandleInformation(windows.Handle(handle), windows.HANDLE_FLAG_INHERIT, 0); err != nil {
		return nil, os.NewSyscallError("SetHandleInformation", err)
	}
	return os.NewFile(handle, name), nil
}

// Halt ends this process at once, without exit handlers of loaded libraries and without deferred functions: TerminateProcess on itself,
// because ExitProcess calls every library and waits for the loader's lock. Only a main function passes it on.
func Halt(code int) {
	_ = windows.TerminateProcess(windows.CurrentProcess(), uint32(code))
	windows.ExitProcess(uint32(code))
}
