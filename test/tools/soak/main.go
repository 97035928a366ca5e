// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command soak runs the distribution under load and faults, and then checks the result of every upload: it has arrived
// unchanged, or was refused with a reason. The load comes from a separate process.
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

// options are the options of the command line.
type options struct {
	binary   string
	root     string
	report   string
	duration time.Duration
	senders  int
	// fullDisk adds the fault of a full disk. The queue of the Collector loses data then.
	fullDisk bool
	// targets are set in the process that sends the uploads.
	targets load.Targets
}

func main() {
	var o options
	flag.StringVar(&o.binary, "binary", "_build/full/otelcol-pprof", "the distribution")
	flag.StringVar(&o.root, "root", ".", "the root of the repository")
	flag.StringVar(&o.report, "report", "", "a file; the part between the marks of this command is replaced")
	flag.DurationVar(&o.duration, "duration", 15*time.Minute, "how long uploads are sent")
	flag.IntVar(&o.senders, "senders", 4, "how many uploads are sent at a time")
	flag.BoolVar(&o.fullDisk, "full-disk", false, "also fill the disk of the queue, which loses profiles; needs permission to mount")
	flag.StringVar(&o.targets.Pprof, "pprof", "", "only send uploads, to this address of a pprof receiver")
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
