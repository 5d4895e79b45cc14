//go:build unix

package containers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"collet/build/qa/process"
	"collet/platform/testwait"
)

const (
	// base is the image from which others are built here: no image of a registry is needed.
	base = "localhost/base"
	// owner is the user of the images.
	owner = 65532
	// certificates are those of the system, where Debian has them.
	certificates = "/etc/ssl/certs/ca-certificates.crt"
)

// builder runs buildah on a storage of its own.
type builder struct {
	t       *testing.T
	exe     string
	storage string
}

// newBuilder makes a builder, and the image base: busybox, certificates, and Go's toolchain and caches where they are mounted.
func newBuilder(t *testing.T) *builder {
	t.Helper()
	exe, busybox := program(t, "buildah"), program(t, "busybox")
	if os.Getuid() != 0 {
		t.Skip("NOT TESTED: buildah without user namespaces wants root")
	}
	b := &builder{t: t, exe: exe, storage: t.TempDir()}
	files := t.TempDir()
	for _, folder := range []string{"bin", "tmp", filepath.Dir(certificates)} {
		b.must(os.MkdirAll(filepath.Join(files, folder), 0o755))
	}
	b.must(os.Chmod(filepath.Join(files, "tmp"), 0o777|os.ModeSticky))
	b.copy(filepath.Join(files, "bin", "busybox"), busybox, 0o755)
	b.copy(filepath.Join(files, certificates), certificates, 0o644)
	for _, name := range []string{"sh", "cp", "mkdir"} {
		b.must(os.Symlink("busybox", filepath.Join(files, "bin", name)))
	}
	b.run("from", "--name", "base", "scratch")
	b.run("add", "base", files, "/")
	config := []string{"config"}
	for _, variable := range []string{
		"PATH=/usr/local/go/bin:/usr/local/bin:/bin", "HOME=/tmp", "GOMODCACHE=/modules", "GOCACHE=/cache", "GOPROXY=off", "GOTOOLCHAIN=local", "GOFLAGS=-p=2",
	} {
		config = append(config, "--env", variable)
	}
	b.run(append(config, "base")...)
	b.run("commit", "base", base)
	return b
}

func (b *builder) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *builder) copy(to, from string, mode os.FileMode) {
	b.t.Helper()
	data, err := os.ReadFile(from)
	b.must(err)
	b.must(os.WriteFile(to, data, mode))
}

func (b *builder) command(args ...string) *exec.Cmd {
	return exec.Command(b.exe, append([]string{"--root", filepath.Join(b.storage, "root"), "--runroot", filepath.Join(b.storage, "run"), "--storage-driver", "vfs"}, args...)...)
}

