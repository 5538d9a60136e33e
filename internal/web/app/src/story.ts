// A told story: a text in steps, each of which shows a view. It is made by
// package story, and comes with the page.

import * as cam from './camera'
import type { Page } from './commands'
import { parse } from './link'
import * as memory from './memory/link'

/** Node is a part of a text, as package story has it. */
export interface Node {
  kind: string
  text?: string
  children?: Node[]
}

export interface Story {
  title: string
  intro: Node[]
  steps: { title: string; view: string; body: Node[] }[]
}

/** story takes the story out of the page; null when there is none. */
export function story(): Story | null {
  const found = document.querySelector('script[data-story]')
  const text = found?.textContent
  found?.remove()
  return text ? (JSON.parse(text) as Story) : null
}

const glideFor = 550 // ms: one should see where the picture goes

/** Teller leads through the story. The step before the first one is the introduction. */
export class Teller {
  private readonly page: Page
  private moves = 0

  constructor(page: Page) {
    this.page = page
  }

  /** first is the step that a story begins with. */
  get first(): number {
    const s = this.page.store.state.story
    return s && (s.intro.length > 0 || s.steps.length === 0) ? -1 : 0
  }

  /** go tells a step, and shows its view. */
  go(step: number): void {
    const s = this.page.store.state.story
    if (!s || step < this.first || step >= s.steps.length) return
    this.page.store.set({ step, telling: true })
    const view = s.steps[step]?.view
    if (view) void this.look(view)
  }

  next(): void {
    this.go(this.page.store.state.step + 1)
  }

  previous(): void {
    this.go(this.page.store.state.step - 1)
  }

  /** toggle shows the story, or puts it away. */
  toggle(): void {
    const { store } = this.page
    if (store.state.story) store.set({ telling: !store.state.telling })
  }

  /** look moves the picture to a view, a fragment of the page's address. */
  async look(fragment: string): Promise<void> {
    const { viewer, inquiry, store } = this.page
    const move = ++this.moves
    const p = new URLSearchParams(fragment)
    const number = Number(p.get('tab') ?? 1) - 1
    const tab = store.state.tabs[number]
    if (!tab) return
    const other = number !== store.state.tab
    viewer.switchTo(number)
    if (tab.info.memory) return memory.read(p, store, number)

    const { camera, ...patch } = parse(p, tab)
    const refolded = patch.fold !== tab.fold
    if (store.state.panel !== 'none') viewer.keepTimes = true // the panel's room is the picture's, at another scale
    store.setTab(patch, number, { mode: p.get('show') === 'table' ? 'table' : 'timeline', panel: 'none', detail: null, hover: null })
    inquiry.search(patch.query ?? '', true)
    if (patch.chain) void inquiry.chainByNumber(patch.chain.tid)
    if (patch.selected) await inquiry.selectByNumber(patch.selected.tid, patch.selected.time)
    if (patch.arrow) await inquiry.arrowByNumber(patch.arrow)
    if (move !== this.moves) return // somebody was faster

    const room = viewer.room()
    const whole = cam.whole(room)
    let to = { ...whole, ...camera, rows: p.has('rows') && camera ? camera.rows : whole.rows }
    const detail = patch.selected ? store.state.detail : null
    if (detail && detail.row >= 0 && !p.has('focus') && !p.has('scroll')) {
      to = cam.reveal(to, room, (to.from + to.to) / 2, detail.y)
    }
    viewer.look(to, { glide: !other && !refolded, lasts: glideFor })
  }
}
