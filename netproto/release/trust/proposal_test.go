package trust_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/theupdateframework/go-tuf/v2/metadata"

	"collet/netproto/release"
	"collet/netproto/release/trust"
)

// newStageOfThree is a stage whose releases two of three targets keys have to sign.
func newStageOfThree(t testing.TB) *stage {
	t.Helper()
	s := &stage{t: t, keys: newKeyring(t), folder: &trust.MemoryStore{}, store: &trust.MemoryStore{}, clock: epoch}
	s.keys[trust.RoleTargets] = append(s.keys[trust.RoleTargets], newKey(t), newKey(t))
	s.net = &network{folder: s.folder}
	plan := s.keys.plan(trust.KeyRoles()...)
	targets := plan[trust.RoleTargets]
	targets.Threshold = 2
	plan[trust.RoleTargets] = targets
	var err error
	s.repo, err = trust.CreateRepo(s.folder, plan, s.keys.all(), s.options())
	s.must(err)
	s.root = s.repo.Root()
	return s
}

// onlineOnly are the keys of the machine that installs proposals.
func (s *stage) onlineOnly() []*trust.PrivateKey {
	return append(slices.Clone(s.keys[trust.RoleSnapshot]), s.keys[trust.RoleTimestamp]...)
}

// propose proposes these releases in addition.
func (s *stage) propose(entries ...release.Entry) []byte {
	s.t.Helper()
	proposal, err := s.repo.ProposeEntries(append(s.repo.Entries(), entries...))
	s.must(err)
	return proposal
}

func (s *stage) signed(proposal []byte, keys ...*trust.PrivateKey) []byte {
	s.t.Helper()
	for _, k := range keys {
		var err error
		proposal, err = trust.SignProposal(s.repo.Root(), proposal, k)
		s.must(err)
	}
	return proposal
}

func TestProposal(t *testing.T) {
	s := newStageOfThree(t)
	targets := s.keys[trust.RoleTargets]
	s.publish(1) // one machine with all keys
	draft := s.propose(s.entry(2))
	if info, err := trust.DescribeProposal(s.root, draft); err != nil || len(info.Signers) != 0 || info.Need != 2 || len(info.Entries) != 2 || info.Version != 3 {
		t.Fatalf("%+v, %v", info, err)
	}
	one := s.signed(draft, targets[0], targets[0])
	for what, proposal := range map[string][]byte{"unsigned": draft, "one person's, twice": one} {
		var fault *trust.Error
		if err := s.repo.InstallProposal(proposal, s.onlineOnly()); !errors.As(err, &fault) || fault.Fault != trust.FaultUnsigned {
			t.Errorf("%s: %v", what, err)
		}
	}
	two := s.signed(one, targets[2])
	if info, err := trust.DescribeProposal(s.root, two); err != nil || len(info.Signers) != 2 {
		t.Errorf("%+v, %v", info, err)
	}
	var keys *trust.KeysError
	if err := s.repo.InstallProposal(two, s.keys[trust.RoleTimestamp]); !errors.As(err, &keys) || keys.Role != trust.RoleSnapshot {
		t.Errorf("without the snapshot key: %v", err)
	}
	s.must(s.repo.InstallProposal(two, s.onlineOnly()))
	s.must(s.repo.InstallProposal(two, s.onlineOnly())) // twice is once
	reopened, err := trust.OpenRepo(s.folder, s.options())
	s.must(err)
	if got := reopened.Entries(); len(got) != 2 || got[1].Number != 2 {
		t.Errorf("%v", got)
	}
	s.wants(2)
}

// TestProposalsDoNotOverwrite: a list that changed in between is not put back by a proposal that was made from the one before.
func TestProposalsDoNotOverwrite(t *testing.T) {
	s := newStageOfThree(t)
	targets := s.keys[trust.RoleTargets]
	s.publish(1)
	proposal := s.signed(s.propose(s.entry(2)), targets...)
	s.publish(3)
	if err := s.repo.InstallProposal(proposal, s.onlineOnly()); !errors.Is(err, trust.ErrOutdatedProposal) {
		t.Errorf("%v", err)
	}
	// A proposal of an interrupted installation, or an unsigned one, lies under its name without being referred to.
	s.must(s.folder.Save("metadata/4.targets.json", []byte("left")))
	s.must(s.repo.InstallProposal(s.signed(s.propose(s.entry(4)), targets[:2]...), s.onlineOnly()))
	s.wants(4)
}

