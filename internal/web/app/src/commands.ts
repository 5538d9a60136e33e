// Everything that the page can do, as one table: the keyboard, the palette and
// the help are made of it.

import type { Inquiry } from './inquire'
import { write } from './link'
import type { Store } from './store'
import type { Teller } from './story'
import type { Viewer } from './viewer'
import { moment } from './time'

export interface Command {
  id: string
  title: string
  group: string
  keys: string[] // "KeyW" is a physical key, "w" a character; with "Ctrl+" and "Shift+" in front
  shown?: string // how the keys are told, if not as they are
  hold?: (seconds: number) => void // done again and again while the key is down
  run: () => void
}

export interface Page {
  viewer: Viewer
  inquiry: Inquiry
  store: Store
}

/** telling are the commands of a story, for traces of all sorts. */
export function telling(teller: Teller): Command[] {
  const g = 'Story'
  return [
    { id: 'next-step', title: 'Next step', group: g, keys: ['j'], shown: 'J', run: () => teller.next() },
    { id: 'previous-step', title: 'Previous step', group: g, keys: ['k'], shown: 'K', run: () => teller.previous() },
    { id: 'story', title: 'Show the story, or put it away', group: g, keys: ['y'], shown: 'Y', run: () => teller.toggle() },
  ]
}

export function commands(page: Page): Command[] {
  return [...moving(page), ...finding(page), ...showing(page), ...keeping(page)]
}

const zoomRate = 2.2 // e-folds in a second
const panRate = 1.1 // widths in a second

function moving({ viewer, store }: Page): Command[] {
  const width = () => store.state.width
  const step = (dy: number) => viewer.pan(0, dy, store.state.height / 2)
  const g = 'Move'
  return [
    { id: 'zoom-in', title: 'Zoom in', group: g, keys: ['KeyW', '+', '='], shown: 'W', run: () => viewer.zoom(0.8), hold: (s) => viewer.zoom(Math.exp(-zoomRate * s)) },
    { id: 'zoom-out', title: 'Zoom out', group: g, keys: ['KeyS', '-'], shown: 'S', run: () => viewer.zoom(1.25), hold: (s) => viewer.zoom(Math.exp(zoomRate * s)) },
    { id: 'pan-left', title: 'Earlier', group: g, keys: ['KeyA', 'ArrowLeft'], shown: 'A', run: () => viewer.pan(width() / 8, 0), hold: (s) => viewer.pan(width() * panRate * s, 0) },
    { id: 'pan-right', title: 'Later', group: g, keys: ['KeyD', 'ArrowRight'], shown: 'D', run: () => viewer.pan(-width() / 8, 0), hold: (s) => viewer.pan(-width() * panRate * s, 0) },
    { id: 'rows-up', title: 'Rows up', group: g, keys: ['ArrowUp'], shown: '↑', run: () => step(40), hold: (s) => step(600 * s) },
    { id: 'rows-down', title: 'Rows down', group: g, keys: ['ArrowDown'], shown: '↓', run: () => step(-40), hold: (s) => step(-600 * s) },
    { id: 'page-up', title: 'A page of rows up', group: g, keys: ['PageUp'], shown: 'PgUp', run: () => step(store.state.height * 0.8) },
    { id: 'page-down', title: 'A page of rows down', group: g, keys: ['PageDown'], shown: 'PgDn', run: () => step(-store.state.height * 0.8) },
    { id: 'whole', title: 'Whole trace', group: g, keys: ['0', 'Home'], shown: '0', run: () => viewer.whole() },
    { id: 'start', title: 'Set the start time…', group: g, keys: ['Shift+KeyS'], shown: 'Shift S', run: () => store.set({ dialog: 'start' }) },
    { id: 'duration', title: 'Set the duration…', group: g, keys: ['b', 'Shift+B'], shown: 'B', run: () => store.set({ dialog: 'duration' }) },
    { id: 'undo', title: 'Previous view', group: g, keys: ['Ctrl+z'], shown: 'Ctrl Z', run: () => viewer.undo() },
    { id: 'redo', title: 'Next view', group: g, keys: ['Ctrl+y', 'Ctrl+Shift+Z'], shown: 'Ctrl Y', run: () => viewer.redo() },
  ]
}

