package platform_test

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"collet/platform"
)

var _ = func() bool {
	helpers["host"] = helpHost
	helpers["deaf"] = func(_, _ *os.File, _ []string) int { time.Sleep(time.Hour); return 0 }
	return true
}()

// helpHost starts a child that never looks at its control handles, tells its number and waits to be killed.
func helpHost(in, out *os.File, _ []string) int {
	exe, err := os.Executable()
	if err != nil {
		return 97
	}
	child, err := platform.StartProcess(platform.Command{Exe: exe, Args: []string{"deaf"}})
	if err != nil {
		return 97
	}
	fmt.Fprintln(out, child.Pid())
	in.Read(make([]byte, 1))
	return 0
}

func TestChildDiesWithAKilledHost(t *testing.T) {
	host := start(t, platform.Command{Args: []string{"host"}})
	line, err := bufio.NewReader(host.From).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child := number(strings.TrimSpace(line))
	if !alive(child) {
		t.Fatal("the child does not run")
	}
	host.Kill() // the group of the child is its own, so only the host is hit
	wait(t, host)
	if !gone(child) {
		t.Error("the child goes on without its host")
	}
}

// TestChildOutlivesThreads ends every thread that could have started the child: the one that did must not be among them.
func TestChildOutlivesThreads(t *testing.T) {
	command := platform.Command{Exe: self(t), Args: []string{"deaf"}}
	var p *platform.Process
	var err error
	var all sync.WaitGroup
	all.Go(func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		p, err = platform.StartProcess(command)
	})
	all.Wait()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		p.Kill()
		<-p.Done()
		p.From.Close()
		p.To.Close()
	}()
	for range 20 {
		all.Go(func() { runtime.LockOSThread(); time.Sleep(time.Millisecond) })
	}
	all.Wait()
	select {
	case <-p.Done():
		t.Errorf("the child ended with a thread: %s", p.End())
	case <-time.After(50 * time.Millisecond):
	}
}
