// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelpprof/otelpprof/test/tools/load"
)

// lateness is how long an upload can take beyond the end of the run.
const lateness = 3 * time.Minute

// makeLoad sends uploads until the time is over, and writes a line with the result of each.
func makeLoad(ctx context.Context, o *options) error {
	uploads, err := load.NewUploads(o.root)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.duration+lateness)
	defer cancel()
	end := time.Now().Add(o.duration)
	var next atomic.Int64
	var writing sync.Mutex
	lines := json.NewEncoder(os.Stdout)
	failures := make([]error, o.senders)
	var group sync.WaitGroup
	for i := range o.senders {
		group.Go(func() {
			sender, err := load.NewSender(uploads, o.targets)
			if err != nil {
				failures[i] = err
				return
			}
			defer sender.Close()
			for time.Now().Before(end) && failures[i] == nil {
				outcome, err := sender.Send(ctx, int(next.Add(1)-1))
				writing.Lock()
				failures[i] = errors.Join(err, lines.Encode(outcome))
				writing.Unlock()
			}
		})
	}
	group.Wait()
	return errors.Join(failures...)
}

// startLoad runs makeLoad in a process. wait returns the results when it ends.
func startLoad(ctx context.Context, o *options, targets load.Targets) (wait func() ([]load.Outcome, error), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find this program: %w", err)
	}
	command := exec.CommandContext(ctx, self, "-root", o.root, "-duration", o.duration.String(), "-senders", strconv.Itoa(o.senders), //nolint:gosec // this program itself
		"-pprof", targets.Pprof, "-otlp", targets.OTLP, "-splunk", targets.Splunk)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("cannot send uploads: %w", err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("cannot send uploads: %w", err)
	}
	return func() ([]load.Outcome, error) {
		outcomes, err := readOutcomes(output)
		return outcomes, errors.Join(err, command.Wait())
	}, nil
}

func readOutcomes(from io.Reader) (outcomes []load.Outcome, err error) {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		var outcome load.Outcome
		if err := json.Unmarshal(lines.Bytes(), &outcome); err != nil {
			return nil, fmt.Errorf("cannot read the result of an upload: %w", err)
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes, lines.Err()
}
