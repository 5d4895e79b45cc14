package process_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"collet/build/qa/process"
	"collet/platform/testlevel"
	"collet/platform/testwait"
)

// role starts this test program as something else.
func role(t *testing.T, name string, output io.Writer) *process.Process {
	t.Helper()
	p, err := process.Start(process.Options{
		Path: os.Args[0], Env: append(os.Environ(), roleVariable+"="+name), Output: output,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(0) })
	return p
}

// firstLine starts a role and waits for the first line that it prints.
func firstLine(t *testing.T, name string) (*process.Process, string) {
	t.Helper()
	testlevel.Slow(t)
	reader, writer := io.Pipe()
	p := role(t, name, writer)
	go func() { <-p.Done(); writer.Close() }()
	line, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, reader)
	return p, strings.TrimSpace(line)
}

func TestProcessOutputAndEnd(t *testing.T) {
	var output bytes.Buffer
	p := role(t, "talk", &output)
	if err := p.Wait(); err != nil || p.Code() != 0 {
		t.Errorf("%v, code %d", err, p.Code())
	}
	for _, line := range []string{"to standard output\n", "to standard error\n"} {
		if !strings.Contains(output.String(), line) {
			t.Errorf("output %q lacks %q", output.String(), line)
		}
	}
}

func TestProcessExitCode(t *testing.T) {
	p := role(t, "31", nil)
	if err := p.Wait(); err == nil || p.Code() != 31 {
		t.Errorf("%v, code %d; want 31", err, p.Code())
	}
}

func TestProcessStopsPolitely(t *testing.T) {
	p, _ := firstLine(t, "sleep")
	began := time.Now()
	p.Stop(time.Hour)
	if p.Code() != -1 || time.Since(began) > 2*time.Minute {
		t.Errorf("code %d after %v", p.Code(), time.Since(began))
	}
	p.Stop(time.Hour) // again is nothing
}

func TestProcessStopTakesTheWholeGroup(t *testing.T) {
	p, line := firstLine(t, "stubborn")
	child, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	p.Stop(50 * time.Millisecond)
	waitGone(t, child)
}

// waitGone waits until a process has ended. It may remain as a zombie.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	testwait.Until(t, func() bool { return !testwait.Alive(pid) }, fmt.Sprintf("process %d ends", pid))
}

func TestProcessThatIsNotThere(t *testing.T) {
	p, err := process.Start(process.Options{Path: "no-such-program-anywhere"})
	if err == nil || p != nil {
		t.Errorf("started %v, %v", p, err)
	}
}

func TestProcessCodeBeforeTheEndIsABug(t *testing.T) {
	p, _ := firstLine(t, "sleep")
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	p.Code()
}
