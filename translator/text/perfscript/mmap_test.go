// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package perfscript_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// withRecords is the output of perf script 6.1 with --show-mmap-events, of a program without symbols.
const withRecords = `swapper     0     0.000000: PERF_RECORD_MMAP2 -1/0: [0xffffffff81000000(0x12090c8) @ 0xffffffff81000000 <e4f18d9dc1d0e6fc2b17e93e885a647b3c0a6fc1>]: ---p [kernel.kallsyms]_text
busy  5955  3092.424178: PERF_RECORD_MMAP2 5955/5955: [0x55e632c1a000(0x1000) @ 0x1000 <c8b6a4bf38eb72d0af49b3f578865f2cd86dcad7>]: r-xp /tmp/a busy
busy  5955  3092.424217: PERF_RECORD_MMAP2 5955/5955: [0x7fe961dad000(0x2000) @ 0 00:00 0 0]: r-xp [vdso]
busy  5955  3092.424883:     250000 cpu-clock:` + " " + `
	            117a [unknown] (/tmp/a busy)
	           2724a __libc_start_call_main+0x7a (/usr/lib/libc.so.6)

busy  5955  3092.424901: PERF_RECORD_COMM: other:5955/5955
other  5955  3092.425131:     250000 cpu-clock:` + " " + `
	    55e632c1a16b [unknown] (/tmp/a busy)
	            9999 [unknown] (/tmp/a busy)

`

// TestBuildIDs: the records of mappings give frames build ids, and addresses in the file the offset of the code.
func TestBuildIDs(t *testing.T) {
	const id = "{pprof.mapping.has_functions=true(Bool), process.executable.build_id.gnu=c8b6a4bf38eb72d0af49b3f578865f2cd86dcad7(Str)}"
	got := render(t, withRecords)
	assert.Contains(t, got, "0x117a in /tmp/a busy[0x1000-0x2000@0x1000]"+id+" {")
	assert.Contains(t, got, "0x55e632c1a16b in /tmp/a busy[0x55e632c1a000-0x55e632c1b000@0x1000]"+id+" {")
	assert.Contains(t, got, "0x9999 in /tmp/a busy[0x0-0x0@0x0]{pprof.mapping.has_functions=true(Bool)} {", "outside of the code")
	assert.Equal(t, 1, strings.Count(got, "profile "), "no other record is an event")
	assert.Contains(t, got, "0x2724a in /usr/lib/libc.so.6[0x0-0x0@0x0]{pprof.mapping.has_functions=true(Bool)} __libc_start_call_main() ")

	// Without call graphs, addresses are those of the process. Here they can be both.
	flat := strings.NewReplacer("0x55e632c1a000(0x1000) @ 0x1000", "0x401000(0x800000) @ 0x1000", ":     250000 cpu-clock:", ":     250000 cpu-clock:  480000 [unknown] (/tmp/a busy)").Replace(withRecords)
	assert.Contains(t, render(t, flat), "0x480000 in /tmp/a busy[0x401000-0xc01000@0x1000]"+id)
	graph := strings.NewReplacer("0x55e632c1a000(0x1000) @ 0x1000", "0x401000(0x800000) @ 0x1000", "            117a", "480000").Replace(withRecords)
	assert.Contains(t, render(t, graph), "0x480000 in /tmp/a busy[0x1000-0x801000@0x1000]"+id)

	// A record that is damaged gives nothing.
	for _, wrong := range []string{"0xfffffffffffff000(0x2000)", "0x55e632c1a000(0x)", "0x55e632c1a00000000(0x1000)"} {
		assert.NotContains(t, render(t, strings.Replace(withRecords, "0x55e632c1a000(0x1000)", wrong, 1)), "build_id", wrong)
	}
	assert.NotContains(t, render(t, strings.Replace(withRecords, "<c8b", "<8b", 1)), "build_id")
	assert.NotContains(t, render(t, strings.Replace(withRecords, "<c8b", "<"+strings.Repeat("c8", 64)+"c8b", 1)), "build_id", "too long")
}

// TestFilesOfProcesses: processes in containers have other files with the same name. What a process without records has is only known if all
// have the same.
func TestFilesOfProcesses(t *testing.T) {
	const record = "a %d 0.0: PERF_RECORD_MMAP2 %d/%d: [0x%x(0x1000) @ 0x1000 <%s>]: r-xp /lib/c\n"
	const sample = "a %d/%d 1.0: cycles:\n\t117a [unknown] (/lib/c)\n\n"
	const threadAlone = "a %d%.0d 1.0: cycles:\n\t117a [unknown] (/lib/c)\n\n"
	const plain = "/lib/c[0x0-0x0@0x0]{pprof.mapping.has_functions=true(Bool)}"
	with := func(id string) string {
		return "/lib/c[0x1000-0x2000@0x1000]{pprof.mapping.has_functions=true(Bool), process.executable.build_id.gnu=" + id + "(Str)}"
	}
	for _, test := range []struct {
		other string // the build id of the file in process 200
		want  map[int]string
	}{
		{"bbbb", map[int]string{100: with("aaaa"), 200: with("bbbb"), 300: plain}},
		{"aaaa", map[int]string{100: with("aaaa"), 200: with("aaaa"), 300: with("aaaa")}},
	} {
		records := fmt.Sprintf(record, 100, 100, 100, 0x10000, "aaaa") + fmt.Sprintf(record, 200, 200, 200, 0x20000, test.other)
		for pid, want := range test.want {
			assert.Contains(t, render(t, records+fmt.Sprintf(sample, pid, pid+7)), "0x117a in "+want, "%s %d", test.other, pid)
			assert.Contains(t, render(t, records+fmt.Sprintf(threadAlone, pid, 0)), "0x117a in "+want, "%s %d", test.other, pid)
		}
	}
}
