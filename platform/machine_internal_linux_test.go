package platform

import (
	"strings"
	"testing"
)

const mountinfo = `21 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
22 21 0:20 / /proc rw - proc proc rw
30 21 8:17 / /home rw - ext4 /dev/sdb1 rw
31 30 8:33 / /home/me/my\040games rw shared:1 - ext4 /dev/sdc1 rw
32 30 8:34 / /home/me/back\134slash rw - ext4 /dev/sdd1 rw
33 30 8:35 / /home/me/tab\011line\012end rw - ext4 /dev/sde1 rw
34 21 8:36 / /home/me rw - btrfs /dev/sdf1 rw
35 21 8:37 / /srv/a rw - ext4 /dev/sdg rw
36 21 8:38 / /srv/a rw - ext4 /dev/sdh rw
broken line
`

func TestMountOf(t *testing.T) {
	for path, want := range map[string]string{
		"/":                           "/",
		"/usr/bin":                    "/",
		"/procession":                 "/",
		"/proc":                       "/proc",
		"/home":                       "/home",
		"/home/you/games":             "/home",
		"/home/me":                    "/home/me",
		"/home/me/my":                 "/home/me",
		"/home/me/my games":           "/home/me/my games",
		"/home/me/my games/Lathe":     "/home/me/my games",
		"/home/me/my games too/x":     "/home/me",
		`/home/me/back\slash/x`:       `/home/me/back\slash`,
		"/home/me/tab\tline\nend/d/e": "/home/me/tab\tline\nend",
		"/srv/a/x":                    "/srv/a",
	} {
		if got := mountOf(strings.NewReader(mountinfo), path, "otherwise"); got != want {
			t.Errorf("%q is on %q, want %q", path, got, want)
		}
	}
	if got := mountOf(strings.NewReader("21 1 8:1 / /elsewhere rw"), "/a", "otherwise"); got != "otherwise" {
		t.Errorf("no mount fits: %q", got)
	}
}

func TestUnescaped(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "plain": "plain", `a\040b`: "a b", `\134`: `\`, `\134040`: `\040`, `end\`: `end\`, `\04`: `\04`, `\999x`: `\999x`,
		`\777`: `\777`,
	} {
		if got := unescaped(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestMapping(t *testing.T) {
	for line, want := range map[string][2]string{
		"7f00-7f01 r-xp 00000000 08:01 1234                       /opt/a b/Lathe.so": {"1234", "/opt/a b/Lathe.so"},
		"7f00-7f01 r-xp 00000000 08:01 1234 /a  b":                                   {"1234", "/a  b"},
		"7f00-7f01 rw-p 00000000 00:00 0 ":                                           {"0", ""},
		"7f00-7f01 rw-p 00000000 00:00 0                          [heap]":            {"0", "[heap]"},
		"torn": {"", ""},
	} {
		if inode, name := mapping(line); inode != want[0] || name != want[1] {
			t.Errorf("%q: %q and %q", line, inode, name)
		}
	}
}
