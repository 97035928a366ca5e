// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/format"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/refusal"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	return string(text)
}

// TestReadmeSnippets loads every YAML block.
func TestReadmeSnippets(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(readme(t), -1)
	require.NotEmpty(t, blocks)
	for i, block := range blocks {
		retrieved, err := confmap.NewRetrievedFromYAML([]byte(block[1]))
		require.NoError(t, err)
		conf, err := retrieved.AsConf()
		require.NoError(t, err)
		sub, err := conf.Sub("receivers::pprof")
		require.NoError(t, err)
		cfg, err := load(sub)
		require.NoError(t, err, "block %d", i)
		if i == 0 {
			assert.Equal(t, createDefaultConfig(), cfg)
		}
	}
}

// TestReadmeNamesEveryFormat: the README has each format that a request can name.
func TestReadmeNamesEveryFormat(t *testing.T) {
	text := readme(t)
	for _, name := range format.Names() {
		assert.Contains(t, text, "`"+name+"`")
	}
}

// TestReadmeNamesEveryOption: the README has each option, with its default if that is a number or text.
func TestReadmeNamesEveryOption(t *testing.T) {
	text := readme(t)
	cfg := createDefaultConfig().(*Config)
	for _, section := range []any{
		*cfg, cfg.Limits, cfg.LinkLabels[0], *cfg.Server.Get(), cfg.Server.Get().APIs,
		defaultSchedule(), defaultRemoteConfig(), defaultScrapeConfig(),
		TargetConfig{},
		ScrapedProfile{},
		defaultFileConfig(), defaultSelfConfig(),
	} {
		value := reflect.ValueOf(section)
		for i := range value.NumField() {
			key := value.Type().Field(i).Tag.Get(confmap.MapstructureTag)
			if key == "" || strings.HasPrefix(key, ",") {
				continue
			}
			want := "`" + key + "`"
			switch field := value.Field(i); field.Kind() {
			case reflect.Int:
				want = fmt.Sprintf("| `%s` | %d", key, field.Int())
			case reflect.Bool:
				want = fmt.Sprintf("| `%s` | %t |", key, field.Bool())
			}
			if !strings.Contains(text, want) {
				t.Errorf("the README does not say %s", want)
			}
		}
	}
}

// TestReadmeNamesEveryAnswer: the table of answers has a row for each class.
func TestReadmeNamesEveryAnswer(t *testing.T) {
	text := readme(t)
	for _, answer := range refusal.Answers {
		row := regexp.MustCompile(fmt.Sprintf(`(?m)^\|[^|]*\| %d[^|]*\| .%s. \|`, answer.Status, answer.Reason))
		assert.True(t, row.MatchString(text), "no row of %s", answer.Reason)
		if answer.Retryable {
			again := regexp.MustCompile(fmt.Sprintf(`%d, .Retry-After. \| .%s. \| yes`, answer.Status, answer.Reason))
			assert.True(t, again.MatchString(text), "%s may be sent again", answer.Reason)
		}
	}
}
