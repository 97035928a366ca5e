// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestUploadsWithoutTime: two uploads of one service that have no time are joined by a batch. They stay two pprofs, with the times of
// their arrival.
func TestUploadsWithoutTime(t *testing.T) {
	g := start(t, `yaml:
processors: {profile_deduplicator: {batch: {wait_for_result: false, timeout: 1s}}}
service: {pipelines: {profiles: {processors: [profile_deduplicator]}}}
`)
	begin := time.Now()
	for _, sampleType := range []string{"cpu", "mem"} {
		upload := &profile.Profile{SampleType: []*profile.ValueType{{Type: sampleType, Unit: "count"}}}
		upload.Function = []*profile.Function{{ID: 1, Name: "main"}}
		upload.Location = []*profile.Location{{ID: 1, Line: []profile.Line{{Function: upload.Function[0]}}}}
		upload.Sample = []*profile.Sample{{Location: upload.Location, Value: []int64{1}}}
		var body bytes.Buffer
		require.NoError(t, upload.Write(&body))
		g.accept(t, "?service.name=checkout", body.Bytes())
	}
	g.waitForFiles(t, 2)
	var directories []string
	for _, file := range g.files(t) {
		directories = append(directories, path.Dir(file))
		written, err := time.Parse("20060102T150405.000000000Z", strings.SplitN(path.Base(file), "-", 2)[0])
		require.NoError(t, err)
		assert.False(t, written.Before(begin), file)
	}
	assert.ElementsMatch(t, []string{"checkout/cpu", "checkout/mem"}, directories)
}
