// The URL's fragment holds what is seen, so that a copied link shows the same
// picture. The fragment never reaches the server.

import type { Camera } from './camera'
import { fold, unfold } from './fold'
import * as memory from './memory/link'
import type { Arrow, How } from './protocol'
import type { State, Store, Tab } from './store'

const exact = (v: number) => String(Number(v.toPrecision(12)))
const finer = (v: number) => String(Number(v.toFixed(10))) // well within a ns

/** write puts the tab that is shown into a fragment, with the step of a story that is told. */
export function write(s: State): string {
  const tab = s.tabs[s.tab]
  if (!tab) return ''
  const told = s.story && s.telling ? `&step=${s.step + 1}` : ''
  return (tab.info.memory ? memory.write(s, tab) : writeThreads(s, tab)) + told
}

function writeThreads(s: State, tab: Tab): string {
  const p = new URLSearchParams()
  if (s.tab > 0) p.set('tab', String(s.tab + 1))
  const c = tab.camera
  const folds = tab.fold ? (tab.info.folds ?? []) : []
  if (c) {
    p.set('from', exact(unfold(folds, c.from)))
    p.set('to', exact(unfold(folds, c.to)))
    p.set('rows', c.rows)
    if (c.rows === 'fisheye') p.set('focus', exact(c.focus))
    else p.set('scroll', exact(c.scroll))
  }
  if (tab.selected) p.set('thread', `${tab.selected.tid}@${exact(tab.selected.time)}`)
  if (tab.arrow) p.set('arrow', `${tab.arrow.how}:${tab.arrow.from.tid}~${tab.arrow.to.tid}@${finer(tab.arrow.time)}`)
  if (tab.chain) p.set('chain', tab.chain.tid)
  if (tab.query) p.set('search', tab.query)
  if (tab.query && tab.only) p.set('only', '1')
  if (tab.range) p.set('range', `${exact(tab.range.from)}~${exact(tab.range.to)}`)
  for (const m of tab.marks) p.append('mark', `${exact(m.time)}:${m.name}`)
  for (const pin of tab.pinned) p.append('pin', pin.tid)
  for (const h of tab.hidden) p.append('hide', h)
  if (tab.fold) p.set('fold', '1')
  if (s.mode === 'table') p.set('show', 'table')
  if (s.follow) p.set('follow', '1')
  return p.toString().replace(/%40/g, '@').replace(/%3A/g, ':').replace(/%7E/g, '~').replace(/%2F/g, '/')
}

/** read takes over what a fragment holds, as far as it makes sense. */
export function read(fragment: string, store: Store): void {
  const p = new URLSearchParams(fragment.replace(/^#/, ''))
  if ([...p.keys()].length === 0) return
  const number = Math.max(0, Number(p.get('tab') ?? 1) - 1) || 0
  const tab = store.state.tabs[number]
  if (!tab) return
  if (tab.info.memory) return memory.read(p, store, number)
  const patch = parse(p, tab)
  if (patch.fold !== tab.fold && !patch.camera) patch.camera = null // the whole trace
  store.setTab(patch, number, {
    tab: number,
    mode: p.get('show') === 'table' ? 'table' : 'timeline',
    panel: patch.selected ? 'thread' : patch.arrow ? 'arrow' : 'none',
    follow: p.get('follow') === '1',
  })
}

/** parse returns what a fragment says of a tab. Without times it has no camera. */
export function parse(p: URLSearchParams, tab: Tab): Partial<Tab> {
  const patch: Partial<Tab> = {}
  const from = Number(p.get('from') ?? NaN)
  const to = Number(p.get('to') ?? NaN)
  patch.fold = p.get('fold') === '1'
  const folds = patch.fold ? (tab.info.folds ?? []) : []
  if (Number.isFinite(from) && Number.isFinite(to) && from < to) {
    patch.camera = {
      from: fold(folds, from),
      to: fold(folds, to),
      rows: p.get('rows') === 'linear' ? 'linear' : 'fisheye',
      focus: Number(p.get('focus') ?? 0) || 0,
      scroll: Number(p.get('scroll') ?? 0) || 0,
    } satisfies Camera
  }
  const [tid, at] = (p.get('thread') ?? '').split('@')
  patch.selected = null
  if (tid && /^-?\d+$/.test(tid)) patch.selected = { thread: -1, tid, time: Number(at) || 0 }
  patch.arrow = patch.selected ? null : parseArrow(p.get('arrow') ?? '')
  const chain = p.get('chain')
  patch.chain = null
  if (chain && /^-?\d+$/.test(chain)) patch.chain = { thread: -1, tid: chain }
  patch.query = p.get('search') ?? ''
  patch.only = patch.query !== '' && p.get('only') === '1'
  const range = (p.get('range') ?? '').split('~').map(Number)
  patch.range = null
  if (range.length === 2 && range.every(Number.isFinite)) patch.range = { from: range[0]!, to: range[1]! }
  patch.marks = p.getAll('mark').flatMap((m) => {
    const colon = m.indexOf(':')
    const time = Number(m.slice(0, colon))
    return colon > 0 && Number.isFinite(time) ? [{ time, name: m.slice(colon + 1) }] : []
  })
  patch.pinned = p.getAll('pin').filter((t) => /^-?\d+$/.test(t)).map((t) => ({ tid: t, title: '' }))
  patch.hidden = p.getAll('hide')
  return patch
}

/** parseArrow reads an arrow, of whose threads only the numbers are known. */
function parseArrow(text: string): Arrow | null {
  const m = /^(resolve|read|try_read|signal):(-?\d+)~(-?\d+)@([-+.\de]+)$/.exec(text)
  const time = Number(m?.[4])
  if (!m || !Number.isFinite(time)) return null
  const end = (tid: string) => ({ thread: -1, tid, title: '', type: '', time })
  return { how: m[1] as How, time, from: end(m[2]!), to: end(m[3]!) }
}
