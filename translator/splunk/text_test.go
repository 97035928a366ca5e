// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFrames(t *testing.T) {
	for _, test := range []struct {
		name     string
		language string
		line     string
		want     frame // an empty function means that the line is not a frame
	}{
		{name: "class, file and line", line: "com.acme.Order.charge(Order.java:12)", want: newFrame("com.acme.Order.charge", "Order.java", 12, 0)},
		{name: "line and column", line: "a.b.C.g(C.java:10:7)", want: newFrame("a.b.C.g", "C.java", 10, 7)},
		{name: "line not known", line: "n(unknown:0)", want: newFrame("n", "unknown", 0, 0)},
		{name: "line below 0", line: "m(unknown:-1)", want: newFrame("m", "unknown", 0, 0)},
		{name: "line and column below 0", line: "m(unknown:-1:-1)", want: newFrame("m", "unknown", 0, 0)},
		{name: "file only", line: "unknown.unknown(unknown)", want: newFrame("unknown.unknown", "unknown", 0, 0)},
		{name: "nothing in the parentheses", line: "m()", want: newFrame("m", "", 0, 0)},
		{name: "native method", line: "java.lang.Thread.sleep(Native Method)", want: newFrame("java.lang.Thread.sleep", "Native Method", 0, 0)},
		{name: "unknown source", line: "com.acme.A.b(Unknown Source)", want: newFrame("com.acme.A.b", "Unknown Source", 0, 0)},

		{name: "colons in the file", line: "processTimers(node:internal/timers:504:25)", want: newFrame("processTimers", "node:internal/timers", 504, 25)},
		{name: "colons in the file, nothing else", line: "h(x:y:z.js:0:3)", want: newFrame("h", "x:y:z.js", 0, 3)},
		{name: "parentheses and blanks in the file", line: "oddlyNamed(/app/dir (x) a:b/weird mod.js:5:41)", want: newFrame("oddlyNamed", "/app/dir (x) a:b/weird mod.js", 5, 41)},
		{name: "parentheses in the function", line: "my test (with parens)(T.kt:3)", want: newFrame("my test (with parens)", "T.kt", 3, 0)},
		{name: "parentheses that do not pair", line: "f(a)b:3)", want: newFrame("f", "a)b", 3, 0)},
		{name: "a function in parentheses", line: "(anonymous)(app.js:1:2)", want: newFrame("(anonymous)", "app.js", 1, 2)},
		{name: "blanks in the function", line: "garbage collector(unknown:0:0)", want: newFrame("garbage collector", "unknown", 0, 0)},
		{name: "a file URL", line: "run(file:///app/index.mjs:3:9)", want: newFrame("run", "file:///app/index.mjs", 3, 9)},
		{name: "a Windows path", line: `run(C:\app\index.js:3:9)`, want: newFrame("run", `C:\app\index.js`, 3, 9)},
		{name: "a number too long for a line", line: "f(a:1234567890123456789)", want: newFrame("f", "a:1234567890123456789", 0, 0)},
		{name: "a colon without a number", line: "f(a:)", want: newFrame("f", "a:", 0, 0)},

		{name: "old form, column", line: "global.f(app.js:3 9)", want: newFrame("global.f", "app.js", 3, 9)},
		{name: "old form, last line and column", line: "global.f(app.js:3:5 9)", want: newFrame("global.f", "app.js", 3, 9)},
		{name: "old form, all of it", line: "global.f(app.js:3:5 9:12)", want: newFrame("global.f", "app.js", 3, 9)},
		{name: "old form, line not known", line: "global.f(app.js)", want: newFrame("global.f", "app.js", 0, 0)},
		{name: "old form, a blank in the file", line: "global.f(my app.js:3 9)", want: newFrame("global.f", "my app.js", 3, 9)},
		{name: "a blank before a number that is no column", line: "f(part 7)", want: newFrame("f", "part 7", 0, 0)},
		{name: "a blank before what is no number", line: "f(app.js:3 9:x)", want: newFrame("f", "app.js:3 9:x", 0, 0)},

		{name: "at", line: "at a.b(c:1)", want: newFrame("a.b", "c", 1, 0)},
		{name: "tab and at", line: "\tat a.b(c:1)", want: newFrame("a.b", "c", 1, 0)},
		{name: "blanks around", line: "   at   a.b(c:1) \t", want: newFrame("a.b", "c", 1, 0)},
		{name: "only one at", line: "at at at(c:1)", want: newFrame("at at", "c", 1, 0)},
		{name: "a function that begins like it", line: "attach(c:1)", want: newFrame("attach", "c", 1, 0)},

		{name: "module in the parentheses", language: "java", line: "\tat java.lang.Thread.run(java.base@17.0.15/Thread.java:840)", want: newFrame("java.lang.Thread.run", "Thread.java", 840, 0)},
		{name: "module of a native method", language: "java", line: "at java.lang.Thread.sleep(java.base@17.0.15/Native Method)", want: newFrame("java.lang.Thread.sleep", "Native Method", 0, 0)},
		{name: "module without a version", language: "java", line: "at a.B.c(com.acme.shop/B.java:4)", want: newFrame("a.B.c", "B.java", 4, 0)},
		{name: "module before the class", language: "java", line: "at java.base@17/java.lang.Thread.sleep(Thread.java:1)", want: newFrame("java.lang.Thread.sleep", "Thread.java", 1, 0)},
		{name: "loader and module before the class", language: "java", line: "at app/com.acme@1.0/com.acme.Main.main(Main.java:1)", want: newFrame("com.acme.Main.main", "Main.java", 1, 0)},
		{name: "loader before the class", language: "java", line: "at app//com.acme.Main.main(Main.java:1)", want: newFrame("com.acme.Main.main", "Main.java", 1, 0)},
		{name: "an at sign that is no version", language: "java", line: "at a.b@c.d(A.java:1)", want: newFrame("a.b@c.d", "A.java", 1, 0)},
		{name: "a lambda", language: "java", line: "at Gen$$Lambda$10/0x00007fc5fc002440.get(Unknown Source)", want: newFrame("Gen$$Lambda$10/0x00007fc5fc002440.get", "Unknown Source", 0, 0)},
		{name: "a lambda in a module", language: "java", line: "at java.base@17/java.util.Comparator$$Lambda$12/0x1.compare(Unknown Source)", want: newFrame("java.util.Comparator$$Lambda$12/0x1.compare", "Unknown Source", 0, 0)},
		{name: "constructors", language: "java", line: "at Gen$Inner.<init>(Gen.java:6)", want: newFrame("Gen$Inner.<init>", "Gen.java", 6, 0)},
		{name: "a path of another language is no module", language: "nodejs", line: "f(/app/main.js:1:1)", want: newFrame("f", "/app/main.js", 1, 1)},
		{name: "without parentheses", language: "java", line: "com.acme.Order.charge:123", want: newFrame("com.acme.Order.charge", "", 123, 0)},
		{name: "without parentheses, line not known", language: "java", line: "com.acme.Order.charge:-1", want: newFrame("com.acme.Order.charge", "", 0, 0)},

		{name: "parameter types", language: "dotnet", line: "\tat Acme.Shop.Add(System.String, System.Int32)", want: newFrame("Acme.Shop.Add(System.String, System.Int32)", "", 0, 0)},
		{name: "no parameters", language: "dotnet", line: "at Acme.Shop.Run()", want: newFrame("Acme.Shop.Run()", "", 0, 0)},
		{name: "generics", language: "dotnet", line: "at Acme.Box`1.Pack[T](T[], System.Func`2[T, System.Boolean])", want: newFrame("Acme.Box`1.Pack[T](T[], System.Func`2[T, System.Boolean])", "", 0, 0)},
		{name: "parameters not known", language: "dotnet", line: "at Acme.Shop.Add(unknown)", want: newFrame("Acme.Shop.Add", "", 0, 0)},

		{name: "a lock", line: "\t- locked <0x00000000d0a1b2c8> (a java.lang.Object)"},
		{name: "waiting", line: "\t- waiting on <0x0> (a java.lang.Object)"},
		{name: "nothing", line: " \t"},
		{name: "a bare word", line: "stacktrace"},
		{name: "what a compiler does", line: "   No compile task"},
		{name: "a word with a number and a blank", line: "took some: 12"},
		{name: "a closing parenthesis only", line: "word)"},
		{name: "a number without a function", line: ":12"},
		{name: "at only", line: "at "},
	} {
		t.Run(test.name, func(t *testing.T) {
			var x text
			require.Nil(t, x.parse([]byte("\n\n"+test.line+"\n"), languages[test.language].grammar, maxStringBytes, DefaultLimits().FramesPerStack))
			if test.want.function == nil {
				assert.Empty(t, x.frames)
				return
			}
			require.Len(t, x.frames, 1)
			got := x.frames[0]
			assert.Equal(t, string(test.want.function), string(got.function))
			assert.Equal(t, string(test.want.file), string(got.file))
			assert.Equal(t, test.want.line, got.line)
			assert.Equal(t, test.want.column, got.column)
			assert.Zero(t, x.skipped)
		})
	}
}

