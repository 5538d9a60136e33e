import * as cam from './camera'
import type { Camera, Room } from './camera'
import type { Engine } from './engine'
import { fold, unfold } from './fold'
import { outlook } from './memory/model'
import { maxOpened } from './wasm'
import type { Arrow, Hello, Notice, TraceInfo, View } from './protocol'
import type { Scenery } from './stage'
import { dark, Store, type Tab } from './store'

/** How one gets to another view. */
interface Way {
  glide?: boolean // move there instead of jumping
  lasts?: number // how long the glide takes, in ms
  forget?: boolean // not worth an undo
}

const glideFor = 200 // ms
const restAfter = 400 // ms without a move make a view worth an undo
const maxPast = 100

/** Viewer holds where one looks, in each tab, and keeps the picture at it. */
export class Viewer {
  readonly store = new Store()
  readonly engine: Engine
  /** onOpen is called when traces have been opened or loaded again. */
  onOpen: () => void = () => {}
  /** onRest is called when the view has not moved for a while. */
  onRest: () => void = () => {}
  private resting: Camera | null = null // the view of the last rest
  private rest = 0
  private glide = 0
  private way: { from: Camera; to: Camera } | null = null // of the glide
  private wanted = '' // the picture that the state asks for
  private drawn = '' // the newest that there is
  private readonly calm = matchMedia('(prefers-reduced-motion: reduce)')

  constructor(engine: Engine) {
    this.engine = engine
    engine.onDrawn = (d) => {
      const s = this.store.state
      if (d.trace === s.tab) this.store.set({ meta: d.meta })
      this.onDrawn(d.frame, d.view, d.took)
      this.drawn = JSON.stringify([d.trace, d.view])
      this.tellBusy()
    }
    engine.onNotice = (n) => this.notice(n)
    engine.onEnd = (why) => this.store.set({ ended: why })
    engine.onFail = (message) => {
      this.say(message)
      this.drawn = this.wanted // there will be no better one
      this.tellBusy()
    }
    this.store.listen(() => this.show())
  }

  onDrawn: (frame: number, view: View, took: number) => void = () => {}
  /** onBusy is told whether the picture is still on its way to what the state asks for. */
  onBusy: (busy: boolean) => void = () => {}

  private tellBusy(): void {
    this.onBusy(this.way !== null || this.wanted !== this.drawn)
  }

  /** stop ends a glide where it is. */
  private stop(): void {
    cancelAnimationFrame(this.glide)
    this.way = null
    this.tellBusy()
  }

  get reducedMotion(): boolean {
    return this.calm.matches
  }

  /** open asks what there is to see. */
  async open(): Promise<void> {
    const hello = await this.engine.ask<Hello>('hello', 0)
    this.store.set({ tabs: hello.traces.map(newTab), palettes: { light: hello.light, dark: hello.dark } })
    this.place()
    this.onOpen()
  }

  /**
   * resize is told the picture's size in px. What is seen stays under the mouse:
   * a panel that opens hides what is at the right instead of squeezing time.
   * Only a window of another size shows a whole trace as a whole again.
   */
  resize(width: number, height: number, ratio: number): void {
    const s = this.store.state
    if (width === s.width && height === s.height && ratio === s.ratio) return
    const before = s.width > 0 ? this.room() : null
    const window = innerWidth !== this.windowWidth
    this.windowWidth = innerWidth
    this.store.set({ width, height, ratio })
    if (before && before.width !== width && !this.keepTimes) {
      const full = cam.whole(before, this.camera)
      const all = Math.abs(full.from - this.camera.from) + Math.abs(full.to - this.camera.to) < 1e-6 * (full.to - full.from)
      this.widen(width / before.width)
      if (all && window) this.look(cam.whole(this.room(), this.camera), { forget: true })
    }
    if (before && before.width !== width) this.keepTimes = false
    this.place()
  }

  /** keepTimes is set when the next size is to show the very times that a link names. */
  keepTimes = false
  private windowWidth = 0