// TestProposalIsChecked: signatures alone do not let a proposal break what a list promises.
func TestProposalIsChecked(t *testing.T) {
	s := newStageOfThree(t)
	targets := s.keys[trust.RoleTargets]
	s.publish(1, 2)
	killed := s.repo.Entries()
	killed[1].Killed = true
	revived := s.signed(s.propose(s.entry(3)), targets...)
	s.must(s.repo.SetEntries(killed, s.keys.all()))
	before := s.folder.Names()
	for what, test := range map[string]struct {
		proposal []byte
		want     string
	}{
		"outdated":   {revived, "has changed since"},
		"no JSON":    {[]byte("{"), "malformed"},
		"too long":   {make([]byte, trust.MaxTargets+1), "long"},
		"of nothing": {nil, "malformed"},
	} {
		if err := s.repo.InstallProposal(test.proposal, s.onlineOnly()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if after := s.folder.Names(); !slices.Equal(before, after) {
		t.Errorf("a refused proposal left files: %q, then %q", before, after)
	}
	if _, err := s.repo.ProposeEntries(s.repo.Entries()[:1]); err == nil {
		t.Error("a proposal drops the newest release")
	}
	s.clock = s.clock.Add(2 * year)
	if err := s.repo.InstallProposal(s.signed(s.propose(), targets...), s.onlineOnly()); err != nil {
		t.Errorf("proposed after everything expired: %v", err)
	}
	stale := s.signed(s.propose(), targets...)
	s.clock = s.clock.Add(2 * year)
	if err := s.repo.InstallProposal(stale, s.onlineOnly()); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("an expired proposal: %v", err)
	}
}

// TestSignProposalOfStranger: only a key that the root names for targets counts or is added.
func TestSignProposalOfStranger(t *testing.T) {
	s := newStageOfThree(t)
	draft := s.propose(s.entry(1))
	for what, key := range map[string]*trust.PrivateKey{"a stranger's": newKey(t), "the snapshot": s.keys[trust.RoleSnapshot][0], "a root": s.keys[trust.RoleRoot][0]} {
		if _, err := trust.SignProposal(s.root, draft, key); err == nil || !strings.Contains(err.Error(), "does not let key") {
			t.Errorf("%s key: %v", what, err)
		}
	}
}

// TestExternalKey: another program's signatures are as good, and wrong ones are noticed at once.
func TestExternalKey(t *testing.T) {
	s := newStageOfThree(t)
	inside := s.keys[trust.RoleTargets][0]
	outside := trust.NewExternalKey(inside.Public(), inside.Sign)
	if info, err := trust.DescribeProposal(s.root, s.signed(s.propose(s.entry(1)), outside)); err != nil || len(info.Signers) != 1 {
		t.Errorf("%+v, %v", info, err)
	}
	if _, err := outside.Encode([]byte("correct horse")); err == nil {
		t.Error("the private half of an external key was written")
	}
	broken := errors.New("no card in the reader")
	for want, sign := range map[string]func([]byte) ([]byte, error){
		"not one of key":            newKey(t).Sign,
		"no card in the reader":     func([]byte) ([]byte, error) { return nil, broken },
		"was signed in another way": func(m []byte) ([]byte, error) { return m, nil },
	} {
		_, err := trust.SignProposal(s.root, s.propose(s.entry(1)), trust.NewExternalKey(inside.Public(), sign))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestRootWithoutTheTargetsKey: a root that changes other keys is installed without the keys that sign releases, and keeps their threshold.
func TestRootWithoutTheTargetsKey(t *testing.T) {
	s := newStageOfThree(t)
	s.publish(1)
	s.keys[trust.RoleTimestamp] = []*trust.PrivateKey{newKey(t)}
	draft, err := s.repo.DraftRoot(s.keys.plan(trust.RoleTimestamp, trust.RoleTargets))
	s.must(err)
	for _, k := range s.keys[trust.RoleRoot] {
		draft, err = trust.SignRoot(draft, k)
		s.must(err)
	}
	s.must(s.repo.InstallRoot(draft, s.onlineOnly()))
	if got := s.repo.RootInfo(); got.Version != 2 || got.Roles[trust.RoleTargets].Threshold != 2 {
		t.Errorf("%+v", got)
	}
	s.wants(1)
	s.keys[trust.RoleTargets] = []*trust.PrivateKey{newKey(t), newKey(t)}
	draft, err = s.repo.DraftRoot(s.keys.plan(trust.RoleTargets))
	s.must(err)
	for _, k := range s.keys[trust.RoleRoot] {
		draft, err = trust.SignRoot(draft, k)
		s.must(err)
	}
	var keys *trust.KeysError
	if err := s.repo.InstallRoot(draft, s.onlineOnly()); !errors.As(err, &keys) || keys.Role != trust.RoleTargets {
		t.Errorf("new targets keys that sign nothing: %v", err)
	}
}

// TestProposalHoldsReleasesOnly: what a proposal may not hold is found before it is signed, and not installed with all signatures.
func TestProposalHoldsReleasesOnly(t *testing.T) {
	s := newStageOfThree(t)
	s.publish(1)
	signed := s.read(s.repo.Lists()[1])
	draft := s.propose(s.entry(2))
	edit := func(change func(*metadata.Metadata[metadata.TargetsType])) []byte {
		m, err := metadata.Targets().FromBytes(draft)
		s.must(err)
		change(m)
		data, err := m.ToBytes(false)
		s.must(err)
		return data
	}
	for want, change := range map[string]func(*metadata.Metadata[metadata.TargetsType]){
		"has changed since": func(m *metadata.Metadata[metadata.TargetsType]) { m.Signed.Version = 1 << 40 },
		"longer than any":   func(m *metadata.Metadata[metadata.TargetsType]) { m.Signed.Expires = s.clock.Add(12 * year) },
		"more than releases": func(m *metadata.Metadata[metadata.TargetsType]) {
			for _, file := range m.Signed.Targets {
				m.Signed.Targets["hidden/elsewhere"] = file
			}
		},
		"more than releases, which": func(m *metadata.Metadata[metadata.TargetsType]) { m.Signed.UnrecognizedFields = map[string]any{"x": 1} },
	} {
		bad := edit(change)
		if err := trust.CheckProposal(s.root, signed, bad, s.clock); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("shown as fit: %v, want %q", err, want)
		}
		if err := s.repo.InstallProposal(s.signed(bad, s.keys[trust.RoleTargets]...), s.onlineOnly()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("installed: %v, want %q", err, want)
		}
	}
	if err := trust.CheckProposal(s.root, signed, draft, s.clock); err != nil {
		t.Error(err)
	}
	if err := trust.CheckProposal(s.root, signed, signed, s.clock); err != nil {
		t.Errorf("what is public already: %v", err)
	}
}

// TestInstallRootAgain: an installation of a root that was interrupted behind the root, where the lists suit it as they are, is finished by
// the same bytes.
func TestInstallRootAgain(t *testing.T) {
	s := newStageOfThree(t)
	s.publish(1)
	draft, err := s.repo.DraftRoot(nil)
	s.must(err)
	for _, k := range s.keys[trust.RoleRoot] {
		draft, err = trust.SignRoot(draft, k)
		s.must(err)
	}
	s.must(s.folder.Save("metadata/2.root.json", draft)) // and nothing else
	repo, err := trust.OpenRepo(s.folder, s.options())
	s.must(err)
	s.must(repo.InstallRoot(draft, s.onlineOnly()))
	if repo.RootInfo().Version != 2 {
		t.Errorf("%+v", repo.RootInfo())
	}
	s.wants(1)
}
