// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/pprof/profile"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// ownServer has the project's own profiles of two pods, and the time range of them.
func ownServer(t *testing.T) (d holding, start, end int64) {
	t.Helper()
	d = newHolding(t, 256<<20)
	start = time.Now().UnixMilli()
	for _, pod := range []string{"a", "b"} {
		for _, file := range profiletest.OwnPprofs(t) {
			if file.Name == "pprof/cpu.pb.gz" || file.Name == "pprof/heap.pb.gz" || file.Name == "pprof/labelled.pb.gz" {
				d.hold(t, file.Bytes(t), file.Name, map[string]string{"service.name": "shop", "k8s.pod.name": pod, "type": file.Name})
			}
		}
	}
	return d, start, time.Now().UnixMilli()
}

// The requests of Grafana's data source and of profilecli, in protobuf and in JSON, compressed and not.
func TestClients(t *testing.T) {
	d, start, end := ownServer(t)
	running := httptest.NewServer(d.handler())
	defer running.Close()
	for name, options := range map[string][]connect.ClientOption{
		"protobuf": nil, "JSON": {connect.WithProtoJSON()}, "gzip": {connect.WithSendGzip()},
	} {
		t.Run(name, func(t *testing.T) {
			c := querierv1connect.NewQuerierServiceClient(running.Client(), running.URL, options...)
			types := must.Get(c.ProfileTypes(t.Context(), connect.NewRequest(&querierv1.ProfileTypesRequest{Start: start, End: end})))(t)
			assert.Contains(t, ids(types.Msg), cpuID)
			names, err := c.LabelNames(t.Context(), connect.NewRequest(&typesv1.LabelNamesRequest{Matchers: []string{`{service_name="shop"}`}, Start: start, End: end}))
			require.NoError(t, err)
			assert.Subset(t, names.Msg.Names, []string{"service_name", "k8s.pod.name", "__profile_type__"})
			always := must.Get(c.LabelNames(t.Context(), connect.NewRequest(&typesv1.LabelNamesRequest{})))(t)
			assert.Equal(t, names.Msg.Names, always.Msg.Names, "without a time and a matcher")
			values, err := c.LabelValues(t.Context(), connect.NewRequest(&typesv1.LabelValuesRequest{Name: "k8s.pod.name", Matchers: []string{"{}"}, Start: start, End: end}))
			require.NoError(t, err)
			assert.Equal(t, []string{"a", "b"}, values.Msg.Names)
			maxNodes := int64(100)
			graph := must.Get(c.SelectMergeStacktraces(t.Context(), connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{
				ProfileTypeID: cpuID, LabelSelector: `{service_name="shop"}`, Start: start, End: end, MaxNodes: &maxNodes,
			})))(t)
			total := graph.Msg.Flamegraph.Total
			assert.Positive(t, total)
			checkGraph(t, graph.Msg.Flamegraph)
			span, err := c.SelectMergeSpanProfile(t.Context(), connect.NewRequest(&querierv1.SelectMergeSpanProfileRequest{ //nolint:staticcheck // Grafana calls it
				ProfileTypeID: cpuID, LabelSelector: "{}", SpanSelector: []string{"00f067aa0ba902b7"}, Start: start, End: end, MaxNodes: &maxNodes,
			}))
			require.NoError(t, err)
			assert.Positive(t, span.Msg.Flamegraph.Total)
			assert.Less(t, span.Msg.Flamegraph.Total, total)
			series := must.Get(c.SelectSeries(t.Context(), connect.NewRequest(&querierv1.SelectSeriesRequest{
				ProfileTypeID: cpuID, LabelSelector: "{}", Start: start, End: end, Step: 15, GroupBy: []string{"k8s.pod.name"},
			})))(t)
			require.Len(t, series.Msg.Series, 2)
			sum := 0.0
			for _, one := range series.Msg.Series {
				for _, p := range one.Points {
					sum += p.Value
				}
			}
			assert.InDelta(t, total, sum, 0)
			profile, err := c.SelectMergeProfile(t.Context(), connect.NewRequest(&querierv1.SelectMergeProfileRequest{ProfileTypeID: cpuID, LabelSelector: "{}", Start: start, End: end})) //nolint:staticcheck // Grafana calls it
			require.NoError(t, err)
			values64 := int64(0)
			for _, sample := range profile.Msg.Sample {
				values64 += sample.Value[0]
			}
			assert.Equal(t, total, values64)
			_, err = c.SelectMergeStacktraces(t.Context(), connect.NewRequest(&querierv1.SelectMergeStacktracesRequest{
				ProfileTypeID: cpuID, LabelSelector: "{}", Format: querierv1.ProfileFormat_PROFILE_FORMAT_TREE,
			}))
			assert.Equal(t, connect.CodeUnimplemented, connect.CodeOf(err))
			_, err = c.AnalyzeQuery(t.Context(), connect.NewRequest(&querierv1.AnalyzeQueryRequest{Query: "{}"}))
			assert.Equal(t, connect.CodeUnimplemented, connect.CodeOf(err))
			_, err = c.SelectHeatmap(t.Context(), connect.NewRequest(&querierv1.SelectHeatmapRequest{}))
			assert.Equal(t, connect.CodeUnimplemented, connect.CodeOf(err))
		})
	}
}

