// What the page asks about a trace, besides pictures. Each function puts its
// answer into the store, unless something newer has been asked meanwhile.

import type { Camera } from './camera'
import * as cam from './camera'
import { told } from './hows'
import { envelope, type Arrow, type Detail, type Findings, type Hits, type Link, type Next, type Overview, type Pick, type Summary } from './protocol'
import { dark, type Hover, type Selected } from './store'
import * as time from './time'
import type { Viewer } from './viewer'

/** Latest lets only the newest of several questions be answered. */
class Latest {
  private n = 0
  async of<T>(question: Promise<T>, use: (answer: T) => void, fail: (e: Error) => void = () => {}): Promise<void> {
    const mine = ++this.n
    try {
      const answer = await question
      if (mine === this.n) use(answer)
    } catch (e) {
      if (mine === this.n) fail(e as Error)
    }
  }
  forget(): void {
    this.n++
  }
}

export class Inquiry {
  private readonly viewer: Viewer
  private readonly details = new Latest()
  private readonly searches = new Latest()
  private readonly findingsOf = new Latest()
  private readonly overviews = new Latest()
  private readonly summaries = new Latest()
  private readonly ranges = new Latest()
  private readonly hovers = new Latest()
  private readonly trail: { from: Selected; to: number; back: boolean }[] = [] // the way of following
  private typing = 0
  private pause = 0
  private picking = false

  constructor(viewer: Viewer) {
    this.viewer = viewer
    let width = 0
    let range: unknown = null
    viewer.store.listen(() => {
      const s = viewer.store.state
      if (s.width !== width) {
        width = s.width
        this.overview()
      }
      const tab = viewer.store.tab
      if (tab && tab.range !== range) {
        range = tab.range
        this.range()
      }
    })
  }

  private get store() {
    return this.viewer.store
  }

  private ask<T>(ask: string, fields: Record<string, unknown> = {}): Promise<T> {
    return this.viewer.engine.ask<T>(ask, this.store.state.tab, fields)
  }

  private readonly fail = (e: Error): void => this.viewer.say(e.message)

  /** renew asks everything again: another trace is shown, or a newer state of it. */
  renew(): void {
    this.details.forget()
    const tab = this.store.tab
    if (!tab || tab.info.memory) return
    this.overview()
    this.findings()
    this.rest()
    if (tab.query) this.search(tab.query, true)
    if (tab.selected) void this.selectByNumber(tab.selected.tid, tab.selected.time)
    if (tab.arrow) void this.arrowByNumber(tab.arrow)
    if (tab.chain) void this.chainByNumber(tab.chain.tid)
    this.range()
  }

  /** rest asks for what is told of the view, once it rests. */
  rest(): void {
    clearTimeout(this.pause)
    this.pause = setTimeout(() => {
      const tab = this.store.tab
      if (!tab?.camera) return
      void this.summaries.of(this.ask<Summary>('range', this.viewer.times()), (summary) => this.store.set({ summary }))
    }, 60)
  }

  overview(): void {
    const s = this.store.state
    if (s.width === 0 || s.tabs.length === 0) return
    const query = s.queryError ? '' : (this.store.tab?.query ?? '')
    const fields = { width: Math.min(4096, Math.round(s.width)), query }
    void this.overviews.of(this.ask<Overview>('overview', fields), (overview) => this.store.set({ overview }))
  }

  findings(): void {
    void this.findingsOf.of(this.ask<Findings>('findings'), (findings) => this.store.set({ findings }), this.fail)
  }

  range(): void {
    const range = this.store.tab?.range
    if (!range) {
      this.ranges.forget()
      this.store.set({ rangeSummary: null })
      return
    }
    void this.ranges.of(
      this.ask<Summary>('range', { from: range.from, to: range.to }),
      (rangeSummary) => this.store.set({ rangeSummary }),
      this.fail,
    )
  }

  /** pick asks what lies at a point of the picture. */
  async pick(x: number, y: number): Promise<Pick> {
    const view = this.viewer.view()
    return view ? this.ask<Pick>('pick', { view, x, y }) : { time: this.viewer.timeAt(x) }
  }

  /** hover tells what lies under the mouse; at most one question is under way. */
  hover(x: number, y: number): void {
    if (this.picking) return
    this.picking = true
    const done = () => {
      this.picking = false
      const p = this.store.state.pointer
      if (p && (p.x !== x || p.y !== y)) this.hover(p.x, p.y)
    }
    void this.hovers.of(
      this.pick(x, y),
      (p) => {
        done()
        this.store.set({ hover: this.store.state.pointer ? hoverOf(p, x, y) : null })
      },
      done,
    )
  }

