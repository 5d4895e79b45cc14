package platform

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// family has the job; 0 if the system refused one.
type family struct{ job windows.Handle }

// open enters a job inside of the one of StartProcess (nested jobs, since Windows 8).
func (f *family) open() error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return os.NewSyscallError("CreateJobObject", err)
	}
	if err := windows.AssignProcessToJobObject(job, windows.CurrentProcess()); err != nil {
		windows.CloseHandle(job)
		return os.NewSyscallError("AssignProcessToJobObject", err)
	}
	f.job = job
	return nil
}

// maxMembers limits the processes that are listed.
const maxMembers = 1024

// jobProcesses is JOBOBJECT_BASIC_PROCESS_ID_LIST.
type jobProcesses struct {
	assigned, listed uint32
	pids             [maxMembers]uintptr
}

func (f *family) members(int) (alive []Member, ended map[int]ProcessEnd) {
	if f.job == 0 {
		return nil, nil
	}
	var list jobProcesses
	err := windows.QueryInformationJobObject(f.job, windows.JobObjectBasicProcessIdList, uintptr(unsafe.Pointer(&list)), uint32(unsafe.Sizeof(list)), nil)
	if err != nil && !errors.Is(err, windows.ERROR_MORE_DATA) {
		return nil, nil
	}
	for _, pid := range list.pids[:min(list.listed, maxMembers)] {
		if int(pid) != os.Getpid() {
			alive = append(alive, Member{Pid: int(pid)})
		}
	}
	return alive, nil
}

func askProcess(int) {}

// killProcess is TerminateProcess.
func killProcess(pid int) {
	process, err := windows.OpenProcess(windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return // it has ended
	}
	_ = windows.TerminateProcess(process, killCode)
	windows.CloseHandle(process)
}
