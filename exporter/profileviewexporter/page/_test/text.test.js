// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// How names, numbers, selectors and links are written.

import assert from 'node:assert/strict'
import test from 'node:test'
import { change, clock, local, round, share, signed, timeTicks, value, valueTicks } from '../format.js'
import { fitting, forms, packageOf } from '../names.js'
import { added, completing, parse, print, query, split, valuesOf } from '../selectors.js'
import { before, check, moment, read, write } from '../state.js'
import { stepOf } from '../timeline.js'

test('names have shorter forms', () => {
  for (const [name, short, last] of [
    ['main.main', 'main.main', 'main'],
    ['runtime.main.func2', 'runtime.main.func2', 'main.func2'],
    ['net/http.(*conn).serve', 'http.(*conn).serve', 'serve'],
    ['net/http.HandlerFunc.ServeHTTP', 'http.HandlerFunc.ServeHTTP', 'ServeHTTP'],
    ['github.com/example/db/v2.Open', 'db.Open', 'Open'],
    ['gopkg.in/yaml%2ev3.(*parser).parse', 'yaml.v3.(*parser).parse', 'parse'],
    ['example.com/shop/index.(*Tree[go.shape.string,go.shape.struct { A example.com/x/y.T; F func(a/b.Request) error }]).Send', 'index.(*Tree[…]).Send', 'Send'],
    ['example.com/shop/rpc.(*Client[go.shape.struct { F func(context.Context, *net/http.Request) (*a/b.Response, error) }]).Send.func1.2', 'rpc.(*Client[…]).Send.func1.2', 'Send.func1.2'],
    ['slices.SortFunc[go.shape.[]example.com/shop.Row,go.shape.struct {}]', 'slices.SortFunc[…]', 'SortFunc[…]'],
    ['github.com/a/b.Map[...].Load', 'b.Map[…].Load', 'Load'],
    ['type:.eq.[2]interface {}', 'type:.eq.[…]interface {}', null],
    ['std::vector<std::pair<int, Foo>, std::allocator<Foo> >::push_back(Foo const&)', 'std::vector<…>::push_back(…)', null],
    ['<alloc::vec::Vec<T> as core::iter::Extend<T>>::extend', '<…>::extend', null],
    ['operator<<(std::ostream&, int)', 'operator<<(…)', null],
    ['com.example.shop.Checkout.total', 'com.example.shop.Checkout.total', 'total'],
    ['java/util/HashMap.get', 'HashMap.get', 'get'],
    ['open [bracket', 'open […', null],
    ['', '', null]
  ]) {
    const all = forms(name)
    assert.equal(all[1], short, name)
    if (last !== null) assert.equal(all.at(-1), last, name)
  }
})

test('the longest form that fits is shown', () => {
  const names = forms('net/http.(*conn).serve')
  assert.equal(fitting(names, 22), 'net/http.(*conn).serve')
  assert.equal(fitting(names, 21), 'http.(*conn).serve')
  assert.equal(fitting(names, 17), '(*conn).serve')
  assert.equal(fitting(names, 6), 'serve')
  assert.equal(fitting(names, 4), 'ser…')
  assert.equal(fitting(names, 3), '')
})

test('the functions of a package have one colour', () => {
  assert.equal(packageOf('net/http.(*conn).serve'), 'net/http')
  assert.equal(packageOf('example.com/a.b/c.F[go.shape.int]'), 'example.com/a.b/c')
  assert.equal(packageOf('std::vector<int>::size'), 'std')
})

test('a value has one form', () => {
  for (const [x, unit, text] of [
    [157.48e9, 'nanoseconds', '2.62 min'], [2.82e9, 'nanoseconds', '2.82 s'], [999.9e6, 'nanoseconds', '1.00 s'], [59.97e9, 'nanoseconds', '1.00 min'],
    [20e6, 'nanoseconds', '20.0 ms'], [0, 'nanoseconds', '0'], [1, 'nanoseconds', '1 ns'], [7200e9, 'nanoseconds', '2.00 h'], [3600e12, 'nanoseconds', '1,000 h'],
    [1500, 'milliseconds', '1.50 s'], [191033840, 'bytes', '182 MiB'], [1023, 'bytes', '1,023 B'], [1024, 'bytes', '1.00 KiB'],
    [7, 'count', '7'], [12345, 'count', '12,345'], [123456, 'count', '123 k'], [1234567, 'objects', '1.23 M'], [-5e8, 'nanoseconds', '−500 ms']
  ]) assert.equal(value(x, unit), text)
  assert.equal(change(5e8, 'nanoseconds'), '+500 ms')
  assert.equal(change(0, 'nanoseconds'), '0')
  assert.deepEqual([value(300e9, 'nanoseconds'), round(300e9, 'nanoseconds'), round(100 << 20, 'bytes'), round(1536, 'bytes')], ['5.00 min', '5 min', '100 MiB', '1.5 KiB'])
  assert.deepEqual([share(1, 3), share(1, 1), share(0, 5), share(5, 0), share(1, 2500)], ['33.3 %', '100 %', '0 %', '0 %', '0.04 %'])
  assert.deepEqual([signed(0.0312), signed(-0.0004), signed(0), signed(0.5, '%')], ['+3.1 pp', '−0.04 pp', '0 pp', '+50.0 %'])
})

test('axes have round values', () => {
  assert.deepEqual(valueTicks(1.7e9, 'nanoseconds'), [0, 5e8, 1e9, 1.5e9])
  assert.deepEqual(valueTicks(90e9, 'nanoseconds').map(tick => round(tick, 'nanoseconds')), ['0', '30 s', '1 min', '1.5 min'])
  assert.deepEqual(valueTicks(0, 'count'), [])
  const ticks = timeTicks(1795462861000, 1795463161000, 6)
  assert.deepEqual(ticks.map(tick => tick % 60000), [0, 0, 0, 0, 0])
  assert.match(clock(ticks[0], 3600e3), /^\d\d:\d\d$/)
  assert.match(clock(ticks[0], 60e3), /^\d\d:\d\d:\d\d$/)
})