  leave(): void {
    this.hovers.forget()
    this.picking = false
    this.store.set({ pointer: null, hover: null })
  }

  /** clickAt selects the arrow or thread at a point; none takes the selection away. */
  async clickAt(x: number, y: number): Promise<void> {
    try {
      const p = await this.pick(x, y)
      if (p.arrow) this.selectArrow(p.arrow, p.time)
      else if (p.thread) this.select({ ...p.thread, time: p.time })
      else this.unselect()
    } catch (e) {
      this.fail(e as Error)
    }
  }

  /** chainAt highlights all that became one with the thread at a point. */
  async chainAt(x: number, y: number): Promise<void> {
    const p = await this.pick(x, y)
    if (p.thread) this.chain({ thread: p.thread.thread, tid: p.thread.tid })
    else this.store.setTab({ chain: null })
  }

  chain(of: { thread: number; tid: string } | null): void {
    this.store.setTab({ chain: of })
    if (!of) return
    void this.ask<{ total: number }>('chain', { thread: of.thread }).then((c) => {
      this.viewer.say(c.total > 1 ? `${time.plural(c.total, 'thread')} became one` : 'This thread became no other, and none became it')
    }, this.fail)
  }

  /** chainByNumber is chain for a thread whose index is not known. */
  async chainByNumber(tid: string): Promise<void> {
    try {
      const d = await this.ask<Detail>('thread', { tid })
      this.store.setTab({ chain: { thread: d.thread, tid } })
    } catch {
      this.store.setTab({ chain: null })
    }
  }

  /** select shows a thread in the panel; goTo also moves the picture to it. */
  select(link: Link, goTo = false): void {
    const selected: Selected = { thread: link.thread, tid: link.tid, time: link.time ?? 0 }
    this.store.setTab({ selected, arrow: null }, undefined, { panel: 'thread', mode: this.store.state.mode })
    void this.detail({ thread: link.thread }, goTo ? (link.time ?? null) : undefined)
  }

  /** selectByNumber is select for a thread whose index is not known. */
  async selectByNumber(tid: string, at?: number, goTo = false): Promise<void> {
    await this.detail({ tid }, goTo ? (at ?? null) : undefined, at)
  }

  /** detail asks for a thread; goTo is the moment to move to, null for its start. */
  private detail(which: Record<string, unknown>, goTo?: number | null, at?: number): Promise<void> {
    return this.details.of(
      this.ask<Detail>('thread', which),
      (detail) => {
        const time = goTo ?? at ?? this.store.tab?.selected?.time ?? detail.start
        this.store.setTab({ selected: { thread: detail.thread, tid: detail.tid, time }, arrow: null }, undefined, { detail })
        if (goTo !== undefined) laidOut(() => this.show(detail, goTo ?? detail.start))
        else if (at === undefined) laidOut(() => this.store.tab?.selected?.thread === detail.thread && this.keepInSight(time, detail)) // it was clicked on
      },
      (e) => {
        this.store.setTab({ selected: null }, undefined, { detail: null })
        this.fail(e)
      },
    )
  }

  /** keepInSight moves what was clicked on at a time out from under the panel. */
  private keepInSight(at: number, d: Detail | null): void {
    const { from, to } = this.viewer.times()
    if (at > to && at < to + (to - from)) this.show(d, at)
  }

  /** show moves to a time, and to a thread's row. */
  private show(d: Detail | null, at: number): void {
    this.viewer.look(cam.reveal(this.viewer.camera, this.viewer.room(), this.viewer.folded(at), d && d.row >= 0 ? d.y : null), { glide: true })
  }

  unselect(): void {
    this.details.forget()
    this.trail.length = 0
    const panel = this.store.state.panel
    this.store.setTab({ selected: null, arrow: null }, undefined, { detail: null, panel: panel === 'thread' || panel === 'arrow' ? 'none' : panel })
  }

  /** selectArrow shows an arrow in the panel; at is where it was clicked on. */
  selectArrow(arrow: Arrow, at: number | null = null): void {
    this.details.forget()
    this.trail.length = 0
    this.store.setTab({ arrow, selected: null }, undefined, { detail: null, panel: 'arrow' })
    laidOut(() => (at === null ? this.show(null, arrow.time) : this.keepInSight(at, null)))
  }