function finding({ viewer, inquiry, store }: Page): Command[] {
  const g = 'Find'
  return [
    { id: 'search', title: 'Search', group: g, keys: ['/'], run: () => focusSearch() },
    { id: 'next-hit', title: 'Next hit', group: g, keys: ['Enter'], run: () => void inquiry.step(false) },
    { id: 'previous-hit', title: 'Previous hit', group: g, keys: ['Shift+Enter'], shown: 'Shift Enter', run: () => void inquiry.step(true) },
    { id: 'only', title: 'Only what is found, or all threads', group: g, keys: ['x'], shown: 'X', run: () => inquiry.switchOnly() },
    { id: 'cause', title: 'Follow the cause', group: g, keys: ['['], run: () => void inquiry.follow(true) },
    { id: 'effect', title: 'Follow the effect', group: g, keys: [']'], run: () => void inquiry.follow(false) },
    { id: 'cause-arrow', title: 'Select the arrow from its cause', group: g, keys: ['{', 'Shift+BracketLeft'], run: () => void inquiry.arrowOf(true) },
    { id: 'effect-arrow', title: 'Select the arrow to its effect', group: g, keys: ['}', 'Shift+BracketRight'], run: () => void inquiry.arrowOf(false) },
    { id: 'fit', title: 'Fit the selection', group: g, keys: ['f'], shown: 'F', run: () => inquiry.fit() },
    { id: 'chain', title: 'Highlight what it became', group: g, keys: ['h'], shown: 'H', run: () => chainOfSelected({ inquiry, viewer, store }) },
    { id: 'next-failure', title: 'Next failure', group: g, keys: ['n'], shown: 'N', run: () => void inquiry.jump('failure', false) },
    { id: 'previous-failure', title: 'Previous failure', group: g, keys: ['p'], shown: 'P', run: () => void inquiry.jump('failure', true) },
    { id: 'next-gc', title: 'Next collection (GC)', group: g, keys: ['g'], shown: 'G', run: () => void inquiry.jump('gc', false) },
    { id: 'previous-gc', title: 'Previous collection (GC)', group: g, keys: ['Shift+G'], shown: 'Shift G', run: () => void inquiry.jump('gc', true) },
    { id: 'next-gap', title: 'Next long gap', group: g, keys: ['.'], run: () => void inquiry.jump('idle', false) },
    { id: 'previous-gap', title: 'Previous long gap', group: g, keys: [','], run: () => void inquiry.jump('idle', true) },
    { id: 'next-unresolved', title: 'Next that never resolved', group: g, keys: ['u'], shown: 'U', run: () => void inquiry.jump('unresolved', false) },
    { id: 'previous-unresolved', title: 'Previous that never resolved', group: g, keys: ['Shift+U'], shown: 'Shift U', run: () => void inquiry.jump('unresolved', true) },
    { id: 'findings', title: 'Findings', group: g, keys: ['i'], shown: 'I', run: () => toggle(store, 'findings') },
  ]
}

function showing({ viewer, store }: Page): Command[] {
  const g = 'Show'
  return [
    { id: 'rows', title: 'Fisheye or linear rows', group: g, keys: ['l'], shown: 'L', run: () => switchRows(viewer) },
    { id: 'fold', title: 'Fold idle time, or not', group: g, keys: ['o'], shown: 'O', run: () => viewer.switchFold() },
    { id: 'counters', title: 'All counters on or off', group: g, keys: [' '], shown: 'Space', run: () => switchCounters(store) },
    { id: 'counter-list', title: 'Counters', group: g, keys: ['v'], shown: 'V', run: () => toggle(store, 'counters') },
    { id: 'table', title: 'Table of threads', group: g, keys: ['t'], shown: 'T', run: () => store.set({ mode: store.state.mode === 'table' ? 'timeline' : 'table', hover: null }) },
    { id: 'theme', title: 'Light or dark', group: g, keys: [], run: () => switchTheme(store) },
    { id: 'palette', title: 'All commands', group: g, keys: ['Ctrl+k', '>'], shown: 'Ctrl K', run: () => store.set({ dialog: 'palette' }) },
    { id: 'help', title: 'Help', group: g, keys: ['?'], run: () => store.set({ dialog: 'help' }) },
    ...Array.from({ length: 9 }, (_, i) => ({
      id: `tab-${i + 1}`, title: `Trace ${i + 1}`, group: 'Traces', keys: [String(i + 1)], run: () => viewer.switchTo(i),
    })),
  ]
}

