package netproto_test

import (
	"fmt"
	"net"

	"collet/netproto"
)

// A Conn carries messages over any stream. Here a server reads what a client of C1 says first.
func ExampleConn() {
	near, far := net.Pipe()
	server := netproto.NewConn(far, netproto.ServerSide, netproto.DefaultServerLimits())
	defer server.Close()
	client := netproto.NewConn(near, netproto.ClientSide, netproto.DefaultClientLimits())
	go func() {
		defer client.Close()
		if err := client.SetGeneration(netproto.C1); err != nil {
			fmt.Println(err)
			return
		}
		err := client.Write(&netproto.Handshake{Version: netproto.VersionC1, Compatibility: "1.4", Target: "Linux-x64"})
		if err != nil {
			fmt.Println(err)
		}
	}()
	message, err := server.Read()
	if err != nil {
		fmt.Println(err)
		return
	}
	hello := message.(*netproto.Handshake)
	fmt.Println(server.Generation(), hello.Compatibility, hello.Target)
	// Output: C1 1.4 Linux-x64
}
