package compat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"collet/build/cmd/collet/console"
	"collet/netproto/server/admin"
	"collet/netproto/server/config"
	"collet/netproto/server/operator"
	"collet/platform/text"
)

// storeCommand is `collet compat store`.
type storeCommand struct {
	Move    moveCommand    `cmd:"" help:"Move the store of a running server into a cluster, or out of it."`
	Backup  backupCommand  `cmd:"" help:"Write the whole store to a file."`
	Restore restoreCommand `cmd:"" help:"Put a backup in the place of the store of a server that does not run."`
}

// Help is what --help adds to the list of commands.
func (storeCommand) Help() string {
	return `The store has the settings, their history, tokens, and the floors of players.

  collet compat store backup /backup/compat-2026-11-28.db --config /etc/collet-server.toml`
}

// moveCommand is `collet compat store move`.
type moveCommand struct {
	From    string `group:"store" required:"" enum:"bolt,nats" placeholder:"KIND" help:"Where the store is: bolt, the file of one server, or nats, a cluster."`
	To      string `group:"store" required:"" enum:"bolt,nats" placeholder:"KIND" help:"Where it goes."`
	Comment string `group:"store" placeholder:"TEXT" help:"Reason, for the history."`
	Yes     bool   `group:"store" help:"The other nodes are lost: take the store from one that has it for itself, with the changes that it made since, or from a cluster of which only this node is left."`
	apiFlags
	console.JSONFlags
}

// Help is what --help adds to the flags.
func (moveCommand) Help() string {
	return `The server goes on serving players. Write [Cluster] into its settings before a move to nats, and take it out before a move to bolt: the
server reads them for the move, and the next start finds the same. The chain of the history is verified before and after. An interrupted
move is given up, or completed if the cluster has the whole history already; after a kill of the server the next start completes a move to
nats. After a kill in a move to bolt the next start may find a store that is still the cluster's: it serves players and is read-only, until
you write [Cluster] back, start it again and repeat the move, or confirm with --yes that all other nodes are lost.

  collet compat store move --from bolt --to nats --comment "three nodes from now on"
  collet compat store move --from nats --to bolt`
}

// Run moves the store.
func (m moveCommand) Run(ctx context.Context, c console.Console) (err error) {
	a, err := m.openAPI(ctx)
	if err != nil {
		return err
	}
	defer a.close(&err)
	var moved operator.Moved
	ask := admin.StoreRequest{From: m.From, To: m.To, Comment: m.Comment, Confirm: m.Yes}
	if err := a.request(ctx, http.MethodPost, "/api/compat/store", ask, 0, &moved); err != nil {
		return err
	}
	return m.Print(c.Out, moved, func(w io.Writer) error {
		next := "other nodes of the cluster read only from now on: stop them"
		if moved.To == operator.KindNATS {
			next = "other nodes with an empty store fill themselves from the cluster"
		}
		_, err := fmt.Fprintf(w, "moved from %s to %s, node %s: revision %d, %s as they were written, %s\n%s\n",
			console.Clean(moved.From), console.Clean(moved.To), console.Clean(moved.Node), moved.Revision, text.Count(moved.Records, "record"), text.Count(moved.Floors, "floor"), next)
		return err
	})
}

// backupCommand is `collet compat store backup`.
type backupCommand struct {
	File string `arg:"" placeholder:"FILE" help:"The file to write; there must be none yet."`
	apiFlags
	console.JSONFlags
}

// Help is what --help adds to the flags.
func (backupCommand) Help() string {
	return `Works while the server runs, also at any node of a cluster, and checks what it has written. The file has the names of accounts, and the
hashes of tokens: keep it as safe as the store.

  collet compat store backup /backup/compat-2026-11-28.db --config /etc/collet-server.toml`
}

// Run writes a backup.
func (b backupCommand) Run(ctx context.Context, c console.Console) (err error) {
	if _, err := os.Lstat(b.File); !errors.Is(err, fs.ErrNotExist) {
		return console.Usage(errors.Join(fmt.Errorf("%s is there already: name a new file", b.File), err))
	}
	a, err := b.openAPI(ctx)
	if err != nil {
		return err
	}
	defer a.close(&err)
	part := b.File + ".part"
	f, err := os.OpenFile(part, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(part) // after the rename it is not there
	err = a.download(ctx, "/api/compat/store/backup", f)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	sum, err := operator.Inspect(part)
	if err != nil {
		return fmt.Errorf("what %s sent: %w", a.name, err)
	}
	if err := os.Rename(part, b.File); err != nil {
		return err
	}
	return b.Print(c.Out, sum, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s: revision %d, %s as they were written, %s\n", b.File, sum.Revision, text.Count(sum.Records, "record"), text.Count(sum.Floors, "floor"))
		return err
	})
}

