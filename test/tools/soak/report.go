// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/test/tools/load"
)

// result is the result of a run.
type result struct {
	options  *options
	outcomes []load.Outcome
	// wrong describes uploads that were accepted or refused incorrectly, or refused for the wrong reason.
	wrong []string
	// refusals has the counts by reason. incorrect describes counts of the gateway that differ from the uploads.
	refusals  map[load.Reason]*count
	incorrect []string
	faults    []*fault
	balance   profiletest.Balance
	took      time.Duration
	shutdown  time.Duration
	cpu       time.Duration
	// peak is the resident memory, anonymous is the part of it that is not mapped from files.
	peak, anonymous int64
}

const (
	beginMark = "<!-- make soak-faults writes what follows -->\n"
	endMark   = "<!-- end of what make soak-faults writes -->\n"
)

// write prints the result and writes it into the report. It returns an error if an upload was lost, or answered or
// counted incorrectly.
func (r *result) write() error {
	text := r.text()
	fmt.Print(text)
	var errs []error
	if !r.balance.Even() || len(r.wrong)+len(r.incorrect) > 0 {
		errs = append(errs, fmt.Errorf("the results do not match the uploads: %v; missing %q, unknown %q, changed %q; answered incorrectly: %d, such as %q; counted incorrectly: %q",
			r.balance, first(r.balance.Missing), first(r.balance.Unknown), first(r.balance.Changed), len(r.wrong), first(r.wrong), r.incorrect))
	}
	if r.options.report != "" && len(errs) == 0 {
		errs = append(errs, replacePart(r.options.report, text))
	}
	return errors.Join(errs...)
}

// first returns the first items of a list.
func first(list []string) []string { return list[:min(5, len(list))] }

func replacePart(path, text string) error {
	content, err := os.ReadFile(path) //nolint:gosec // the path is that of the command line
	if err != nil {
		return fmt.Errorf("cannot read the report: %w", err)
	}
	before, rest, begins := strings.Cut(string(content), beginMark)
	_, after, ends := strings.Cut(rest, endMark)
	if !begins || !ends {
		return fmt.Errorf("cannot write %s: it does not have the marks of this command", path)
	}
	return os.WriteFile(path, []byte(before+beginMark+"\n"+text+"\n"+endMark+after), 0o600) //nolint:gosec // as above
}

// text returns the result as a table.
func (r *result) text() string {
	var attempts, busy, broken, refused int
	var seconds []float64
	for _, o := range r.outcomes {
		attempts += o.Attempts
		busy += o.Busy
		broken += o.Broken
		if o.Refused != "" {
			refused++
		}
		seconds = append(seconds, o.Seconds)
	}
	slices.Sort(seconds)
	var b strings.Builder
	row := func(name, format string, values ...any) {
		fmt.Fprintf(&b, "| %s | %s |\n", name, fmt.Sprintf(format, values...))
	}
	fmt.Fprintf(&b, "`make soak-faults SOAK_DURATION=%s` on %d processors of %s/%s, shared with the load and the destination.\n\n| | |\n|---|---|\n",
		r.options.duration, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
	row("uploads", "%d in %s, %.0f per second, by %d senders", len(r.outcomes), r.took.Round(time.Second), float64(len(r.outcomes))/r.took.Seconds(), r.options.senders)
	row("accepted; rejected, all invalid on purpose", "%d; %d", len(r.outcomes)-refused, refused)
	var all count
	for _, c := range r.refusals {
		all.counted += c.counted
		all.least += c.least
		all.most += c.most
	}
	row("refusals that the gateway counted", "%d, of %d APIs and reasons (%s)", all.counted, len(r.refusals), all.bounds())
	row("answered incorrectly, or with the wrong reason", "%d", len(r.wrong))
	row("refused with a retryable error (503, Unavailable)", "%d of %d attempts", busy, attempts)
	row("attempts without an answer, retried", "%d", broken)
	row("duration of the answered attempt, p50 and p99", "%.0f ms and %.0f ms", 1000*quantile(seconds, 0.5), 1000*quantile(seconds, 0.99))
	row(fmt.Sprintf("peak memory, with the limiter at %d MiB and GOMEMLIMIT at %d MiB", memoryMiB, goMemoryMiB), "%d MiB", r.anonymous>>20)
	row("with memory mapped from files: the queue, the program", "%d MiB", r.peak>>20)
	row("CPU time of the gateway per upload; duration of the shutdown", "%.1f ms; %s", float64(r.cpu.Milliseconds())/float64(max(1, len(r.outcomes))), r.shutdown.Round(time.Millisecond))
	for _, f := range r.faults {
		row("fault: "+f.name, "%d times", f.count)
	}
	row("profiles of accepted uploads; arrived", "%d; %d", r.balance.Sent, r.balance.Arrived)
	row("**lost**; changed; unknown", "**%d**; %d; %d", len(r.balance.Missing), len(r.balance.Changed), len(r.balance.Unknown))
	row("arrived more than once", "%d", r.balance.Repeated)
	return b.String()
}

func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))]
}