function keeping({ viewer, inquiry, store }: Page): Command[] {
  const g = 'Keep'
  return [
    { id: 'mark', title: 'Mark a time', group: g, keys: ['m'], shown: 'M', run: () => addMark(store, viewer) },
    ...(store.state.opens ? [{ id: 'open', title: 'Open a trace…', group: g, keys: [], run: () => document.getElementById('open-file')?.click() }] : []),
    { id: 'reload', title: 'Load the file again', group: g, keys: ['F5'], run: () => void viewer.reload() },
    { id: 'follow', title: 'Follow the file as it changes', group: g, keys: ['r'], shown: 'R', run: () => switchFollow(viewer) },
    { id: 'export', title: 'Export…', group: g, keys: ['e'], shown: 'E', run: () => store.set({ dialog: 'export' }) },
    { id: 'export-svg', title: 'Export as SVG', group: g, keys: [], run: () => void inquiry.save('svg') },
    { id: 'export-png', title: 'Export as PNG', group: g, keys: [], run: () => void inquiry.save('png') },
    { id: 'copy', title: 'Copy a link to this view', group: g, keys: ['c'], shown: 'C', run: () => void copyLink(viewer) },
    { id: 'away', title: 'Close, or clear what is selected', group: g, keys: ['Escape'], shown: 'Esc', run: () => away({ viewer, inquiry, store }) },
  ]
}

export function focusSearch(): void {
  const input = document.getElementById('search') as HTMLInputElement | null
  input?.focus()
  input?.select()
}

export function toggle(store: Store, panel: 'findings' | 'counters'): void {
  store.set({ panel: store.state.panel === panel ? 'none' : panel })
}

export function switchRows(viewer: Viewer): void {
  const c = viewer.camera
  viewer.look({ ...c, rows: c.rows === 'linear' ? 'fisheye' : 'linear' })
}

function switchCounters(store: Store): void {
  const tab = store.tab
  if (!tab) return
  store.setTab({ hidden: tab.hidden.length > 0 ? [] : tab.info.counters.map((c) => c.name) })
}

export function switchTheme(store: Store): void {
  const now = store.state.theme
  const theme = now === 'auto' ? (store.state.systemDark ? 'light' : 'dark') : now === 'light' ? 'dark' : 'light'
  store.set({ theme })
}

export function switchFollow(viewer: Viewer): void {
  const follow = !viewer.store.state.follow
  viewer.store.set({ follow })
  viewer.say(follow ? 'Following the file: it is loaded again when it changes' : 'Not following the file any more')
  if (follow && viewer.store.tab?.changed) void viewer.reload()
}

function chainOfSelected({ inquiry, viewer, store }: Page): void {
  const tab = store.tab
  if (tab?.chain) inquiry.chain(null)
  else if (tab?.selected) inquiry.chain({ thread: tab.selected.thread, tid: tab.selected.tid })
  else viewer.say('Select a thread first: click on it')
}

function addMark(store: Store, viewer: Viewer): void {
  const tab = store.tab
  if (!tab) return
  const c = viewer.times()
  const at = viewer.timeAt(store.state.pointer?.x ?? store.state.width / 2)
  const time = Math.min(Math.max(at, 0), tab.info.duration)
  const name = String(1 + Math.max(0, ...tab.marks.map((m) => Number(m.name) || 0)))
  store.setTab({ marks: [...tab.marks, { time, name }].sort((a, b) => a.time - b.time) })
  viewer.say(`Mark ${name} at ${moment(time, (c.to - c.from) / 1000, c.to)}`)
}

export async function copyLink(viewer: Viewer): Promise<void> {
  const url = new URL(location.href)
  url.hash = write(viewer.store.state)
  const ok = await copy(url.href)
  viewer.say(ok ? 'Link copied: it shows this very view' : 'The browser does not let a page copy; take the link from the address bar')
}

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false // no secure context, or no permission
  }
}

function away({ inquiry, store }: Page): void {
  const s = store.state
  const tab = store.tab
  if (s.toast) store.set({ toast: '' })
  if (s.area) store.set({ area: null })
  else if (tab?.range) store.setTab({ range: null }, undefined, { panel: s.panel === 'range' ? 'none' : s.panel })
  else if (s.panel !== 'none' && s.panel !== 'thread' && s.panel !== 'arrow') store.set({ panel: 'none' })
  else if (tab?.selected || tab?.arrow || s.panel === 'thread' || s.panel === 'arrow') inquiry.unselect()
  else if (tab?.chain) inquiry.chain(null)
  else if (tab?.query) inquiry.search('', true)
}
