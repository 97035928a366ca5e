// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pathname

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const standard = "{service.name}/{profile.type}/{time}-{profile.id}.pb.gz"

func values(attributes map[string]any) Values {
	resource := pcommon.NewMap()
	if err := resource.FromRaw(attributes); err != nil {
		panic(err)
	}
	return Values{
		Resource:    resource,
		ProfileType: "cpu",
		ProfileID:   pprofile.ProfileID{0xab, 15: 0x01},
		Time:        pcommon.NewTimestampFromTime(time.Date(2026, 11, 7, 23, 59, 58, 7, time.FixedZone("", 3600))),
	}
}

func TestPath(t *testing.T) {
	const stem = "20261107T225958.000000007Z-ab000000000000000000000000000001.pb.gz"
	for _, test := range []struct {
		name, template string
		attributes     map[string]any
		want           string
	}{
		{"default", standard, map[string]any{"service.name": "checkout"}, "checkout/cpu/" + stem},
		{"missing service", standard, nil, "unknown_service/cpu/" + stem},
		{"empty service", standard, map[string]any{"service.name": ""}, "unknown_service/cpu/" + stem},
		{"missing attribute", "{k8s.pod.name}/x.pb.gz", nil, "unknown/x.pb.gz"},
		{"key with a slash", "{app.kubernetes.io/name}.pb.gz", map[string]any{"app.kubernetes.io/name": "shop"}, "shop.pb.gz"},
		{"number", "{process.pid}.pb.gz", map[string]any{"process.pid": 4711}, "4711.pb.gz"},
		{"several in one segment", "a-{x}-{y}b/{time}.pb.gz", map[string]any{"x": "1", "y": "2"}, "a-1-2b/20261107T225958.000000007Z.pb.gz"},
		{"no placeholder", "latest.pb.gz", nil, "latest.pb.gz"},
		{"hostile", standard, map[string]any{"service.name": "../../etc"}, "_._.._etc~" + hash("../../etc") + "/cpu/" + stem},
	} {
		t.Run(test.name, func(t *testing.T) {
			template := must.Get(Parse(test.template))(t)
			path := template.Paths(false).Path(values(test.attributes))
			assert.Equal(t, test.want, path)
			assert.True(t, filepath.IsLocal(path))
			assert.True(t, template.Matches(path))
			assert.True(t, template.Matches(WithSuffix(path, sha256.Sum256(nil))))
			assert.Equal(t, strings.Count(path, "/")+1, template.Depth())
		})
	}
}

func hash(value string) string { return strings.TrimPrefix(clean(value, 100, false), "_._.._etc~") }

func TestTimeSortsAndNeverOverflows(t *testing.T) {
	template := must.Get(Parse("{time}.pb.gz"))(t)
	previous := ""
	for _, nanos := range []pcommon.Timestamp{0, 1, 1e9, 1778191198000000007, math.MaxInt64, math.MaxUint64} {
		path := template.Paths(false).Path(Values{Resource: pcommon.NewMap(), Time: nanos})
		assert.Greater(t, path, previous)
		assert.True(t, template.Matches(path), path)
		previous = path
	}
	assert.Equal(t, "25540721T233433.709551615Z.pb.gz", previous)
}

// The longest values have segments that file systems accept, and paths that retention recognises.
func TestLongValues(t *testing.T) {
	for _, text := range []string{standard, "{a}/{a}{b}{c}-{profile.id}.pb.gz", "x{a}y/{b}-{time}-{profile.id}.pb.gz"} {
		template := must.Get(Parse(text))(t)
		long := strings.Repeat("é/", 1000)
		path := template.Paths(false).Path(values(map[string]any{"service.name": long, "a": long, "b": long, "c": long}))
		path = WithSuffix(path, sha256.Sum256([]byte("other")))
		assert.True(t, template.Matches(path), path)
		for segment := range strings.SplitSeq(path, "/") {
			assert.LessOrEqual(t, len(segment), maxSegment)
		}
	}
}

