// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// metrics are the labels of each metric that a gateway has, each with its values where these are fixed.
type metrics map[string]map[string][]string

// declared is the part of a metadata.yaml that is needed here.
type declared struct {
	Attributes map[string]struct {
		Override string `yaml:"name_override"`
		Enum     []string
	}
	Telemetry struct {
		Metrics map[string]struct {
			Attributes []string
			Histogram  *struct{}
		}
	}
}

// known reads the metrics of our components from where they are declared, and those of the Collector from the table in
// docs/telemetry.md, which another test compares with a running gateway.
func known(t *testing.T) metrics {
	t.Helper()
	all := metrics{
		"up": {},
		// contrib's k8s_attributes
		"otelcol_k8s_pod_association": {"status": {"success", "error"}, "otelcol_signal": {"profiles"}, "pod_identifier": nil},
	}
	files, err := filepath.Glob(root + "/*/*/metadata.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		var component declared
		path, err := filepath.Rel(root, file)
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal([]byte(read(t, path)), &component))
		for name, metric := range component.Telemetry.Metrics {
			values := map[string][]string{}
			for _, attribute := range metric.Attributes {
				label := attribute
				if override := component.Attributes[attribute].Override; override != "" {
					label = override
				}
				values[label] = component.Attributes[attribute].Enum
			}
			if metric.Histogram == nil {
				all["otelcol_"+name] = values
				continue
			}
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				all["otelcol_"+name+suffix] = maps.Clone(values)
			}
			all["otelcol_"+name+"_bucket"]["le"] = nil
		}
	}
	_, rest, _ := strings.Cut(read(t, "docs/telemetry.md"), "<!-- Each of these")
	ofCollector, _, found := strings.Cut(rest, "<!-- end of these -->")
	require.True(t, found)
	for _, row := range regexp.MustCompile("(?m)^\\| `(otelcol_[a-z_]+)` \\| [a-z]+ \\| ([a-z_, ]*)\\|").FindAllStringSubmatch(ofCollector, -1) {
		all[row[1]] = map[string][]string{}
		for label := range strings.SplitSeq(row[2], ",") {
			all[row[1]][strings.TrimSpace(label)] = nil
		}
	}
	for name := range all {
		all[name]["job"], all[name]["instance"] = nil, nil // Prometheus adds them
	}
	return all
}

// check parses an expression and looks whether its metrics, and the labels that it asks them for, are there.
func (m metrics) check(t *testing.T, expression string) {
	t.Helper()
	parsed, err := parser.ParseExpr(expression)
	require.NoError(t, err, expression)
	asked := 0
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		switch node := node.(type) {
		case *parser.VectorSelector:
			asked++
			have, found := m[node.Name]
			assert.True(t, found, "there is no metric %s: %s", node.Name, expression)
			for _, matcher := range node.LabelMatchers {
				if matcher.Name != labels.MetricName && found {
					assertMatches(t, matcher, have, expression)
				}
			}
		case *parser.AggregateExpr:
			for _, selector := range parser.ExtractSelectors(node) {
				for _, label := range node.Grouping {
					assert.Contains(t, m[nameOf(selector)], label, expression)
				}
			}
		}
		return nil
	})
	assert.NotZero(t, asked, expression)
}

func nameOf(selector []*labels.Matcher) string {
	for _, matcher := range selector {
		if matcher.Name == labels.MetricName {
			return matcher.Value
		}
	}
	return ""
}

// assertMatches: the label is there, and can have each of the values.
func assertMatches(t *testing.T, matcher *labels.Matcher, have map[string][]string, expression string) {
	t.Helper()
	values, found := have[matcher.Name]
	assert.True(t, found, "the label %s: %s", matcher.Name, expression)
	if len(values) == 0 {
		return
	}
	for value := range strings.SplitSeq(matcher.Value, "|") {
		assert.Contains(t, values, value, expression)
	}
}

