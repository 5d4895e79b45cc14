package report_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal opens a pseudo terminal; one file reads what is written to the other.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skip(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Skip(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// Only terminals get colours, and only if the environment allows it.
func TestTableColours(t *testing.T) {
	for _, test := range []struct {
		noColor, term string
		want          bool
	}{{"", "xterm", true}, {"1", "xterm", false}, {"", "dumb", false}} {
		t.Setenv("NO_COLOR", test.noColor)
		t.Setenv("TERM", test.term)
		master, slave := terminal(t)
		if err := sample().Table(slave); err != nil {
			t.Fatal(err)
		}
		if _, err := slave.WriteString("the end\n"); err != nil {
			t.Fatal(err)
		}
		var got []byte
		for page := make([]byte, 64<<10); !bytes.Contains(got, []byte("the end")); {
			n, err := master.Read(page)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, page[:n]...)
		}
		if coloured := bytes.Contains(got, []byte("\x1b[31m")); coloured != test.want {
			t.Errorf("NO_COLOR=%q TERM=%q: coloured %v", test.noColor, test.term, coloured)
		}
		if bytes.Contains(got, []byte("\x1b[2J")) {
			t.Error("what a case holds clears the screen")
		}
	}
	file, err := os.Create(t.TempDir() + "/table")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	if err := sample().Table(file); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(file.Name()); err != nil || bytes.Contains(data, []byte("\x1b")) {
		t.Errorf("a file is coloured: %v", err)
	}
}
