package adopt

import "testing"

// TestIsShared: the folders of all three systems that hold more than a game are known by their paths, and games in them are not refused.
func TestIsShared(t *testing.T) {
	for goos, of := range map[string]struct{ shared, own []string }{
		"unix": {
			[]string{
				"/usr", "/usr/games", "/usr/bin/lathe", "/usr/local/bin", "/usr/share/games", "/opt", "/opt/", "/etc/lathe/a/b", "/lib64", "/srv", "/var/games", "/tmp",
				"/home", "/home/ada", "/home/ada/Downloads", "/home/ada/DOCUMENTS", "/home/ada/.config", "/home/ada/OneDrive - Example", "/Root/Desktop", "/var/home/ada", "/var/home/ada/Games",
				"/mnt", "/mnt/c", "/mnt/c/Users/ada", "/mnt/c/Users/ada/Desktop", "/media", "/media/ada", "/run/media/ada", "/home/ada/.steam/steam/steamapps/common",
				"/Applications", "/Library/Games", "/System/Volumes/Data", "/Users", "/Users/ada", "/Users/Shared", "/Users/ada/Music", "/Users/ada/Library/Caches", "/Volumes", "/Volumes/Disk", "/private/tmp",
			},
			[]string{
				"/usr/games/lathe", "/usr/local/lathe", "/usr/local/games/lathe", "/opt/lathe", "/home/ada/Lathe", "/home/ada/Games/Lathe", "/home/ada/Downloads/Lathe", "/home/ada/.lathe", "/mnt/disk/Lathe",
				"/run/media/mmcblk0p1/Lathe", "/media/ada/DISK/Lathe", "/Applications/Lathe", "/Users/ada/Lathe", "/Users/ada/Library/Application Support/Lathe", "/Volumes/Disk/Lathe", "/lathe",
				"/home/ada/.steam/steam/steamapps/common/Lathe", "/home/ada/work/Documents",
			},
		},
		"windows": {
			[]string{
				`C:\Users`, `c:\users\Ada`, `C:\Users\Ada\desktop`, `C:\Users\Ada\OneDrive`, `C:\Users\Public`, `C:\Users\Ada\AppData\Local`, `C:\Users\Ada\AppData\Local\Programs`, `C:\Program Files`,
				`D:\Program Files (x86)`, `C:\Program Files\Common Files`, `C:\ProgramData`, `C:\Windows\System32\drivers`, `C:\$Recycle.Bin`, `D:\Games`, `E:\SteamLibrary\steamapps\common\`, `C:/Users/Ada`,
			},
			[]string{`C:\Lathe`, `D:\Games\Lathe`, `C:\Program Files\Lathe`, `C:\Users\Ada\AppData\Local\Lathe`, `C:\Users\Ada\Desktop\Lathe`, `E:\SteamLibrary\steamapps\common\Lathe`, `D:\dev\lathe`, `C:\usr`},
		},
	} {
		for _, dir := range of.shared {
			if !isShared(goos, dir) {
				t.Errorf("%s: %s is taken for a game's folder", goos, dir)
			}
		}
		for _, dir := range of.own {
			if isShared(goos, dir) {
				t.Errorf("%s: %s is refused", goos, dir)
			}
		}
	}
}
