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

	"github.com/otelpprof/otelpprof/internal/profiletest"
	"github.com/otelpprof/otelpprof/test/tools/load"
)

// result is what a run found.
type result struct {
	options  *options
	outcomes []load.Outcome
	// wrong says what was accepted though it must be refused, refused though it must not be, or for the wrong reason.
	wrong []string
	// refusals are by reason, uneven says where the gateway has counted others than were sent.
	refusals map[load.Reason]*count
	uneven   []string
	faults   []*fault
	balance  profiletest.Balance
	took     time.Duration
	shutdown time.Duration
	cpu      time.Duration
	// peak is resident memory, anonymous the part of it that is not of files.
	peak, anonymous int64
}

const (
	beginMark = "<!-- make soak-faults writes what follows -->\n"
	endMark   = "<!-- end of what make soak-faults writes -->\n"
)

// write shows the result, puts it into the report, and fails if the account is not even.
func (r *result) write() error {
	text := r.text()
	fmt.Print(text)
	var errs []error
	if !r.balance.Even() || len(r.wrong)+len(r.uneven) > 0 {
		errs = append(errs, fmt.Errorf("the account is not even: %v; missing %q, unknown %q, changed %q; answered wrongly: %d, such as %q; counted wrongly: %q",
			r.balance, first(r.balance.Missing), first(r.balance.Unknown), first(r.balance.Changed), len(r.wrong), first(r.wrong), r.uneven))
	}
	if r.options.report != "" && len(errs) == 0 {
		errs = append(errs, replacePart(r.options.report, text))
	}
	return errors.Join(errs...)
}

// first is the beginning of a list.
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

// text is a table of what was measured.
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
	row("accepted", "%d", len(r.outcomes)-refused)
	row("refused for good", "%d, all of them broken on purpose", refused)
	for _, reason := range sorted(r.refusals) {
		c := r.refusals[reason]
		row("refusals by the gateway's own count: "+reason.String(), "%d (%s)", c.counted, c.bounds())
	}
	row("answered otherwise than they must be, or with another reason", "%d", len(r.wrong))
	row("told to come again (503, Unavailable)", "%d of %d attempts", busy, attempts)
	row("attempts without answer, sent again", "%d", broken)
	row("time of the attempt that was answered, p50 and p99", "%.0f ms and %.0f ms", 1000*quantile(seconds, 0.5), 1000*quantile(seconds, 0.99))
	row(fmt.Sprintf("most memory, the limiter at %d MiB and GOMEMLIMIT at %d MiB", memoryMiB, goMemoryMiB), "%d MiB", r.anonymous>>20)
	row("the same with what is mapped from files: the queue, the program", "%d MiB", r.peak>>20)
	row("processor time of the gateway, per upload", "%.1f ms", float64(r.cpu.Milliseconds())/float64(max(1, len(r.outcomes))))
	row("shutdown", "%s", r.shutdown.Round(time.Millisecond))
	for _, f := range r.faults {
		row("fault: "+f.name, "%d times", f.made)
	}
	row("profiles of accepted uploads", "%d", r.balance.Sent)
	row("arrived", "%d", r.balance.Arrived)
	row("**lost**", "**%d**", len(r.balance.Missing))
	row("changed, or unknown", "%d, %d", len(r.balance.Changed), len(r.balance.Unknown))
	row("arrived again", "%d", r.balance.Repeated)
	return b.String()
}

func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))]
}