// The long values of a resource, and long profile types, are read once for all paths of a message.
func TestLongValuesAreReadOnce(t *testing.T) {
	const size, repeats = 8 << 20, 100
	v := values(map[string]any{"service.name": strings.Repeat("s", size)})
	types := []string{strings.Repeat("t", size), strings.Repeat("u", size)}
	paths := must.Get(Parse(standard))(t).Paths(true)
	seen := map[string]bool{}
	assert.Less(t, profiletest.CPUTime(func() {
		for i := range repeats {
			v.ProfileType = types[i%2]
			seen[paths.Path(v)] = true
		}
	}), memorytest.Slowdown*3*time.Second)
	assert.Len(t, seen, 2)
}

// Long values that resources share are read once for all paths of a message.
func TestSharedValuesAreReadOnce(t *testing.T) {
	const size, repeats = 8 << 20, 500
	long := strings.Repeat("s", size)
	paths := must.Get(Parse(standard))(t).Paths(true)
	seen := map[string]bool{}
	assert.Less(t, profiletest.CPUTime(func() {
		for range repeats {
			seen[paths.Path(values(map[string]any{"service.name": long}))] = true
		}
	}), memorytest.Slowdown*2*time.Second)
	assert.Len(t, seen, 1)
}

// What is remembered of one resource or type is not used for another.
func TestPathsOfSeveralResources(t *testing.T) {
	template := must.Get(Parse("{a}/{a}{profile.type}{b}.pb.gz"))(t)
	paths := template.Paths(false)
	for _, attributes := range []map[string]any{{"a": "1", "b": "2"}, {"a": "1"}, {"b": "1", "a": strings.Repeat("x", 10_000)}, nil} {
		v := values(attributes)
		for _, profileType := range []string{"cpu", strings.Repeat("y", 10_000), "heap", strings.Repeat("y", 10_001)} {
			v.ProfileType = profileType
			assert.Equal(t, template.Paths(false).Path(v), paths.Path(v))
		}
	}
}

// The visible part of a long value is what it is with all of the value in sight.
func TestCleanLongValues(t *testing.T) {
	const limit = 64
	for _, character := range []string{"a", ".", "é", "世", "\U00010330", "\u202e", "\xff", "\xe4\xb8", "/", "nul."} {
		for length := range 5 * limit {
			value := "x" + strings.Repeat(character, length)
			if name, hash, found := strings.Cut(clean(value, limit, false), mark); found {
				sum := sha256.Sum256([]byte(value))
				safe := strings.Map(safeRune, value)
				if trimmed, isDot := strings.CutSuffix(safe, "."); isDot {
					safe = trimmed + "_"
				}
				require.Equal(t, attributevalue.Cut(safe, limit-hashLength), name)
				require.Equal(t, hex.EncodeToString(sum[:])[:hashDigits], hash)
			}
		}
	}
}

func TestMatchesOnlyItsOwn(t *testing.T) {
	template := must.Get(Parse(standard))(t)
	const stem = "20261107T225958.000000007Z-ab000000000000000000000000000001"
	for _, path := range []string{"checkout/cpu/" + stem + ".pb.gz", "checkout/cpu/" + stem + "~0123456789abcdef.pb.gz"} {
		assert.True(t, template.Matches(path), path)
	}
	for _, path := range []string{
		"", "baseline.pb.gz", "checkout/cpu/baseline.pb.gz", stem + ".pb.gz", "checkout/" + stem + ".pb.gz",
		"checkout/cpu/" + stem + ".pb", "checkout/cpu/" + stem + ".pb.gz.bak", "checkout/cpu/old-" + stem + ".pb.gz",
		"checkout/cpu/sub/" + stem + ".pb.gz", ".git/cpu/" + stem + ".pb.gz", "checkout/cpu/" + stem + "~0123.pb.gz",
	} {
		assert.False(t, template.Matches(path), path)
	}
}