  /** arrowByNumber selects an arrow whose threads' indices are not known. */
  arrowByNumber({ how, time, from, to }: Arrow): Promise<void> {
    return this.details.of(
      this.ask<Arrow>('arrow', { how, time, tid: from.tid, toTid: to.tid }),
      (arrow) => this.store.setTab({ arrow }),
      (e) => {
        this.unselect()
        this.fail(e)
      },
    )
  }

  /** arrowOf selects the arrow by which one would follow the selected thread back, or forth. */
  async arrowOf(back: boolean): Promise<void> {
    const selected = this.store.tab?.selected
    if (!selected) return this.viewer.say('Select a thread first: click on it')
    try {
      const other = await this.ask<Link | null>('follow', { thread: selected.thread, time: selected.time, back })
      if (!other) return this.viewer.say(nobody(back))
      const [from, to] = back ? [other, selected] : [selected, other]
      this.selectArrow(await this.ask<Arrow>('arrow', { how: other.how, time: other.time, tid: from.tid, toTid: to.tid }))
    } catch (e) {
      this.fail(e as Error)
    }
  }

  /** goToEnd selects the thread from which an arrow comes, or to which it goes. */
  private goToEnd(arrow: Arrow, back: boolean): void {
    const [end, far] = back ? [arrow.from, arrow.to] : [arrow.to, arrow.from]
    this.trail.push({ from: { thread: far.thread, tid: far.tid, time: far.time ?? arrow.time }, to: end.thread, back })
    this.select(end, true)
  }

  /** fit shows what is selected from its start to its end. */
  fit(): void {
    const arrow = this.store.tab?.arrow
    const range = this.store.tab?.range
    const d = this.store.state.detail
    if (this.store.state.panel === 'range' && range) this.viewer.frameTimes(range.from, range.to)
    else if (d && this.store.tab?.selected) this.viewer.frameTimes(d.start, d.end, d.row >= 0 ? d.y : null)
    else if (arrow) this.fitArrow(arrow)
    else this.viewer.whole()
  }

  /** fitArrow shows all of an arrow that takes time, and any one where it is. */
  private fitArrow({ from, to, time }: Arrow): void {
    const [left, came] = [from.time ?? time, to.time ?? time]
    if (left === came) this.show(null, time)
    else this.viewer.frameTimes(Math.min(left, came), Math.max(left, came))
  }

  /**
   * follow goes one arrow back, to the cause, or forth to the effect; from an
   * arrow to one of its ends. Who turns round goes back the way he came.
   */
  async follow(back: boolean): Promise<void> {
    const { selected, arrow } = this.store.tab ?? {}
    if (arrow) return this.goToEnd(arrow, back)
    if (!selected) return this.viewer.say('Select a thread first: click on it')
    const last = this.trail.at(-1)
    if (last && last.back !== back && last.to === selected.thread) {
      this.trail.pop()
      this.select({ ...last.from, title: '', type: '' }, true)
      return
    }
    if (last && last.to !== selected.thread) this.trail.length = 0
    try {
      const other = last && last.to === selected.thread ? last.from.thread : null
      const step = await this.ask<Link | null>('follow', { thread: selected.thread, time: selected.time, back, other })
      if (!step) return this.viewer.say(nobody(back))
      this.trail.push({ from: selected, to: step.thread, back })
      if (this.trail.length > 1000) this.trail.shift()
      this.select(step, true)
    } catch (e) {
      this.fail(e as Error)
    }
  }

  /** search shows what a query finds, as it is typed. */
  search(query: string, now = false): void {
    const only = query !== '' && (this.store.tab?.only ?? false) // nothing is hidden by a search that there is not any more
    this.store.setTab({ query, only, hit: now ? (this.store.tab?.hit ?? -1) : -1 }, undefined, { queryError: '' })
    clearTimeout(this.typing)
    const go = () => {
      if (query === '') {
        this.searches.forget()
        this.store.set({ hits: null })
        this.overview()
        return
      }
      void this.searches.of(
        this.ask<Hits>('search', { query, limit: 100, time: this.viewer.times().from }),
        (hits) => {
          this.store.set({ hits })
          this.overview()
        },
        (e) => this.store.set({ hits: null, queryError: e.message }),
      )
    }
    if (now) go()
    else this.typing = setTimeout(go, 90)
  }

  /** switchOnly leaves only what the search finds in the picture, or shows all again. */
  switchOnly(): void {
    const tab = this.store.tab
    if (!tab?.query) return this.viewer.say('Search for something first: what is found can be shown alone')
    this.store.setTab({ only: !tab.only })
  }

