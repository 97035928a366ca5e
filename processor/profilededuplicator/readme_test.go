// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	return string(text)
}

// TestReadmeNamesEveryOption: the README has each key of the configuration, with its default if that is a number or a text.
func TestReadmeNamesEveryOption(t *testing.T) {
	// The text may be wrapped anywhere.
	text := strings.Join(strings.Fields(readme(t)), " ")
	batch := defaultBatchConfig()
	for _, section := range []any{
		*createDefaultConfig().(*Config), batch, defaultDropRepeatedConfig(), defaultMergeProfilesConfig(), batch.RetryConfig,
	} {
		value := reflect.ValueOf(section)
		for i := range value.NumField() {
			key := value.Type().Field(i).Tag.Get(confmap.MapstructureTag)
			if key == "" {
				continue
			}
			assert.Contains(t, text, "`"+key+"`")
			switch field := value.Field(i); {
			case field.Type().Name() == "Duration":
				length := strings.Replace(fmt.Sprint(field.Interface()), "m0s", "m", 1)
				assert.Contains(t, text, fmt.Sprintf("| `%s` | %s ", key, length))
			case field.CanInt():
				assert.Contains(t, text, fmt.Sprintf("| `%s` | %d ", key, field.Int()))
			case field.CanFloat():
				assert.Contains(t, text, fmt.Sprintf("| `%s` | %v |", key, field.Float()))
			case field.Kind() == reflect.Bool:
				assert.Contains(t, text, fmt.Sprintf("| `%s` | %t |", key, field.Bool()))
			case field.Kind() == reflect.String:
				assert.Contains(t, text, fmt.Sprintf("| `%s` | `%s` |", key, field.String()))
			}
		}
	}
	var gauges []string
	for _, gauge := range defaultMergeProfilesConfig().GaugeTypes {
		gauges = append(gauges, "`"+gauge+"`")
	}
	assert.Contains(t, text, "| `gauge_types` | "+strings.Join(gauges, ", ")+" |")
}

func TestReadmeNamesEveryRefusal(t *testing.T) {
	text := readme(t)
	for reason, again := range map[string]string{
		refusedInvalid: "no", refusedTooLarge: "no", refusedHeldBytes: "yes", refusedTenants: "yes",
		refusedInFlight: "yes", refusedStopped: "yes",
	} {
		assert.Contains(t, text, fmt.Sprintf("| `%s` | %s |", reason, again))
	}
}

// TestReadmeNumbers checks the numbers in the README about two captures.
func TestReadmeNumbers(t *testing.T) {
	var node, service []pprofile.Profiles
	for _, capture := range profiletest.Captures(t) {
		switch {
		case capture.Name == "pyroscope-nodejs/01-wall":
			node = append(node, translated(t, "node-checkout", capture.Payload(t, "-")))
		case strings.HasPrefix(capture.Name, "pyroscope-go/"):
			service = append(service, translated(t, "checkout", capture.Payload(t, "profile")))
		}
	}
	rows := row(t, "Node.js, as it came", node) +
		row(t, "Node.js, deduplicated", through(t, nil, node)) +
		row(t, "Go, as it came", service) +
		row(t, "Go, joined by `batch`", through(t, batchOf(nil), service))
	_, table, _ := strings.Cut(readme(t), "|---|---|---|---|---|---|---|---|---|\n")
	table, _, _ = strings.Cut(table, "<!-- end of the numbers -->")
	assert.Equal(t, table, rows, "the README says what is measured")
}

func translated(t *testing.T, service string, payload []byte) pprofile.Profiles {
	t.Helper()
	resource := pcommon.NewMap()
	resource.PutStr("service.name", service)
	pd, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(payload, pprof.Source{Resource: resource})
	require.NoError(t, err)
	return pd
}

// through returns the messages after the processor.
func through(t *testing.T, change func(*Config), messages []pprofile.Profiles) []pprofile.Profiles {
	t.Helper()
	next := &sink{}
	f := start(t, next, change)
	for _, pd := range messages {
		require.NoError(t, f.ConsumeProfiles(t.Context(), clone(pd)))
	}
	require.NoError(t, f.Shutdown(t.Context()))
	return next.taken()
}

// row returns a row of the table for messages. Each message is marshalled and compressed separately.
func row(t *testing.T, name string, messages []pprofile.Profiles) string {
	t.Helper()
	var total content
	size, gzipped := 0, 0
	for _, pd := range messages {
		c := contentOf(pd)
		total.samples += c.samples
		for i, n := range c.entries {
			total.entries[i] += n
		}
		message := profiletest.Marshal(t, clone(pd))
		size += len(message)
		var compressed bytes.Buffer
		w := gzip.NewWriter(&compressed)
		_, err := w.Write(message)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		gzipped += compressed.Len()
	}
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d | %d | %d |\n", name, len(messages), total.samples,
		total.entries[0], total.entries[1], total.entries[3], total.entries[4], size, gzipped)
}
