package wrap

import (
	"io"
	"slices"
)

// engine is a family of games whose folders look alike.
type engine struct {
	name    string
	is      func(*tree) bool
	keep    []string // patterns of files that players change; those that fit a file are used
	exclude []string // patterns of what a game or its engine leaves behind when it runs or is built
	advice  string   // how its packs become small updates; empty where there is nothing to say
}

// engines are tried in this order.
var engines = []engine{
	{
		name: "Ren'Py", is: func(t *tree) bool { return t.has(`renpy`) && t.has(`game`) && t.has(`lib`) },
		exclude: []string{"game/saves/**", "game/cache/**", "log.txt", "errors.txt", "traceback.txt"},
		advice:  "archives (.rpa) are not compressed: as they are, they patch well",
	},
	{
		name: "RPG Maker", is: func(t *tree) bool {
			return t.has(`(www/)?js/(rpg_core|rmmz_core)\.js`) || t.has(`RPG_RT\.(ldb|exe)`) || t.has(`Game\.(rgss\w+|rvproj2|rxproj)|System/RGSS\w*\.dll|RGSS\w*\.dll`)
		},
		keep:    []string{"Game.ini"},
		exclude: []string{"save/**", "www/save/**", "Save*.rvdata2", "Save*.rvdata", "Save*.rxdata", "Save*.lsd"},
	},
	{
		name: "Unity", is: func(t *tree) bool {
			return t.has(`(.*/)?[^/]+_Data/(globalgamemanagers|mainData|data\.unity3d)|UnityPlayer\.(dll|so)|.*\.app/Contents/Resources/Data/globalgamemanagers`)
		},
		exclude: []string{"*_BackUpThisFolder_ButDontShipItWithYourGame", "*_BurstDebugInformation_DoNotShip"},
		advice:  "build with LZ4 or uncompressed; LZMA makes updates as large as the game",
	},
	{
		name: "Unreal", is: func(t *tree) bool { return t.has(`Engine/Binaries`) || t.has(`[^/]+/Content/Paks`) },
		exclude: []string{"*/Saved/**", "Manifest_*.txt"},
		advice:  "pak files without compression, or Oodle with aligned blocks, patch well; encrypted ones don't",
	},
	{
		name: "GameMaker", is: func(t *tree) bool {
			return t.has(`data\.win|assets/game\.unx|.*\.app/Contents/Resources/game\.ios`)
		},
		keep: []string{},
	},
	{
		name: "NW.js", is: func(t *tree) bool {
			return t.has(`(.*/)?(nw\.pak|nw_100_percent\.pak|package\.nw|nw\.dll|libnw\.so)`)
		},
		exclude: []string{"debug.log"},
	},
	{
		name: "Electron", is: func(t *tree) bool {
			return t.has(`(.*/)?resources/(app\.asar|app|default_app\.asar)`) || t.has(`.*\.app/Contents/Frameworks/Electron Framework\.framework`)
		},
		exclude: []string{"resources/app-update.yml", "debug.log"},
		advice:  "leave electron-updater out: the host updates, and one of the two is enough",
	},
	{
		name: "LÖVE", is: func(t *tree) bool {
			return t.has(`love\.dll|(.*/)?liblove[^/]*\.so[^/]*|[^/]+\.love|love\.app|(.*/)?love\.framework`)
		},
	},
	{
		name: "Godot", is: func(t *tree) bool {
			return t.has(`[^/]+\.pck|.*\.app/Contents/Resources/[^/]+\.pck`) || t.hasEmbeddedPack()
		},
		keep:   []string{"override.cfg"},
		advice: "keep the .pck beside the program (Embed PCK off): updates then leave the program alone",
	},
	{name: "none known", is: func(*tree) bool { return true }},
}

// engineOf returns the first engine that fits.
func engineOf(t *tree) engine {
	return engines[slices.IndexFunc(engines, func(e engine) bool { return e.is(t) })]
}

// settingsFiles are files of any engine that players change.
var settingsFiles = `([^/]+/){0,2}((user_?)?(settings|config|options|preferences|prefs|keybindings|controls)\.(ini|cfg|conf|toml)|(user_?)?(settings|options)\.(json|txt|xml)|user\.(ini|cfg))`

// leftovers are patterns of files of any engine that players must not get, with what they fit.
var leftovers = []struct{ pattern, fits string }{
	{"*.pdb", `(.*/)?[^/]+\.pdb`},
	{"unins*.exe", `(.*/)?unins[^/]*\.exe`}, {"unins*.dat", `(.*/)?unins[^/]*\.dat`}, // another installer's
	{"__pycache__", `(.*/)?__pycache__`}, // Python writes it anew where the times of files differ
	{"steam_appid.txt", `(.*/)?steam_appid\.txt`},
	{"_CommonRedist", `_CommonRedist`},
}

// godotMagic ends a program with an embedded pack of Godot.
const godotMagic = "GDPC"

// hasEmbeddedPack reports whether a program at the top ends with a pack of Godot.
func (t *tree) hasEmbeddedPack() bool {
	return slices.ContainsFunc(t.files, func(f file) bool {
		if f.kind != executable || depth(f.path) > 0 {
			return false
		}
		in, err := t.fsys.Open(f.path)
		if err != nil {
			return false
		}
		defer in.Close()
		end, canSeek := in.(io.Seeker)
		if !canSeek {
			return false
		}
		var last [len(godotMagic)]byte
		if _, err := end.Seek(-int64(len(last)), io.SeekEnd); err != nil {
			return false
		}
		_, err = io.ReadFull(in, last[:])
		return err == nil && string(last[:]) == godotMagic
	})
}
