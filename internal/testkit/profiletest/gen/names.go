// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// The words that the names of packages, types and functions are made of.
var (
	areas = []string{
		"cart", "catalog", "checkout", "payment", "shipping", "invoice", "ledger", "search", "index", "storage", "cache",
		"queue", "session", "auth", "billing", "metrics", "tracing", "gateway", "router", "codec", "schema", "planner",
		"replica", "snapshot", "journal", "compact", "limiter", "balancer", "resolver", "template", "render", "upload",
	}
	nouns = []string{
		"Client", "Server", "Store", "Reader", "Writer", "Batch", "Cursor", "Encoder", "Decoder", "Pool", "Worker", "Handler",
		"Session", "Order", "Item", "Price", "Token", "Block", "Segment", "Iterator", "Builder", "Plan", "Query", "Row",
		"Column", "Filter", "Cache", "Entry", "Bucket", "Tree", "Node", "Page", "Buffer", "Frame", "Stream", "Scheduler",
	}
	verbs = []string{
		"read", "write", "next", "flush", "merge", "split", "scan", "seek", "append", "commit", "apply", "encode", "decode",
		"validate", "resolve", "lookup", "insert", "update", "remove", "fetch", "load", "save", "open", "close", "grow",
		"compress", "hash", "compare", "sort", "reduce", "collect", "dispatch", "schedule", "retry", "acquire", "release",
	}
	objects = []string{
		"", "All", "Batch", "Next", "Header", "Body", "Key", "Value", "Record", "Page", "Block", "Row", "Locked", "Slow",
		"Fast", "Into", "From", "Range", "Index", "State", "Deadline", "Chunk", "Prefix", "Suffix", "Entry",
	}
	// modules stand in front of a package's path; the empty one is the standard library's.
	modules = []string{"example.com/shop", "example.com/shop/internal", "github.com/example/toolkit", "github.com/example/db/v2", ""}
)

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// goPackage is a package of the imaginary program.
type goPackage struct {
	path, folder string
}

func goPackages(r *rand.Rand, n int) []goPackage {
	packages := make([]goPackage, 0, n)
	seen := map[string]bool{}
	for len(packages) < n {
		module, area := pick(r, modules), pick(r, areas)
		path := area
		if module != "" {
			path = module + "/" + area
		}
		if r.IntN(3) == 0 {
			path += "/" + pick(r, areas)
		}
		if seen[path] {
			continue
		}
		seen[path] = true
		folder := "/usr/local/go/src/" + path
		if module != "" {
			folder = "/go/pkg/mod/" + path
		}
		packages = append(packages, goPackage{path: path, folder: folder})
	}
	return packages
}

// goName returns the name of a function or method the way the Go linker spells it.
func goName(r *rand.Rand, p goPackage) string {
	name := pick(r, verbs) + pick(r, objects)
	switch r.IntN(10) {
	case 0, 1, 2:
		return p.path + "." + name
	case 3:
		return fmt.Sprintf("%s.%s.func%d", p.path, name, 1+r.IntN(4))
	case 4:
		return fmt.Sprintf("%s.(*%s[...]).%s", p.path, pick(r, nouns), name)
	case 5:
		return fmt.Sprintf("%s.%s.%s", p.path, pick(r, nouns), title(name))
	}
	return fmt.Sprintf("%s.(*%s).%s", p.path, pick(r, nouns), title(name))
}

// rubyName returns a method's name the way Ruby's profilers spell it.
func rubyName(r *rand.Rand) string {
	return fmt.Sprintf("%s::%s#%s_%s", title(pick(r, areas)), pick(r, nouns), pick(r, verbs), strings.ToLower(pick(r, nouns)))
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
