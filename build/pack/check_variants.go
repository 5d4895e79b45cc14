package pack

import (
	"slices"

	"collet/netproto/product"
)

func (c *checker) variants() {
	c.few("variant", len(c.p.Variants), maxVariants)
	seen := map[string]bool{folded(c.p.Game.Name): true}
	for i := range c.p.Variants {
		v, key := &c.p.Variants[i], element("variant", i)
		c.variant(key, v)
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
		c.variantTargets(key, v)
		c.variantBuilds(key, v)
		c.settings(key+".settings", v.Settings)
	}
}

func (c *checker) variant(key string, v *Variant) {
	ways := []string{string(product.TotalProfiling), string(product.OnDemandProfiling)}
	if v.Profiling != "" && !slices.Contains(ways, v.Profiling) {
		c.add(key+".profiling", didYouMean(v.Profiling, ways), "%q is unknown", v.Profiling)
		return
	}
	if err := v.variant().Check(); err != nil {
		c.add(key+".postfix", "", "%v", err)
	}
}

// variantTargets checks the targets of a variant, and fills in the default.
func (c *checker) variantTargets(key string, v *Variant) {
	for i, name := range v.Targets {
		at := element(key+".targets", i)
		if c.misnamed() && !c.hasTarget(name) {
			continue // it may be the misspelt one
		} else if !c.hasTarget(name) {
			c.add(at, didYouMean(name, c.targetNames()), "%q has no table [[target]]", name)
		} else if err := v.variant().On(product.Target(name)); err != nil {
			c.add(at, "take it out", "%v", err)
		}
	}
	if len(v.Targets) > 0 {
		return
	}
	for _, name := range c.targetNames() {
		if v.variant().On(product.Target(name)) == nil && !slices.Contains(v.Targets, name) {
			v.Targets = append(v.Targets, name)
		}
	}
	if len(v.Targets) == 0 && len(c.p.Targets) > 0 {
		c.add(key, "take it out, or add a target that can", "no target can have it")
	}
}

// misnamed reports whether a target has an unknown name.
func (c *checker) misnamed() bool {
	for i := range c.p.Targets {
		if c.isBroken(element("target", i) + ".name") {
			return true
		}
	}
	return false
}

func (c *checker) variantBuilds(key string, v *Variant) {
	c.few(key+".build", len(v.Builds), maxTargets)
	for i := range v.Builds {
		b, at := &v.Builds[i], element(key+".build", i)
		switch {
		case b.Name == "":
			c.missing(at+".name", "want "+oneOf(v.Targets))
		case !slices.Contains(v.Targets, b.Name):
			c.add(at+".name", didYouMean(b.Name, v.Targets), "the variant has no target %q", b.Name)
		case slices.ContainsFunc(v.Builds[:i], func(o Target) bool { return o.Name == b.Name }):
			c.add(at+".name", "put both into one table", "%q is there twice", b.Name)
		}
		c.files(at, b, product.Target(b.Name))
		if isWindows(b.Name) && b.Module != "" && b.ModulePDB == "" && !b.NoSymbols {
			c.missing(at+".module-pdb", "name the symbols of the variant's own module, or say no-symbols = true")
		}
	}
	if v.Profiling == "" && !v.Headless {
		return
	}
	for _, name := range v.Targets {
		if !slices.ContainsFunc(v.Builds, func(b Target) bool { return b.Name == name && (b.Module != "" || b.Host != "") }) {
			c.add(key+".build", "add [[variant.build]] with name and module, or name the targets that have it in targets",
				"nothing was built for the variant %s on %s: it would be the plain one under another name", v.variant(), name)
		}
	}
}

// builds combines every variant with its targets and checks their companions. A description with mistakes also has builds, some of them
// unusable.
func (c *checker) builds() (list []Build) {
	for i, t := range c.p.Targets {
		plain := c.build(t, Variant{}, Target{})
		c.config("client.settings", plain.Config)
		c.configFits(plain)
		c.beside(element("target", i)+".companions", plain)
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
			b := c.build(t, v, own)
			c.beside(key+".companions", b)
			c.config(element("variant", j)+".settings", b.Config)
			c.configFits(b)
			list = append(list, b)
		}
	}
	return list
}

// build returns one build: the variant's own files, else those of the target. Symbols belong to the file that they were made with.
func (c *checker) build(t Target, v Variant, own Target) Build {
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
	return b
}
