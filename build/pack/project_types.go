package pack

// Description is collet.toml as it is written, before defaults and checks.
type Description struct {
	Game      Game      `toml:"game"`
	Client    Client    `toml:"client"`
	Resources Resources `toml:"resources"`
	Launch    Launch    `toml:"program"`
	Files     Files     `toml:"files"`
	Targets   []Target  `toml:"target"`
	Variants  []Variant `toml:"variant"`
	Server    Server    `toml:"server"`
	Windows   Windows   `toml:"windows"`
	Linux     Linux     `toml:"linux"`
	MacOS     MacOS     `toml:"macos"`
	Signing   Signing   `toml:"signing"`
}

// Game is what the game is called, and what installers and systems show of it.
type Game struct {
	Name        string   `toml:"name"`        // Base name of programs, folders and packages: up to 48 letters, digits, `-` and `_`, beginning with a letter. Required.
	NiceName    string   `toml:"nice-name"`   // What people read. Default: `name`.
	ID          string   `toml:"id"`          // Reverse domain name: `org.example.lathe`. Required.
	Version     string   `toml:"version"`     // Two to four numbers up to 65535, with dots. Required.
	Publisher   string   `toml:"publisher"`   // Who makes the game. Required.
	Maintainer  string   `toml:"maintainer"`  // Who answers for the packages: `Name <mail@example.org>`. Required.
	Summary     string   `toml:"summary"`     // One line of at most 100 characters without a dot at its end. Required.
	Description string   `toml:"description"` // Paragraphs, with an empty line between two. Default: `summary`.
	Homepage    string   `toml:"homepage"`    // Web address of the game.
	License     string   `toml:"license"`     // SPDX expression. Default: `LicenseRef-proprietary`.
	Icon        string   `toml:"icon"`        // Square PNG of 256 to 2048 pixels. Required.
	Splash      string   `toml:"splash"`      // PNG that the window shows instead of the one that the host was built with.
	URIScheme   string   `toml:"uri-scheme"`  // Scheme of addresses that start the game: `lathe` for `lathe://…`.
	Categories  []string `toml:"categories"`  // Main and additional categories of the freedesktop.org menus. Default: `["Game"]`.
	Time        string   `toml:"time"`        // Time of everything in packages: `2026-11-22T12:00:00Z`. Default: the environment variable `SOURCE_DATE_EPOCH`; one of the two is required.
}

// Client is what every packed client has in its program, and needs no file beside it for.
type Client struct {
	Server      string         `toml:"server"`       // Update server: `host:port`, or an address with `tls://`, `ws://` or `wss://`. This or `urls` is required.
	URLs        []string       `toml:"urls"`         // Folders with signed releases, best first: `https://host/path`, `github://owner/repo` or `oci://host/repository`. Needs `trusted-root`.
	Channel     string         `toml:"channel"`      // Channel of the releases. Default: the client's, `stable`.
	Product     string         `toml:"product"`      // The game's name in the releases. Default: the only one that they have.
	TrustedRoot string         `toml:"trusted-root"` // File that `collet keys export` writes; goes into the program.
	WeakRoot    bool           `toml:"weak-root"`    // Take a root of development keys, or of one person, too: for trying things out.
	Website     string         `toml:"website"`      // Web address of the newest full package. Default: `game.homepage`.
	Store       string         `toml:"store"`        // Address of the game in a store.
	Settings    map[string]any `toml:"settings"`     // Any other setting of the client by its name: `Client.OfflineAfter = "3s"`.
}

// Resources are the packs that the game reads.
type Resources struct {
	Packs []Pack `toml:"pack"` // One table for each pack, in the order in which clients fetch them.
}

// Pack is one resource pack: a zip made of a folder, or one that is there already.
type Pack struct {
	Name       string `toml:"name"`        // Name without `.zip`. Required.
	From       string `toml:"from"`        // Folder with the pack's files, or a finished `.zip`, which is taken as it is. Required. What version control and systems leave behind stays out: `.git` and its like, `.DS_Store`, `Thumbs.db`, `desktop.ini`. Links are refused.
	Deflate    bool   `toml:"deflate"`     // Compress it as zlib does at level 6. Not compressed, updates take less time: those of a compressed pack are as small, but clients inflate what changed and compress it again.
	ServerOnly bool   `toml:"server-only"` // Players don't get it: it goes to `ServerResources` of server packages.
}

