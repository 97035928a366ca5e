// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command soak runs the distribution under load and faults, and then accounts for every upload: it has arrived as it was,
// or was refused with a reason. The load comes from a process of its own.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/otelpprof/otelpprof/test/tools/load"
)

// options are what the command line says.
type options struct {
	binary   string
	root     string
	report   string
	duration time.Duration
	senders  int
	// fullDisk adds the fault of a full disk, which the queue of the Collector does not survive without loss.
	fullDisk bool
	// targets are set in the process that makes the load.
	targets load.Targets
}

func main() {
	var o options
	flag.StringVar(&o.binary, "binary", "_build/otelcol-pprof", "the distribution")
	flag.StringVar(&o.root, "root", ".", "the root of the repository")
	flag.StringVar(&o.report, "report", "", "a file whose part between the marks of this command is written anew")
	flag.DurationVar(&o.duration, "duration", 15*time.Minute, "how long uploads are sent")
	flag.IntVar(&o.senders, "senders", 4, "how many uploads are sent at a time")
	flag.BoolVar(&o.fullDisk, "full-disk", false, "fill the disk of the queue, too, which loses profiles; needs the right to mount")
	flag.StringVar(&o.targets.Pprof, "pprof", "", "only make load, for this address of a pprof receiver")
	flag.StringVar(&o.targets.OTLP, "otlp", "", "the address of its OTLP receiver")
	flag.StringVar(&o.targets.Splunk, "splunk", "", "the address of its splunk_log_profile receiver")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	work := soak
	if o.targets.Pprof != "" {
		work = makeLoad
	}
	if err := work(ctx, &o); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // stop was called
	}
}