  /** step goes to the next hit, or the previous one. */
  async step(back: boolean): Promise<void> {
    const tab = this.store.tab
    if (!tab?.query) return
    try {
      const near = await this.ask<Hits>('search', { query: tab.query, limit: 1, time: this.viewer.times().from })
      if (near.total === 0) return this.viewer.say('Nothing found')
      let hit = tab.hit + (back ? -1 : 1)
      if (tab.hit < 0) hit = back ? near.near - 1 : near.near
      hit = (hit + near.total) % near.total
      await this.goToHit(hit)
    } catch (e) {
      this.fail(e as Error)
    }
  }

  async goToHit(hit: number): Promise<void> {
    const query = this.store.tab?.query ?? ''
    const page = await this.ask<Hits>('search', { query, offset: hit, limit: 1 })
    const link = page.items[0]
    if (!link) return
    this.store.setTab({ hit })
    this.select(link, true)
  }

  /**
   * jump goes to the next event of a sort: from where the last jump went, if
   * that is still in the middle; from what is selected, if it is in sight; or
   * from the edge of what is seen.
   */
  async jump(what: 'failure' | 'unresolved' | 'gc' | 'idle', back: boolean): Promise<void> {
    const { from, to } = this.viewer.times()
    const selected = this.store.tab?.selected
    const ofThread = what === 'failure' || what === 'unresolved'
    let at = back ? to : from
    if (ofThread && selected && selected.time >= from && selected.time <= to) at = selected.time
    else if (this.lastSpan?.what === what && cam.same(this.lastSpan.camera, this.viewer.camera)) at = this.lastSpan.from
    const names = { failure: 'failure', unresolved: 'thread that never resolved', gc: 'collection', idle: 'long gap' }
    try {
      const next = await this.ask<Next | null>('next', { what, back, time: at })
      if (!next) return this.viewer.say(`No ${back ? 'earlier' : 'later'} ${names[what]}`)
      if (next.thread) this.select({ ...next.thread, time: next.from }, true)
      else this.toSpan(what, next)
    } catch (e) {
      this.fail(e as Error)
    }
  }
  private lastSpan: { what: string; camera: Camera; from: number } | null = null

  /** toSpan shows a stretch of time in the middle of the picture. */
  private toSpan(what: string, next: Next): void {
    const c = this.viewer.camera
    const start = this.viewer.folded(next.from)
    const end = this.viewer.folded(next.to)
    const span = Math.max(c.to - c.from, (end - start) * 1.3)
    const middle = (start + end) / 2
    const camera = cam.settle({ ...c, from: middle - span / 2, to: middle + span / 2 }, this.viewer.room())
    this.lastSpan = { what, camera, from: next.from }
    this.viewer.look(camera, { glide: true })
  }

  /** save makes a file of what is seen: SVG by the engine, PNG of the very picture that is shown. */
  async save(format: 'svg' | 'png'): Promise<void> {
    const s = this.store.state
    const tab = this.store.tab
    const view = this.viewer.view()
    if (!tab || !view) return
    const withMarks = { ...view, marks: tab.marks.map((m) => m.time) }
    const theme = dark(s) ? 'dark' : 'light'
    try {
      const blob =
        format === 'png'
          ? await this.viewer.engine.picture(this.viewer.scenery(withMarks))
          : new Blob([new Uint8Array(await this.ask<ArrayBuffer>('export', { view: withMarks, theme }), envelope)], { type: 'image/svg+xml' })
      download(blob, `${tab.info.name.replace(/\.[^.]*$/, '')}.${format}`)
      this.viewer.say(`Saved as ${format.toUpperCase()}`)
    } catch (e) {
      this.fail(e as Error)
    }
  }
}

/** laidOut waits until the page has its new shape. */
function laidOut(f: () => void): void {
  requestAnimationFrame(() => requestAnimationFrame(f))
}

function nobody(back: boolean): string {
  return back ? 'Nothing earlier made it run' : 'It woke nobody later'
}

function hoverOf(p: Pick, x: number, y: number): Hover | null {
  if (p.arrow) {
    const { sign, how } = told(p.arrow)
    return { x, y, title: p.arrow.from.title, to: p.arrow.to.title, how: sign, about: how, time: p.arrow.time }
  }
  if (p.thread) return { x, y, title: p.thread.title, about: `${p.thread.type} ${p.thread.tid}` }
  return null
}

function download(blob: Blob, name: string): void {
  const a = document.createElement('a')
  a.href = URL.createObjectURL(blob)
  a.download = name
  a.click()
  setTimeout(() => URL.revokeObjectURL(a.href), 10_000)
}
