// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func example(file, function string) *profile.Profile {
	m := &profile.Mapping{ID: 1, Start: 0x1000, Limit: 0x9000, File: file, BuildID: "abcdef0123"}
	f := &profile.Function{ID: 1, Name: function, SystemName: function, Filename: file}
	l := &profile.Location{ID: 1, Mapping: m, Address: 0x1234, Line: []profile.Line{{Function: f, Line: 1}}}
	return &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		Mapping:    []*profile.Mapping{m}, Function: []*profile.Function{f}, Location: []*profile.Location{l},
		Sample: []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{7}}},
	}
}

func render(t *testing.T, p *profile.Profile, page, query string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/x/"+page+query, http.NoBody)
	status, rest, err := Render(r, p, page, Additions{}, 1<<30)
	require.NoError(t, err)
	if status != http.StatusOK {
		return status, string(rest)
	}
	beginning, err := Begin(page, "example", "icicle", nil)
	require.NoError(t, err)
	return status, string(beginning) + string(rest)
}

// The part before the body depends on the profile only in the title.
func TestBegin(t *testing.T) {
	for _, page := range Pages {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/"+page, http.NoBody)
		status, body, err := draw(r, example("a", "main.work"), page, 1<<30)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status)
		above, _, found := strings.Cut(string(body), "<body>")
		require.True(t, found)
		beginning, err := Begin(page, "<title>", "flame", []byte("<nav>"))
		require.NoError(t, err)
		title := regexp.MustCompile(`<title>.*</title>`)
		want := title.ReplaceAllString(above, "<title>&lt;title&gt;</title>")
		want = strings.Replace(want, "<html>", `<html lang="en" class="flame">`, 1)
		want = strings.Replace(want, "</head>", Head()+"</head>", 1)
		assert.Equal(t, want+"<body>\n<nav>\n", string(beginning), page)
	}
	_, err := Begin("source", "", "", nil)
	require.ErrorContains(t, err, "there is no page")
}

// Rendering works without a home directory, as in an image without users, and never shows settings of the user.
func TestRenderWithoutHome(t *testing.T) {
	home := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(home, "pprof"), 0o700))
	secret := `{"configs":[{"name":"the-users-own"}]}`
	require.NoError(t, os.WriteFile(filepath.Join(home, "pprof", "settings.json"), []byte(secret), 0o600))
	for _, config := range []string{"", home} {
		t.Setenv("HOME", "")
		for _, name := range []string{"TMPDIR", "PPROF_TMPDIR", "PPROF_BINARY_PATH", "PATH"} {
			t.Setenv(name, "/dev/null/nothing") // where nothing can be read or written
		}
		t.Setenv("XDG_CONFIG_HOME", config)
		for _, page := range Pages {
			status, body := render(t, example("main.go", "main.work"), page, "")
			assert.Equal(t, http.StatusOK, status, page)
			assert.Contains(t, body, "main.work", page)
			assert.NotContains(t, body, "the-users-own")
			assert.Contains(t, body, `<a href="../../../" title="All profiles">`, page)
			assert.Equal(t, 1, strings.Count(body, `<a id="save-config" hidden></a>`), page)
			assert.NotContains(t, body, "Save as", page)
			assert.Equal(t, 1, strings.Count(body, "prefers-color-scheme: dark"), page)
			for _, missing := range []string{"./graph", "./source", "./disasm", "./download"} {
				assert.NotContains(t, body, `href="`+missing, page)
			}
		}
		assert.Equal(t, config, os.Getenv("XDG_CONFIG_HOME"), "the environment is as it was")
	}
	assert.Empty(t, os.Getenv("HOME"))
}

func TestRenderRefusesOtherPages(t *testing.T) {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	for _, page := range []string{"source", "disasm", "saveconfig", "deleteconfig", "graph", "download", "", "../top"} {
		_, _, err := Render(r, example("a", "b"), page, Additions{}, 1<<30)
		assert.ErrorContains(t, err, "cannot make the page", page)
	}
}

// A profile can name any file and function. The viewer opens no file, and shows both as text only.
func TestRenderOpensNothing(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("hidden content"), 0o600))
	for query, shows := range map[string]string{
		"?g=lines":                            `(&lt;|\\u003c)script(&gt;|\\u003e)alert\(1\)`,
		"?f=.*&granularity=lines&g=functions": `(&lt;|\\u003c)script(&gt;|\\u003e)alert\(1\)`,
		"?f=.*&granularity=lines&g=files":     regexp.QuoteMeta(secret),
	} {
		for _, page := range Pages {
			status, body := render(t, example(secret, "<script>alert(1)</script>"), page, query)
			require.Equal(t, http.StatusOK, status, "%s%s", page, query)
			assert.Regexp(t, shows, body, "%s%s", page, query)
			assert.NotContains(t, body, "hidden content", "%s%s", page, query)
			assert.NotContains(t, body, "<script>alert(1)", "%s%s", page, query)
		}
	}
}

// The menus keep all values of a parameter: the scripts do not set a parameter once for each of its values.
func TestMenusKeepAllValues(t *testing.T) {
	for _, page := range Pages {
		_, body := render(t, example("a", "main.work"), page, "")
		assert.NotContains(t, body, "params.set(p[0], p[1])", page)
		want := 1
		if page == "flamegraph" {
			want = 2 // its boxes have a menu of their own
		}
		assert.Equal(t, want, strings.Count(body, "params.append(p[0], p[1]);"), page)
	}
}

func TestRenderBadQuery(t *testing.T) {
	status, body := render(t, example("a", "main.work"), "top", "?n=x")
	assert.Equal(t, http.StatusBadRequest, status)
	assert.NotContains(t, body, "<")
}

func TestRenderConcurrently(t *testing.T) {
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/top", http.NoBody)
			status, body, err := Render(r, example("a", "main.work"), "top", Additions{}, 1<<30)
			assert.NoError(t, err)
			assert.Equal(t, http.StatusOK, status)
			assert.Contains(t, string(body), "main.work")
		})
	}
	all.Wait()
}

// Every query has an answer, and no answer contains a file.
func FuzzRender(f *testing.F) {
	for _, query := range []string{"f=main", "g=lines&si=cpu", "n=1&nf=0.1", "tagroot=x&sf=(", "u=hours&mean=t", "h=%00", "source_path=/etc&trim_path=/"} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/top", http.NoBody)
		r.URL.RawQuery = query
		for _, page := range Pages {
			status, body, err := Render(r, example("/etc/passwd", "main.work"), page, Additions{}, 1<<30)
			require.NoError(t, err)
			require.Contains(t, []int{http.StatusOK, http.StatusBadRequest}, status)
			require.NotEmpty(t, body)
			require.NotContains(t, string(body), "root:x:0")
		}
	})
}
