// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command speed writes the part of docs/performance.md that tells what an upload costs the built distribution, and how
// long a sender waits: the same profile by each API and to each output, from this process to a gateway in a process of its own.
//
// The yardstick is the work that no gateway can avoid, in this process, on the same bytes. Both sides are CPU time of a
// whole process, garbage collection included; they are measured by turns, so that what disturbs the machine disturbs
// both. With -base it compares two builds instead, and with -steady it writes docs/latency.md.
// It needs Linux, which tells the CPU time of other processes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.binary, "binary", os.Getenv("OTELPPROF_BINARY"), "the built distribution")
	flag.StringVar(&o.configs, "configs", "../../config", "the folder of the shipped configurations")
	flag.StringVar(&o.base, "base", "", "another build: only compare the two, by turns")
	flag.StringVar(&o.baseConfigs, "base-configs", "../../config", "the configurations of the other build")
	flag.StringVar(&o.shipped, "shipped", "", "only measure these shipped configurations, such as gateway.yaml,agent.yaml")
	flag.StringVar(&o.variants, "variants", "", "measure each shipped configuration with each of these, separated by \";\": yaml:a::b: c, or NAME=value of the environment")
	flag.StringVar(&o.profile, "profile", "../../testdata/pprof/cpu.pb.gz", "what is uploaded")
	flag.IntVar(&o.rounds, "rounds", 6, "measurements of each route")
	flag.IntVar(&o.uploads, "uploads", 300, "uploads in one measurement")
	flag.IntVar(&o.senders, "senders", 16, "uploads under way at a time")
	flag.IntVar(&o.tenants, "tenants", 0, "values of the header X-Scope-OrgID, with -shipped")
	flag.DurationVar(&o.load, "load", 20*time.Second, "how long uploads begin at fixed times, for each load")
	flag.DurationVar(&o.steady, "steady", 0, "only measure the latency under a steady load for so long")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "speed:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	profile, err := os.ReadFile(o.profile)
	if err != nil {
		return err
	}
	y, err := newYardsticks(profile, o.senders)
	if err != nil {
		return err
	}
	uploads, err := uploadsOf(y[0])
	if err != nil {
		return err
	}
	chosen, err := shippedOf(o.shipped, o.variants)
	if err != nil {
		return err
	}
	if o.base != "" {
		pairs := pairsOf(uploads, chosen)
		if o.shipped != "" {
			pairs = slices.DeleteFunc(pairs, func(p *pair) bool { return !p.shipped })
		}
		if err := measurePairs(o, pairs); err != nil {
			return err
		}
		_, err = os.Stdout.WriteString(renderPairs(o, pairs))
		return errors.Join(err, checkPairs(pairs))
	}
	if o.steady > 0 {
		s, err := measureSteady(o, uploads[0])
		if err != nil {
			return err
		}
		_, err = os.Stdout.WriteString(renderSteady(o, len(profile), s))
		return err
	}
	if o.shipped != "" {
		results, err := measureShipped(o, y, uploads, chosen)
		if err != nil {
			return err
		}
		_, err = os.Stdout.WriteString(renderShipped(o, results))
		return err
	}
	results, of, err := measure(o, y, uploads)
	if err != nil {
		return err
	}
	configurations, err := measureShipped(o, y, uploads, chosen)
	if err != nil {
		return err
	}
	_, err = os.Stdout.WriteString(render(o, len(profile), results) + renderShares(profiledOutputs, of) + renderShipped(o, configurations) +
		"\nMade by `go -C test/clients run ./speed`.\n")
	return err
}
