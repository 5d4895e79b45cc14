package platform

import (
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Messages of a window, as winuser.h numbers them.
const (
	wmDestroy         = 0x0002
	wmClose           = 0x0010
	wmQueryEndSession = 0x0011
	wmEndSession      = 0x0016
	wmRelease         = 0x8000 // WM_APP: ours, the watch is over
)

// shutdownLevel is the shutdown order of this process: before processes with the standard level 0x280, such as its children.
const shutdownLevel = 0x3F0

// OnSessionEnd calls asked, on its own goroutine, when the session ends or the windows of this program are asked to close. A program
// without a console, or with a window library, gets only window messages for that (WM_ENDSESSION, WM_CLOSE). Windows may end the
// process as soon as the message is answered, so the answer waits for release. OnSessionEnd creates a window that is never shown; if
// that fails, asked is not called. release returns when the window is closed.
func OnSessionEnd(asked func()) (release func()) {
	w := &sessionWindow{asked: sync.OnceFunc(asked), released: make(chan struct{})}
	opened, closed := make(chan uintptr), make(chan struct{})
	go func() {
		defer close(closed)
		w.run(opened)
	}()
	window := <-opened
	return func() {
		close(w.released)
		if window != 0 {
			_, _, _ = windows.NewLazySystemDLL("user32.dll").NewProc("PostMessageW").Call(window, wmRelease, 0, 0)
		}
		<-closed
	}
}

// sessionWindow is the window and its thread.
type sessionWindow struct {
	asked    func()
	released chan struct{}
}

// windowClass is WNDCLASSEXW.
type windowClass struct {
	size, style                        uint32
	procedure                          uintptr
	classExtra, windowExtra            int32
	instance, icon, cursor, background uintptr
	menu, name                         *uint16
	smallIcon                          uintptr
}

// windowMessage is MSG.
type windowMessage struct {
	window        uintptr
	message       uint32
	wParam        uintptr
	lParam        uintptr
	time          uint32
	x, y, private int32
}

// run creates the window and handles its messages on one thread until it is closed. It sends the window's handle, 0 after an error.
func (w *sessionWindow) run(opened chan<- uintptr) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	user := windows.NewLazySystemDLL("user32.dll")
	answer, post, quit := user.NewProc("DefWindowProcW"), user.NewProc("PostQuitMessage"), user.NewProc("DestroyWindow")
	next, dispatch := user.NewProc("GetMessageW"), user.NewProc("DispatchMessageW")
	procedure := syscall.NewCallback(func(window, message, wParam, lParam uintptr) uintptr {
		switch {
		case message == wmQueryEndSession:
			return 1 // agree; other programs may still refuse
		case message == wmEndSession && wParam != 0:
			w.asked()
			<-w.released
			return 0
		case message == wmEndSession:
			return 0
		case message == wmClose:
			w.asked()
			return 0
		case message == wmRelease:
			_, _, _ = quit.Call(window)
			return 0
		case message == wmDestroy:
			_, _, _ = post.Call(0)
			return 0
		}
		result, _, _ := answer.Call(window, message, wParam, lParam)
		return result
	})
	name := windows.StringToUTF16Ptr("ColletSession")
	instance, _, _ := windows.NewLazySystemDLL("kernel32.dll").NewProc("GetModuleHandleW").Call(0)
	class := windowClass{procedure: procedure, instance: instance, name: name}
	class.size = uint32(unsafe.Sizeof(class))
	_, _, _ = user.NewProc("RegisterClassExW").Call(uintptr(unsafe.Pointer(&class)))
	defer user.NewProc("UnregisterClassW").Call(uintptr(unsafe.Pointer(name)), instance) // it would keep this procedure for the next window
	window, _, _ := user.NewProc("CreateWindowExW").Call(0, uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(name)), 0, 0, 0, 0, 0, 0, 0, instance, 0)
	if window != 0 {
		_, _, _ = windows.NewLazySystemDLL("kernel32.dll").NewProc("SetProcessShutdownParameters").Call(shutdownLevel, 0)
	}
	opened <- window
	if window == 0 {
		return
	}
	for {
		var m windowMessage
		if got, _, _ := next.Call(uintptr(unsafe.Pointer(&m)), 0, 0, 0); int32(got) <= 0 {
			return
		}
		_, _, _ = dispatch.Call(uintptr(unsafe.Pointer(&m)))
	}
}