// Launch is how a game is run that is an executable of its own, in place of a native module: `program` of the targets.
type Launch struct {
	Args         []string       `toml:"args"`          // Arguments, before those that players give.
	Env          map[string]any `toml:"env"`           // Environment variables, as texts, beside those of the player. Names that begin with `COLLET_` are taken.
	Folder       string         `toml:"folder"`        // Working folder in the game's folder; `.` is the game's folder itself. Default: the folder of the executable.
	Wrapper      []string       `toml:"wrapper"`       // Command before the executable, such as `["gamemoderun"]`. A player without it starts the executable alone.
	ReadyWindow  *bool          `toml:"ready-window"`  // The game has started when its first window is there. Default: true.
	ReadySeconds *int64         `toml:"ready-seconds"` // The game has started when it has run for so many seconds, 1 to 600. Default: 10.
	CleanExits   []int64        `toml:"clean-exits"`   // Exit codes of a normal end. Default: `[0]`. All that are in neither list are crashes.
	ReloadExits  []int64        `toml:"reload-exits"`  // Exit codes with which the game asks to be updated and started again. Default: none.
}

// Files is which files of the targets' folders players get, and which of them become the players' own. Patterns are relative to these folders,
// with slashes: `*` and `?` stand for letters of a name, `**` for any folders. One without a slash fits names in every folder; one that fits a
// folder fits all that is in it.
type Files struct {
	Keep    []string `toml:"keep"`     // Files that players change, such as settings: placed once, and never overwritten, repaired or removed. An executable can't be one.
	KeepNew []string `toml:"keep-new"` // The same; when a release has another form of such a file, it is placed beside it as `NAME.new`.
	Exclude []string `toml:"exclude"`  // Files that players don't get. What version control and systems leave behind stays out anyway, and so do `collet.toml`, `keys`, `release` and `packages` at the top of the project.
}

// Target is what was built for one system and processor.
type Target struct {
	Name       string   `toml:"name"`       // System and processor, such as `Windows-win64`, `Linux-x64`, `macOS-arm64`. Required.
	Host       string   `toml:"host"`       // The built client program. Required for a package; a target without one is only offered by servers. Default for a `program`: `hosts/<target>/collet-client` beside the program `collet`, or `collet-client` there.
	Module     string   `toml:"module"`     // The built native module. Required, unless `program` is there.
	Program    string   `toml:"program"`    // The game's executable, as a path in `folder`. It is started in place of a native module; all targets have it, or none.
	Folder     string   `toml:"folder"`     // The folder with all files of the game, for a `program`. Required with it; `.` is the project's folder.
	HostPDB    string   `toml:"host-pdb"`   // Symbols of the host. Windows only.
	ModulePDB  string   `toml:"module-pdb"` // Symbols of the module. Windows only; required there, unless `no-symbols`.
	NoSymbols  bool     `toml:"no-symbols"` // The module has no symbols, and is packed without them. Windows only.
	Companions []string `toml:"companions"` // Other files that lie beside the program, such as libraries. They keep their names.

	Args    []string       `toml:"args"`    // Arguments of this target's `program`, in place of those in `program.args`.
	Env     map[string]any `toml:"env"`     // Its environment variables, over those in `program.env`.
	Wrapper []string       `toml:"wrapper"` // Its wrapper, in place of `program.wrapper`.
}

// Variant is one more build of the game, beside the plain one, which is always there. Its files are called
// `<name>[_Headless][_Profiling][_OpenGL][_Postfix]`, with `_ProfilingOnDemand` for profiling on demand (product.Variant).
type Variant struct {
	Profiling string         `toml:"profiling"` // `total` or `on-demand`.
	OpenGL    bool           `toml:"opengl"`    // Draws with OpenGL. Windows only; the client gets `ForceOpenGL = 1`.
	Headless  bool           `toml:"headless"`  // Has no window.
	Postfix   string         `toml:"postfix"`   // One word for a build of one shop or partner: `Steam`.
	Targets   []string       `toml:"targets"`   // Which targets have it. Default: those that can.
	Settings  map[string]any `toml:"settings"`  // Settings of its clients, over those in `client`.
	Builds    []Target       `toml:"build"`     // Files of its own for a target. What is not named here is that of the target.
}

// Server is what operators get.
type Server struct {
	Formats       []string  `toml:"formats"`       // Of `tar.gz`, `tar.zst`, `deb`, `container` (a folder with a Containerfile). Default: none.
	Settings      string    `toml:"settings"`      // The server's settings file, packed as `collet-server.toml`.
	Compatibility string    `toml:"compatibility"` // Compatibility version of the module, for the settings that are made where `settings` names none. Required then, where there are `formats`. Default for a `program`: `1`, the same for all its releases.
	Programs      []Program `toml:"program"`       // The built server for each target that it is packed for. Required with `formats`.
}