func newFrame(function, file string, line, column int64) frame {
	return frame{function: []byte(function), file: []byte(file), line: line, column: column}
}

func TestThreads(t *testing.T) {
	type thread struct {
		name, state string
		id, os      int64
		frames      int
	}
	const state = "   java.lang.Thread.State: TIMED_WAITING (sleeping)\n"
	for _, test := range []struct {
		name     string
		language string
		text     string
		want     thread
	}{
		{
			name: "all that HotSpot says", language: "java",
			text: "\"main\" #1 prio=5 os_prio=0 cpu=75.02ms elapsed=6.25s tid=0x00007f1c2a014000 nid=0x2830 waiting on condition  [0x0000700003a51000]\n" + state + "\tat a(b:1)\n",
			want: thread{name: "main", state: "TIMED_WAITING (sleeping)", id: 1, os: 0x2830, frames: 1},
		},
		{
			name: "a daemon", language: "java",
			text: "\"Reference Handler\" #2 daemon prio=10 os_prio=0 cpu=0.12ms elapsed=8.50s tid=0x7f nid=0x2c03 runnable\n" + state,
			want: thread{name: "Reference Handler", state: "TIMED_WAITING (sleeping)", id: 2, os: 0x2c03},
		},
		{
			name: "quotation marks in the name", language: "java",
			text: "\"worker \"quoted\" #7 [x] prio=5\" #12 daemon prio=5 nid=0x2842 runnable\n   java.lang.Thread.State: RUNNABLE\n",
			want: thread{name: `worker "quoted" #7 [x] prio=5`, state: "RUNNABLE", id: 12, os: 0x2842},
		},
		{name: "no name", language: "java", text: "\"\" #16 nid=0x1 runnable\n" + state, want: thread{state: "TIMED_WAITING (sleeping)", id: 16, os: 1}},
		{name: "a tab in the name", language: "java", text: "\"naïve-ユニ\ttab\" #19 nid=0x1\n\n", want: thread{name: "naïve-ユニ\ttab", id: 19, os: 1}},
		{name: "JDK 21", language: "java", text: "\"main\" #1 [12345] prio=5 os_prio=31 cpu=1ms elapsed=2s tid=0x7f nid=12345 runnable\n" + state, want: thread{name: "main", state: "TIMED_WAITING (sleeping)", id: 1, os: 12345}},
		{name: "JDK 21 without nid", language: "java", text: "\"main\" #1 [12345] prio=5\n" + state, want: thread{name: "main", state: "TIMED_WAITING (sleeping)", id: 1, os: 12345}},
		{
			name: "a carrier of a virtual thread", language: "java",
			text: "\"ForkJoinPool-1-worker-1\" #22 [9] daemon prio=5\n   Carrying virtual thread #21\n\tat a(b:1)\n",
			want: thread{name: "ForkJoinPool-1-worker-1", id: 22, os: 9, frames: 1},
		},
		{
			name: "a carrier that says its state, too", language: "java",
			text: "\"worker\" #22\n   Carrying virtual thread #21\n" + state + "\tat a(b:1)\n",
			want: thread{name: "worker", state: "TIMED_WAITING (sleeping)", id: 22, frames: 1},
		},
		{name: "as splunk-otel-java 1.9 has it", language: "java", text: "\"name\" #7\n   java.lang.Thread.State: UNKNOWN\n\tat m(unknown:3)", want: thread{name: "name", state: "UNKNOWN", id: 7, frames: 1}},
		{name: "no thread", language: "java", text: "\"unknown\" #0\n   java.lang.Thread.State: UNKNOWN", want: thread{name: "unknown", state: "UNKNOWN"}},
		{name: "zeros", language: "java", text: "\"name\" #5 prio=0 os_prio=0 cpu=0ms elapsed=0s tid=0 nid=0 unknown\n   java.lang.Thread.State: UNKNOWN\n", want: thread{name: "name", state: "UNKNOWN", id: 5}},
		{name: "an empty state", language: "java", text: "\"name\" #5\n\n\tat m(unknown:3)", want: thread{name: "name", id: 5, frames: 1}},
		{name: "frames behind the header at once", language: "java", text: "\"name\" #5\n\tat m(unknown:3)\n\tat n(unknown:4)", want: thread{name: "name", id: 5, frames: 2}},
		{name: "a header that does not end", language: "java", text: "\"name #5\n\n\tat m(unknown:3)", want: thread{frames: 1}},
		{name: "a state only", language: "java", text: "\n" + state + "\tat a.B.c(B.java:1)", want: thread{state: "TIMED_WAITING (sleeping)", frames: 1}},
		{name: "the state RUNNABLE only", language: "java", text: "\n   java.lang.Thread.State: RUNNABLE\n\tat a.B.c(B.java:1)", want: thread{state: "RUNNABLE", frames: 1}},
		{name: "two empty lines", text: "\n\nf(a.js:1:1)\ng(a.js:2:2)\n", want: thread{frames: 2}},
		{name: "one empty line", text: "\nf(a.js:1:1)\n", want: thread{frames: 1}},
		{name: "frames only", language: "java", text: "com.acme.A.b:1\ncom.acme.A.c:2", want: thread{frames: 2}},
		{name: "line ends of Windows", language: "java", text: "\"name\" #5\r\n   java.lang.Thread.State: RUNNABLE\r\n\tat m(F.java:3)\r\n", want: thread{name: "name", state: "RUNNABLE", id: 5, frames: 1}},
		{
			name: "locks between the frames", language: "java",
			text: "\"name\" #5\n" + state + "\tat a(b:1)\n\t- waiting on <0x1> (a X)\n\t- locked <0x2> (a X)\n\t- parking to wait for  <0x3> (a X)\n\t- waiting to re-lock in wait() <0x4> (a X)\n\tat c(d:2)\n   No compile task\n",
			want: thread{name: "name", state: "TIMED_WAITING (sleeping)", id: 5, frames: 2},
		},
		{name: ".NET", language: "dotnet", text: "\"main\" #3 prio=0 os_prio=0 cpu=0 elapsed=0 tid=0x1 nid=0x2a\n\n\tat Acme.Run()\n", want: thread{name: "main", id: 1, os: 0x2a, frames: 1}},
		{name: ".NET without ids", language: "dotnet", text: "\"\" #3 prio=0 os_prio=0 cpu=0 elapsed=0 tid=0xffffffff nid=0x0\n\n\tat Acme.Run()\n", want: thread{frames: 1}},
		{
			name: "quotation marks after the ids", language: "java",
			text: "\"main\" #1 prio=5 nid=0x2830 waiting for \"lock\" of \"b\" #x nid=7 \"\n" + state + "\tat a(b:1)\n",
			want: thread{name: "main", state: "TIMED_WAITING (sleeping)", id: 1, os: 0x2830, frames: 1},
		},
		{
			name: "quotation marks in the name and after the ids", language: "java",
			text: "\"a \"b\" #2 c\" #12 [5] waiting for \"lock\"\n" + state,
			want: thread{name: `a "b" #2 c`, state: "TIMED_WAITING (sleeping)", id: 12, os: 5},
		},
		{
			name: "no number, and quotation marks after the ids", language: "java",
			text: "\"VM \"Thread\"\" os_prio=0 nid=0x3 waiting for \"lock\"\n" + state,
			want: thread{name: `VM "Thread"`, state: "TIMED_WAITING (sleeping)", os: 3},
		},
		{name: "a thread id below 0", language: "java", text: "\"name\" #-1 nid=0x5\n\n", want: thread{name: "name", id: -1, os: 5}},
		{name: "ids that are none", language: "java", text: "\"name\" #x nid=0xzz tid=99\n\n", want: thread{name: "name"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var x text
			require.Nil(t, x.parse([]byte(test.text), languages[test.language].grammar, maxStringBytes, DefaultLimits().FramesPerStack))
			got := thread{string(x.threadName), string(x.threadState), x.threadID, x.osThreadID, len(x.frames)}
			assert.Equal(t, test.want, got)
			assert.Zero(t, x.skipped)
		})
	}
}

