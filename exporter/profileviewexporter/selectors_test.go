// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
)

// labelled returns a profile whose samples have the labels region=eu (1), region=us and size=4096 (10), and none (100).
func labelled(t *testing.T, factor int64) []byte {
	t.Helper()
	p := deliverytest.Parsed(t, made(t, time.Now(), []string{"samples"}, factor))
	location := p.Sample[0].Location
	p.Sample[0].Label = map[string][]string{"region": {"eu"}}
	p.Sample = append(p.Sample,
		&profile.Sample{
			Location: location, Value: []int64{10 * factor}, Label: map[string][]string{"region": {"us"}},
			NumLabel: map[string][]int64{"size": {4096}}, NumUnit: map[string][]string{"size": {"bytes"}},
		},
		&profile.Sample{Location: location, Value: []int64{100 * factor}})
	return written(t, p)
}

// Attributes and labels are selected or excluded, by a text or by an expression, with the same total in every format.
func TestServerSelectors(t *testing.T) {
	s := newServing(t, nil)
	s.post(t, labelled(t, 1), map[string]any{"service.name": "s", "pod": "web-a"})
	s.post(t, labelled(t, 2), map[string]any{"service.name": "s", "pod": "web-b"})
	s.post(t, labelled(t, 4), map[string]any{"service.name": "s"})
	for query, want := range map[string]int64{
		"resource.pod!=web-a":                       666,
		"resource.pod~=web-.*":                      333,
		"resource.pod~=web":                         0, // all of the value
		"resource.pod!~=web-[b-z]":                  555,
		"resource.pod!~=.*":                         0,
		"resource.pod~=":                            777,
		"resource.pod~=.%2B":                        333, // where it is
		"resource.pod~=.*":                          777, // also where it is not, as in other selectors
		"resource.pod!=web-a&resource.pod!=web-b":   444,
		"resource.pod!=web-a&resource.pod~=web-.":   222,
		"resource.pod=web-a&resource.pod=web-b":     0,
		"label.region!=eu":                          770,
		"label.region~=e.|x":                        7,
		"label.region!~=e.":                         770,
		"label.region!~=e.&label.size=4096":         70,
		"label.size~=40.*":                          70,
		"label.size!~=40.*":                         707,
		"label.region!=eu&resource.pod!~=web-.*":    440,
		"resource.pod=web-a&label.region!~=(eu|us)": 100,
	} {
		status := http.StatusOK
		if want == 0 {
			status = http.StatusNotFound
		}
		response, body := s.get(t, "/profiles/s/samples?"+query)
		require.Equal(t, status, response.StatusCode, "%s: %s", query, body)
		if want > 0 {
			assert.Equal(t, []int64{want}, totals(t, body), query)
		}
	}
	for query, want := range map[string]int64{
		`{pod="web-a"}`: 111, `{pod!="web-a"}`: 666, `{pod=~"web-.*",region="us"}`: 30, `{region!~"e.|us"}`: 700, `{size="4096"}`: 70, `{pod=""}`: 444,
		`{service_name="s"}`: 777, `{__profile_type__="` + samplesID + `"}`: 777, `{__unit__="bytes"}`: 0, ``: 777,
		samplesID + `{pod='web-a'}`: 111, `process_cpu{"pod"='web-a'}`: 111, `memory{}`: 0,
	} {
		assert.Equal(t, want, s.functions(t, selecting(samplesID, query)).Total, query)
	}
}

// An expression that is invalid, too expensive or one too many is refused everywhere.
func TestServerBadSelectors(t *testing.T) {
	s := newServing(t, nil)
	s.post(t, labelled(t, 1), map[string]any{"service.name": "s", "pod": "a"})
	many := make(url.Values)
	for i := range 9 {
		many.Set(fmt.Sprintf("resource.k%d~", i), "x")
	}
	for _, path := range []string{"/profiles/s/samples", "/pgo/s", "/profiles"} {
		for query, want := range map[string]string{
			"resource.pod~=(":                            `"resource.pod~": the selector is invalid: cannot read the regular expression "("`,
			"resource.pod!~=a)|(b":                       `cannot read the regular expression`,
			"resource.pod~=(abcd{30}){30}":               `the regular expression "(abcd{30}){30}" has more than 500 steps`,
			"resource.pod~=" + strings.Repeat("a?", 600): `has 1200 bytes, the limit is 1024`,
			many.Encode():                                "9 regular expressions are given, the limit is 8",
			"resource.~=x":                               `"resource.~"`,
		} {
			response, body := s.get(t, path+"?"+query)
			assert.Equal(t, http.StatusBadRequest, response.StatusCode, "%s?%s", path, query)
			assert.Contains(t, string(body), want, path)
		}
	}
}

