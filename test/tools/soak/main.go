// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command soak runs the distribution under load and faults, and then checks the result of every upload: it has arrived
// unchanged, or was refused with a reason.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are the options of the command line.
type options struct {
	binary   string
	root     string
	report   string
	duration time.Duration
	senders  int
}

func main() {
	var o options
	flag.StringVar(&o.binary, "binary", "_build/full/otelcol-pprof", "the distribution")
	flag.StringVar(&o.root, "root", ".", "the root of the repository")
	flag.StringVar(&o.report, "report", "", "a file; the part between the marks of this command is replaced")
	flag.DurationVar(&o.duration, "duration", 15*time.Minute, "how long uploads are sent")
	flag.IntVar(&o.senders, "senders", 4, "how many uploads are sent at a time")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := soak(ctx, &o); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // stop was called
	}
}
