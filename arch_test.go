package collet_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// row is one line of the import table in docs/ARCHITECTURE.md: what the non-test files of a package may import beside
// the standard library and zerolog.
type row struct {
	ours   []string // packages of this module; "x/..." takes everything below x
	others []string // module path prefixes
}

const (
	fyne   = "fyne.io/fyne/v2"
	purego = "github.com/ebitengine/purego"
	sha    = "github.com/minio/sha256-simd"
	sys    = "golang.org/x/sys"
	kong   = "github.com/alecthomas/kong"
	toml   = "github.com/pelletier/go-toml/v2"
	image  = "golang.org/x/image"
	words  = "golang.org/x/text"
	web    = "github.com/coder/websocket"
	proxy  = "golang.org/x/net/http/httpproxy"
	oidc   = "github.com/coreos/go-oidc/v3"
	oauth  = "golang.org/x/oauth2"
	prom   = "github.com/prometheus/client_golang/prometheus"
	zstd   = "github.com/klauspost/compress"
	group  = "golang.org/x/sync/errgroup"
	weight = "golang.org/x/sync/semaphore"
	brotli = "github.com/andybalholm/brotli"
	bolt   = "go.etcd.io/bbolt"
	minio  = "github.com/minio/minio-go/v7"
	oras   = "oras.land/oras-go/v2"
	tuf    = "github.com/theupdateframework/go-tuf/v2/metadata"
	sslib  = "github.com/secure-systems-lab/go-securesystemslib"
	signer = "github.com/sigstore/sigstore/pkg/signature"
)

