package platform

import (
	"bufio"
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"collet/platform/text"
)

// bootID reads the random id that the kernel generates at boot.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

const (
	// maxMounts is how many bytes of the list of mounts are read: thousands of mounts.
	maxMounts = 4 << 20
	// maxMaps is how many bytes of one process' mappings are read: a large browser has a few 100 kB.
	maxMaps = 4 << 20
	// holdersTime limits the examination of all processes. It takes some 10 ms for 200 of them, and far longer on a busy machine.
	holdersTime = 2 * time.Second
)

// volumeOf reads mountinfo, see proc_pid_mountinfo(5).
func volumeOf(path string) string {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return path
	}
	defer f.Close()
	return mountOf(io.LimitReader(f, maxMounts), existing(path), "/") // after chroot the mount of "/" is not listed
}

// mountOf is the nearest mount point above path; otherwise if not found.
func mountOf(mounts io.Reader, path, otherwise string) string {
	best := ""
	for lines := bufio.NewScanner(mounts); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 {
			continue
		}
		if point := unescaped(fields[4]); above(point, path) && len(point) > len(best) {
			best = point
		}
	}
	return cmp.Or(best, otherwise)
}

// above reports whether path is a folder or lies in it.
func above(folder, path string) bool {
	return folder == path || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// unescaped replaces octal escapes: \040 for a space, \011, \012 and \134.
func unescaped(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+4 <= len(text) {
			if code, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				out.WriteByte(byte(code))
				i += 3
				continue
			}
		}
		out.WriteByte(text[i])
	}
	return out.String()
}

// holders examines the open files and the mappings of every process in /proc, see proc_pid_fd(5) and proc_pid_maps(5). Only root sees
// those of other users.
func holders(path string) []Holder {
	want, err := wanted(path)
	if err != nil {
		return nil
	}
	var found []Holder
	pids := processes()
	for _, holds := range []func(proc string) bool{want.openIn, want.mappedIn} { // mappings take much longer to read
		for _, pid := range pids {
			if len(found) >= maxHolders || time.Now().After(want.until) {
				return found
			}
			known := slices.ContainsFunc(found, func(h Holder) bool { return h.PID == pid })
			if proc := "/proc/" + strconv.Itoa(pid); !known && holds(proc) {
				name, _ := os.ReadFile(proc + "/comm") // a process may end meanwhile
				found = append(found, Holder{PID: pid, Name: text.Line(strings.TrimSpace(string(name)))})
			}
		}
	}
	return found
}

// held is the file whose holders are searched. Its name alone is not enough: a process may see other mounts, or hold an older file of
// the same name.
type held struct {
	base  string
	info  os.FileInfo
	inode string
	until time.Time
}

func wanted(path string) (held, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return held{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return held{}, err
	}
	h := held{base: filepath.Base(path), info: info, until: time.Now().Add(holdersTime)}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		h.inode = strconv.FormatUint(stat.Ino, 10)
	}
	return h, nil
}

// processes are the ids of all processes except this one, the newest first: a player's programs before those of the system.
func processes() (pids []int) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	slices.SortFunc(pids, func(a, b int) int { return cmp.Compare(b, a) })
	return pids
}

// openIn reads the links to the open files, and calls stat only for matching names, so that it accesses neither devices nor network
// file systems. stat through the link reaches the file itself, whatever the mounts of that process are.
func (h held) openIn(proc string) bool {
	folder, err := os.Open(proc + "/fd")
	if err != nil {
		return false
	}
	defer folder.Close()
	for time.Now().Before(h.until) {
		names, err := folder.Readdirnames(256)
		for _, name := range names {
			link := proc + "/fd/" + name
			if target, err := os.Readlink(link); err != nil || filepath.Base(target) != h.base {
				continue
			}
			if info, err := os.Stat(link); err == nil && os.SameFile(info, h.info) {
				return true
			}
		}
		if err != nil {
			return false
		}
	}
	return false
}

// mapping is the inode (fifth field) and the name (rest) of a line of maps.
func mapping(line string) (inode, name string) {
	for range 5 {
		inode, line, _ = strings.Cut(line, " ")
	}
	return inode, unescaped(strings.TrimLeft(line, " "))
}

// mappedIn compares inode and name. It ignores the device, because some file systems report another one there.
func (h held) mappedIn(proc string) bool {
	f, err := os.Open(proc + "/maps")
	if err != nil {
		return false
	}
	defer f.Close()
	for lines := bufio.NewScanner(io.LimitReader(f, maxMaps)); lines.Scan() && time.Now().Before(h.until); {
		if inode, name := mapping(lines.Text()); inode == h.inode && filepath.Base(name) == h.base {
			return true
		}
	}
	return false
}
