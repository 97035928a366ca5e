// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/test/e2e/load"
)

// life is one run of the gateway's process, with the refusals that it last reported.
type life struct {
	// begin is a time after the previous process ended and before this one started.
	begin time.Time
	// asked and answered are the times before and after the report.
	asked, answered time.Time
	counts          map[load.Reason]int
}

// count is the number of refusals with one reason: as counted by the gateway, and the least and the most that are
// correct.
type count struct {
	counted, least, most int
}

func (c *count) correct() bool { return c.least <= c.counted && c.counted <= c.most }

// bounds describes the correct counts. It is a range if some attempts were not answered.
func (c *count) bounds() string {
	if c.least == c.most {
		return fmt.Sprintf("sent: %d", c.least)
	}
	return fmt.Sprintf("sent: %d that were answered before a kill, at most %d", c.least, c.most)
}

var (
	refusalsLine = regexp.MustCompile(`^otelcol_receiver_(pprof|splunk_log_profile)_refusals\{(.*)\} (\S+)$`)
	labelPair    = regexp.MustCompile(`(api|reason)="([^"]*)"`)

	// retryable has the reasons of retryable refusals, and of senders that disconnected.
	retryable = []string{"busy", "tenant_busy", "consumer_unavailable", "aborted"}
)

// readRefusals reads the counters of both receivers.
func readRefusals(t *testing.T, metrics string) map[load.Reason]int {
	t.Helper()
	counts := map[load.Reason]int{}
	for line := range strings.Lines(metrics) {
		found := refusalsLine.FindStringSubmatch(strings.TrimSpace(line))
		if found == nil {
			continue
		}
		value := must.Get(strconv.ParseFloat(found[3], 64))(t)
		var reason load.Reason
		if found[1] == "splunk_log_profile" {
			reason.API = "splunk"
		}
		for _, pair := range labelPair.FindAllStringSubmatch(found[2], -1) {
			switch pair[1] {
			case "api":
				reason.API = pair[2]
			case "reason":
				reason.Name = pair[2]
			}
		}
		counts[reason] += int(value)
	}
	return counts
}

// compareRefusals compares, for each run of the gateway's process, its counts with the invalid uploads that were sent. An
// upload that was answered before the report must be counted. One that was in progress then, or was never answered
// because the gateway was killed, may be counted. The sums are over all runs. A run with an incorrect count is in
// incorrect.
func compareRefusals(lives []life, outcomes []load.Outcome) (sums map[load.Reason]*count, incorrect []string) {
	sums = map[load.Reason]*count{}
	for i := range lives {
		of := lives[i].compare(outcomes)
		for _, reason := range sorted(of) {
			c := of[reason]
			if !c.correct() {
				incorrect = append(incorrect, fmt.Sprintf("run %d of the gateway counted %d refusals for %s, expected are %d to %d", i+1, c.counted, reason, c.least, c.most))
			}
			sum := entry(sums, reason)
			sum.counted += c.counted
			sum.least += c.least
			sum.most += c.most
		}
	}
	return sums, incorrect
}

func (l *life) compare(outcomes []load.Outcome) map[load.Reason]*count {
	counts := map[load.Reason]*count{}
	for reason, n := range l.counts {
		if !slices.Contains(retryable, reason.Name) {
			entry(counts, reason).counted = n
		}
	}
	for i := range outcomes {
		reason, must := load.MustRefuse(outcomes[i].Number)
		if !must {
			continue
		}
		for _, attempt := range outcomes[i].Refusals {
			if attempt.End.Before(l.begin) || attempt.Begin.After(l.answered) {
				continue
			}
			c := entry(counts, reason)
			c.most++
			if attempt.Answered && !attempt.Begin.Before(l.begin) && !attempt.End.After(l.asked) {
				c.least++
			}
		}
	}
	return counts
}

func entry(of map[load.Reason]*count, reason load.Reason) *count {
	if of[reason] == nil {
		of[reason] = &count{}
	}
	return of[reason]
}

func sorted(of map[load.Reason]*count) []load.Reason {
	return slices.SortedFunc(maps.Keys(of), func(a, b load.Reason) int { return strings.Compare(a.String(), b.String()) })
}