// run runs a command of buildah and returns its output.
func (b *builder) run(args ...string) string {
	b.t.Helper()
	out, err := b.command(args...).CombinedOutput()
	if err != nil {
		b.t.Fatalf("buildah %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// build builds an image by a recipe, and makes a container of it. Both have the name of the recipe.
func (b *builder) build(name string) {
	b.t.Helper()
	tree, err := filepath.Abs(filepath.Join("..", "..", ".."))
	b.must(err)
	args := []string{"bud", "--isolation", "chroot", "--format", "docker", "--build-arg", "BUILDER=" + base, "--build-arg", "BASE=" + base}
	for variable, place := range map[string]string{"GOROOT": "/usr/local/go:ro", "GOMODCACHE": "/modules:ro", "GOCACHE": "/cache"} {
		out, err := exec.Command("go", "env", variable).Output()
		b.must(err)
		args = append(args, "--volume", strings.TrimSpace(string(out))+":"+place)
	}
	b.run(append(args, "--file", filepath.Join(tree, "build", "container", name+".Containerfile"), "--tag", "localhost/"+name, tree)...)
	b.run("from", "--name", name, "localhost/"+name)
}

// inContainer is a command in a container, with folders mounted.
func (b *builder) inContainer(name string, mounts []string, args ...string) []string {
	all := []string{"run", "--isolation", "chroot"}
	for _, mount := range mounts {
		all = append(all, "--volume", mount)
	}
	return append(append(all, name, "--"), args...)
}

// imageConfig is what the test looks at in an image.
type imageConfig struct {
	User         string
	ExposedPorts map[string]struct{}
	Volumes      map[string]struct{}
	Labels       map[string]string
	Entrypoint   []string
	Healthcheck  *struct{ Test []string }
}

func (b *builder) config(name string) imageConfig {
	b.t.Helper()
	var image struct {
		Docker struct {
			Config imageConfig `json:"config"`
		}
	}
	b.must(json.Unmarshal([]byte(b.run("inspect", "--type", "image", "localhost/"+name)), &image))
	return image.Docker.Config
}

// TestImages builds both images, publishes a release with one and serves it with the other.
func TestImages(t *testing.T) {
	b := newBuilder(t)
	for _, name := range []string{"collet", "collet-server"} {
		b.build(name)
		if c := b.config(name); c.User == "" || strings.HasPrefix(c.User, "0") || c.Labels["org.opencontainers.image.title"] != name || len(c.Entrypoint) != 1 {
			t.Errorf("%s has %+v", name, c)
		}
	}
	server := b.config("collet-server")
	for volume := range server.Volumes {
		b.run("config", "--volume", volume+"-", "collet-server") // buildah would mount it over the folders below
	}
	if _, players := server.ExposedPorts["4000/tcp"]; !players || len(server.Volumes) != 2 || server.Healthcheck == nil || !slices.Equal(server.Healthcheck.Test, []string{"CMD", "/srv/collet/collet-server", "health"}) {
		t.Errorf("the server has %+v", server)
	}

	project := t.TempDir()
	game := filepath.Join(project, "game", "PlatformBinaries", "Linux-x64")
	b.must(os.MkdirAll(game, 0o755))
	b.must(os.WriteFile(filepath.Join(game, "Lathe.so"), []byte("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x3e\x00"+strings.Repeat("\x00", 44)), 0o644))
	b.must(filepath.WalkDir(filepath.Dir(project), func(name string, _ os.DirEntry, err error) error { return os.Chmod(name, 0o755) }))
	b.must(os.Chown(project, owner, owner))
	for _, line := range []string{
		"keys init --keys keys --development", "release init --dir release --keys keys --product lathe --allow-development",
		"release publish game --dir release --compatibility 1.4 --yes --allow-development",
	} {
		b.run(b.inContainer("collet", []string{project + ":/project"}, append([]string{"collet"}, strings.Fields(line)...)...)...)
	}

	release := filepath.Join(project, "release") + ":/srv/collet/release:ro"
	if said := b.run(b.inContainer("collet-server", []string{release}, "/srv/collet/collet-server", "check")...); !strings.Contains(said, "Lathe.so") {
		t.Errorf("the settings of the image offer %s", said)
	}
	address := testwait.FreeAddress(t)
	settings := filepath.Join(project, "collet-server.toml")
	b.must(os.WriteFile(settings, fmt.Appendf(nil, "[Release]\nFolder = \"release\"\n[Operations]\nHTTPAddress = %q\n", address), 0o644))
	mounts := []string{release, settings + ":/srv/collet/collet-server.toml:ro"}
	health := b.inContainer("collet-server", mounts, "/srv/collet/collet-server", "health")
	if out, err := b.command(health...).CombinedOutput(); err == nil || !strings.Contains(string(out), "health: ") {
		t.Errorf("before the start: %v, %s", err, out)
	}
	running := b.command(b.inContainer("collet-server", mounts, "/srv/collet/collet-server", "--listen", "127.0.0.1:0")...)
	process.OwnGroup(running)
	var log strings.Builder
	running.Stdout, running.Stderr = &log, &log
	b.must(running.Start())
	ended := make(chan error, 1)
	go func() { ended <- running.Wait() }()
	defer func() {
		if err := syscall.Kill(-running.Process.Pid, syscall.SIGTERM); err != nil {
			t.Errorf("stop the server: %v", err)
		}
		if <-ended; t.Failed() {
			t.Logf("%s", log.String())
		}
	}()
	for _, path := range []string{"/healthz", "/readyz", "/metadata/timestamp.json"} {
		testwait.Until(t, func() bool {
			answer, err := http.Get("http://" + address + path)
			if err == nil {
				answer.Body.Close()
			}
			return err == nil && answer.StatusCode == http.StatusOK
		}, "the server in the container does not answer "+path)
	}
	b.run(health...)
}
