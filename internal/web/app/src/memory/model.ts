// What the page knows of a trace of memory: package engine's words, and where
// one looks.

import type { State, Tab } from '../store'
import { bytes, count, duration, moment } from '../time'

/** A trace of memory introduces itself. */
export interface MemoryInfo {
  blocks: number
  samples: number
  unit: number // bytes that a sample stands for; 0 when that is not known
  begin: number // s since the Unix epoch
  rate: number
  wordSize: number
  version: number
  executable: string
  host: string
  context: string
  promoted: number
  peak: Point
  end: number // samples alive at the end
  domains: number
  goroutines: boolean
  cycles: number
  lost: number
}

export interface Point {
  time: number
  samples: number
}

/** A condition on blocks: times and lifetimes in s, sizes in bytes. */
export interface Clause {
  what: What
  from?: number
  to?: number
  text?: string
}

export const whats = [
  'allocated', 'alive', 'collected', 'never', 'peak', 'end', 'size', 'lifetime', 'survived', 'young', 'inside', 'outside',
  'source', 'domain', 'goroutine',
] as const
export type What = (typeof whats)[number]

/** Which of a clause's fields count. */
export const fields: Record<What, 'time' | 'none' | 'size' | 'lifetime' | 'text' | 'source' | 'number'> = {
  allocated: 'time', alive: 'time', collected: 'time', never: 'none', peak: 'none', end: 'none', size: 'size', lifetime: 'lifetime',
  survived: 'none', young: 'none', inside: 'text', outside: 'text', source: 'source', domain: 'number', goroutine: 'number',
}

/** The clauses whose range a brush can set. */
export const brushes = ['allocated', 'alive', 'collected'] as const
export type Brush = (typeof brushes)[number]

export interface Focus {
  node: number
  depth: number
  theirs?: boolean
  func: string
}

/** What to compare with. */
export interface Base {
  trace: number
  filter: Clause[]
}

export type MemoryPanel = 'flame' | 'functions' | 'spots' | 'ways' | 'histograms' | 'groups'

/** How one looks at a trace of memory. */
export interface Outlook {
  view: { from: number; to: number } | null // of the chart; null for the whole trace
  filter: Clause[]
  brush: Brush // what dragging over the chart sets
  base: Base | null
  inverted: boolean
  flipped: boolean
  hidden: string[]
  focus: Focus | null
  query: string
  marked: string // the function whose callers and callees are shown
  at: number | null // a moment that was picked
  panel: MemoryPanel
}

export const outlook: Outlook = {
  view: null, filter: [], brush: 'allocated', base: null, inverted: false, flipped: false, hidden: [], focus: null, query: '',
  marked: '', at: null, panel: 'functions',
}

export interface Amounts {
  samples: number
  blocks: number
  peak: Point
  end: number
}

export interface ChartMeta {
  from: number
  to: number
  top: number
  whole: number
}

export interface FlameMeta {
  whole: number
  base: number
  shown: number
  unit: number
  rows: number
  row: number
  focus: number
  boxes: number
  full: boolean
  compared: boolean
  found: number
  functions: number
}

export interface Box {
  name: string
  module: string
  kind: 'function' | 'all' | 'rest'
  style: number
  x: number
  y: number
  width: number
  height: number
  amount: number
  base: number
  self: number
  unit: number
  whole: number
  focus?: Focus
  path: string[]
  deep: number
}

export interface FunctionTable {
  total: number
  offset: number
  rows: FunctionRow[]
}

export interface FunctionRow {
  name: string
  module: string
  self: number
  amount: number
  blocks: number
  live: number
  baseSelf: number
  baseAmount: number
}

export interface FunctionDetail {
  name: string
  module: string
  self: number
  amount: number
  blocks: number
  live: number
  callers: { name: string; amount: number }[]
  callees: { name: string; amount: number }[]
}

export interface SpotTable {
  total: number
  offset: number
  rows: Spot[]
}

