package qa_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"testing"
	"time"

	"collet/build/qa"

	"go.uber.org/goleak"
)

// roleVariable makes the test program play a program under test instead of running tests.
const roleVariable = "COLLET_QA_TEST_ROLE"

// leaveVariable makes the test program leave a screen behind, as a killed program does.
const leaveVariable = "COLLET_SCREEN_TEST_LEAVE"

// TestMain fails the run when a test left a goroutine behind.
func TestMain(m *testing.M) {
	if role, playing := os.LookupEnv(roleVariable); playing {
		play(role)
		return
	}
	if os.Getenv(leaveVariable) != "" {
		s, err := qa.StartScreen(context.Background(), 64, 48)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(s.PID())
		time.Sleep(time.Hour)
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else the race detector adds a second to each program under test
	goleak.VerifyTestMain(m)
}

func play(role string) {
	switch role {
	case "talk":
		fmt.Println("to standard output")
		fmt.Fprintln(os.Stderr, "to standard error")
	case "good client", "halving client", "greedy client", "stuck client", "false client", "hanging client":
		os.Exit(playClient(role, os.Args[1:]))
	case "sleep":
		fmt.Println("sleeping")
		time.Sleep(time.Hour)
	case "stubborn": // ignores the polite request, and has a child that does
		signal.Ignore()
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), roleVariable+"=ignore")
		child.Start()
		fmt.Println(child.Process.Pid)
		time.Sleep(time.Hour)
	case "ignore":
		signal.Ignore()
		time.Sleep(time.Hour)
	default:
		code, _ := strconv.Atoi(role)
		os.Exit(code)
	}
}
