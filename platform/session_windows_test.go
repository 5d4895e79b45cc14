package platform_test

import (
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"collet/platform"
)

// TestSessionEndIsToldAndWaits sends what the system sends: the question is answered at once, the end is told, and the answer to it
// waits until the program is done.
func TestSessionEndIsToldAndWaits(t *testing.T) {
	const wmClose, wmQueryEndSession, wmEndSession = 0x10, 0x11, 0x16
	user := windows.NewLazySystemDLL("user32.dll")
	find, send := user.NewProc("FindWindowW"), user.NewProc("SendMessageW")
	name := windows.StringToUTF16Ptr("ColletSession")
	for _, message := range []uintptr{wmEndSession, wmClose} {
		asked := make(chan struct{})
		release := platform.OnSessionEnd(func() { close(asked) })
		window, _, _ := find.Call(uintptr(unsafe.Pointer(name)), 0)
		if window == 0 {
			release()
			t.Skip("no window can be made here")
		}
		if answer, _, _ := send.Call(window, wmQueryEndSession, 0, 0); answer != 1 {
			t.Errorf("the question is answered with %d", answer)
		}
		send.Call(window, wmEndSession, 0, 0) // the user changed his mind
		select {
		case <-asked:
			t.Error("told of an end that does not come")
		default:
		}
		answered := make(chan struct{})
		go func() {
			send.Call(window, message, 1, 0)
			close(answered)
		}()
		select {
		case <-asked:
		case <-time.After(patience):
			t.Fatal("not told")
		}
		if message == wmEndSession {
			select {
			case <-answered:
				t.Error("answered before the program was done")
			default:
			}
		}
		release()
		<-answered
		if left, _, _ := find.Call(uintptr(unsafe.Pointer(name)), 0); left != 0 {
			t.Error("the window is still there")
		}
	}
}
