// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/test/e2e/load"
)

// faultsReport has the figures of TestFaults.
type faultsReport struct {
	duration time.Duration
	outcomes []load.Outcome
	// refusals has the counts by reason.
	refusals map[load.Reason]*count
	faults   []*fault
	balance  profiletest.Balance
	took     time.Duration
	shutdown time.Duration
}

const (
	beginMark = "<!-- make soak-faults writes what follows -->\n"
	endMark   = "<!-- end of what make soak-faults writes -->\n"
)

func replacePart(t *testing.T, path, text string) {
	t.Helper()
	content := must.Get(os.ReadFile(path))(t)
	before, rest, begins := strings.Cut(string(content), beginMark)
	_, after, ends := strings.Cut(rest, endMark)
	require.True(t, begins && ends, "%s does not have the marks of `make soak-faults`", path)
	require.NoError(t, os.WriteFile(path, []byte(before+beginMark+"\n"+text+"\n"+endMark+after), 0o600))
}

// text returns the result as a table.
func (r *faultsReport) text(u *underFaults) string {
	var attempts, busy, broken, refused, wrong int
	var seconds []float64
	for _, o := range r.outcomes {
		attempts += o.Attempts
		busy += o.Busy
		broken += o.Broken
		if o.Refused != "" {
			refused++
		}
		if load.Check(&o) != nil {
			wrong++
		}
		seconds = append(seconds, o.Seconds)
	}
	slices.Sort(seconds)
	var b strings.Builder
	row := func(name, format string, values ...any) {
		fmt.Fprintf(&b, "| %s | %s |\n", name, fmt.Sprintf(format, values...))
	}
	fmt.Fprintf(&b, "`make soak-faults SOAK_DURATION=%s` on %d processors of %s/%s, shared with the load and the destination.\n\n| | |\n|---|---|\n",
		r.duration, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
	row("uploads", "%d in %s, %.0f per second, by %d senders", len(r.outcomes), r.took.Round(time.Second), float64(len(r.outcomes))/r.took.Seconds(), uploaders)
	row("accepted; rejected, all invalid on purpose", "%d; %d", len(r.outcomes)-refused, refused)
	var all count
	for _, c := range r.refusals {
		all.counted += c.counted
		all.least += c.least
		all.most += c.most
	}
	row("refusals that the gateway counted", "%d, of %d APIs and reasons (%s)", all.counted, len(r.refusals), all.bounds())
	row("answered incorrectly, or with the wrong reason", "%d", wrong)
	row("refused with a retryable error (503, Unavailable)", "%d of %d attempts", busy, attempts)
	row("attempts without an answer, retried", "%d", broken)
	row("duration of the answered attempt, p50 and p99", "%.0f ms and %.0f ms", 1000*quantile(seconds, 0.5), 1000*quantile(seconds, 0.99))
	row(fmt.Sprintf("peak memory, with the limiter at %d MiB and GOMEMLIMIT at %d MiB", faultsMiB, faultsGoMiB), "%d MiB", u.anonymous.Load()>>20)
	row("with memory mapped from files: the queue, the program", "%d MiB", u.resident>>20)
	row("CPU time of the gateway per upload; duration of the shutdown", "%.1f ms; %s", float64(u.cpu.Milliseconds())/float64(max(1, len(r.outcomes))), r.shutdown.Round(time.Millisecond))
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
