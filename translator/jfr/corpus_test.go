// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/internal/javaframe"
)

// corpusFile is a recording of the corpus.
type corpusFile struct {
	name      string
	recording []byte
	labels    []byte
	// theirs are the pprofs into which Pyroscope converted the recording, by type and labels.
	theirs map[string][]*profile.Profile
}

func corpus(tb testing.TB) []corpusFile {
	tb.Helper()
	root := filepath.Join(profiletest.Corpus(tb), "jfr")
	paths, err := filepath.Glob(filepath.Join(root, "*.jfr.gz"))
	require.NoError(tb, err)
	require.NotEmpty(tb, paths)
	var files []corpusFile
	for _, path := range paths {
		f := corpusFile{name: filepath.Base(path), theirs: map[string][]*profile.Profile{}}
		f.recording, err = os.ReadFile(path)
		require.NoError(tb, err)
		labels := strings.TrimSuffix(path, ".jfr.gz") + ".labels.pb.gz"
		if f.labels, err = os.ReadFile(labels); err != nil {
			require.ErrorIs(tb, err, os.ErrNotExist)
		}
		theirs, err := filepath.Glob(filepath.Join(root, "theirs-"+f.name+".*.pb.gz"))
		require.NoError(tb, err)
		require.NotEmpty(tb, theirs)
		for _, path := range theirs {
			content, err := os.Open(path)
			require.NoError(tb, err)
			parsed, err := profile.Parse(content)
			require.NoError(tb, errors.Join(err, content.Close()))
			key := parsed.SampleType[0].Type + "/" + parsed.SampleType[0].Unit
			f.theirs[key] = append(f.theirs[key], parsed)
		}
		files = append(files, f)
	}
	return files
}

// TestCorpusAsPyroscope checks that the values of each stack are those that Pyroscope's converter finds, and that the values
// of each set of labels are.
func TestCorpusAsPyroscope(t *testing.T) {
	for _, f := range corpus(t) {
		t.Run(f.name, func(t *testing.T) {
			pd, _ := mustDecode(t, f.recording, Source{Labels: f.labels})
			ours := map[string]pprofile.Profile{}
			for _, profile := range profilesOf(t, pd) {
				ours[typeOf(pd, profile.SampleType())] = profile
			}
			for key, theirs := range f.theirs {
				require.Contains(t, ours, key)
				// The largest has all samples, the others those of one set of labels each.
				slices.SortFunc(theirs, func(a, b *profile.Profile) int { return int(total(b) - total(a)) })
				stacks, contexts := map[string]int64{}, []int64(nil)
				for _, sample := range theirs[0].Sample {
					stacks[theirStack(sample)] += sample.Value[0]
				}
				for _, p := range theirs[1:] {
					contexts = append(contexts, total(p))
				}
				ourStacks, ourContexts := ourValues(pd, ours[key])
				assert.Equal(t, stacks, ourStacks, key)
				slices.Sort(contexts)
				assert.Equal(t, contexts, ourContexts, key)
			}
			assert.Len(t, ours, len(f.theirs), "no other profiles")
		})
	}
}

func total(p *profile.Profile) (total int64) {
	for _, sample := range p.Sample {
		total += sample.Value[0]
	}
	return total
}

// theirStack returns the frames of a stack. Pyroscope normalizes the names of fewer generated classes.
func theirStack(sample *profile.Sample) string {
	var frames []string
	var names javaframe.Normalizer
	for _, location := range sample.Location {
		// A function without a class begins with a dot there.
		name := names.Name([]byte(strings.TrimPrefix(location.Line[0].Function.Name, ".")))
		frames = append(frames, fmt.Sprintf("%s:%d", name, location.Line[0].Line))
	}
	return strings.Join(frames, ";")
}

// ourValues returns the values by stack, and those by labels in ascending order.
func ourValues(pd pprofile.Profiles, p pprofile.Profile) (stacks map[string]int64, contexts []int64) {
	stacks = map[string]int64{}
	byLabels := map[string]int64{}
	dict := pd.Dictionary()
	for _, sample := range p.Samples().All() {
		var frames []string
		for _, i := range dict.StackTable().At(int(sample.StackIndex())).LocationIndices().All() {
			line := dict.LocationTable().At(int(i)).Lines().At(0)
			name := dict.StringTable().At(int(dict.FunctionTable().At(int(line.FunctionIndex())).NameStrindex()))
			frames = append(frames, fmt.Sprintf("%s:%d", name, line.Line()))
		}
		var labels []int32
		for _, a := range sample.AttributeIndices().All() {
			if !strings.HasPrefix(attributesOf(pd, []int32{a}), "thread.") {
				labels = append(labels, a)
			}
		}
		for _, value := range sample.Values().All() {
			stacks[strings.Join(frames, ";")] += value
			if len(labels) > 0 {
				byLabels[attributesOf(pd, labels)] += value
			}
		}
	}
	for _, value := range byLabels {
		contexts = append(contexts, value)
	}
	slices.Sort(contexts)
	return stacks, contexts
}
