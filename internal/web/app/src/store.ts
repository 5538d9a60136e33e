import { useEffect, useState } from 'preact/hooks'
import type { Camera } from './camera'
import type { Outlook } from './memory/model'
import type { Story } from './story'
import type { Arrow, Detail, Findings, Hits, Meta, Overview, Style, Summary, TraceInfo } from './protocol'

/** A thread that is selected, and the moment at which it was met. */
export interface Selected {
  thread: number
  tid: string
  time: number
}

export interface Mark {
  time: number
  name: string
}

/** What lies under the mouse: a thread, or an arrow to another one. */
export interface Hover {
  x: number
  y: number
  title: string
  to?: string
  how?: string // the class of its sign
  about: string
  time?: number // when that was
}

export interface Range {
  from: number
  to: number
}

/** Tab is one trace, with how one looks at it. */
export interface Tab {
  info: TraceInfo
  camera: Camera | null // null until the picture's size is known
  selected: Selected | null
  arrow: Arrow | null // that is selected; then no thread is
  chain: { thread: number; tid: string } | null
  query: string
  only: boolean // only what the search finds is in the picture
  hit: number // which of the search's hits one is at; -1 for none
  hidden: string[]
  fold: boolean // long idle stretches are short breaks; the camera's times are folded ones
  marks: Mark[]
  pinned: { tid: string; title: string }[]
  range: Range | null
  changed: boolean // the file is not any more what was loaded
  past: Camera[] // views, for undo and redo
  future: Camera[]
  outlook: Outlook // how one looks at a trace of memory
}

export type Panel = 'none' | 'thread' | 'arrow' | 'findings' | 'counters' | 'range'
export type Dialog = 'none' | 'help' | 'palette' | 'export' | 'start' | 'duration' | 'mark'
export type Theme = 'auto' | 'light' | 'dark'

export interface State {
  tabs: Tab[]
  tab: number
  palettes: { light: Style[]; dark: Style[] }
  width: number // of the picture, in px; 0 until known
  height: number
  ratio: number
  theme: Theme
  systemDark: boolean
  mode: 'timeline' | 'table'
  panel: Panel
  dialog: Dialog
  follow: boolean
  busy: string // what takes a while, for people
  toast: string
  ended: string // why no question is answered any more
  pointer: { x: number; y: number } | null // where the mouse is on the picture
  area: { x0: number; x1: number } | null // what is being dragged, in px
  hover: Hover | null
  meta: Meta | null
  detail: Detail | null
  hits: Hits | null
  queryError: string
  findings: Findings | null
  summary: Summary | null // of what is seen
  rangeSummary: Summary | null
  overview: Overview | null
  story: Story | null
  step: number // of the story; -1 is its introduction
  telling: boolean // whether the story is shown
  opens: boolean // whether the page can open files
}

export const initial: State = {
  tabs: [], tab: 0, palettes: { light: [], dark: [] }, width: 0, height: 0, ratio: 1, theme: 'auto', systemDark: false,
  mode: 'timeline', panel: 'none', dialog: 'none', follow: false, busy: '', toast: '', ended: '',
  pointer: null, area: null, hover: null, meta: null, detail: null, hits: null, queryError: '',
  findings: null, summary: null, rangeSummary: null, overview: null,
  story: null, step: -1, telling: false, opens: false,
}

/** Store holds the state and tells who listens when it has changed. */
export class Store {
  state: State = initial
  private readonly listeners = new Set<() => void>()

  set(patch: Partial<State>): void {
    this.state = { ...this.state, ...patch }
    for (const f of [...this.listeners]) f()
  }

  listen(f: () => void): () => void {
    this.listeners.add(f)
    return () => this.listeners.delete(f)
  }

  get tab(): Tab | undefined {
    return this.state.tabs[this.state.tab]
  }

  /** setTab changes one tab, the one that is shown unless told otherwise. */
  setTab(patch: Partial<Tab>, number = this.state.tab, more: Partial<State> = {}): void {
    const tabs = this.state.tabs.map((t, i) => (i === number ? { ...t, ...patch } : t))
    this.set({ ...more, tabs })
  }
}

export function dark(s: State): boolean {
  return s.theme === 'dark' || (s.theme === 'auto' && s.systemDark)
}

/** useStore draws a component again when what it picks from the state has changed. */
export function useStore<T>(store: Store, pick: (s: State) => T): T {
  const [value, setValue] = useState(() => pick(store.state))
  useEffect(() => {
    let last = pick(store.state)
    setValue(() => last)
    return store.listen(() => {
      const next = pick(store.state)
      if (Object.is(next, last)) return
      last = next
      setValue(() => next)
    })
  }, [store])
  return value
}

/** useTab is useStore for the tab that is shown. */
export function useTab<T>(store: Store, pick: (t: Tab) => T): T | undefined {
  return useStore(store, (s) => {
    const tab = s.tabs[s.tab]
    return tab && pick(tab)
  })
}
