// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package healthcheckextension

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensioncapabilities"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/collector/featuregate"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/connections"
	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
)

func TestMain(m *testing.M) {
	// A server keeps a connection for a while after an answer that ends it.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// run starts the extension of a factory until the test ends. settings get its address at the key endpoint.
func run(t *testing.T, factory extension.Factory, settings map[string]any, section string) (health extension.Extension, url string) {
	t.Helper()
	free, err := gateway.FreeAddresses(t.Context(), 1)
	require.NoError(t, err)
	conf := confmap.NewFromStringMap(settings)
	require.NoError(t, conf.Merge(confmap.NewFromStringMap(map[string]any{section + "endpoint": free[0]})))
	cfg := factory.CreateDefaultConfig()
	require.NoError(t, conf.Unmarshal(cfg))
	require.NoError(t, confmap.Validate(cfg))
	health, err = factory.Create(t.Context(), extensiontest.NewNopSettings(factory.Type()), cfg)
	require.NoError(t, err)
	require.NoError(t, health.Start(t.Context(), componenttest.NewNopHost()))
	t.Cleanup(func() { require.NoError(t, health.Shutdown(context.WithoutCancel(t.Context()))) })
	return health, "http://" + free[0]
}

type answer struct {
	code            int
	mediaType, body string
}

// ask returns an answer without the times that differ.
func ask(t *testing.T, url string, header http.Header) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	request.Header = header
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}).Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	var values map[string]any
	if json.Unmarshal(body, &values) == nil {
		for name, value := range values {
			if strings.HasPrefix(strings.ToLower(name), "up") || strings.HasSuffix(name, "time") {
				set := value != "" && value != "0001-01-01T00:00:00Z"
				values[name] = set
			}
		}
		body, err = json.Marshal(values)
		require.NoError(t, err)
	}
	return answer{response.StatusCode, response.Header.Get("Content-Type"), string(body)}
}

// TestAnswersOfContrib: the answers are those of contrib's extension, before the pipelines run, while they run, and afterwards.
func TestAnswersOfContrib(t *testing.T) {
	for name, settings := range map[string]map[string]any{
		"default":       {},
		"path":          {"path": "/health"},
		"response body": {"response_body": map[string]any{"healthy": "yes", "unhealthy": "no"}},
	} {
		t.Run(name, func(t *testing.T) {
			of := func(factory extension.Factory) (answers []answer) {
				health, url := run(t, factory, settings, "")
				pipelines := health.(extensioncapabilities.PipelineWatcher)
				for _, step := range []func() error{func() error { return nil }, pipelines.Ready, pipelines.NotReady} {
					require.NoError(t, step())
					answers = append(answers, ask(t, url+"/", nil), ask(t, url+"/health", nil))
				}
				return answers
			}
			want := of(contrib)
			assert.Equal(t, http.StatusOK, want[3].code)
			assert.Equal(t, want, of(NewFactory()))
		})
	}
}

// TestComponentStatus: with contrib's feature gate, the answers are those of contrib's extension that follows the components.
func TestComponentStatus(t *testing.T) {
	const gate = "extension.healthcheck.useComponentStatus"
	require.NoError(t, featuregate.GlobalRegistry().Set(gate, true))
	t.Cleanup(func() { require.NoError(t, featuregate.GlobalRegistry().Set(gate, false)) })
	for section, settings := range map[string]map[string]any{
		"":       {},
		"http::": {"http": map[string]any{"status": map[string]any{"enabled": true, "path": "/"}}, "component_health": map[string]any{"include_permanent_errors": true}},
	} {
		of := func(factory extension.Factory) (answers []answer) {
			health, url := run(t, factory, settings, section)
			answers = append(answers, ask(t, url, nil))
			require.NoError(t, health.(extensioncapabilities.PipelineWatcher).Ready())
			health.(extensioncapabilities.ComponentStatusWatcher).Changed(componentstatus.NewInstanceID(component.NewID(contrib.Type()), component.KindExtension), componentstatus.NewEvent(componentstatus.StatusOK))
			return append(answers, ask(t, url, nil))
		}
		assert.Equal(t, of(contrib), of(NewFactory()))
		_, url := run(t, NewFactory(), settings, section)
		assertLimited(t, url)
	}
}

// TestHeaders: a header that has too many fields is refused.
func TestHeaders(t *testing.T) {
	_, url := run(t, NewFactory(), nil, "")
	assertLimited(t, url)
}

func assertLimited(t *testing.T, url string) {
	t.Helper()
	assert.NotEqual(t, http.StatusRequestHeaderFieldsTooLarge, ask(t, url, nil).code)
	assert.Equal(t, http.StatusRequestHeaderFieldsTooLarge, ask(t, url, http.Header{"X-A": make([]string, connections.MaxFields)}).code)
}