// imports is the table. A package that is not in it fails the test, and so does a row without a package.
var imports = map[string]row{
	".":                               {},
	"platform/window":                 {others: []string{sys}},
	"platform":                        {ours: []string{"platform/interrupt", "platform/text"}, others: []string{sys}},
	"platform/text":                   {},
	"platform/span":                   {},
	"platform/interrupt":              {},
	"platform/notify":                 {},
	"platform/tomllines":              {others: []string{toml}},
	"platform/testlevel":              {},
	"platform/commandline":            {others: []string{kong}},
	"platform/commandlinetest":        {others: []string{kong}},
	"platform/testwait":               {},
	"platform/faultfs":                {ours: []string{"platform"}},
	"platform/fstest":                 {ours: []string{"platform", "platform/testwait"}},
	"assets":                          {},
	"assets/draw":                     {others: []string{image}},
	"runtime/abi":                     {},
	"runtime/sample":                  {ours: []string{"runtime/abi"}},
	"runtime/sample/protocol":         {ours: []string{"netproto/compat"}},
	"runtime/sample/gameserver":       {ours: []string{"runtime/sample/protocol"}},
	"runtime/area":                    {},
	"runtime/embedded":                {ours: []string{"runtime/abi", "runtime/area", "runtime/sample"}},
	"runtime/host":                    {ours: []string{"runtime/abi"}, others: []string{purego, sys}},
	"runtime/program/helper":          {},
	"runtime/program":                 {ours: []string{"netproto/release", "platform", "platform/text", "platform/window", "runtime/abi"}},
	"netproto":                        {ours: []string{"netproto/compat", "netproto/product", "netproto/wire"}},
	"netproto/session":                {ours: []string{"netproto", "netproto/compat", "netproto/dial", "netproto/wire"}},
	"netproto/wire":                   {},
	"netproto/dial":                   {ours: []string{"platform/text"}, others: []string{web, proxy}},
	"netproto/beacon":                 {},
	"netproto/adoption":               {ours: []string{"netproto/beacon"}, others: []string{"github.com/axiomhq/hyperloglog"}},
	"netproto/server/figures":         {ours: []string{"netproto/adoption", "netproto/beacon", "platform"}, others: []string{prom, "golang.org/x/time/rate"}},
	"netproto/product":                {},
	"netproto/transporttest":          {},
	"netproto/compat":                 {ours: []string{"platform/text"}, others: []string{sha}},
	"netproto/den":                    {ours: []string{"netproto/wire", "platform/span"}, others: []string{sys, "golang.org/x/net/ipv4", "golang.org/x/net/ipv6"}},
	"netproto/releasetest":            {ours: []string{"netproto/chunk", "netproto/release", "netproto/release/trust"}, others: []string{zstd}},
	"netproto/chunk":                  {ours: []string{"platform/interrupt"}, others: []string{sha, brotli, zstd, group}},
	"netproto/delta":                  {ours: []string{"netproto/chunk", "netproto/delta/predict", "netproto/release"}, others: []string{sha, brotli, zstd, group}},
	"netproto/delta/predict":          {},
	"netproto/solid":                  {ours: []string{"netproto/chunk", "netproto/deflate", "netproto/release"}, others: []string{brotli, zstd}},
	"netproto/deflate":                {ours: []string{"netproto/chunk", "netproto/delta", "netproto/release", "platform/interrupt"}, others: []string{brotli, group}},
	"netproto/predicttest":            {},
	"netproto/release":                {others: []string{sha, zstd, words}},
	"netproto/release/location":       {},
	"netproto/release/trust":          {ours: []string{"netproto/release"}, others: []string{tuf, sslib, signer}},
	"netproto/release/rollout":        {},
	"netproto/release/proposal":       {ours: []string{"netproto/release", "netproto/release/trust", "platform"}},
	"netproto/launcher/wire":          {ours: []string{"netproto/release", "netproto/wire"}, others: []string{sha}},
	"netproto/launcher/tree":          {ours: []string{"netproto/launcher/wire", "netproto/wire", "platform"}, others: []string{sha, "github.com/bmatcuk/doublestar/v4"}},
	"netproto/launcher/device":        {ours: []string{"netproto/den", "netproto/launcher/tree", "netproto/launcher/wire", "platform", "platform/interrupt", "platform/notify", "platform/span"}, others: []string{sha}},
	"netproto/launcher/desk":          {ours: []string{"netproto/den", "netproto/launcher/tree", "netproto/launcher/wire", "platform", "platform/text"}, others: []string{"github.com/fsnotify/fsnotify"}},
	"netproto/launcher/launchertest":  {ours: []string{"netproto/launcher/device", "netproto/launcher/wire", "platform", "platform/faultfs"}},
	"netproto/server":                 {ours: []string{"netproto", "netproto/compat", "netproto/dial", "netproto/server/catalogue", "netproto/server/certificate", "netproto/server/config", "netproto/server/limits", "netproto/server/metrics", "netproto/server/operator", "platform/interrupt", "platform/text"}, others: []string{web}},
	"netproto/server/origin":          {ours: []string{"netproto/release", "netproto/server", "netproto/server/catalogue", "netproto/server/certificate", "netproto/server/config", "netproto/server/limits", "netproto/server/metrics", "netproto/server/operator", "platform/text"}},
	"netproto/server/metrics":         {ours: []string{"netproto", "netproto/compat", "netproto/release", "netproto/server/catalogue", "netproto/server/limits", "netproto/server/operator"}, others: []string{prom}},
	"netproto/server/certificate":     {ours: []string{"platform"}},
	"netproto/server/catalogue":       {ours: []string{"netproto", "netproto/chunk", "netproto/compat", "netproto/product", "netproto/release", "netproto/release/trust", "netproto/server/config", "netproto/solid", "platform", "platform/text"}, others: []string{"golang.org/x/sync/errgroup"}},
	"netproto/server/config":          {ours: []string{"netproto", "netproto/compat", "netproto/release", "platform", "platform/text", "platform/tomllines"}, others: []string{toml}},
	"netproto/server/limits":          {ours: []string{"netproto/server/config", "platform/interrupt"}, others: []string{"golang.org/x/time/rate"}},
	"netproto/server/operator":        {ours: []string{"netproto/adoption", "netproto", "netproto/compat", "netproto/product", "platform"}, others: []string{prom, bolt}},
	"netproto/server/admin":           {ours: []string{"netproto/adoption", "netproto/release", "netproto/release/rollout", "netproto", "netproto/compat", "netproto/server/operator", "platform", "platform/text"}, others: []string{"golang.org/x/net/netutil"}},
	"netproto/server/releases":        {ours: []string{"netproto/release", "netproto/release/proposal", "netproto/release/trust", "platform"}},
	"netproto/server/signin":          {ours: []string{"netproto/server/config", "netproto/server/operator", "platform/text"}, others: []string{oidc, oauth}},
	"netproto/server/signintest":      {others: []string{oidc}},
	"netproto/server/dashboard":       {ours: []string{"netproto/adoption", "netproto/beacon", "netproto/release", "netproto/server/config", "netproto/server/metrics", "netproto/server/releases", "netproto/server/signin", "assets", "netproto/compat", "netproto/server/admin", "netproto/server/operator", "platform/text"}, others: []string{words}},
	"netproto/server/servertest":      {ours: []string{"netproto", "netproto/compat", "netproto/releasetest", "netproto/server", "netproto/server/admin", "netproto/server/catalogue", "netproto/server/config", "netproto/server/dashboard", "netproto/server/operator", "netproto/server/origin", "platform/testwait"}, others: []string{"go.uber.org/goleak"}},
	"netproto/cmd/collet-server":      {ours: []string{"netproto/adoption", "netproto/server/figures", ".", "netproto/server", "netproto/server/admin", "netproto/compat", "netproto/server/catalogue", "netproto/server/cluster", "netproto/server/config", "netproto/server/dashboard", "netproto/server/operator", "netproto/server/origin", "netproto/server/releases", "netproto/server/signin", "platform", "platform/commandline", "platform/interrupt", "platform/text"}, others: []string{kong}},
	"app/update":                      {ours: []string{"netproto/release", "netproto/compat", "platform/notify", "platform/span"}},
	"app/diskfault":                   {ours: []string{"app/update", "platform"}},
	"app/install":                     {ours: []string{"app/diskfault", "app/update", "netproto/delta", "netproto/product", "netproto/release", "platform", "platform/interrupt", "platform/span"}},
	"app/download":                    {ours: []string{"app/diskfault", "app/update", "netproto", "netproto/dial", "netproto/release", "netproto/release/location", "netproto/session", "platform", "platform/interrupt", "platform/span", "platform/text"}, others: []string{proxy, weight}},
	"app/acquire":                     {ours: []string{"app/diskfault", "app/download", "app/update", "netproto/chunk", "netproto/deflate", "netproto/delta", "netproto/compat", "netproto/release", "netproto/release/trust", "netproto/solid", "platform", "platform/interrupt", "platform/span"}, others: []string{group}},
	"app/adopt":                       {ours: []string{"app/install", "platform", "runtime/program"}},
	"app/token":                       {ours: []string{"netproto/release/location"}},
	"app/settings":                    {ours: []string{"app/token", "netproto", "netproto/compat", "netproto/dial", "netproto/release/location", "platform/tomllines"}, others: []string{toml}},
	"app/supervise":                   {ours: []string{"runtime/abi", "platform", "platform/text"}},
	"app/splash/lasting":              {},
	"app/splash":                      {ours: []string{".", "app/splash/lasting", "app/update", "assets", "netproto/compat", "platform/interrupt", "platform/text"}, others: []string{fyne, "github.com/go-text/typesetting/font"}},
	"app/device":                      {ours: []string{"app/settings", "app/splash", "app/supervise", "assets", "netproto/den", "netproto/launcher/device", "netproto/launcher/wire", "netproto/product", "platform", "platform/text"}},
	"app/install/inspect":             {ours: []string{"app/diskfault", "app/install", "app/update", "netproto/release", "platform"}},
	"app/logfile":                     {ours: []string{"platform"}},
	"app/generations":                 {ours: []string{"netproto", "platform"}},
	"app/beacon":                      {ours: []string{"app/acquire", "app/settings", "app/update", "netproto/beacon", "netproto/dial"}},
	"app/memory":                      {},
	"app/host":                        {ours: []string{"app/beacon", ".", "app/adopt", "app/device", "app/diskfault", "app/download", "app/generations", "app/install", "app/install/inspect", "app/logfile", "app/memory", "app/settings", "app/splash", "app/supervise", "app/token", "app/acquire", "app/update", "assets", "netproto", "netproto/compat", "netproto/dial", "netproto/product", "netproto/release", "netproto/release/location", "netproto/release/trust", "netproto/session", "platform", "platform/interrupt", "platform/text", "runtime/abi", "runtime/area"}},
	"app":                             {ours: []string{".", "app/host", "app/settings", "app/supervise", "netproto/launcher/wire", "platform", "platform/commandline", "platform/text", "runtime/embedded", "runtime/host", "runtime/program"}, others: []string{kong}},
	"build/qa":                        {ours: []string{"app/install", "build/qa/doctor", "build/qa/fileset", "build/qa/process", "build/qa/proxy", "build/qa/report", "netproto/product", "platform"}, others: []string{sys, toml}},
	"build/qa/proxy":                  {ours: []string{"platform/interrupt"}},
	"build/qa/process":                {},
	"build/qa/screen":                 {ours: []string{"build/qa/process", "platform/interrupt"}},
	"build/qa/report":                 {ours: []string{"netproto/product", "platform/text"}},
	"build/qa/fileset":                {ours: []string{"app/install", "app/update", "netproto/release"}},
	"build/qa/doctor":                 {ours: []string{".", "app/install", "app/install/inspect", "app/update", "assets", "build/qa/fileset", "build/qa/report", "netproto/product", "platform", "platform/text", "runtime/area"}, others: []string{toml}},
	"build/qa/scenario":               {ours: []string{"app/install", "app/install/inspect", "app/update", "build/qa/fileset", "build/qa/report", "netproto/release", "platform", "platform/faultfs"}},
	"build/qa/crash":                  {ours: []string{"app/install", "app/update", "build/qa/fileset", "build/qa/report", "netproto/release", "platform", "platform/faultfs"}},
	"build/demo":                      {ours: []string{".", "build/pack/archive", "build/pack/bundle", "build/qa/fileset", "build/qa/process", "build/qa/proxy", "build/qa/screen", "netproto/product", "netproto/release", "platform", "platform/interrupt", "platform/text", "runtime/sample", "runtime/sample/protocol"}, others: []string{image, sys}},
	"build/lab/dentest":               {ours: []string{"netproto/launcher/wire"}},
	"build/lab/wine":                  {ours: []string{"build/qa/screen", "platform", "platform/interrupt"}},
	"build/lab/installers":            {},
	"build/lab/browser":               {},
	"build/lab/compatible":            {},
	"build/lab/containers":            {},
	"build/lab/monitoring":            {},
	"build/lab/rollout":               {},
	"build/lab/cdn":                   {},
	"build/lab/games":                 {},
	"build/lab/mutants":               {},
	"build/testscripts":               {ours: []string{"build/demo", "build/qa/process", "build/qa/proxy", "build/testprograms", "platform/testwait", "runtime/sample"}, others: []string{"github.com/rogpeppe/go-internal"}},
	"build/testprograms":              {ours: []string{"platform/testlevel"}, others: []string{"github.com/rogpeppe/go-internal"}},
	"build/soak":                      {ours: []string{"build/qa/process", "netproto", "netproto/dial", "netproto/release", "netproto/server", "netproto/server/admin", "netproto/server/config", "netproto/session", "netproto/transporttest", "platform/interrupt"}, others: []string{group}},
	"build/remote":                    {ours: []string{"netproto/den", "netproto/launcher/desk", "netproto/launcher/wire", "platform", "platform/interrupt", "platform/text"}},
	"build/advice":                    {ours: []string{"platform/text"}},
	"build/language":                  {ours: []string{"assets"}, others: []string{words}},
	"build/publish/keyring":           {ours: []string{"build/advice", "build/publish/pkcs11", "netproto/release/trust", "platform"}},
	"build/publish/pkcs11":            {ours: []string{"platform/text"}, others: []string{purego, sys}},
	"build/publish/upload":            {ours: []string{"build/advice", "netproto/release/location", "platform/interrupt", "platform/text"}, others: []string{minio, oras, "github.com/opencontainers"}},
	"build/publish/upload/uploadtest": {},
	"build/publish/check":             {ours: []string{"build/advice", "netproto/product", "netproto/release"}},
	"build/publish/game":              {ours: []string{"build/advice", "netproto/product", "netproto/release", "platform", "platform/text", "runtime/program"}},
	"build/publish/public":            {ours: []string{"app/download", "netproto/release", "netproto/release/location", "netproto/release/trust", "platform"}, others: []string{group}},
	"build/publish/places":            {ours: []string{"build/publish/parallel", "build/advice", "build/publish/upload", "netproto/release", "netproto/release/trust", "platform", "platform/text"}},
	"build/publish/cache":             {ours: []string{"build/advice", "netproto/release", "platform"}},
	"build/publish":                   {ours: []string{"build/publish/parallel", "app/acquire", "build/advice", "build/publish/check", "build/publish/game", "build/publish/cache", "build/publish/places", "netproto/release/proposal", "build/publish/upload", "netproto/product", "netproto/release", "netproto/release/location", "netproto/release/trust", "netproto/chunk", "netproto/deflate", "netproto/delta", "netproto/solid", "platform", "platform/interrupt", "platform/text"}, others: []string{toml}},
	"build/cmd/collet":                {ours: []string{".", "app/acquire", "assets", "build/advice", "build/cmd/collet/compat", "build/cmd/collet/console", "build/cmd/collet/languages", "build/cmd/collet/remote", "build/publish/rolling", "netproto/adoption", "build/demo", "build/language", "build/pack", "build/pack/verify", "build/publish", "build/publish/places", "app/download", "app/token", "netproto/release/location", "build/publish/public", "netproto/dial", "build/publish/keyring", "netproto/release/proposal", "netproto/release/rollout", "netproto/server/admin", "build/qa", "build/qa/crash", "build/qa/doctor", "build/qa/fileset", "build/qa/process", "build/qa/report", "build/qa/scenario", "build/soak", "build/wrap", "netproto/product", "netproto/release", "netproto/release/trust", "platform", "platform/commandline", "platform/interrupt", "platform/text"}, others: []string{kong}},
	"build/cmd/collet/remote":         {ours: []string{"build/cmd/collet/console", "build/remote", "netproto/launcher/desk", "netproto/launcher/wire", "platform", "platform/text"}},
	"build/cmd/collet/languages":      {ours: []string{"build/cmd/collet/console", "build/language"}},
	"build/publish/parallel":          {others: []string{group}},
	"build/publish/rolling":           {ours: []string{"build/advice", "netproto/release", "netproto/release/rollout"}},
	"build/cmd/collet/compat":         {ours: []string{"netproto/adoption", "platform/interrupt", "build/cmd/collet/console", "netproto/compat", "netproto/release", "netproto/release/trust", "netproto/session", "netproto/server", "netproto/server/admin", "netproto/server/config", "netproto/server/operator", "platform", "platform/text"}},
	"build/cmd/collet/console":        {ours: []string{"platform", "platform/text"}},
	"build/lab/bench":                 {ours: []string{".", "build/qa/fileset", "build/qa/process", "build/qa/proxy", "build/qa/screen", "build/demo", "netproto", "netproto/chunk", "netproto/delta", "netproto/den", "build/lab/dentest", "netproto/launcher/desk", "netproto/launcher/device", "netproto/launcher/wire", "netproto/product", "netproto/release", "netproto/session", "platform", "platform/interrupt", "runtime/sample"}, others: []string{kong}},
	"build/pack":                      {ours: []string{"app/settings", "build/advice", "build/pack/archive", "build/pack/bundle", "build/pack/icon", "build/pack/linux", "build/pack/macos", "build/pack/pe", "build/pack/sign", "build/pack/windows", "build/publish/check", "netproto/product", "netproto/release", "netproto/release/location", "netproto/release/trust", "netproto/server/catalogue", "netproto/server/config", "platform/interrupt", "platform/tomllines", "runtime/area", "runtime/program"}, others: []string{toml, group, words}},
	"build/wrap":                      {ours: []string{"build/pack", "build/pack/icon", "build/pack/pe", "build/publish/check", "netproto/product", "platform/text"}},
	"build/pack/bundle":               {ours: []string{"netproto/product", "netproto/release", "platform"}},
	"build/pack/pe":                   {others: []string{"github.com/tc-hib/winres"}},
	"build/pack/sign":                 {ours: []string{"build/advice", "build/pack/pe", "platform/interrupt", "platform/text"}, others: []string{sha, "github.com/ProtonMail/go-crypto/openpgp"}},
	"build/pack/archive":              {ours: []string{"build/pack/bundle", "netproto/deflate"}, others: []string{zstd}},
	"build/pack/verify":               {ours: []string{"platform/interrupt"}, others: []string{zstd}},
	"build/pack/windows":              {ours: []string{"app/install", "assets", "build/pack/bundle", "build/pack/pe", "netproto/product", "netproto/release"}, others: []string{image}},
	"build/pack/icon":                 {others: []string{image}},
	"build/pack/linux":                {ours: []string{"build/pack/bundle", "build/pack/icon", "netproto/product"}, others: []string{toml, "github.com/goreleaser/nfpm/v2"}},
	"build/pack/macos":                {ours: []string{"build/pack/bundle", "build/pack/icon", "netproto/release"}},
	"build/compatgen":                 {ours: []string{"netproto/compat", "platform/commandline", "runtime/abi"}, others: []string{kong, "golang.org/x/mod/modfile", "golang.org/x/tools/go/packages"}},
	"build/lab/bench/minimal":         {ours: []string{".", "assets"}, others: []string{fyne}},

	// What several nodes share.
	"netproto/server/operator/storetest": {ours: []string{"netproto/compat", "netproto/server/operator"}},
	"build/lab/cluster":                  {},
	"netproto/server/cluster":            {ours: []string{"netproto/compat", "netproto/server/certificate", "netproto/server/config", "netproto/server/operator"}, others: []string{"github.com/nats-io/nats-server/v2/server", "github.com/nats-io/nats.go", "golang.org/x/sync/errgroup"}},
}