  /** widen lets all views end earlier or later, at the same scale. */
  private widen(factor: number): void {
    const wide = (c: Camera): Camera => ({ ...c, to: c.from + (c.to - c.from) * factor })
    this.store.set({ tabs: this.store.state.tabs.map((t) => (t.camera ? { ...t, camera: wide(t.camera) } : t)) })
    if (this.resting) this.resting = wide(this.resting)
    if (this.way) this.way = { from: wide(this.way.from), to: wide(this.way.to) }
    this.onRest()
  }

  /** place gives each tab a view once that is possible. */
  private place(): void {
    const s = this.store.state
    if (s.width === 0) return
    if (!s.tabs.some((t) => !t.camera)) return
    const tabs = s.tabs.map((t) => (t.camera ? t : { ...t, camera: cam.whole(roomOf(t, s.width, s.height)) }))
    this.store.set({ tabs })
    this.settled()
  }

  room(tab = this.store.tab): Room {
    const s = this.store.state
    return roomOf(tab, s.width, s.height)
  }

  /** folded returns where in the camera's time a real time lies. */
  folded(t: number): number {
    const tab = this.store.tab
    return tab?.fold ? fold(tab.info.folds ?? [], t) : t
  }

  /** time returns the real time of one of the camera's. */
  time(u: number): number {
    const tab = this.store.tab
    return tab?.fold ? unfold(tab.info.folds ?? [], u) : u
  }

  /** timeAt returns the real time at x px. */
  timeAt(x: number): number {
    const c = this.camera
    return this.time(c.from + ((c.to - c.from) * x) / Math.max(1, this.store.state.width))
  }

  /** times returns the real times at the edges. */
  times(): { from: number; to: number } {
    const c = this.camera
    return { from: this.time(c.from), to: this.time(c.to) }
  }

  /** lookAt shows a stretch of real time. */
  lookAt(from: number, to: number, way: Way = {}): void {
    this.look({ ...this.camera, from: this.folded(from), to: this.folded(to) }, way)
  }

  /** switchFold folds idle time or unfolds it, and keeps what is seen. */
  switchFold(): void {
    const tab = this.store.tab
    if (!tab?.camera) return
    if ((tab.info.folds ?? []).length === 0) return this.say('There is no idle time that is worth folding')
    const full = cam.whole(this.room())
    const all = Math.abs(tab.camera.from - full.from) + Math.abs(tab.camera.to - full.to) < 1e-3 * (full.to - full.from)
    const { from, to } = this.times()
    this.stop()
    this.store.setTab({ fold: !tab.fold, past: [], future: [] })
    if (all) this.look(cam.whole(this.room(), tab.camera), { forget: true })
    else this.lookAt(from, to, { forget: true })
  }

  get camera(): Camera {
    return this.store.tab?.camera ?? cam.whole(this.room())
  }

  /** look goes to another view. */
  look(to: Camera, way: Way = {}): void {
    this.stop()
    const target = cam.settle(to, this.room())
    const from = this.camera
    if (!way.glide || this.reducedMotion || from.rows !== target.rows) {
      this.store.setTab({ camera: target })
      this.moved(way)
      return
    }
    const start = performance.now()
    this.way = { from, to: target }
    this.tellBusy()
    const step = (now: number) => {
      const t = Math.min(1, Math.max(0, (now - start) / (way.lasts ?? glideFor)))
      const eased = 1 - Math.pow(1 - t, 3)
      const { from: a, to: b } = this.way!
      this.store.setTab({ camera: t === 1 ? b : cam.between(a, b, eased) })
      if (t < 1) {
        this.glide = requestAnimationFrame(step)
        return
      }
      this.way = null
      this.tellBusy()
      this.moved(way)
    }
    this.glide = requestAnimationFrame(step)
  }

  private moved(way: Way): void {
    clearTimeout(this.rest)
    if (way.forget) this.settled()
    else this.rest = setTimeout(() => this.settled(true), restAfter)
  }

  /** settled is the end of a move, which may be worth an undo. */
  private settled(remember = false): void {
    const tab = this.store.tab
    if (!tab?.camera) return
    if (remember && this.resting && !cam.same(this.resting, tab.camera)) {
      this.store.setTab({ past: [...tab.past.slice(1 - maxPast), this.resting], future: [] })
    }
    this.resting = tab.camera
    this.onRest()
  }

