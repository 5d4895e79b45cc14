package platform

import (
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"collet/platform/text"

	"golang.org/x/sys/windows"
)

// bootStep is the resolution of the boot time, which is the clock minus GetTickCount64. The clock is adjusted in smaller steps, and two
// boots are further apart.
const bootStep = 10 * time.Second

// bootID is the time when GetTickCount64 began to count.
func bootID() string {
	return strconv.FormatInt(time.Now().Add(-windows.DurationSinceBoot()).Round(bootStep).Unix(), 10)
}

// volumeOf is GetVolumePathName.
func volumeOf(path string) string {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return path
	}
	point := make([]uint16, len(path)+windows.MAX_PATH)
	if err := windows.GetVolumePathName(name, &point[0], uint32(len(point))); err != nil {
		return path
	}
	return windows.UTF16ToString(point)
}

// Constants of restartmanager.h.
const (
	sessionKeyLength = 32 // CCH_RM_SESSION_KEY
	maxAppName       = 255
	maxServiceName   = 63
)

// process is RM_PROCESS_INFO.
type process struct {
	pid         uint32
	started     windows.Filetime
	appName     [maxAppName + 1]uint16
	serviceName [maxServiceName + 1]uint16
	appType     uint32
	appStatus   uint32
	session     uint32
	restartable int32
}

// The list of processes is an array, so the size of an element must be the system's.
var _ [668]byte = [unsafe.Sizeof(process{})]byte{}

// holders asks the Restart Manager (rstrtmgr.dll: RmStartSession, RmRegisterResources, RmGetList, RmEndSession) for the processes that
// have a file open or loaded. It ends no process.
func holders(path string) []Holder {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil
	}
	manager := windows.NewLazySystemDLL("rstrtmgr.dll")
	if manager.Load() != nil {
		return nil
	}
	var session uint32
	var key [sessionKeyLength + 1]uint16
	if !called(manager, "RmStartSession", uintptr(unsafe.Pointer(&session)), 0, uintptr(unsafe.Pointer(&key[0]))) {
		return nil
	}
	defer called(manager, "RmEndSession", uintptr(session))
	if !called(manager, "RmRegisterResources", uintptr(session), 1, uintptr(unsafe.Pointer(&name)), 0, 0, 0, 0) {
		return nil
	}
	return affected(manager, session)
}

// called calls a function that returns ERROR_SUCCESS or an error code, and reports success. The memory behind args stays in place until
// it returns.
//
//go:uintptrescapes
func called(dll *windows.LazyDLL, name string, args ...uintptr) bool {
	proc := dll.NewProc(name)
	if proc.Find() != nil {
		return false
	}
	result, _, _ := proc.Call(args...)
	return result == uintptr(windows.ERROR_SUCCESS)
}

// affected is the result of RmGetList without this process. With more than 4 × maxHolders processes RmGetList returns ERROR_MORE_DATA,
// and the result is nil.
func affected(manager *windows.LazyDLL, session uint32) (found []Holder) {
	var list [4 * maxHolders]process
	var needed, reasons uint32
	count := uint32(len(list))
	if !called(manager, "RmGetList", uintptr(session), uintptr(unsafe.Pointer(&needed)), uintptr(unsafe.Pointer(&count)),
		uintptr(unsafe.Pointer(&list[0])), uintptr(unsafe.Pointer(&reasons))) {
		return nil
	}
	for _, p := range list[:min(int(count), len(list))] {
		if int(p.pid) != syscall.Getpid() && len(found) < maxHolders {
			found = append(found, Holder{PID: int(p.pid), Name: text.Line(windows.UTF16ToString(p.appName[:]))})
		}
	}
	return found
}
