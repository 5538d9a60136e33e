// A trace of memory in the URL's fragment.

import type { State, Store, Tab } from '../store'
import { brushes, fields, outlook, whats, type Brush, type Clause, type MemoryPanel, type Outlook, type What } from './model'

const exact = (v: number) => String(Number(v.toPrecision(12)))

function writeClause(c: Clause): string {
  switch (fields[c.what]) {
    case 'none':
      return c.what
    case 'text':
    case 'source':
      return `${c.what}:${c.text ?? ''}`
    case 'number':
      return `${c.what}:${c.from ?? 0}`
  }
  return `${c.what}:${c.from === undefined ? '' : exact(c.from)}~${c.to === undefined ? '' : exact(c.to)}`
}

function readClause(text: string): Clause[] {
  const colon = text.indexOf(':')
  const what = (colon < 0 ? text : text.slice(0, colon)) as What
  const rest = colon < 0 ? '' : text.slice(colon + 1)
  if (!whats.includes(what)) return []
  switch (fields[what]) {
    case 'none':
      return [{ what }]
    case 'text':
    case 'source':
      return rest ? [{ what, text: rest }] : []
    case 'number':
      return /^\d+$/.test(rest) ? [{ what, from: Number(rest) }] : []
  }
  const [from, to] = rest.split('~')
  const c: Clause = { what }
  if (from && Number.isFinite(Number(from))) c.from = Number(from)
  if (to && Number.isFinite(Number(to))) c.to = Number(to)
  return [c]
}

/** write puts a tab into a fragment. */
export function write(s: State, tab: Tab): string {
  const o = tab.outlook
  const p = new URLSearchParams()
  if (s.tab > 0) p.set('tab', String(s.tab + 1))
  if (o.view) {
    p.set('from', exact(o.view.from))
    p.set('to', exact(o.view.to))
  }
  for (const c of o.filter) p.append('only', writeClause(c))
  for (const h of o.hidden) p.append('hide', h)
  if (o.brush !== 'allocated') p.set('brush', o.brush)
  if (o.base) {
    p.set('against', String(o.base.trace + 1))
    for (const c of o.base.filter) p.append('base', writeClause(c))
  }
  if (o.inverted) p.set('inverted', '1')
  if (o.flipped) p.set('flipped', '1')
  if (o.focus) p.set('focus', `${o.focus.node}.${o.focus.depth}${o.focus.theirs ? '!' : ''}:${o.focus.func}`)
  if (o.query) p.set('search', o.query)
  if (o.marked) p.set('function', o.marked)
  if (o.at !== null) p.set('at', exact(o.at))
  p.set('show', o.panel)
  return p.toString().replace(/%40/g, '@').replace(/%3A/g, ':').replace(/%7E/g, '~').replace(/%2F/g, '/')
}

/** read takes over what a fragment holds, as far as it makes sense. */
export function read(p: URLSearchParams, store: Store, number: number): void {
  const o: Outlook = { ...outlook }
  const from = Number(p.get('from') ?? NaN)
  const to = Number(p.get('to') ?? NaN)
  if (Number.isFinite(from) && Number.isFinite(to) && from < to) o.view = { from, to }
  o.filter = p.getAll('only').flatMap(readClause)
  o.hidden = p.getAll('hide')
  if (brushes.includes(p.get('brush') as Brush)) o.brush = p.get('brush') as Brush
  const against = Number(p.get('against') ?? NaN) - 1
  if (store.state.tabs[against]?.info.memory) o.base = { trace: against, filter: p.getAll('base').flatMap(readClause) }
  o.inverted = p.get('inverted') === '1'
  o.flipped = p.get('flipped') === '1'
  const focus = /^(\d+)\.(\d+)(!?):(.*)$/s.exec(p.get('focus') ?? '')
  if (focus) o.focus = { node: Number(focus[1]), depth: Number(focus[2]), ...(focus[3] ? { theirs: true } : {}), func: focus[4]! }
  o.query = p.get('search') ?? ''
  o.marked = p.get('function') ?? ''
  const at = Number(p.get('at') ?? NaN)
  if (Number.isFinite(at)) o.at = at
  const panel = p.get('show') ?? ''
  if (['flame', 'functions', 'spots', 'ways', 'histograms', 'groups'].includes(panel)) o.panel = panel as MemoryPanel
  store.setTab({ outlook: o }, number, { tab: number })
}