// Program is the server's program for one target.
type Program struct {
	Target string `toml:"target"` // As in `target.name`; it need not be one that clients are packed for. Required.
	From   string `toml:"from"`   // The built `collet-server`. Required.
}

// Windows is how clients for Windows are packed.
type Windows struct {
	Formats         []string `toml:"formats"`          // Of `zip`, `nsis`, `msi`. Default: `["zip"]`.
	UpgradeCode     string   `toml:"upgrade-code"`     // GUID by which installers know earlier versions: the same for ever. Required with `nsis` and `msi`.
	Scope           string   `toml:"scope"`            // For whom installers install: `user`, `machine`, or `ask` (NSIS asks, MSI takes the machine). Default: `ask`.
	DesktopShortcut bool     `toml:"desktop-shortcut"` // Installers put a shortcut on the desktop, too.
}

// Linux is how clients for Linux are packed.
type Linux struct {
	Formats         []string `toml:"formats"`          // Of `tar.gz`, `tar.zst`, `deb`, `rpm`, `appdir`, `appimage`. Default: `["tar.zst"]`.
	DebDepends      []string `toml:"deb-depends"`      // Packages that the `.deb` depends on, as in its control file. Default: what the host needs.
	RPMRequires     []string `toml:"rpm-requires"`     // What the `.rpm` requires. Default: what the host needs.
	MIMETypes       []string `toml:"mime-types"`       // Types of files that the game opens, such as `application/x-lathe-save`.
	AppImageRuntime string   `toml:"appimage-runtime"` // File with the AppImage project's run-time for the clients' processor (`runtime-x86_64`); none comes with Collet. Required with `appimage`.
}

// MacOS is how clients for macOS are packed.
type MacOS struct {
	Formats       []string `toml:"formats"`        // Of `app-zip`. Default: `["app-zip"]`.
	BundleID      string   `toml:"bundle-id"`      // CFBundleIdentifier. Default: `game.id`.
	MinimumSystem string   `toml:"minimum-system"` // Oldest macOS that can run it. Default: `12.0`, which Go's programs need.
	Category      string   `toml:"category"`       // LSApplicationCategoryType. Default: `public.app-category.games`.
}

// Signing is who signs what. Secrets come from the environment: fields that end in -env name a variable.
type Signing struct {
	Windows Authenticode `toml:"windows"`
	Linux   Detached     `toml:"linux"`
	MacOS   Apple        `toml:"macos"`
}

// Authenticode signs programs, libraries and installers for Windows: with a certificate and its key, with a PKCS #12
// file, or with a command of one's own.
type Authenticode struct {
	CertificateEnv     string   `toml:"certificate-env"`     // Variable with the path of the certificates in PEM. Goes with `key-env`.
	KeyEnv             string   `toml:"key-env"`             // Variable with the path of the private key in PEM.
	PKCS12Env          string   `toml:"pkcs12-env"`          // Variable with the path of a PKCS #12 file, instead of certificate and key.
	PasswordEnv        string   `toml:"password-env"`        // Variable with the password of the key or the PKCS #12 file.
	TimestampURL       string   `toml:"timestamp-url"`       // Server of RFC 3161 timestamps. Default: none, and signatures end with the certificate.
	Authority          string   `toml:"authority"`           // File with root certificates in PEM that each signature is verified with. Default: none, and signatures are only looked at.
	TimestampAuthority string   `toml:"timestamp-authority"` // The same for timestamps. Default: timestamps are not verified.
	Command            []string `toml:"command"`             // Program and arguments that sign a file in place; `{file}` is its path. Instead of the variables above.
	Env                []string `toml:"env"`                 // Variables that the command gets beside the usual ones. Their values are masked in logs.
}

// Detached signs packages for Linux with a signature in a file beside them.
type Detached struct {
	KeyEnv      string   `toml:"key-env"`      // Variable with the path of an armoured private OpenPGP key; signatures are `<package>.asc`.
	PasswordEnv string   `toml:"password-env"` // Variable with its password.
	Command     []string `toml:"command"`      // Program and arguments that write `{signature}` for `{file}`. Instead of the variables above.
	Env         []string `toml:"env"`          // Variables that the command gets beside the usual ones. Their values are masked in logs.
}

// Apple signs and notarizes on a Mac.
type Apple struct {
	Command         []string `toml:"command"`          // Program and arguments that sign the bundle `{file}` in place.
	NotarizeCommand []string `toml:"notarize-command"` // Program and arguments that have the archive `{file}` notarized.
	Env             []string `toml:"env"`              // Variables that the commands get beside the usual ones. Their values are masked in logs.
}