test('selectors are read and written', () => {
  assert.deepEqual(parse('{pod=~"a.*", env!="pr\\"od"}'), [{ name: 'pod', operator: '=~', value: 'a.*' }, { name: 'env', operator: '!=', value: 'pr"od' }])
  assert.equal(query('sh"op', 'pod="p0"'), '{service_name="sh\\"op", pod="p0"}')
  assert.deepEqual(split(query('shop', 'pod="p0", x!~"y"')), { service: 'shop', select: 'pod="p0", x!~"y"' })
  assert.equal(added('pod="p0", env="a"', 'pod', 'p1'), 'env="a", pod="p1"')
  assert.deepEqual(valuesOf('trace_id="4b", pod=~"x"'), { trace_id: '4b' })
  for (const [text, printed] of [ // as Prometheus and the clients of Pyroscope write them
    ["{service_name='shop'}", 'service_name="shop"'], [`{"k8s.pod.name"='a', 'a b'="c"}`, 'k8s.pod.name="a", "a b"="c"'], [String.raw`a='b "c" \'d\' \\'`, String.raw`a="b \"c\" 'd' \\"`],
    ['a=`b\\d`', String.raw`a="b\\d"`], ['process_cpu{}', '__name__="process_cpu"'], ['process_cpu:cpu:ns::{a="{b}"}', '__profile_type__="process_cpu:cpu:ns::", a="{b}"']
  ]) {
    assert.equal(print(parse(text)), printed)
    assert.deepEqual(parse(printed), parse(text))
  }
  assert.deepEqual(split("a:b:c:d:e{service_name='shop',x='y'}"), { service: 'shop', select: 'x="y"', type: 'a:b:c:d:e' })
  for (const text of ["a='b'c'", '"a"', 'process_cpu', "a='\\d'", 'a="{b}', '{a="b"}x', 'a="\n"', 'a="\\u12"']) assert.throws(() => parse(text), /Cannot read the selectors at/, text)
  assert.throws(() => parse('pod=p0'), /pod=p0/)
  assert.throws(() => parse('pod="\\d"'), /Cannot read the selectors at: pod/)
})

test('completion knows names and values', () => {
  const at = text => completing(text, text.length)
  assert.deepEqual(at('po'), { begun: 'po', others: '' })
  assert.deepEqual(at('env="a,b", po'), { begun: 'po', others: 'env="a,b",' })
  assert.deepEqual(at('env="a", pod=~"p'), { name: 'pod', operator: '=~', begun: 'p', others: 'env="a",' })
  assert.equal(at('pod="p0" '), null)
  assert.deepEqual(at('"a b'), { begun: 'a b', others: '' })
  assert.deepEqual(at('"a, b"="c'), { name: 'a, b', operator: '=', begun: 'c', others: '' })
})

test('a link holds the whole state', () => {
  const state = read('?service=shop&select=pod%3D%22p0%22&type=a:b:c&from=-1h&base_service=cart&base_from=-2h&base_until=-1h&zoom=5&focus=main.main&sort=-self')
  assert.deepEqual(read(write(state)), state)
  assert.deepEqual(state.base, { service: 'cart', select: '', from: '-2h', until: '-1h' })
  assert.equal(write(read('')), '?')
  const linked = read('?query=%7Bservice_name%3D%22shop%22%2C%20pod%3D%22p0%22%7D&span_id=00f067aa0ba902b7')
  assert.deepEqual([linked.service, linked.select], ['shop', 'pod="p0", span_id="00f067aa0ba902b7"'])
  assert.equal(read('?select=pod%3D').select, 'pod=', 'what cannot be read stays')
  assert.equal(read('?select=pod&trace_id=4b').select, 'pod, trace_id="4b"', 'also before an ID')
  assert.equal(read('?query={service_name=shop}&span_id=5c').select, '{service_name=shop}, span_id="5c"')
  assert.equal(read('?select={pod="a"}&trace_id=4b').select, 'pod="a", trace_id="4b"')
  assert.throws(() => check(read('?select=pod&trace_id=4b')), /Cannot read the selectors at: pod, trace_id/)
})

test('times are relative or absolute', () => {
  assert.equal(moment('-15m', 1e12), 1e12 - 900e3)
  assert.equal(moment('1795462860000', 0), 1795462860000)
  assert.equal(moment('now', 5), 5)
  assert.deepEqual(before({ from: '-15m', until: 'now' }, 0), { from: '-30m', until: '-15m' })
  assert.deepEqual(before({ from: '2000', until: '3000' }, 0), { from: '1000', until: '2000' })
  assert.equal(moment('now-1h', 1e12), 1e12 - 3600e3)
  assert.deepEqual(before({ from: 'now-1h', until: 'now' }, 0), { from: '-2h', until: 'now-1h' })
  for (const from of ['1763900000000000000', '-99999999999d', 'yesterday', '-1h30m']) {
    assert.ok(Number.isNaN(moment(from, 1e12)), from)
    assert.throws(() => check(read(`?from=${from}`)), new RegExp(`Cannot read the time: ${from}\\.`))
  }
  for (const from of ['now-1h', '8640000000000000', '2026-11-23T10:00:00Z', '']) check(read(`?from=${from}`))
  assert.deepEqual([local(NaN), typeof local(8.64e15)], ['', 'string'], 'no time ends the page')
  assert.equal(stepOf({ from: 0, until: 8.64e15 }), 1e6 * 86400, 'a long time has few bars, too')
})
