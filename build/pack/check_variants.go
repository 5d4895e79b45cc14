package pack

import (
	"cmp"
	"slices"

	"collet/build/advice"
	"collet/netproto/product"
)

// variantChecker checks the variants, and combines them with the targets.
type variantChecker struct {
	*valueChecker
	p     *Project // with checked targets
	files *targetChecker
	rooms *roomChecker
}

func (c *variantChecker) check() {
	c.checkCount("variant", len(c.p.Variants), maxVariants)
	seen := map[string]bool{folded(c.p.Game.Name): true}
	for i := range c.p.Variants {
		v, key := &c.p.Variants[i], element("variant", i)
		c.checkName(key, v)
		base := folded(v.variant().Base(c.p.Game.Name))
		switch {
		case v.variant() == product.Variant{}:
			c.add(key, "give it profiling, opengl, headless or postfix", "is the plain build, which is there without saying so")
		case c.isBroken(key + ".profiling"), c.isBroken(key + ".postfix"):
			continue // an invalid or unidentifiable variant
		case seen[base]:
			c.add(key, "give one of them another postfix", "is the second one that is called %s", v.variant().Base(c.p.Game.Name))
		}
		seen[base] = true
		c.checkTargets(key, v)
		c.checkBuilds(key, v)
		c.checkSettings(key+".settings", v.Settings)
	}
}

func (c *variantChecker) checkName(key string, v *Variant) {
	modes := []string{string(product.TotalProfiling), string(product.OnDemandProfiling)}
	if v.Profiling != "" && !slices.Contains(modes, v.Profiling) {
		c.add(key+".profiling", advice.DidYouMean(v.Profiling, modes), "%q is unknown", v.Profiling)
		return
	}
	if err := v.variant().Check(); err != nil {
		c.add(key+".postfix", "", "%v", err)
	}
}

// checkTargets checks the targets of a variant, and fills in the default.
func (c *variantChecker) checkTargets(key string, v *Variant) {
	for i, name := range v.Targets {
		at := element(key+".targets", i)
		if c.hasMisnamedTarget() && !hasTarget(c.p.Targets, name) {
			continue // it may be the misspelt one
		} else if !hasTarget(c.p.Targets, name) {
			c.add(at, advice.DidYouMean(name, targetNames(c.p.Targets)), "%q has no table [[target]]", name)
		} else if err := v.variant().On(product.Target(name)); err != nil {
			c.add(at, "take it out", "%v", err)
		}
	}
	if len(v.Targets) > 0 {
		return
	}
	for _, name := range targetNames(c.p.Targets) {
		if v.variant().On(product.Target(name)) == nil && !slices.Contains(v.Targets, name) {
			v.Targets = append(v.Targets, name)
		}
	}
	if len(v.Targets) == 0 && len(c.p.Targets) > 0 {
		c.add(key, "take it out, or add a target that can", "no target can have it")
	}
}

// hasMisnamedTarget reports whether a target has an unknown name.
func (c *variantChecker) hasMisnamedTarget() bool {
	for i := range c.p.Targets {
		if c.isBroken(element("target", i) + ".name") {
			return true
		}
	}
	return false
}

func (c *variantChecker) checkBuilds(key string, v *Variant) {
	c.checkCount(key+".build", len(v.Builds), maxTargets)
	isProgram := c.p.isProgram()
	for i := range v.Builds {
		b, at := &v.Builds[i], element(key+".build", i)
		switch {
		case b.Name == "":
			c.addMissing(at+".name", "want "+advice.OneOf(v.Targets))
		case !slices.Contains(v.Targets, b.Name):
			c.add(at+".name", advice.DidYouMean(b.Name, v.Targets), "the variant has no target %q", b.Name)
		case slices.ContainsFunc(v.Builds[:i], func(o Target) bool { return o.Name == b.Name }):
			c.add(at+".name", "put both into one table", "%q is there twice", b.Name)
		}
		if isProgram {
			c.files.launches.checkVariant(at, c.p, b)
		} else if b.Program != "" || b.Folder != "" || b.Args != nil || b.Env != nil || b.Wrapper != nil {
			c.add(at, "leave them out, or name the game's executable in target.program", "has keys of a program, and the game is a module")
		}
		c.files.checkFiles(at, b, product.Target(b.Name))
		if isWindows(b.Name) && b.Module != "" && b.ModulePDB == "" && !b.NoSymbols {
			c.addMissing(at+".module-pdb", "name the symbols of the variant's own module, or say no-symbols = true")
		}
	}
	if v.Profiling == "" && !v.Headless {
		return
	}
	for _, name := range v.Targets {
		if !slices.ContainsFunc(v.Builds, func(b Target) bool {
			return b.Name == name && (b.Module != "" || b.Host != "" || b.Program != "" || b.Args != nil)
		}) {
			c.add(key+".build", "add [[variant.build]] with name and module, or name the targets that have it in targets",
				"nothing was built for the variant %s on %s: it would be the plain one under another name", v.variant(), name)
		}
	}
}

// combine combines every variant with its targets and checks their companions. A description with mistakes also has builds, some of them
// unusable.
func (c *variantChecker) combine() (list []Build) {
	for i, t := range c.p.Targets {
		plain := c.compose(t, Variant{}, Target{})
		c.checkConfig("client.settings", plain.Config)
		c.rooms.checkSettings(plain)
		c.files.launches.checkBuild(element("target", i), plain)
		c.files.checkNeighbours(element("target", i)+".companions", plain)
		list = append(list, plain)
		for j, v := range c.p.Variants {
			if !slices.Contains(v.Targets, t.Name) {
				continue
			}
			own, key := Target{}, element("target", i)
			for k, b := range v.Builds {
				if b.Name == t.Name {
					if own = b; len(b.Companions) > 0 {
						key = element(element("variant", j)+".build", k)
					}
				}
			}
			b := c.compose(t, v, own)
			c.files.checkNeighbours(key+".companions", b)
			c.checkConfig(element("variant", j)+".settings", b.Config)
			c.rooms.checkSettings(b)
			c.files.launches.checkBuild(key, b)
			list = append(list, b)
		}
	}
	return list
}

// compose returns one build: the variant's own files, else those of the target. Symbols belong to the file that they were made with.
func (c *variantChecker) compose(t Target, v Variant, own Target) Build {
	b := Build{
		Target: product.Target(t.Name), Variant: v.variant(), Base: v.variant().Base(c.p.Game.Name),
		Host: t.Host, HostPDB: t.HostPDB, Module: t.Module, ModulePDB: t.ModulePDB, Companions: t.Companions, Config: c.p.config(v),
	}
	if own.Host != "" {
		b.Host, b.HostPDB = own.Host, own.HostPDB
	}
	if own.Module != "" {
		b.Module, b.ModulePDB = own.Module, own.ModulePDB
	}
	if len(own.Companions) > 0 {
		b.Companions = own.Companions
	}
	if t.Program != "" {
		b.Program, b.Folder, b.Launch = cmp.Or(own.Program, t.Program), t.Folder, c.p.Launch.over(t).over(own)
		b.files = c.files.launches.files[t.Folder]
	}
	return b
}