// maxBackup is the largest backup in bytes: ten million floors take 500 MB, and a history of a hundred thousand changes some gigabytes.
const maxBackup = 64 << 30

// download writes an answer to w. It may take as long as bytes come.
func (a *api) download(ctx context.Context, path string, w io.Writer) error {
	r, err := a.newRequest(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	client := *a.client
	client.Timeout = 0
	answer, err := client.Do(r)
	if err != nil {
		return a.unreachable(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		data, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
		if err != nil {
			return err
		}
		return a.fault(answer, data)
	}
	n, err := io.Copy(w, io.LimitReader(answer.Body, maxBackup+1))
	if err == nil && n > maxBackup {
		err = fmt.Errorf("has more than %d bytes", int64(maxBackup))
	}
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", a.name, err)
	}
	return nil
}

// restoreCommand is `collet compat store restore`.
type restoreCommand struct {
	File      string `arg:"" type:"existingfile" placeholder:"FILE" help:"The backup."`
	Config    string `group:"store" required:"" type:"existingfile" placeholder:"FILE" help:"Settings file of the server, which must not run."`
	SubConfig string `group:"store" placeholder:"NAME" help:"Settings in [SubConfig.NAME] override those of the file, as with collet-server."`
	Found     bool   `group:"store" help:"Found the cluster of the settings anew from the backup. All its nodes must be stopped."`
	console.JSONFlags
}

// Help is what --help adds to the flags.
func (restoreCommand) Help() string {
	return `The backup is checked first. What was there is kept beside the store, with the time in its name. To go back to earlier settings only, use
collet compat rollback: that works while the server runs, and keeps the history.

  collet compat store restore /backup/compat-2026-11-28.db --config /etc/collet-server.toml`
}

// restored is what a restore has done.
type restored struct {
	Store   string           `json:"store"`
	Kept    string           `json:"kept"`             // where the store before is, if there was one
	Engine  string           `json:"engine,omitempty"` // where the engine's files are, of a member of a cluster
	Summary operator.Summary `json:"summary"`
}

// Run restores a backup.
func (r restoreCommand) Run(ctx context.Context, c console.Console) error {
	set, err := config.Load(r.Config, r.SubConfig)
	switch {
	case err != nil:
		return err
	case set.Compat.Store == "":
		return &config.Error{File: r.Config, Key: "Compat.Store", Text: "is not set: these settings have no store"}
	}
	if err := r.mayRestore(set); err != nil {
		return err
	}
	aside := time.Now().UTC().Format(".20060102-150405.before")
	out := restored{Store: set.Compat.Store, Kept: set.Compat.Store + aside}
	restoring := operator.Restoring{Backup: r.File, Path: set.Compat.Store, Aside: aside, Founder: set.Cluster.Name}
	if restoring.Founder != "" && !set.Cluster.External() {
		restoring.Engine = set.ClusterFolder()
		out.Engine = restoring.Engine + aside
	}
	if out.Summary, err = operator.Restore(restoring); err != nil {
		return err
	}
	for _, kept := range []*string{&out.Kept, &out.Engine} {
		if _, err := os.Stat(*kept); err != nil {
			*kept = ""
		}
	}
	return r.Print(c.Out, out, func(w io.Writer) error {
		fmt.Fprintf(w, "%s: revision %d, %s as they were written, %s\n", out.Store, out.Summary.Revision, text.Count(out.Summary.Records, "record"), text.Count(out.Summary.Floors, "floor"))
		for _, kept := range []string{out.Kept, out.Engine} {
			if kept != "" {
				fmt.Fprintf(w, "kept what was there: %s\n", filepath.Base(kept))
			}
		}
		if set.Cluster.Name != "" {
			fmt.Fprintln(w, "start this node first, and all others, also those that are no members, with an empty store and without their Cluster.Folder")
		}
		return nil
	})
}

// mayRestore refuses what would not restore anything, because a cluster has the history.
func (r restoreCommand) mayRestore(set config.Settings) error {
	if set.Cluster.Name == "" {
		return nil
	}
	peers, err := set.Cluster.Members()
	switch {
	case err != nil:
		return err
	case !r.Found:
		steps := cmp.Or(map[bool]string{true: "remove the streams COLLET_LOG and COLLET_FLOORS there"}[set.Cluster.External()], "move their stores and their Cluster.Folder away")
		return fmt.Errorf("%q is a node of a cluster, which has the history: a restored node would take that over again. For earlier settings use collet compat rollback. To found the cluster anew from the backup stop all nodes, %s, and repeat this with --found", set.Cluster.Name, steps)
	case !set.Cluster.External() && peers[0].Name != set.Cluster.Name:
		return fmt.Errorf("%q does not found the cluster: restore at %q, the first of Cluster.Peers, and start this node with an empty store and without %s", set.Cluster.Name, peers[0].Name, set.ClusterFolder())
	}
	return nil
}
