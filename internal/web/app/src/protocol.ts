// What the page and the engine say to each other: package engine's protocol.

import type { Fold } from './fold'
import type { MemoryInfo } from './memory/model'

export const version = 1

/** What the body of an answer is. */
export const kind = { json: 1, refusal: 2, picture: 3, file: 4, notice: 5 } as const

export interface View {
  from: number // the time at the left edge, in s
  to: number
  width: number // in px
  height: number
  rows: Rows
  focus: number // the y that the fisheye enlarges, in rows' units
  scroll: number // of linear rows, in px
  fold: boolean // long idle stretches are short breaks
  zoom: number // px per unit of linear rows, of which a row takes 30
  hidden: string[] // counters that are switched off
  marks: number[] // times that are marked
  selected: number | null
  arrow: { how: How; from: number; to: number; time: number } | null // the one that is selected
  chain: number | null
  query: string
  only: boolean // only the threads that the query finds are drawn
}

export type Rows = 'fisheye' | 'linear'

/** A question. Which fields count is told at engine.Request. */
export interface Question {
  ask: string
  trace: number
  [field: string]: unknown
}

export interface Answer {
  kind: number
  trace: number
  generation: number
  body: ArrayBuffer // with the envelope in front, so that it need not be copied
}

/** Where the body begins within an answer. */
export const envelope = 16

export interface Refusal {
  code: string
  message: string
}

export interface Notice {
  what: 'changed' | 'reloaded' | 'added' | 'refused'
  trace: number
  generation?: number
  why?: string // a file could not be added, for people
}

export interface Damage {
  offset: number
  what: string
}

export interface TraceInfo {
  name: string
  format: string
  packets: number
  lostPackets: number
  damage: Damage[] | null
  events: number
  threads: number
  rows: number
  height: number // the y of the last row
  duration: number
  simplified: boolean
  counters: { name: string; min: number; max: number; style: number; bytes: boolean }[]
  folds: Fold[] | null // what a folded view folds
  types: string[]
  generation: number
  start: number // time 0, in s since the Unix epoch; 0 when that is not known
  memory?: MemoryInfo // of a trace of memory
}

/** How a style is painted: scene.Styles, with a colour. */
export interface Style {
  name: string
  color: string
  width: number // of lines, in px
  dash: number[]
  font: number // size of text, in px
}

export interface Hello {
  version: string
  traces: TraceInfo[]
  dashLimit: number // lines of one operation beyond which dashes are left out
  light: Style[]
  dark: Style[]
}

export interface Meta {
  from: number
  to: number
  gridStep: number
  gridCaption: string
  rowsTotal: number
  threadsVisible: number
  hiddenArrows: number
  mergedThreads: number
  contentHeight: number
  scrollMax: number
  counters: { name: string }[] | null
}

export interface Link {
  thread: number
  tid: string
  title: string
  type: string
  time?: number
  how?: How | ''
  failed?: boolean
}

/** How one thread met another. */
export type How = 'resolve' | 'read' | 'try_read' | 'signal'

/** What one thread did with another. The ends' times are those at which the arrow sets out and comes up. */
export interface Arrow {
  how: How
  time: number // when it was done
  from: Link // who did it, or whose result was read
  to: Link
}

export interface Links {
  total: number
  items: Link[] | null
}

export interface Detail extends Link {
  start: number
  end: number
  row: number
  y: number
  resolved: boolean
  failure?: string
  runs: number
  ran: number
  firstRun?: number
  parent?: Link
  children: Links
  becomes: Links
  became: Links
  wokenBy: Links
  resolvedBy: Links
  waitsFor: Links
  waitedFor: Links
  wakes: Links
  labels: { total: number; items: { time: number; text: string }[] | null }
  waits: { total: number; items: (Gap & { reason: string })[] | null } // the longest first
}

export interface Pick {
  thread?: Link
  arrow?: Arrow // if one lies nearer than the thread
  time: number // of the pointer
}

export interface Hits {
  total: number
  offset: number
  near: number
  items: (Link & { text: string })[]
}

export interface Gap {
  from: number
  to: number
}

export interface Findings {
  unresolved: Links
  failed: Links
  gaps: { over: number; total: number; idle: number; longest: Gap[] }
  gc: { total: number; time: number; longest: Gap[] }
  lost: number
  damage: Damage[] | null
  notes: Damage[] | null
}

export interface Next extends Gap {
  thread?: Link
}

export interface Summary extends Gap {
  busy: number
  idle: number
  gc: number
  counters: { name: string; bytes: boolean; first: number; last: number; min: number; mean: number; max: number }[]
}

export interface Table {
  total: number
  offset: number
  rows: TableRow[]
}

export interface TableRow extends Link {
  start: number
  end: number
  runs: number
  ran: number
  state: 'resolved' | 'failed' | 'never resolved'
  failure?: string
}

/** The whole trace in columns of equal time. */
export interface Overview {
  from: number
  to: number
  alive: number[] // the most threads at once are 1
  busy: number[] // the share of the time in which something ran
  gc: number[]
  failures?: number[]
  hits?: number[]
  counters?: { name: string; style: number; values: number[] }[]
}