func TestParseRefuses(t *testing.T) {
	for template, want := range map[string]string{
		"":                                             "segment 1: is empty",
		"/var/{profile.id}.pb.gz":                      "must be relative",
		"../{profile.id}.pb.gz":                        "would leave the directory",
		"a/../{profile.id}.pb.gz":                      "segment 2: \"..\" would leave",
		"./{profile.id}.pb.gz":                         "would leave",
		"a//{profile.id}.pb.gz":                        "segment 2: is empty",
		"a/":                                           "segment 2: is empty",
		".hidden/{profile.id}.pb.gz":                   "begins with a dot",
		"a./{profile.id}.pb.gz":                        "ends in a dot or blank",
		`a\b/{profile.id}.pb.gz`:                       "has a character",
		"C:/{profile.id}.pb.gz":                        "has a character",
		"a\x00/{profile.id}.pb.gz":                     "has a character",
		"{profile.id}.pprof":                           "must end in .pb.gz",
		"{profile.id}.pb.gz/{time}":                    "must end in .pb.gz",
		"{profile.id":                                  "has a { without a }",
		"{{profile.id}}.pb.gz":                         "has a { without a }",
		"profile.id}.pb.gz":                            "has a } without a {",
		"{}/{profile.id}.pb.gz":                        "has the placeholder {}",
		"{ service.name }/{profile.id}.pb.gz":          "has the placeholder { service.name }",
		"{a\n}.pb.gz":                                  "has the placeholder",
		"\xff/{profile.id}.pb.gz":                      "is not UTF-8",
		strings.Repeat("x", 250) + ".pb.gz":            "is too long",
		strings.Repeat("{a}", 8) + "/{time}.pb.gz":     "leaves 255 for its 8 values",
		strings.Repeat("x", 225) + "{a}/{b}.pb.gz":     "leaves 30 for its 1 values",
		"{a}{b}{c}{d}{e}{f}-{time}-{profile.id}.pb.gz": "for its 6 values",
	} {
		_, err := Parse(template)
		assert.ErrorContains(t, err, want, "%q", template)
	}
}

// FuzzPath fails if a valid template returns a path that leaves the tree, or that it does not match.
func FuzzPath(f *testing.F) {
	f.Add(standard, "checkout", "cpu")
	f.Add("{a}{b}/x{a}-{time}.pb.gz", "../..", "nul")
	f.Add("a/../{a}.pb.gz", "\x00", "..")
	f.Fuzz(func(t *testing.T, text, value, profileType string) {
		if len(text)+len(value)+len(profileType) > 5_000 {
			t.Skip()
		}
		template, err := Parse(text)
		if err != nil {
			return
		}
		v := values(map[string]any{"service.name": value, "a": value, "b": profileType})
		v.ProfileType = profileType
		for _, foldCase := range []bool{false, true} {
			path := template.Paths(foldCase).Path(v)
			require.True(t, filepath.IsLocal(path), "%q", path)
			require.Equal(t, filepath.ToSlash(filepath.Clean(path)), path)
			require.True(t, template.Matches(path), "%q", path)
			require.True(t, template.Matches(WithSuffix(path, sha256.Sum256(nil))), "%q", path)
			for segment := range strings.SplitSeq(path, "/") {
				require.LessOrEqual(t, len(segment), maxSegment)
				require.NotEqual(t, byte('.'), segment[0])
			}
		}
	})
}

func TestCleanLeavesHarmlessValues(t *testing.T) {
	for _, value := range []string{
		"checkout", "Checkout.Api", "my-service_2", "a..b", "team=x,y@z+1", "7", "_", "console", "com", "lpt", "com10",
		"nul_", strings.Repeat("x", 100),
	} {
		assert.Equal(t, value, clean(value, 100, false))
	}
}