  /** undo goes back to an earlier view, redo forth again. */
  undo(): void {
    this.settleNow()
    const tab = this.store.tab
    const to = tab?.past.at(-1)
    if (!tab?.camera || !to) return this.say('There is no earlier view')
    this.store.setTab({ past: tab.past.slice(0, -1), future: [...tab.future, tab.camera] })
    this.look(to, { forget: true })
  }

  redo(): void {
    const tab = this.store.tab
    const to = tab?.future.at(-1)
    if (!tab?.camera || !to) return this.say('There is no later view')
    this.store.setTab({ future: tab.future.slice(0, -1), past: [...tab.past, tab.camera] })
    this.look(to, { forget: true })
  }

  /** settleNow ends a move at once. */
  private settleNow(): void {
    clearTimeout(this.rest)
    const camera = this.store.tab?.camera
    if (camera && this.resting && !cam.same(camera, this.resting)) this.settled(true)
  }

  zoom(factor: number, x = this.store.state.pointer?.x ?? this.store.state.width / 2): void {
    this.look(cam.zoom(this.camera, this.room(), factor, x))
  }

  pan(dx: number, dy: number, y?: number): void {
    this.look(cam.pan(this.camera, this.room(), dx, dy, y))
  }

  /** frameTimes shows a stretch of real time with a little room around it. */
  frameTimes(start: number, end: number, y: number | null = null): void {
    const c = this.camera
    const from = this.folded(start)
    const to = this.folded(end)
    const least = Math.max(to - from, 1e-9, (c.to - c.from) * 1e-6)
    const middle = (from + to) / 2
    const half = (least * 1.16) / 2
    const at = { ...c, from: middle - half, to: middle + half }
    this.look(y === null ? at : cam.reveal(at, this.room(), middle, y), { glide: true })
  }

  whole(): void {
    this.look(cam.whole(this.room(), this.camera), { glide: true })
  }

  switchTo(tab: number): void {
    const s = this.store.state
    if (tab === s.tab || !s.tabs[tab]) return
    this.stop()
    clearTimeout(this.rest)
    this.store.set({
      tab, meta: null, detail: null, hits: null, findings: null, summary: null, rangeSummary: null,
      overview: null, hover: null, area: null,
      panel: s.panel === 'thread' || s.panel === 'arrow' || s.panel === 'range' ? 'none' : s.panel,
    })
    this.resting = this.store.tab?.camera ?? null
    this.onOpen()
    this.settled()
  }

  /** openFile opens a file that somebody has at hand, in a tab of its own, and shows it. */
  async openFile(file: File): Promise<boolean> {
    if (this.store.state.busy) return false
    if (file.size > maxOpened) {
      this.say(`${file.name} is too big for a page: use 'mirador view'`)
      return false
    }
    this.store.set({ busy: `Opening ${file.name}…` })
    try {
      await this.engine.open(file.name, await file.arrayBuffer())
      const hello = await this.engine.ask<Hello>('hello', 0)
      const old = this.store.state.tabs
      this.store.set({ tabs: [...old, ...hello.traces.slice(old.length).map(newTab)], busy: '' })
      this.place()
      this.switchTo(this.store.state.tabs.length - 1)
      return true
    } catch (e) {
      this.store.set({ busy: '' })
      this.say((e as Error).message)
      return false
    }
  }

  say(toast: string): void {
    this.store.set({ toast })
  }

  private notice(n: Notice): void {
    if (n.what === 'changed') {
      this.store.setTab({ changed: true }, n.trace)
      if (this.store.state.follow) void this.reload(n.trace)
      return
    }
    if (n.what === 'refused') return this.say(n.why ?? '')
    if (n.what === 'added') return void this.add()
    const tab = this.store.state.tabs[n.trace]
    if (tab && tab.info.generation !== n.generation) void this.renew(n.trace)
  }