// TestAlerts: Prometheus takes the rules, and they ask for what there is.
func TestAlerts(t *testing.T) {
	m := known(t)
	groups, errs := rulefmt.Parse([]byte(read(t, "deploy/monitoring/alerts.yaml")), false)
	require.Empty(t, errs)
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			require.NotEmpty(t, rule.Alert)
			m.check(t, rule.Expr)
			assertRunbook(t, rule)
			assert.Contains(t, []string{"critical", "warning", "info"}, rule.Labels["severity"])
			assert.NotEmpty(t, rule.Annotations["summary"])
			assert.NotEmpty(t, rule.Annotations["description"])
			assertTemplates(t, rule)
		}
	}
}

// assertRunbook: the URL leads to a heading of our documentation, and what is below it names the alert.
func assertRunbook(t *testing.T, rule rulefmt.Rule) {
	t.Helper()
	location, ours := strings.CutPrefix(rule.Annotations["runbook_url"], "https://github.com/otelpprof/otelpprof/blob/main/")
	require.True(t, ours, rule.Alert)
	file, anchor, _ := strings.Cut(location, "#")
	for section := range strings.SplitSeq(read(t, file), "\n## ") {
		heading, text, _ := strings.Cut(section, "\n")
		if strings.ReplaceAll(strings.ToLower(heading), " ", "-") == anchor {
			assert.Contains(t, text, "`"+rule.Alert+"`", "what is to be done?")
			return
		}
	}
	assert.Fail(t, "no heading", rule.Annotations["runbook_url"])
}

// assertTemplates: a label in a text is one that the expression leaves.
func assertTemplates(t *testing.T, rule rulefmt.Rule) {
	t.Helper()
	parsed, err := parser.ParseExpr(rule.Expr)
	require.NoError(t, err)
	var left []string
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if aggregate, is := node.(*parser.AggregateExpr); is && left == nil {
			left = aggregate.Grouping
		}
		return nil
	})
	if left == nil {
		left = []string{"job", "instance", "exporter"} // not summed: those of the metric
	}
	for _, text := range rule.Annotations {
		for _, match := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(text, -1) {
			assert.Contains(t, left, match[1], rule.Alert)
		}
	}
}

// dashboard is the part of Grafana's form that is used.
type dashboard struct {
	Title      string
	Templating struct {
		List []struct{ Name, Type, Query string }
	}
	Panels []struct {
		ID      int
		Type    string
		Title   string
		GridPos struct{ H, W, X, Y int }
		Targets []struct{ RefID, Expr, LegendFormat string }
	}
}

// TestDashboard: every panel has its place, and asks for what there is, by variables that are there.
func TestDashboard(t *testing.T) {
	m := known(t)
	var d dashboard
	require.NoError(t, json.Unmarshal([]byte(read(t, "deploy/monitoring/dashboard.json")), &d))
	variables := []string{"__rate_interval"}
	for _, variable := range d.Templating.List {
		variables = append(variables, variable.Name)
		if match := regexp.MustCompile(`^label_values\((.*), \w+\)$`).FindStringSubmatch(variable.Query); match != nil {
			m.check(t, match[1])
		}
	}
	var ids []int
	queries := 0
	taken := map[[2]int]string{}
	for _, panel := range d.Panels {
		ids = append(ids, panel.ID)
		assert.LessOrEqual(t, panel.GridPos.X+panel.GridPos.W, 24, panel.Title)
		for x := range panel.GridPos.W {
			for y := range panel.GridPos.H {
				place := [2]int{panel.GridPos.X + x, panel.GridPos.Y + y}
				require.Empty(t, taken[place], "%s lies on another panel", panel.Title)
				taken[place] = panel.Title
			}
		}
		for _, target := range panel.Targets {
			queries++
			for _, match := range regexp.MustCompile(`\$(\w+)`).FindAllStringSubmatch(target.Expr, -1) {
				assert.Contains(t, variables, match[1])
			}
			m.check(t, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"))
		}
	}
	slices.Sort(ids)
	assert.Len(t, slices.Compact(slices.Clone(ids)), len(ids), "an id stands twice")
	assert.NotZero(t, queries)
}
