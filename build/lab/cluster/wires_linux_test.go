package cluster

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// wires is the network between nodes, which can be cut: a forwarder at the address of each node, which tells by its process who connects. (The
// engines tell each other the addresses of others, so a forwarder for each pair would be passed by.) What is sent over a cut wire is held up,
// as by a network that loses it, and the connections of before end when the wire is whole again. With nil nodes reach each other directly.
type wires struct {
	all sync.WaitGroup

	mu    sync.Mutex
	whole *sync.Cond
	nodes map[string]*node
	parts map[string]int // of nodes; those in different parts don't reach each other
	open  map[net.Conn]wire
	ended bool
}

// wire is a connection's way.
type wire struct{ from, to string }

func newWires(t testing.TB) *wires {
	w := &wires{nodes: map[string]*node{}, parts: map[string]int{}, open: map[net.Conn]wire{}}
	w.whole = sync.NewCond(&w.mu)
	t.Cleanup(func() {
		w.mu.Lock()
		w.ended = true
		w.drop(func(wire) bool { return true })
		w.mu.Unlock()
		w.all.Wait()
	})
	return w
}

// behind is where a node listens, so that others reach it by a forwarder at its address only: the same port of another loopback address, which
// is where the engines tell others to find it.
func (w *wires) behind(t testing.TB, node, address string) string {
	t.Helper()
	if w == nil {
		return address
	}
	l, err := net.Listen("tcp", address)
	must(t, err)
	t.Cleanup(func() { l.Close() })
	_, port, _ := net.SplitHostPort(address)
	hidden := net.JoinHostPort("127.0.0.2", port)
	w.all.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			w.all.Go(func() { w.connect(node, from, hidden) })
		}
	})
	return hidden
}

// know has the process of a node known.
func (w *wires) know(n *node) {
	if w != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.nodes[n.name] = n
	}
}

// caller is the node that made a connection; empty if it has ended meanwhile.
func (w *wires) caller(c net.Conn) string {
	port := c.RemoteAddr().(*net.TCPAddr).Port
	const established = "01"
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return ""
	}
	inode := ""
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) > 9 && f[3] == established && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) {
			inode = "socket:[" + f[9] + "]"
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, n := range w.nodes {
		folder := fmt.Sprintf("/proc/%d/fd", n.pid.Load())
		fds, _ := os.ReadDir(folder) // none of a process that has ended
		for _, fd := range fds {
			if to, err := os.Readlink(filepath.Join(folder, fd.Name())); err == nil && to == inode {
				return name
			}
		}
	}
	return ""
}

// connect joins a connection with a new one to a node's address.
func (w *wires) connect(node string, from net.Conn, address string) {
	way := wire{w.caller(from), node}
	if way.from == "" || !w.enter(way, from) {
		from.Close()
		return
	}
	defer w.leave(from)
	if !w.pass(from) {
		return
	}
	to, err := net.Dial("tcp", address)
	if err != nil || !w.enter(way, to) {
		return
	}
	defer w.leave(to)
	var both sync.WaitGroup
	for _, ends := range [][2]net.Conn{{from, to}, {to, from}} {
		both.Go(func() {
			defer from.Close()
			defer to.Close()
			_, _ = io.Copy(ends[1], held{w, ends[0]}) // a connection that ends, ends the other one
		})
	}
	both.Wait()
}

// held reads from a connection, and gives on nothing while its wire is cut.
type held struct {
	w    *wires
	from net.Conn
}

// Read implements io.Reader.
func (h held) Read(p []byte) (int, error) {
	n, err := h.from.Read(p)
	if n > 0 && !h.w.pass(h.from) {
		return 0, net.ErrClosed
	}
	return n, err
}

func (w *wires) enter(way wire, c net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		c.Close()
		return false
	}
	w.open[c] = way
	return true
}

func (w *wires) leave(c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, c)
	c.Close()
}

// pass waits until a connection's wire is whole, and reports whether the connection is still there.
func (w *wires) pass(c net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		way, is := w.open[c]
		if !is || !w.cut(way) {
			return is
		}
		w.whole.Wait()
	}
}

// cut reports whether a wire is. The caller holds mu.
func (w *wires) cut(way wire) bool { return w.parts[way.from] != w.parts[way.to] }

// drop ends connections. The caller holds mu.
func (w *wires) drop(which func(wire) bool) {
	for c, way := range w.open {
		if which(way) {
			delete(w.open, c)
			c.Close()
		}
	}
	w.whole.Broadcast()
}

// split cuts all wires between the parts, such as "a", "b c". Nodes that no part names are in a part with each other.
func (w *wires) split(parts ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parts = map[string]int{}
	for i, part := range parts {
		for _, node := range strings.Fields(part) {
			w.parts[node] = i + 1
		}
	}
}

// heal makes all wires whole.
func (w *wires) heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop(w.cut)
	w.parts = map[string]int{}
}
