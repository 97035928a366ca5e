// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package outline

// table is a table that the parser keeps of the constants of a class.
type table int

const (
	tableNone table = iota
	tableFrameType
	tableThreadState
	tableThread
	tableClass
	tableMethod
	tablePackage
	tableSymbol
	tableLogLevel
	tableStackTrace
	tableString
	numTables
)

var tablesByName = map[string]table{
	classFrameType: tableFrameType, "jdk.types.ThreadState": tableThreadState, "java.lang.Thread": tableThread, classClass: tableClass,
	classMethod: tableMethod, "jdk.types.Package": tablePackage, classSymbol: tableSymbol, "profiler.types.LogLevel": tableLogLevel,
	classStackTrace: tableStackTrace, classString: tableString,
}

// entryBytes is the size of an entry of each table.
var entryBytes = [numTables]int64{
	tableFrameType: 16, tableThreadState: 16, tableThread: 48, tableClass: 8, tableMethod: 16, tablePackage: 8, tableSymbol: 16,
	tableLogLevel: 16, tableStackTrace: 32, tableString: 16,
}

const (
	// growing is the memory of a growing table with its discarded copies, as a multiple of its final size.
	growing = 3
	// indexBytes is the memory of the map from ids to entries for each entry, while the map grows.
	indexBytes = 96
	// leastEntries is the least number of entries that the parser allocates for a table.
	leastEntries = 128
	frameBytes   = 16
	// What the parser and the outline take for a class, a field and an attribute of the metadata.
	classBytes     = 512
	fieldBytes     = 320
	attributeBytes = 128
	// latin1Factor and utf16Factor are what the parser allocates to decode a byte of a string, what it outgrows included.
	latin1Factor = 6
	utf16Factor  = 8
	// chunkBytes is what a chunk takes without all of these.
	chunkBytes = 16 << 10
	// framesStep is how many frames of the outline are reserved at a time.
	framesStep = 64 << 10
	// stackBytes is what the outline takes for a stack.
	stackBytes = 2 * 4
)

// tables are the sizes of the tables of one chunk.
type tables struct {
	entries [numTables]int
	frames  int
	// other is the memory of metadata and of decoded strings.
	other int64
}

func (t *tables) bytes() int64 {
	bytes := t.other + frameBytes*int64(t.frames)
	for i, n := range t.entries {
		bytes += int64(n)*(growing*entryBytes[i]+indexBytes) + leastEntries*entryBytes[i]
	}
	return bytes
}

// countConstants notes constants before they are read.
func (r *reader) countConstants(c *class, count int) error {
	if c.table == tableNone {
		return nil
	}
	r.chunk.tables.entries[c.table] += count
	switch c.table {
	case tableSymbol, tableString:
		if err := r.useStrings(count); err != nil {
			return err
		}
	case tableMethod:
		r.chunk.Methods += count
		if r.methodsLeft -= count; r.methodsLeft < 0 {
			return TooLarge("methods", r.limits.Methods-r.methodsLeft, r.limits.Methods)
		}
	case tableStackTrace:
		return r.reserve(stackBytes * int64(count))
	}
	return r.reserve(0)
}

func (r *reader) useStrings(count int) error {
	if r.stringsLeft -= count; r.stringsLeft < 0 {
		return TooLarge("strings", r.limits.Strings-r.stringsLeft, r.limits.Strings)
	}
	return nil
}

// uses notes other memory of the parser, such as for a string that it cannot use as it is. The next call of reserve asks for it.
func (r *reader) uses(bytes int64) { r.chunk.tables.other += bytes }

// parserBytes is what the parser takes for all that was read so far. The tables of chunks before the last are garbage, but
// perhaps not free yet.
func (r *reader) parserBytes() int64 {
	if r.chunk == nil {
		return r.before
	}
	return r.before + r.chunk.tables.bytes()
}

// reserve reserves bytes of the outline, and all that the parser will take for what was read so far.
func (r *reader) reserve(bytes int64) error {
	r.reservedOwn += bytes
	if r.limits.Reserve == nil {
		return nil
	}
	return r.limits.Reserve(r.reservedOwn + r.parserBytes())
}
