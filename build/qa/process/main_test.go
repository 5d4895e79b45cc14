package process_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

// roleVariable makes the test program play a program under test instead of running tests.
const roleVariable = "COLLET_PROCESS_TEST_ROLE"

// TestMain fails the run when a test left a goroutine behind.
func TestMain(m *testing.M) {
	if role, playing := os.LookupEnv(roleVariable); playing {
		play(role)
		return
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else the race detector adds a second to each program under test
	goleak.VerifyTestMain(m)
}

func play(role string) {
	switch role {
	case "talk":
		fmt.Println("to standard output")
		fmt.Fprintln(os.Stderr, "to standard error")
	case "sleep":
		fmt.Println("sleeping")
		block()
	case "stubborn": // ignores the polite request, and has a child that does
		signal.Ignore()
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), roleVariable+"=ignore")
		child.Start()
		fmt.Println(child.Process.Pid)
		child.Wait()
	case "ignore":
		signal.Ignore()
		block()
	default:
		code, _ := strconv.Atoi(role)
		os.Exit(code)
	}
}

// block waits for a signal that ends this process: nothing is ever written to the pipe.
func block() {
	r, w, _ := os.Pipe()
	r.Read(make([]byte, 1))
	w.Close()
}