// Expressions that take too many steps are refused, those of resources and those of samples.
func TestExpensiveExpressions(t *testing.T) {
	d := newHolding(t, 1<<26)
	one := hostile(1, 1, 1, 1, 0, 1)
	for i := range d.cfg.MaxProfilesPerSeries {
		d.holdHostile(t, one, strings.Repeat("x", 400)+strconv.Itoa(i))
	}
	labels := hostile(3000, 1, 10, 10, 1, 1)
	for i, sample := range labels.Sample {
		sample.Label["k0"] = []string{strings.Repeat("x", 400) + strconv.Itoa(i)}
	}
	d.holdHostile(t, labels, "a")
	y, z := strings.Repeat("y", 450), strings.Repeat("z", 450)
	for _, path := range []string{
		"/profiles?resource.pod!~=" + y + "&resource.pod!~=" + z, "/profiles/s/samples?resource.pod!~=" + y + "&resource.pod!~=" + z,
		"/profiles/s/samples?label.k0!~=" + y, "/pgo/s?label.k0!~=" + y, "/functions?" + selecting(hostileID, `{pod!~"`+y+`",pod!~"`+z+`"}`),
		"/download/collapsed?" + selecting(hostileID, `{k0!~"`+y+`"}`), "/plain?query=" + url.QueryEscape(`{pod!~"`+y+`",pod!~"`+z+`"}`),
	} {
		w := d.get(t, path)
		assert.Equal(t, http.StatusUnprocessableEntity, w.Code, "%.100s: %.300s", path, w.Body)
		assert.Contains(t, w.Body.String(), "the regular expressions are too expensive", "%.100s", path)
	}
	for _, selector := range []string{`{pod!~\"` + y + `\",pod!~\"` + z + `\"}`, `{k0!~\"` + y + `\"}`} {
		for _, method := range []string{"SelectMergeStacktraces", "SelectMergeProfile", "SelectSeries"} {
			w := d.query(t, method, `{"profileTypeID":"`+hostileID+`","labelSelector":"`+selector+`"}`)
			assert.Equal(t, http.StatusTooManyRequests, w.Code, "%s: %.300s", method, w.Body)
			assert.Contains(t, w.Body.String(), "resource_exhausted")
		}
	}
	assert.Empty(t, d.working)
}

// A request reserves the memory of its expressions before it selects profiles, and counts towards max_concurrent_requests.
func TestExpressionsAreReserved(t *testing.T) {
	d := newHolding(t, 1<<20)
	d.wait = 100 * time.Millisecond
	d.holdHostile(t, hostile(10, 10, 10, 10, 0, 1), "a")
	const expressionBytes = 256 << 10
	query := `{a=~"x",b!~"a",c=~"x"}`
	for _, path := range []string{
		"/profiles?resource.a~=x&resource.b!~=a&resource.c~=x", "/profiles/s/samples?resource.a~=x&resource.b!~=a&resource.c~=x",
		"/functions?" + selecting(hostileID, query), "/plain?query=" + url.QueryEscape(query),
	} {
		d.budget = memory.New(64<<20, 0)
		others := budgettest.Hold(t, d.budget, d.budget.Size()-leastWork-2*expressionBytes)
		assert.Equal(t, http.StatusServiceUnavailable, d.get(t, path).Code, path)
		others.Release()
		assert.Less(t, d.get(t, path).Code, http.StatusInternalServerError, path)
		used, peak := d.budget.Used()
		assert.Zero(t, used, path)
		assert.GreaterOrEqual(t, peak, int64(3*expressionBytes), path)
		for range d.cfg.MaxConcurrentRequests {
			d.working <- struct{}{}
		}
		assert.Equal(t, http.StatusServiceUnavailable, d.get(t, path).Code, path)
		for range d.cfg.MaxConcurrentRequests {
			<-d.working
		}
	}
}

// A name may have a colon: the type of its samples is shown, too.
func TestTypeWithColons(t *testing.T) {
	s := newServing(t, nil)
	s.post(t, made(t, time.Now(), []string{"samples", "12:30:00"}, 1, 7), map[string]any{"service.name": "s"})
	assert.Equal(t, int64(7), s.functions(t, selecting("process_cpu:12:30:00:count::", "{}")).Total)
}

// The IDs of traces and spans select their samples, in any case.
func TestServerIDs(t *testing.T) {
	const trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	s := newServing(t, nil)
	p := deliverytest.Parsed(t, labelled(t, 1))
	p.Sample[0].Label = map[string][]string{"trace_id": {trace}}
	p.Sample[1].Label = map[string][]string{"trace_id": {trace}, "span_id": {span}}
	s.post(t, written(t, p), map[string]any{"service.name": "s"})
	for query, want := range map[string]int64{
		"trace_id=" + trace: 11, "span_id=" + strings.ToUpper(span): 10, "trace_id=" + trace + "&span_id=" + span: 10, "trace_id=": 111,
	} {
		response, body := s.get(t, "/profiles/s/samples?"+query)
		require.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", query, body)
		assert.Equal(t, []int64{want}, totals(t, body), query)
	}
	response, _ := s.get(t, "/profiles/s/samples?trace_id="+strings.Repeat("0", 31)+"1")
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
}