  /** add takes over the traces that have been opened since, and shows the last. */
  private async add(): Promise<void> {
    const { traces } = await this.engine.ask<Hello>('hello', 0)
    const tabs = this.store.state.tabs
    if (traces.length <= tabs.length) return // told twice
    this.store.set({ tabs: [...tabs, ...traces.slice(tabs.length).map(newTab)] })
    this.place()
    this.switchTo(traces.length - 1)
  }

  /** reload has a trace's file read again. */
  async reload(tab = this.store.state.tab): Promise<void> {
    if (this.store.state.busy) return
    this.store.set({ busy: 'Loading the file again…' })
    try {
      await this.engine.ask('reload', tab)
      await this.renew(tab)
      if (!this.store.state.follow) this.say('Loaded again')
    } catch (e) {
      this.say((e as Error).message)
    }
    this.store.set({ busy: '' })
  }

  /** renew takes over a trace that was loaded again, keeping what is seen. */
  private async renew(number: number): Promise<void> {
    const hello = await this.engine.ask<Hello>('hello', 0)
    const info = hello.traces[number]
    const tab = this.store.state.tabs[number]
    if (!info || !tab) return
    const s = this.store.state
    let camera = tab.camera
    const grown = lasts(info, tab.fold) - lasts(tab.info, tab.fold)
    if (camera && grown !== 0 && camera.to >= lasts(tab.info, tab.fold) && s.width > 0) {
      // Who saw the end wants to see the end.
      const all = camera.from <= 0
      camera = all
        ? cam.whole(roomOf({ ...tab, info }, s.width, s.height), camera)
        : { ...camera, from: camera.from + grown, to: camera.to + grown }
    }
    this.store.setTab({ info, camera, changed: false }, number)
    if (number === s.tab) this.onOpen()
  }

  /** show has the worker show what the state says. */
  private show(): void {
    const s = this.store.state
    const tab = this.store.tab
    const view = this.view()
    if (!tab || !view) return
    const theme = dark(s) ? 'dark' : 'light'
    const key = JSON.stringify([s.tab, tab.info.generation, view, s.ratio, theme])
    if (key === this.shown) return
    this.shown = key
    this.wanted = JSON.stringify([s.tab, view])
    this.tellBusy()
    this.engine.show(this.scenery(view))
  }
  private shown = ''

  /** scenery is a view with all that the worker has to know. */
  scenery(view: View): Scenery {
    const s = this.store.state
    const { from, to } = this.camera
    const generation = this.store.tab?.info.generation ?? 0
    return { trace: s.tab, generation, view, from, to, ratio: s.ratio, theme: dark(s) ? 'dark' : 'light' }
  }

  /** view is what the state says, in the engine's words. */
  view(): View | null {
    const s = this.store.state
    const tab = this.store.tab
    if (!tab?.camera || s.width === 0 || tab.info.memory) return null
    return {
      ...tab.camera,
      ...this.times(),
      fold: tab.fold,
      width: s.width,
      height: s.height,
      zoom: 1,
      hidden: tab.hidden,
      marks: [],
      selected: tab.selected?.thread ?? null,
      arrow: tab.arrow && tab.arrow.from.thread >= 0 ? named(tab.arrow) : null,
      chain: tab.chain?.thread ?? null,
      query: s.queryError ? '' : tab.query,
      only: tab.only,
    }
  }
}

/** named says which arrow is meant, as the engine has it. */
function named({ how, from, to, time }: Arrow): View['arrow'] {
  return { how, from: from.thread, to: to.thread, time }
}

/** lasts is how long a trace seems. */
function lasts(info: TraceInfo, folded: boolean): number {
  return folded ? fold(info.folds ?? [], info.duration) : info.duration
}

function roomOf(tab: Tab | undefined, width: number, height: number): Room {
  return { duration: tab ? lasts(tab.info, tab.fold) : 1, rows: tab?.info.height ?? 0, width: Math.max(1, width), height: Math.max(1, height) }
}

function newTab(info: TraceInfo): Tab {
  return {
    info, camera: null, selected: null, arrow: null, chain: null, query: '', only: false, hit: -1, hidden: [], fold: false, marks: [], pinned: [],
    range: null, changed: false, past: [], future: [], outlook,
  }
}
