// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/test/tools/load"
)

// life is the time of one process of the gateway, and what it said last of what it had refused.
type life struct {
	// begin is before the process was there, and after the one before was gone.
	begin time.Time
	// asked and answered are around the answer.
	asked, answered time.Time
	counts          map[load.Reason]int
}

// count is how many uploads were refused for a reason: by the gateway's own count, and how many it must and may have counted.
type count struct {
	counted, least, most int
}

func (c *count) even() bool { return c.least <= c.counted && c.counted <= c.most }

// bounds says what the count must be. It is more than one number only where attempts were not answered or under way.
func (c *count) bounds() string {
	if c.least == c.most {
		return fmt.Sprintf("sent: %d", c.least)
	}
	return fmt.Sprintf("sent: %d that were answered before a kill, %d at most", c.least, c.most)
}

var (
	refusalsLine = regexp.MustCompile(`^otelcol_receiver_(pprof|splunk_log_profile)_refusals\{(.*)\} (\S+)$`)
	labelPair    = regexp.MustCompile(`(api|reason)="([^"]*)"`)

	// comeAgain are the reasons that are not for good, and those of senders that are gone.
	comeAgain = []string{"busy", "tenant_busy", "consumer_unavailable", "aborted"}
)

// askRefusals gets what a gateway has counted.
func askRefusals(ctx context.Context, address string) (map[load.Reason]int, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("cannot get the metrics of the gateway: %w", err)
	}
	defer response.Body.Close()
	return readRefusals(response.Body)
}

func readRefusals(from io.Reader) (map[load.Reason]int, error) {
	counts := map[load.Reason]int{}
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		found := refusalsLine.FindStringSubmatch(lines.Text())
		if found == nil {
			continue
		}
		value, err := strconv.ParseFloat(found[3], 64)
		if err != nil {
			return nil, fmt.Errorf("cannot read the metric %q: %w", lines.Text(), err)
		}
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
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("cannot read the metrics of the gateway: %w", err)
	}
	return counts, nil
}

// compareRefusals compares, for each life of the gateway, what it had counted with what was sent to it broken. What was
// answered before it was asked it must have counted. What was under way at that moment, or was never answered because
// the gateway was killed, it may have counted. The sums are over all lives; a life that is not even is among the errors.
func compareRefusals(lives []life, outcomes []load.Outcome) (sums map[load.Reason]*count, uneven []string) {
	sums = map[load.Reason]*count{}
	for i := range lives {
		of := lives[i].compare(outcomes)
		for _, reason := range sorted(of) {
			c := of[reason]
			if !c.even() {
				uneven = append(uneven, fmt.Sprintf("the gateway's life %d counted %d refusals for %s, it must be %d to %d", i+1, c.counted, reason, c.least, c.most))
			}
			sum := entry(sums, reason)
			sum.counted += c.counted
			sum.least += c.least
			sum.most += c.most
		}
	}
	return sums, uneven
}

func (l *life) compare(outcomes []load.Outcome) map[load.Reason]*count {
	counts := map[load.Reason]*count{}
	for reason, n := range l.counts {
		if !slices.Contains(comeAgain, reason.Name) {
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
