package device_test

import (
	"encoding/binary"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collet/netproto/launcher/launchertest"
	"collet/netproto/launcher/wire"
	"collet/platform/faultfs"
)

// FuzzDevice plays a desk that says anything. The device neither panics nor hangs, keeps to paths that are taken, leaves what
// it has whole, and ends in order.
func FuzzDevice(f *testing.F) {
	rows := map[string][]byte{}
	for _, v := range launchertest.Vectors(f, filepath.Join("..", "wire", "testdata", "vectors")) {
		if v.From() == wire.FromDesk && len(v.Data) < 3000 {
			row := binary.LittleEndian.AppendUint16(nil, uint16(len(v.Data)))
			row = append(row, v.Data...)
			f.Add(uint8(v.Dialect(f)), uint16(0), row)
			f.Add(uint8(v.Dialect(f)), uint16(0xC011), row)
			rows[v.Head["dialect"]] = append(rows[v.Head["dialect"]], row...)
		}
	}
	f.Add(uint8(wire.Released), uint16(0xC011), rows["released"])
	f.Add(uint8(wire.Draft), uint16(0), rows["draft"])
	f.Fuzz(func(t *testing.T, dialect uint8, protocol uint16, script []byte) {
		if len(script) > 1<<16 {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			disk := faultfs.New(faultfs.Config{Capacity: 1 << 20})
			if err := disk.Plant("a.txt", "jello\n"); err != nil {
				t.Fatal(err)
			}
			desk := greeted(t, setting{fsys: disk.Open(faultfs.Options{}), dialect: wire.Dialect(dialect % 2), protocol: protocol, name: "d", launcher: &launchertest.FakeLauncher{}})
			for len(script) >= 2 {
				n := min(int(binary.LittleEndian.Uint16(script)), len(script)-2)
				select {
				case desk.conn.toDevice <- append([]byte{}, script[2:2+n]...):
				case <-desk.conn.over:
				}
				script = script[2+n:]
			}
			time.Sleep(time.Second)
			desk.stop()
			for name, content := range disk.Files() {
				path := strings.TrimSuffix(name, "/")
				if own := path == wire.StateFolder || strings.HasPrefix(path, wire.StateFolder+"/"); !own && wire.CheckPath(path) != nil {
					t.Errorf("%q was written, %d bytes", name, len(content))
				}
			}
		})
	})
}