func ids(r *querierv1.ProfileTypesResponse) (all []string) {
	for _, t := range r.ProfileTypes {
		all = append(all, t.ID)
	}
	return all
}

// checkGraph checks that each node lies within one of the level above, and that its children and its own value fill it.
func checkGraph(t *testing.T, g *querierv1.FlameGraph) {
	t.Helper()
	type node struct{ start, end, self, below int64 }
	above := []node{{end: g.Total, below: 0}}
	for level, row := range g.Levels {
		var nodes []node
		at := int64(0)
		for i := 0; i < len(row.Values); i += 4 {
			at += row.Values[i]
			n := node{start: at, end: at + row.Values[i+1], self: row.Values[i+2]}
			at = n.end
			parents := 0
			for j := range above {
				if above[j].start <= n.start && n.end <= above[j].end {
					above[j].below += n.end - n.start
					parents++
				}
			}
			require.Equal(t, 1, parents, "node %d of level %d", i/4, level)
			nodes = append(nodes, n)
		}
		for _, n := range above {
			require.Equal(t, n.end-n.start, n.self+n.below, "level %d", level)
		}
		above = nodes
	}
}

// A state at one time counts once for each resource, in a flame graph and in a point.
func TestGauges(t *testing.T) {
	d, _, _ := ownServer(t)
	total := func() any {
		w := d.query(t, "SelectMergeStacktraces", `{"profileTypeID":"`+inuseID+`","labelSelector":"{}"}`)
		require.Equal(t, http.StatusOK, w.Code)
		return decode(t, w.Body.Bytes())["flamegraph"].(map[string]any)["total"]
	}
	before := total()
	again := deliverytest.Parsed(t, deliverytest.OwnProfile(t, "heap.pb.gz")) // of the same pod, later
	again.TimeNanos = time.Now().Add(time.Second).UnixNano()
	d.hold(t, written(t, again), "pprof/heap.pb.gz", map[string]string{"service.name": "shop", "k8s.pod.name": "a", "type": "pprof/heap.pb.gz"})
	assert.Equal(t, before, total())
}

// A state that the latest profile of a resource does not have any more is in no group.
func TestGaugesByLabel(t *testing.T) {
	d := newHolding(t, 64<<20)
	now := time.Now()
	for i, endpoint := range []string{"/a", "/b"} {
		p := deliverytest.Parsed(t, deliverytest.OwnProfile(t, "goroutine.pb.gz"))
		p.TimeNanos = now.Add(time.Duration(i-10) * time.Second).UnixNano()
		p.Sample = p.Sample[:1]
		p.Sample[0].Value, p.Sample[0].Label = []int64{100}, map[string][]string{"endpoint": {endpoint}}
		d.hold(t, written(t, p), "goroutine", map[string]string{"service.name": "shop"})
	}
	const goroutineID = "goroutines:goroutine:count:goroutine:count"
	got := map[string]float64{}
	times := fmt.Sprintf(`"start":%d,"end":%d`, now.Add(-time.Minute).UnixMilli(), now.Add(time.Minute).UnixMilli())
	w := d.query(t, "SelectSeries", `{"profileTypeID":"`+goroutineID+`","step":3600,"groupBy":["endpoint"],`+times+`}`)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	for _, one := range decode(t, w.Body.Bytes())["series"].([]any) {
		series := one.(map[string]any)
		for _, point := range series["points"].([]any) {
			value, _ := point.(map[string]any)["value"].(float64)
			got[series["labels"].([]any)[0].(map[string]any)["value"].(string)] += value
		}
	}
	assert.Equal(t, map[string]float64{"/a": 0, "/b": 100}, got)
}

