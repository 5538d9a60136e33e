// What the keys do in a trace of memory.

import { focusSearch, type Command, type Page } from '../commands'
import { add, invert, look, move, stepHit, undo, zoom } from './acts'
import { save } from './save'
import type { MemoryPanel } from './model'

const common = new Set(['theme', 'palette', 'help', 'reload', 'follow', 'export', 'copy', 'open'])

/** memoryCommands are those of a trace of memory; all are those of other traces, some of which are common to both. */
export function memoryCommands({ viewer, store }: Page, all: Command[]): Command[] {
  const panel = (id: MemoryPanel, title: string, key: string): Command => ({
    id, title, group: 'Show', keys: [key], shown: key.toUpperCase(), run: () => look(store, { panel: id, marked: '' }, true),
  })
  const hit = (back: boolean) => {
    const o = store.tab?.outlook
    if (o?.query || o?.marked) stepHit(back)
    else viewer.say('Search for something first')
  }
  const say = (done: boolean, text: string) => done || viewer.say(text)
  return [
    { id: 'zoom-in', title: 'Zoom into the chart', group: 'Chart', keys: ['KeyW', '+', '='], shown: 'W', run: () => move(store, 0.8, null), hold: (s) => move(store, Math.exp(-2.2 * s), null) },
    { id: 'zoom-out', title: 'Zoom out', group: 'Chart', keys: ['KeyS', '-'], shown: 'S', run: () => move(store, 1.25, null), hold: (s) => move(store, Math.exp(2.2 * s), null) },
    { id: 'pan-left', title: 'Earlier', group: 'Chart', keys: ['KeyA', 'ArrowLeft'], shown: 'A', run: () => move(store, 1, null, -0.12), hold: (s) => move(store, 1, null, -1.1 * s) },
    { id: 'pan-right', title: 'Later', group: 'Chart', keys: ['KeyD', 'ArrowRight'], shown: 'D', run: () => move(store, 1, null, 0.12), hold: (s) => move(store, 1, null, 1.1 * s) },
    { id: 'whole', title: 'Whole trace', group: 'Chart', keys: ['0', 'Home'], shown: '0', run: () => look(store, { view: null }, true) },
    { id: 'peak', title: 'Only what was alive at the peak', group: 'Filter', keys: ['p'], shown: 'P', run: () => add(store, { what: 'peak' }) },
    { id: 'never', title: 'Only what was never collected', group: 'Filter', keys: ['n'], shown: 'N', run: () => add(store, { what: 'never' }) },
    { id: 'clause', title: 'Add a clause…', group: 'Filter', keys: ['x'], shown: 'X', run: () => document.getElementById('add-clause')?.click() },
    { id: 'clear', title: 'Clear the filter', group: 'Filter', keys: ['Shift+X'], shown: 'Shift X', run: () => look(store, { filter: [], hidden: [] }) },
    { id: 'undo', title: 'Back', group: 'Filter', keys: ['Ctrl+z'], shown: 'Ctrl Z', run: () => say(undo(store, false), 'There is nothing earlier') },
    { id: 'redo', title: 'Forth', group: 'Filter', keys: ['Ctrl+y', 'Ctrl+Shift+Z'], shown: 'Ctrl Y', run: () => say(undo(store, true), 'There is nothing later') },
    { id: 'search', title: 'Search functions', group: 'Find', keys: ['/'], run: () => focusSearch() },
    { id: 'next-hit', title: 'Next hit', group: 'Find', keys: ['F3'], run: () => hit(false) },
    { id: 'previous-hit', title: 'Previous hit', group: 'Find', keys: ['Shift+F3'], shown: 'Shift F3', run: () => hit(true) },
    { id: 'invert', title: 'Inverted flame graph', group: 'Show', keys: ['i'], shown: 'I', run: () => invert(store) },
    { id: 'flip', title: 'Flipped flame graph', group: 'Show', keys: ['f'], shown: 'F', run: () => look(store, { flipped: !store.tab?.outlook.flipped }, true) },
    { id: 'unzoom', title: 'All of the flame graph', group: 'Show', keys: ['Backspace'], run: () => zoom(store, null) },
    panel('functions', 'Functions', 't'),
    panel('spots', 'Places that allocate', 'l'),
    panel('ways', 'Hot paths', 'h'),
    panel('histograms', 'Histograms', 'g'),
    panel('groups', 'Who allocated', 'o'),
    ...all.filter((c) => common.has(c.id) || c.group === 'Traces'),
    { id: 'export-svg', title: 'Export the flame graph as SVG', group: 'Keep', keys: [], run: () => void save(viewer, 'flame', 'svg') },
    { id: 'export-png', title: 'Export the flame graph as PNG', group: 'Keep', keys: [], run: () => void save(viewer, 'flame', 'png') },
    { id: 'export-chart', title: 'Export the chart as SVG', group: 'Keep', keys: [], run: () => void save(viewer, 'chart', 'svg') },
    { id: 'away', title: 'Close, or clear what is picked', group: 'Keep', keys: ['Escape'], shown: 'Esc', run: () => away(store, viewer) },
  ]
}

function away(store: Page['store'], viewer: Page['viewer']): void {
  const o = store.tab?.outlook
  if (!o) return
  if (store.state.toast) viewer.say('')
  if (o.at !== null) look(store, { at: null }, true)
  else if (o.marked) look(store, { marked: '' }, true)
  else if (o.focus) zoom(store, null)
  else if (o.query) look(store, { query: '' }, true)
}
