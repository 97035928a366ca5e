// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command memorytable measures what GOGC and GOMEMLIMIT cost and save: the built distribution runs with a configuration of the
// folder config while many senders upload one profile at a time each, for every pair of the two. It prints a table for
// docs/operations.md. It needs Linux, and is run at the root of the repository:
//
//	go -C test run ./tools/memorytable
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

type options struct {
	binary, config, profile  string
	limits, targets          string
	rounds, uploads, senders int
}

func main() {
	var o options
	flag.StringVar(&o.binary, "binary", "../_build/full/otelcol-pprof", "the built distribution")
	flag.StringVar(&o.config, "config", "../config/gateway.yaml", "its configuration")
	flag.StringVar(&o.profile, "profile", "../testdata/pprof/cpu.pb.gz", "what is uploaded")
	flag.StringVar(&o.limits, "gomemlimit", "off,400MiB,200MiB", "the values of GOMEMLIMIT")
	flag.StringVar(&o.targets, "gogc", "50,100,200,400", "the values of GOGC")
	flag.IntVar(&o.rounds, "rounds", 3, "measurements of each pair")
	flag.IntVar(&o.uploads, "uploads", 300, "uploads in one measurement")
	flag.IntVar(&o.senders, "senders", 16, "uploads under way at a time")
	flag.Parse()
	if err := run(context.Background(), &o); err != nil {
		fmt.Fprintln(os.Stderr, "memorytable:", err)
		os.Exit(1)
	}
}

// row is a pair of the two, and what was measured with it.
type row struct {
	limit, target string
	cpu           []time.Duration
	memory        []int64
}

func run(ctx context.Context, o *options) error {
	profile, err := os.ReadFile(o.profile)
	if err != nil {
		return err
	}
	var rows []*row
	for limit := range strings.SplitSeq(o.limits, ",") {
		for target := range strings.SplitSeq(o.targets, ",") {
			rows = append(rows, &row{limit: limit, target: target})
		}
	}
	// One round after the other, so that what disturbs the machine disturbs all rows.
	for range o.rounds {
		for _, r := range rows {
			if err := measure(ctx, o, r, profile); err != nil {
				return fmt.Errorf("GOMEMLIMIT=%s GOGC=%s: %w", r.limit, r.target, err)
			}
		}
	}
	fmt.Println("| `GOMEMLIMIT` | `GOGC` | CPU per upload | largest anonymous memory |\n|---|---:|---:|---:|")
	for _, r := range rows {
		fmt.Printf("| %s | %s | %.1f ms | %d MiB |\n", r.limit, r.target, float64(median(r.cpu))/float64(time.Millisecond), slices.Max(r.memory)>>20)
	}
	return nil
}

func median(times []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(times))[len(times)/2]
}
