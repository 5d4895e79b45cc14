// Package assets is what ships inside the programs: the splash picture, the icon, and every word that a player can read.
//
// It embeds and looks up, and decides nothing. The pictures are drawn by the program in the folder draw.
//
// # Languages
//
// lang/<tag> is one language, with the tag as BCP 47 writes it in small letters ("en", "pt-br", "zh-hans"). Adding a language is adding
// one folder: about.json has what no text says, and window.json, dashboard.json and setup.json are flat objects of keys and texts, for the
// client, the server's pages and the installers. `collet lang check <tag>` says what is missing, and a test demands that nothing is
// (build/language). A text that a language lacks all the same is taken from English.
//
// A placeholder is a name in braces, {host}. Get replaces it by a value; what stands in a value is never looked at
// again, so a peer's text can't smuggle in a placeholder.
//
// Texts that count something are worded so that no noun follows the number ("File 3 of 12", "about 2 min left"), because
// languages bend nouns after numbers in ways of their own. A test watches over that too.
package assets

import "embed"

//go:generate go run ./draw

// SplashPNG is the picture of the splash window: 640 × 360 pixels, opaque, its lower edge in the colour of the panel
// that the window draws below it. Callers must not write to it.
//
//go:embed splash.png
var SplashPNG []byte

// IconPNG is the application's icon: 256 × 256 pixels on nothing. Callers must not write to it.
//
//go:embed icon.png
var IconPNG []byte

// languages are what the client needs of each language. The two below are only in programs that ask for them.
//
//go:embed lang/*/about.json lang/*/window.json
var languages embed.FS

//go:embed lang/*/dashboard.json
var dashboards embed.FS

//go:embed lang/*/setup.json
var setups embed.FS