// The labels of samples that are offered are those of samples that are selected: by a label, a type, and a time.
func TestSampleLabels(t *testing.T) {
	d := newHolding(t, 64<<20)
	now := time.Now()
	for i, pod := range []string{"web_a", "web_b"} {
		p := deliverytest.Parsed(t, made(t, now.Add(-time.Duration(i)*10*time.Minute), []string{"samples", "other"}, 1, 0))
		p.PeriodType = &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}
		p.Sample[0].Label = map[string][]string{"region": {"eu"}, pod: {"x"}, "trace_id": {"4b"}}
		p.Sample = append(p.Sample, &profile.Sample{Location: p.Sample[0].Location, Value: []int64{0, 1}, Label: map[string][]string{"region": {"us"}, "zone": {pod}}})
		d.hold(t, written(t, p), "samples", map[string]string{"service.name": "shop", "pod": pod})
	}
	later := fmt.Sprintf(`,"start":%d`, now.Add(-time.Minute).UnixMilli())
	for matcher, want := range map[string][3]string{ // names, regions, zones
		`{}"]`:                                         {"region web_a web_b zone", "eu us", "web_a web_b"},
		`{pod=\"web_a\"}"]`:                            {"region web_a zone", "eu us", "web_a"},
		`{region=\"eu\"}"]`:                            {"region web_a web_b", "eu", ""},
		`{region=~\"u.\",pod=\"web_b\"}"]`:             {"region zone", "us", "web_b"},
		`{region=\"us\"}","{pod=\"web_a\"}"]`:          {"region web_a zone", "eu us", "web_a web_b"},
		`{__type__=\"other\"}"]`:                       {"region zone", "us", "web_a web_b"},
		`{__profile_type__=\"` + hostileID + `\"}"]`:   {"region web_a web_b", "eu", ""},
		`{service_name=\"none\"}"]`:                    {"", "", ""},
		`{}"]` + later:                                 {"region web_a zone", "eu us", "web_a"},
		`{region=\"us\",__type__=\"other\"}"]` + later: {"region zone", "us", "web_a"},
	} {
		for i, request := range []string{`"LabelNames`, `"region`, `"zone`} {
			method, name := "LabelValues", `"name":`+request+`",`
			if i == 0 {
				method, name = "LabelNames", ""
			}
			w := d.query(t, method, `{`+name+`"matchers":["`+matcher+`}`)
			require.Equal(t, http.StatusOK, w.Code, w.Body)
			var got []string
			names, _ := decode(t, w.Body.Bytes())["names"].([]any)
			for _, name := range names {
				if text := name.(string); i > 0 || !strings.HasPrefix(text, "__") && text != "pod" && text != "service_name" {
					got = append(got, text)
				}
			}
			assert.Equal(t, want[i], strings.Join(got, " "), "%s %s", request, matcher)
		}
	}
}

// Labels need memory too, and a request has few of them.
func TestLabelsOfHostileRequests(t *testing.T) {
	d := newHolding(t, 256<<20)
	for _, file := range profiletest.OwnPprofs(t) {
		for i := range 100 {
			if file.Name == "pprof/mutex.pb.gz" {
				d.hold(t, file.Bytes(t), "mutex", map[string]string{"service.name": "shop", "long": fmt.Sprint(i, strings.Repeat("x", 2000))})
			}
		}
	}
	const mutexID = "mutex:delay:nanoseconds:contentions:count"
	many := `["long"` + strings.Repeat(`,"long"`, 32) + `]`
	for method, bodies := range map[string][2]string{
		"Series":       {`{"labelNames":["long"]}`, `{"labelNames":` + many + `}`},
		"LabelValues":  {`{"name":"long"}`, `{"name":"long","matchers":` + strings.ReplaceAll(many, "long", "{}") + `}`},
		"LabelNames":   {"", `{"matchers":` + strings.ReplaceAll(many, "long", "{}") + `}`},
		"SelectSeries": {`{"profileTypeID":"` + mutexID + `","groupBy":["long"]}`, `{"profileTypeID":"` + mutexID + `","groupBy":` + many + `}`},
	} {
		for limit, want := range map[int64]int{1 << 30: http.StatusOK, 2 * leastWork: http.StatusTooManyRequests} {
			if d.budget = memory.New(limit, 0); bodies[0] != "" {
				w := d.query(t, method, bodies[0])
				assert.Equal(t, want, w.Code, "%s: %.200s", method, w.Body)
			}
		}
		d.budget = unlimited()
		w := d.query(t, method, bodies[1])
		assert.Equal(t, http.StatusBadRequest, w.Code, "%s: %.200s", method, w.Body)
	}
}

// Any numbers are times and steps.
func TestExtremeTimes(t *testing.T) {
	d, start, _ := ownServer(t)
	for _, times := range []string{`"start":-9223372036854775808,"end":9223372036854775807`, `"end":9223372036854775807`, `"start":1`} {
		for _, step := range []string{`-1`, `0`, `1e-9`, `1e300`, `"NaN"`, `"Infinity"`} {
			w := d.query(t, "SelectSeries", `{"profileTypeID":"`+cpuID+`","step":`+step+`,`+times+`}`)
			require.Equal(t, http.StatusOK, w.Code, w.Body)
			series := decode(t, w.Body.Bytes())["series"].([]any)[0].(map[string]any)
			for _, point := range series["points"].([]any) {
				at := must.Get(strconv.ParseInt(point.(map[string]any)["timestamp"].(string), 10, 64))(t)
				assert.GreaterOrEqual(t, at, start-time.Hour.Milliseconds()*24*365*10, "%s %s", times, step)
				assert.Less(t, at, start+time.Hour.Milliseconds()*24*365*110, "%s %s", times, step)
			}
		}
	}
}
