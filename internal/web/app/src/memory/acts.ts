// What one can do to a trace of memory. None of it takes anything away that
// was not asked for: a filter leaves the flame graph's zoom and the chart's
// window as they are.

import type { Store } from '../store'
import { outlook, viewOf, wholeOf, type Brush, type Clause, type Focus, type Outlook } from './model'

const maxPast = 100
const past = new WeakMap<Store, Map<number, { back: Outlook[]; forth: Outlook[] }>>()

function history(store: Store, tab: number): { back: Outlook[]; forth: Outlook[] } {
  let all = past.get(store)
  if (!all) past.set(store, (all = new Map()))
  let h = all.get(tab)
  if (!h) all.set(tab, (h = { back: [], forth: [] }))
  return h
}

/** stepHit goes to the flame graph's next box that is highlighted, or to the one before. */
export function stepHit(back: boolean): void {
  document.getElementById('flame')?.dispatchEvent(new CustomEvent('hit', { detail: back }))
}

/** look changes how one looks; what is worth an undo is remembered. */
export function look(store: Store, patch: Partial<Outlook>, forget = false): void {
  const tab = store.tab
  if (!tab) return
  if (!forget) {
    const h = history(store, store.state.tab)
    h.back = [...h.back.slice(1 - maxPast), tab.outlook]
    h.forth = []
  }
  store.setTab({ outlook: { ...tab.outlook, ...patch } })
}

/** undo goes back to how one looked before, and forth again. */
export function undo(store: Store, forth: boolean): boolean {
  const tab = store.tab
  if (!tab) return false
  const h = history(store, store.state.tab)
  const to = (forth ? h.forth : h.back).pop()
  if (!to) return false
  ;(forth ? h.back : h.forth).push(tab.outlook)
  store.setTab({ outlook: to })
  return true
}

const alone = new Set(['allocated', 'alive', 'collected', 'size', 'lifetime', 'source', 'domain', 'goroutine', 'never', 'peak', 'end', 'survived', 'young'])

/** add puts a clause into the filter; of kinds that make no sense twice it takes the place of the other. */
export function add(store: Store, clause: Clause, forget = false): void {
  const o = store.tab?.outlook
  if (!o) return
  const same = (c: Clause) => c.what === clause.what && (alone.has(c.what) || c.text === clause.text)
  const at = o.filter.findIndex(same)
  const filter = at < 0 ? [...o.filter, clause] : o.filter.map((c, i) => (i === at ? clause : c))
  look(store, { filter }, forget)
}

export function replace(store: Store, at: number, clause: Clause | null): void {
  const o = store.tab?.outlook
  if (!o) return
  look(store, { filter: o.filter.flatMap((c, i) => (i === at ? (clause ? [clause] : []) : [c])) })
}

/** brush sets the time that the filter is about. */
export function brush(store: Store, what: Brush, from: number, to: number, forget = false): void {
  const long = store.tab?.info.duration ?? 0
  const cut = (t: number) => Number(Math.min(Math.max(t, 0), long).toPrecision(9))
  add(store, { what, from: cut(Math.min(from, to)), to: cut(Math.max(from, to)) }, forget)
}

/** zoom goes to a box of the flame graph; null is all of it. */
export function zoom(store: Store, focus: Focus | null): void {
  look(store, { focus })
}

export function hide(store: Store, name: string): void {
  const o = store.tab?.outlook
  if (o && !o.hidden.includes(name)) look(store, { hidden: [...o.hidden, name], focus: o.focus?.func === name ? null : o.focus })
}

export function show(store: Store, name: string): void {
  const o = store.tab?.outlook
  if (o) look(store, { hidden: o.hidden.filter((h) => h !== name) })
}

/** invert turns the flame graph round. Its focus stays at the same function's stacks, as far as that means something. */
export function invert(store: Store): void {
  const o = store.tab?.outlook
  if (o) look(store, { inverted: !o.inverted, focus: null })
}

/** mark shows a function's callers and callees; '' none. */
export function mark(store: Store, name: string): void {
  look(store, { marked: name, panel: 'functions' }, true)
}

/** move zooms the chart by a factor about a time, or moves it by a share of its width. */
export function move(store: Store, factor: number, about: number | null, by = 0): void {
  const tab = store.tab
  if (!tab) return
  const v = viewOf(tab)
  const whole = wholeOf(tab)
  const at = about ?? (v.from + v.to) / 2
  const shift = (v.to - v.from) * by
  let from = at - (at - v.from) * factor + shift
  let to = at + (v.to - at) * factor + shift
  const span = Math.min(Math.max(to - from, Math.max(1e-5, (whole.to - whole.from) * 1e-7)), whole.to - whole.from)
  const middle = (from + to) / 2
  from = Math.min(Math.max(middle - span / 2, whole.from), whole.to - span)
  to = from + span
  const all = span >= (whole.to - whole.from) * 0.9999
  look(store, { view: all ? null : { from, to } }, true)
}

export function reset(store: Store): void {
  const o = store.tab?.outlook
  if (o) look(store, { ...outlook, panel: o.panel, flipped: o.flipped, inverted: o.inverted, base: o.base })
}