// pkg is what `go list` says about one package.
type pkg struct {
	ImportPath string
	Dir        string
	Name       string
	Imports    []string
}

func list(t *testing.T) map[string]pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-tags", "gles", "-json=ImportPath,Dir,Name,Imports", "./...", "./build/lab/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	packages := map[string]pkg{}
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p pkg
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		packages[short(p.ImportPath)] = p
	}
	return packages
}

func short(importPath string) string {
	if importPath == "collet" {
		return "."
	}
	return strings.TrimPrefix(importPath, "collet/")
}

// TestImports holds every package to its row: arrows point from programs to facts, and Fyne, purego and x/sys have their
// homes.
func TestImports(t *testing.T) {
	packages := list(t)
	for name, p := range packages {
		allowed, known := imports[name]
		if !known {
			t.Errorf("package %s has no row in the import table", name)
			continue
		}
		for _, imported := range p.Imports {
			if !allowed.allows(imported) {
				t.Errorf("%s imports %s, which its row does not allow", name, imported)
			}
		}
	}
	for name := range imports {
		if _, there := packages[name]; !there {
			t.Errorf("the import table has a row for %s, which does not exist", name)
		}
	}
}

func (r row) allows(imported string) bool {
	if imported == "C" || imported == "github.com/rs/zerolog" {
		return true
	}
	if imported == "collet" || strings.HasPrefix(imported, "collet/") {
		return slices.ContainsFunc(r.ours, func(o string) bool { return matches(o, short(imported)) })
	}
	first, _, _ := strings.Cut(imported, "/")
	if !strings.Contains(first, ".") {
		return true
	}
	return slices.ContainsFunc(r.others, func(o string) bool { return imported == o || strings.HasPrefix(imported, o+"/") })
}

