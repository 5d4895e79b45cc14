package window

import (
	"slices"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Finder lists windows. It is not safe for concurrent use. A process makes few: the system never frees its callback.
type Finder struct {
	callback uintptr
	each     func(window windows.HWND, pid int) (more bool)
	post     *windows.LazyProc
}

// Open prepares a Finder. getenv is not used.
func Open(func(string) string) (*Finder, error) {
	f := &Finder{post: windows.NewLazySystemDLL("user32.dll").NewProc("PostMessageW")}
	f.callback = windows.NewCallback(func(window windows.HWND, _ uintptr) uintptr {
		var pid uint32
		if _, err := windows.GetWindowThreadProcessId(window, &pid); err != nil || !windows.IsWindowVisible(window) || f.each(window, int(pid)) {
			return 1
		}
		return 0
	})
	return f, f.post.Find()
}

// Close does nothing.
func (f *Finder) Close() error { return nil }

// consoleClasses are the classes of console windows, in Windows and in Wine. The system opens one for every program with a console, before
// that has done anything.
var consoleClasses = []string{"ConsoleWindowClass", "WineConsoleClass"}

// isProgram reports whether a window is there and is no console. A window can go between two questions about it, as that of a console does
// when its program ends; one without a class is gone.
func isProgram(window windows.HWND) bool {
	var name [64]uint16
	n, err := windows.GetClassName(window, &name[0], int32(len(name)))
	return err == nil && n > 0 && !slices.Contains(consoleClasses, windows.UTF16ToString(name[:n]))
}

// Visible reports whether one of the processes has a visible window other than a console.
func (f *Finder) Visible(pids []int) (found bool, err error) {
	f.each = func(window windows.HWND, pid int) bool {
		found = slices.Contains(pids, pid) && isProgram(window)
		return !found
	}
	if err = windows.EnumWindows(f.callback, unsafe.Pointer(nil)); found {
		err = nil // a search that ends early is reported as an error
	}
	return found, err
}

// closeMessage is WM_CLOSE.
const closeMessage = 0x0010

// AskToClose posts WM_CLOSE to the visible windows of the processes.
func (f *Finder) AskToClose(pids []int) {
	f.each = func(window windows.HWND, pid int) bool {
		if slices.Contains(pids, pid) {
			_, _, _ = f.post.Call(uintptr(window), closeMessage, 0, 0)
		}
		return true
	}
	_ = windows.EnumWindows(f.callback, unsafe.Pointer(nil)) // windows that are gone need no message
}
