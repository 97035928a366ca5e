// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The grammars of frames as regular expressions: slow, but close to the text of the convention.
var (
	bareFrame = regexp.MustCompile(`(?s)^([^ \t(]+):(-?\d{1,18})$`)
	oldPlace  = regexp.MustCompile(`(?s)^(.*?):(-?\d{1,18})(?::(-?\d{1,18}))? (-?\d{1,18})(?::(-?\d{1,18}))?$`)
	newPlace  = regexp.MustCompile(`(?s)^(.*?):(-?\d{1,18}):(-?\d{1,18})$`)
	linePlace = regexp.MustCompile(`(?s)^(.*):(-?\d{1,18})$`)
	// surelyFrame matches a frame in place of the state of the thread.
	surelyFrame = regexp.MustCompile(`(?s)^at |:-?\d{1,18}\)?$`)
	javaModule  = regexp.MustCompile(`(?s)^(?:app//|[^@]+@[^/]*/)`)
)

// slowFrames parses the frames of a text, and counts the lines that are not frames.
func slowFrames(body, language string) (frames []string, skipped int) {
	lines := strings.Split(body, "\n")
	if first := strings.TrimRight(lines[0], "\r"); first == "" || first[0] == '"' {
		lines = lines[1:]
		for len(lines) > 0 && strings.HasPrefix(strings.TrimSpace(lines[0]), "Carrying virtual thread") &&
			!strings.Contains(lines[0], "Thread.State:") {
			lines = lines[1:]
		}
		if len(lines) > 0 && (!surelyFrame.MatchString(strings.TrimSpace(lines[0])) || strings.Contains(lines[0], "Thread.State:")) {
			if strings.TrimSpace(lines[0]) != "" && !strings.Contains(lines[0], "Thread.State:") {
				skipped = 1
			}
			lines = lines[1:]
		}
	}
	for _, line := range lines {
		line = strings.Trim(strings.TrimRight(line, "\r"), " \t")
		if line == "" || strings.HasPrefix(line, "- ") || line == "No compile task" {
			continue
		}
		frame, ok := slowFrame(strings.TrimLeft(strings.TrimPrefix(line, "at "), " \t"), language)
		if !ok {
			skipped++
			continue
		}
		frames = append(frames, frame)
	}
	return frames, skipped
}

func slowFrame(line, language string) (string, bool) {
	if !strings.HasSuffix(line, ")") {
		if m := bareFrame.FindStringSubmatch(line); m != nil {
			return slowText(m[1], "", m[2], "0"), true
		}
		return "", false
	}
	if language == "dotnet" {
		if function := strings.TrimSuffix(line, "(unknown)"); function != "" {
			line = function
		}
		return slowText(line, "", "0", "0"), true
	}
	open := -1
	for i := len(line) - 1; i >= 0 && open < 0; i-- {
		if inside := line[i:]; line[i] == '(' && strings.Count(inside, "(") == strings.Count(inside, ")") {
			open = i
		}
	}
	if open < 0 {
		if open = strings.Index(line, "("); open < 0 {
			return "", false
		}
	}
	function, place := line[:open], line[open+1:len(line)-1]
	if language == "java" {
		function = strings.TrimPrefix(function, javaModule.FindString(function))
		if _, file, found := strings.Cut(place, "/"); found {
			place = file
		}
	}
	if m := oldPlace.FindStringSubmatch(place); m != nil {
		return slowText(function, m[1], m[2], m[4]), true
	}
	if m := newPlace.FindStringSubmatch(place); m != nil {
		return slowText(function, m[1], m[2], m[3]), true
	}
	if m := linePlace.FindStringSubmatch(place); m != nil {
		return slowText(function, m[1], m[2], "0"), true
	}
	return slowText(function, place, "0", "0"), true
}

func slowText(function, file, line, column string) string {
	number := func(text string) int64 {
		n, _ := strconv.ParseInt(text, 10, 64)
		return max(n, 0)
	}
	return frameText(function, file, number(line), number(column))
}

// TestTextAgainstOracle compares the parser with the reference parser on all texts of the captures.
func TestTextAgainstOracle(t *testing.T) {
	texts := 0
	for _, c := range captures(t) {
		for _, resource := range c.logs(t).ResourceLogs().All() {
			language, _ := resource.Resource().Attributes().Get("telemetry.sdk.language")
			for _, record := range resource.ScopeLogs().At(0).LogRecords().All() {
				if body := record.Body().Str(); strings.ContainsAny(body, "(:") {
					texts++
					require.True(t, compareFrames(t, body, language.Str(), maxStringBytes, DefaultLimits().FramesPerStack))
				}
			}
		}
	}
	require.Greater(t, texts, 60)
}
