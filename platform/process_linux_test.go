package platform_test

import (
	"bufio"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"collet/platform"
	"collet/platform/testwait"
)

func TestChildDiesWithAKilledHost(t *testing.T) {
	host := start(t, platform.Command{Args: []string{"host"}})
	line, err := bufio.NewReader(host.From).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child := number(strings.TrimSpace(line))
	if !testwait.Alive(child) {
		t.Fatal("the child does not run")
	}
	host.Kill() // the group of the child is its own, so only the host is hit
	wait(t, host)
	testwait.Until(t, func() bool { return !testwait.Alive(child) }, "the child ends with its host")
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
	var together sync.WaitGroup // so that each has a thread
	together.Add(20)
	for range 20 {
		all.Go(func() { runtime.LockOSThread(); together.Done(); together.Wait() })
	}
	all.Wait()
	select {
	case <-p.Done():
		t.Errorf("the child ended with a thread: %s", p.End())
	case <-time.After(50 * time.Millisecond):
	}
}

// TestNoHandlesAreLeft starts processes that end, are killed and never start.
func TestNoHandlesAreLeft(t *testing.T) {
	count := func() int {
		handles, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(handles)
	}
	env := platform.SetVariable(os.Environ(), "GORACE", "atexit_sleep_ms=0")
	once := func() {
		for _, args := range [][]string{{"exit", "0"}, {"deaf"}} {
			p, err := platform.StartProcess(platform.Command{Exe: self(t), Args: args, Env: env, Stdout: func(string) {}})
			if err != nil {
				t.Fatal(err)
			}
			if args[0] == "deaf" {
				p.Kill()
			}
			wait(t, p)
			p.From.Close()
			p.To.Close()
		}
		if _, err := platform.StartProcess(platform.Command{Exe: self(t) + ".missing"}); err == nil {
			t.Fatal("nothing was started")
		}
	}
	once() // the runtime opens handles of its own with the first pipe and process
	before := count()
	for range 10 {
		once()
	}
	if after := count(); after > before {
		t.Errorf("%d handles became %d", before, after)
	}
}