func TestCleanChangesWhatIsUnfit(t *testing.T) {
	for value, want := range map[string]string{
		"../../etc/passwd":      "_._.._etc_passwd",
		"/etc/passwd":           "_etc_passwd",
		"..":                    "__",
		".":                     "_",
		".hidden":               "_hidden",
		"-rf":                   "_rf",
		`C:\Windows`:            "C__Windows",
		"a\x00b":                "a_b",
		"a\nb\x7f":              "a_b_",
		"ends.":                 "ends_",
		"two words":             "two_words",
		"unknown_service:java":  "unknown_service_java",
		"tilde~":                "tilde_",
		"caf\u00e9":             "caf\u00e9",
		"right\u202eleft":       "right_left",
		"not utf-8 \xff\xfe":    "not_utf-8___",
		"NUL":                   "_NUL",
		"nul.txt":               "_nul.txt",
		"Com1.tar.gz":           "_Com1.tar.gz",
		"lpt9":                  "_lpt9",
		strings.Repeat("y", 65): strings.Repeat("y", 64-hashLength),
		strings.Repeat("é", 40): strings.Repeat("é", (64-hashLength)/2),
	} {
		got := clean(value, 64, false)
		harmless, hash, found := strings.Cut(got, mark)
		require.True(t, found, "%q became %q", value, got)
		assert.Equal(t, want, harmless, "%q", value)
		assert.Regexp(t, "^[0-9a-f]{12}$", hash)
	}
}

// Services whose cleaned names are similar must not share a directory.
func TestCleanKeepsValuesApart(t *testing.T) {
	values := []string{
		"a/b", "a_b", `a\b`, "a b", "a:b", "a\x00b", "../a", "..\\a", "__a", ".", "..", "_", "__", "é", "e\u0301", "nul", "_nul", "NUL",
		strings.Repeat("z", 300), strings.Repeat("z", 301), strings.Repeat("z", 300) + "/",
	}
	// A cleaned value can be the name of another service.
	for _, value := range values {
		values = append(values, clean(value, 64, false))
	}
	seen := map[string]string{}
	for _, value := range values {
		name := clean(value, 64, false)
		if other, found := seen[name]; found && name != value {
			assert.Equal(t, other, value, "both became %q", name)
		}
		seen[name] = value
	}
	assert.Greater(t, len(seen), 20)
}

func TestCleanOnFileSystemsThatFoldCase(t *testing.T) {
	assert.Equal(t, "checkout", clean("checkout", 64, true))
	upper, mixed := clean("CHECKOUT", 64, true), clean("Checkout", 64, true)
	assert.True(t, strings.HasPrefix(upper, "CHECKOUT~"), upper)
	assert.False(t, strings.EqualFold(upper, mixed), "%q and %q", upper, mixed)
	assert.False(t, strings.EqualFold(upper, "checkout"))
}

// FuzzClean fails if a name is not one visible, readable file name, and if two values become the same name.
func FuzzClean(f *testing.F) {
	for _, seed := range []string{"checkout", "../../etc", "a~0123456789ab", "nul.", "é", "\xff", strings.Repeat("q", 400), "A", "-"} {
		f.Add(seed, "checkout", 64, false)
		f.Add(seed, strings.ToUpper(seed), minValue, true)
	}
	f.Fuzz(func(t *testing.T, a, b string, limit int, foldCase bool) {
		if a == "" || b == "" || len(a)+len(b) > 10_000 || limit < minValue || limit > maxSegment {
			t.Skip()
		}
		first, second := clean(a, limit, foldCase), clean(b, limit, foldCase)
		for _, name := range []string{first, second} {
			require.NotEmpty(t, name)
			require.LessOrEqual(t, len(name), limit)
			require.True(t, utf8.ValidString(name))
			require.True(t, filepath.IsLocal(name))
			require.Equal(t, name, filepath.Base(name))
			require.False(t, strings.ContainsFunc(name, unicode.IsControl), "%q", name)
			require.False(t, strings.ContainsAny(name, `/\<>:"|?*'$ `), "%q", name)
			require.NotContains(t, ".-", name[:1])
			require.False(t, strings.HasSuffix(name, "."), "%q", name)
			require.False(t, isDevice(name), "%q", name)
			changed := strings.Contains(name, mark)
			require.Equal(t, changed, clean(name, limit, foldCase) != name, "the name of a changed value is taken: %q", name)
		}
		if a != b {
			require.NotEqual(t, first, second)
			if foldCase {
				require.False(t, strings.EqualFold(first, second), "%q and %q", first, second)
			}
		}
	})
}
