// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/google/pprof/profile"
)

// program is an imaginary Go program: functions that call each other, of which stacks are walked.
type program struct {
	random    *rand.Rand
	profile   *profile.Profile
	functions []*goFunction
	roots     []*goFunction
	locations map[string]*profile.Location
}

// goFunction is a function with the places where it calls others.
type goFunction struct {
	function *profile.Function
	base     uint64
	placed   uint64
	sites    []callSite
}

// callSite is a line that calls a function, which the compiler may have inlined there.
type callSite struct {
	line    int64
	callee  *goFunction
	inlined bool
}

const (
	functionSpacing = 0x340
	textStart       = 0x401000
)

// newProgram returns a program of this many packages and functions, the same for the same seed.
func newProgram(seed uint64, packages, functions int) *program {
	p := &program{
		random:    rand.New(rand.NewPCG(seed, seed)),
		profile:   &profile.Profile{Mapping: goMappings()},
		locations: map[string]*profile.Location{},
	}
	paths := goPackages(p.random, packages)
	seen := map[string]bool{}
	for len(p.functions) < functions {
		in := pick(p.random, paths)
		name := goName(p.random, in)
		if seen[name] {
			continue
		}
		seen[name] = true
		file := fmt.Sprintf("%s/%s.go", in.folder, pick(p.random, areas))
		p.addFunction(name, file, int64(10+p.random.IntN(900)))
	}
	for _, f := range p.functions {
		p.addCalls(f)
	}
	for _, name := range []string{"runtime.main", "net/http.(*conn).serve", "example.com/shop/worker.(*Pool).run"} {
		root := p.addFunction(name, "/usr/local/go/src/runtime/proc.go", int64(100+p.random.IntN(100)))
		p.addCalls(root)
		p.roots = append(p.roots, root)
	}
	return p
}

func (p *program) addFunction(name, file string, startLine int64) *goFunction {
	f := &goFunction{
		base: textStart + uint64(len(p.functions))*functionSpacing,
		function: &profile.Function{
			ID: uint64(len(p.functions) + 1), Name: name, SystemName: name, Filename: file, StartLine: startLine,
		},
	}
	p.functions = append(p.functions, f)
	return f
}

// addCalls gives f a handful of call sites. Callees are spread unevenly, as in real programs: a few are called a lot.
func (p *program) addCalls(f *goFunction) {
	line := f.function.StartLine
	for range 2 + p.random.IntN(6) {
		line += int64(1 + p.random.IntN(12))
		skewed := p.random.Float64() * p.random.Float64()
		f.sites = append(f.sites, callSite{
			line: line, callee: p.functions[int(skewed*float64(len(p.functions)))], inlined: p.random.IntN(6) == 0,
		})
	}
}

// stack walks down from a root and returns the locations, leaf first. depth is the number of functions on the way.
func (p *program) stack(depth int) []*profile.Location {
	var stack []*profile.Location
	outer := pick(p.random, p.roots)
	inner, lines := outer, []profile.Line(nil)
	for ; depth > 0; depth-- {
		// The first call sites are taken more often, which makes stacks share their outer part.
		skewed := p.random.Float64() * p.random.Float64() * p.random.Float64()
		site := inner.sites[int(skewed*float64(len(inner.sites)))]
		lines = append([]profile.Line{{Function: inner.function, Line: site.line}}, lines...)
		if inner = site.callee; site.inlined && len(lines) < 4 && depth > 1 {
			continue
		}
		stack = append(stack, p.location(outer, lines))
		outer, lines = inner, nil
	}
	for i, j := 0, len(stack)-1; i < j; i, j = i+1, j-1 {
		stack[i], stack[j] = stack[j], stack[i]
	}
	return stack
}

// location returns the place in outer at which these lines, innermost first, were executing.
func (p *program) location(outer *goFunction, lines []profile.Line) *profile.Location {
	var text strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&text, "%d:%d ", line.Function.ID, line.Line)
	}
	key := text.String()
	if l, ok := p.locations[key]; ok {
		return l
	}
	outer.placed += uint64(5 + p.random.IntN(40))
	l := &profile.Location{
		ID: uint64(len(p.locations) + 1), Mapping: p.profile.Mapping[0], Address: outer.base + outer.placed, Line: lines,
	}
	p.locations[key] = l
	p.profile.Location = append(p.profile.Location, l)
	return l
}

// finish completes the tables: functions in order of first use, as Go writes them.
func (p *program) finish() *profile.Profile {
	seen := map[*profile.Function]bool{}
	for _, l := range p.profile.Location {
		for _, line := range l.Line {
			if f := line.Function; !seen[f] {
				seen[f] = true
				p.profile.Function = append(p.profile.Function, f)
			}
		}
	}
	for i, f := range p.profile.Function {
		f.ID = uint64(i + 1)
	}
	return p.profile
}

// goMappings are what Go finds in /proc/self/maps: the binary, which alone has functions, and what the kernel adds.
func goMappings() []*profile.Mapping {
	return []*profile.Mapping{
		{
			ID: 1, Start: 0x400000, Limit: 0x1c3e000, File: "/usr/local/bin/shop",
			BuildID: "8f0c3fd2a41be6c0d5a7b6a9c6f5be1a30dd74a2", HasFunctions: true,
		},
		{ID: 2, Start: 0x7f1a2c000000, Limit: 0x7f1a2c1a0000, Offset: 0x28000, File: "/usr/lib/x86_64-linux-gnu/libc.so.6", BuildID: "69389d485a9793dbe873f0ea2c93e02efaa9aa3d"},
		{ID: 3, Start: 0x7f1a2c3f2000, Limit: 0x7f1a2c41c000, Offset: 0x2000, File: "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", BuildID: "4186944c50f8a32b47d74931e3f512b811813b64"},
		{ID: 4, Start: 0x7ffd5a7d9000, Limit: 0x7ffd5a7db000, File: "[vdso]", BuildID: "83dd33c85d20b9b0fc1d9bc1ea1f5d8ef0a1b0a8"},
		{ID: 5, Start: 0xffffffffff600000, Limit: 0xffffffffff601000, File: "[vsyscall]"},
	}
}
