// Package window finds the windows of other processes: whether one is visible, and, on Windows, how to ask it to close.
//
//	X11       the server names the process of each client (extension X-Resource 1.2), for clients on this machine. A window counts
//	          when it is viewable and larger than a pixel. It may lie in the frame of a window manager
//	Windows   EnumWindows and the process of each window. A console does not count: it is there before the program does anything
//	others    Open fails: Wayland and macOS don't tell a process about the windows of others
//
// The X server is another program: sizes and loops have limits, and every answer has a deadline.
package window