func matches(pattern, name string) bool {
	if prefix, all := strings.CutSuffix(pattern, "/..."); all {
		return name == prefix || strings.HasPrefix(name, prefix+"/")
	}
	return pattern == name
}

// sources parses every Go file that is ours, tests included.
func sources(t *testing.T, visit func(name string, fset *token.FileSet, file *ast.File)) {
	t.Helper()
	for _, name := range tracked(t) {
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Error(err)
			continue
		}
		visit(name, fset, file)
	}
}

// tracked lists the files of the tree without what git ignores by name.
func tracked(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == ".git" || name == "bin" || entry.Name() == "failed") {
			return filepath.SkipDir
		}
		if entry.Type().IsRegular() && entry.Name() != ".git" { // in a work tree of git it is a file
			names = append(names, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestPackageComments wants exactly one package comment in each package.
func TestPackageComments(t *testing.T) {
	comments := map[string]int{}
	sources(t, func(name string, _ *token.FileSet, file *ast.File) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		dir := path.Dir(name)
		if comments[dir] += 0; file.Doc != nil {
			comments[dir]++
		}
	})
	for dir, n := range comments {
		if n != 1 {
			t.Errorf("package in %s has %d package comments, want 1", dir, n)
		}
	}
}

// TestExportsDocumented wants a comment on every exported function, method of an exported type, and type.
func TestExportsDocumented(t *testing.T) {
	sources(t, func(name string, fset *token.FileSet, file *ast.File) {
		if strings.HasSuffix(name, "_test.go") || file.Name.Name == "main" {
			return
		}
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) && !conventional(d) {
					t.Errorf("%s: %s has no comment", fset.Position(d.Pos()), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, is := spec.(*ast.TypeSpec); is && s.Name.IsExported() && d.Doc == nil && s.Doc == nil {
						t.Errorf("%s: %s has no comment", fset.Position(s.Pos()), s.Name.Name)
					}
				}
			}
		}
	})
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	kind := d.Recv.List[0].Type
	if star, is := kind.(*ast.StarExpr); is {
		kind = star.X
	}
	id, is := kind.(*ast.Ident)
	return is && id.IsExported()
}