func TestSkippedLinesAreCounted(t *testing.T) {
	var x text
	require.Nil(t, x.parse([]byte("\"main\" #1\n\n\tat a(b:1)\nwhat is this\n\tat c(d:2)\nand this)\n"), grammarJava, maxStringBytes, DefaultLimits().FramesPerStack))
	assert.Equal(t, 2, x.skipped)
	assert.Len(t, x.frames, 2)
}

// TestStatesOfOthers: the state that another runtime writes is counted. It is not a frame, with or without a blank before its remark.
func TestStatesOfOthers(t *testing.T) {
	for _, state := range []string{"   waiting (sleeping)", "   waiting(sleeping)", "   runnable", "   State: waiting (on a lock)", "   blocked()"} {
		var x text
		require.Nil(t, x.parse([]byte("\"main\" #1\n"+state+"\n\tat a(b:1)\n"), grammarCommon, maxStringBytes, DefaultLimits().FramesPerStack))
		assert.Equal(t, 1, x.skipped, state)
		require.Len(t, x.frames, 1, state)
		assert.Equal(t, "a", string(x.frames[0].function), state)
		assert.Equal(t, "main", string(x.threadName), state)
		assert.EqualValues(t, 1, x.threadID, state)
	}
}

// TestOddFiles checks placeholders that agents write instead of a file.
func TestOddFiles(t *testing.T) {
	r := newRequest("java")
	r.addText("\n\nf(unknown:3)\ng(Native Method)\nh(Unknown Source)\ni(native:1)\n(unknown:0)\nj(Real.java:1)")
	pd, _ := mustDecode(t, r.logs, Options{})
	assert.Equal(t, []string{
		"f(:3:0)", "g(:0:0)", "h(:0:0)", "i(:1:0)", "(anonymous)(:0:0)", "j(Real.java:1:0)",
	}, framesOf(pd, onlySample(t, pd)))
}

// TestGeneratedNames: frames of a lambda are equal, whatever the addresses of their classes are, unless the option keeps the addresses.
func TestGeneratedNames(t *testing.T) {
	const first, second = "Gen$$Lambda$10/0x00007fc5fc002440.get", "Gen$$Lambda$11/0x00007fc5fc002880.get"
	r := newRequest("java")
	r.addText("\n\nat " + first + "(Unknown Source)\nat " + second + "(Unknown Source)\n")
	pd, _ := mustDecode(t, r.logs, Options{})
	assert.Equal(t, []string{"Gen$$Lambda_.get(:0:0)", "Gen$$Lambda_.get(:0:0)"}, framesOf(pd, onlySample(t, pd)))
	pd, _ = mustDecode(t, r.logs, Options{KeepGeneratedNames: true})
	assert.Equal(t, []string{first + "(:0:0)", second + "(:0:0)"}, framesOf(pd, onlySample(t, pd)))
}