export interface Spot {
  name: string
  place: string
  amount: number
  blocks: number
  live: number
  liveBlocks: number
  typical: number
  oldest: number
  growing: boolean
  neverFreed: boolean
  slope: number
  stack: string[]
  deep: number
}

export interface Way {
  stack: string[]
  deep: number
  amount: number
  self: number
}

export interface Bucket {
  from: number
  to: number
  amount: number
  all: number
  blocks: number
}

export interface Histograms {
  sizes: Bucket[]
  lifetimes: Bucket[]
  never: number
}

export interface Group {
  number: number
  name?: string
  amount: number
  blocks: number
  live: number
}

export interface Groups {
  domains: Group[]
  goroutines: Group[]
  sources: Group[]
  more: number
}

/** amount writes an amount of samples, as the bytes that they stand for if that is known. */
export function amount(v: number, unit: number): string {
  return unit > 0 ? bytes(v * unit) : `${count(Math.round(v))} ${v === 1 ? 'sample' : 'samples'}`
}

/** growth writes samples of a second, of which a place may have less than one. */
export function growth(slope: number, unit: number): string {
  return unit > 0 ? bytes(slope * unit) : `${Number(slope.toPrecision(3))} samples`
}

/** wholeOf is the stretch of time that the chart shows without a zoom. */
export function wholeOf(tab: Tab): { from: number; to: number } {
  const long = tab.info.duration
  return { from: -long * 0.01, to: long * 1.01 }
}

export function viewOf(tab: Tab): { from: number; to: number } {
  return tab.outlook.view ?? wholeOf(tab)
}

/** asked is what goes with each question about a trace of memory. */
export function asked(o: Outlook): Record<string, unknown> {
  const { filter, base, inverted, flipped, hidden, focus, marked } = o
  return { memory: { filter, base, inverted, flipped, hidden, focus, marked } }
}

const verbs: Record<What, string> = {
  allocated: 'allocated', alive: 'alive', collected: 'collected', never: 'never collected', peak: 'alive at the peak', end: 'alive at the end',
  size: 'size', lifetime: 'lifetime', survived: 'survived a collection', young: 'survived none', inside: 'inside', outside: 'not inside',
  source: 'from', domain: 'domain', goroutine: 'goroutine',
}

export const titles: Record<What, string> = {
  allocated: 'Allocated in a time', alive: 'Alive at a time', collected: 'Collected in a time', never: 'Never collected',
  peak: 'Alive at the peak', end: 'Alive at the end', size: 'Size', lifetime: 'Lifetime', survived: 'Survived a collection',
  young: 'Survived no collection', inside: 'Inside a function or module', outside: 'Not inside a function or module',
  source: 'From a heap', domain: 'By a domain', goroutine: 'By a goroutine',
}

/** tell writes a clause for people; long is how long the trace is. */
export function tell(c: Clause, long: number): string {
  const time = (v: number) => moment(v, Math.pow(10, Math.floor(Math.log10(long / 2000))), long)
  const between = (write: (v: number) => string): string => {
    if (c.from !== undefined && c.to !== undefined) return c.from === c.to ? write(c.from) : `${write(c.from)} – ${write(c.to)}`
    if (c.from !== undefined) return `≥ ${write(c.from)}`
    return c.to === undefined ? 'any' : `≤ ${write(c.to)}`
  }
  switch (fields[c.what]) {
    case 'none':
      return verbs[c.what]
    case 'time':
      return `${verbs[c.what]} ${c.what === 'alive' && c.from === c.to ? 'at ' : ''}${between(time)}`
    case 'size':
      return `size ${between(bytes)}`
    case 'lifetime':
      return `lifetime ${between(duration)}`
    case 'source':
      return `from the ${c.text === 'external' ? 'outside of the heap' : `${c.text} heap`}`
    case 'number':
      return `${verbs[c.what]} ${c.from ?? ''}`
  }
  return `${verbs[c.what]} ${c.text ?? ''}`
}

/** isMemory says whether the tab that is shown is a trace of memory. */
export function isMemory(s: State): boolean {
  return s.tabs[s.tab]?.info.memory !== undefined
}