// conventional methods say nothing new: their interface documents them.
func conventional(d *ast.FuncDecl) bool {
	return d.Recv != nil && slices.Contains([]string{"Error", "Unwrap", "Is", "String", "ID"}, d.Name.Name)
}

// TestNoIota forbids iota where numbers leave the process.
func TestNoIota(t *testing.T) {
	sources(t, func(name string, fset *token.FileSet, file *ast.File) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if id, is := n.(*ast.Ident); is && id.Name == "iota" {
				t.Errorf("%s: numbers are written out, not counted", fset.Position(n.Pos()))
			}
			return true
		})
	})
}

// forbidden are words that no file of the project may contain: folders of a machine, and unfinished work.
var forbidden = regexp.MustCompile(`(^|[^A-Za-z0-9_.$/-])/(work|root|farm)/|\b(TO` + `DO|FIX` + `ME)\b`)

// badFolders are package names that say nothing.
var badFolders = []string{"util", "utils", "common", "helpers", "types", "core", "manager", "internal", "pkg"}

// TestTree forbids absolute paths of a machine, unfinished work, and folders that say nothing.
func TestTree(t *testing.T) {
	for _, name := range tracked(t) {
		if slices.Contains(badFolders, path.Base(path.Dir(name))) {
			t.Errorf("%s: a folder of this name says nothing", name)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 {
			continue
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, 1<<20)
		for n := 1; lines.Scan(); n++ {
			if found := forbidden.FindString(lines.Text()); found != "" {
				t.Errorf("%s:%d: contains %q", name, n, found)
			}
		}
	}
}
