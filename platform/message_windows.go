package platform

import (
	"context"
	"unsafe"

	"golang.org/x/sys/windows"
)

// showMessage is MessageBoxW, in front of other windows. When ctx ends its thread stays blocked: it can't be ended, and the process is
// about to exit.
func showMessage(ctx context.Context, title, text string) error {
	box := windows.NewLazySystemDLL("user32.dll").NewProc("MessageBoxW")
	says, err := windows.UTF16PtrFromString(text)
	if err != nil {
		return err
	}
	head, err := windows.UTF16PtrFromString(title)
	if err != nil || box.Find() != nil {
		return ErrNoMessage
	}
	closed := make(chan uintptr, 1)
	go func() {
		const style = windows.MB_OK | windows.MB_ICONERROR | windows.MB_SETFOREGROUND
		button, _, _ := box.Call(0, uintptr(unsafe.Pointer(says)), uintptr(unsafe.Pointer(head)), style)
		closed <- button
	}()
	select {
	case button := <-closed:
		if button == 0 {
			return ErrNoMessage
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
