import { render } from 'preact'
import { App } from './app'
import { commands, telling, type Command, type Page } from './commands'
import { Engine } from './engine'
import { Inquiry } from './inquire'
import { listen } from './keys'
import * as link from './link'
import { memoryCommands } from './memory/commands'
import { isMemory } from './memory/model'
import { report, type Report } from './report'
import { dark } from './store'
import { story, Teller } from './story'
import { Viewer } from './viewer'
import { unpack } from './wasm'

const remembered = 'mirador.theme'

/** workerURL says to the browser that the page's own worker may run. */
function workerURL(own: Report | null): string {
  const url = own ? URL.createObjectURL(new Blob([own.worker], { type: 'text/javascript' })) : 'worker.js'
  const policy = window.trustedTypes?.createPolicy('mirador', { createScriptURL: (url) => url })
  return (policy?.createScriptURL(url) ?? url) as string
}

/** fonts has the page's own text shown in a report's fonts; a server's are in the style sheet. */
function fonts(own: Report): void {
  for (const [packed, weight] of [[own.regular, '400'], [own.medium, '500']] as const) {
    void unpack(packed).then((data) => document.fonts.add(new FontFace('Go', data, { weight })))
  }
}

function socketURL(): string {
  const url = new URL('socket' + location.search, location.href)
  url.protocol = url.protocol.replace('http', 'ws')
  return url.href
}

function start(): void {
  const own = report()
  if (own) fonts(own)
  const worker = new Worker(workerURL(own), { type: own ? 'classic' : 'module' }) // a file's page cannot make module workers
  const engine = new Engine(worker)
  const viewer = new Viewer(engine)
  const inquiry = new Inquiry(viewer)
  const page: Page = { viewer, inquiry, store: viewer.store }
  if (own) viewer.store.set({ opens: true })
  const teller = new Teller(page)
  const tale = story()
  const steps = tale ? telling(teller) : []
  const threads = [...commands(page), ...steps]
  const memory = [...memoryCommands(page, threads), ...steps]
  if (tale) viewer.store.set({ story: tale, telling: location.hash.length < 2 || /[#&]step=/.test(location.hash) })
  const all = () => (isMemory(viewer.store.state) ? memory : threads)
  window.mirador = {
    ask: (ask, trace = 0, fields = {}) => engine.ask(ask, trace, fields),
    commands: () => told(all(), viewer.store.state.tabs.map((t) => t.info.name)),
    run: (id) => all().find((c) => c.id === id)?.run(),
  }

  follow(page, own?.title || tale?.title || '')
  viewer.onOpen = () => inquiry.renew()
  viewer.onRest = () => inquiry.rest()
  listen(all, () => viewer.reducedMotion, () => viewer.store.state.dialog !== 'none')
  render(<App page={{ ...page, teller, get commands() { return all() } }} start={(canvas) => begin(page, teller, canvas, own)} />, document.getElementById('app')!)
}

/** begin hands the canvas to the worker, and opens what there is. */
function begin(page: Page, teller: Teller, canvas: HTMLCanvasElement, own: Report | null): void {
  const { viewer, store } = page
  viewer.onDrawn = (frame, view, took) => {
    canvas.dataset['frame'] = String(frame)
    canvas.dataset['from'] = String(view.from)
    canvas.dataset['to'] = String(view.to)
    canvas.dataset['rows'] = view.rows
    canvas.dataset['focus'] = String(view.focus)
    canvas.dataset['scroll'] = String(view.scroll)
    canvas.dataset['took'] = took.toFixed(1)
  }
  viewer.onBusy = (busy) => canvas.parentElement!.setAttribute('aria-busy', String(busy))
  viewer.engine.onStarted = (took) => (canvas.dataset['engineStart'] = JSON.stringify(took))
  const font = new URL('go-regular.ttf', location.href).href
  viewer.engine.start(
    canvas,
    own ? { engine: own.engine, traces: own.traces, font: own.regular } : { socket: socketURL(), font },
  )
  if (own) own.traces = [] // the worker has them
  viewer.open().then(
    () => {
      restore(page, teller)
      remember(page)
      addEventListener('hashchange', () => {
        if (location.hash.slice(1) === link.write(store.state)) return
        restore(page, teller)
      })
    },
    (e: Error) => store.set({ ended: e.message }),
  )
}

/** restore takes over what the URL says. */
function restore({ viewer, store, inquiry }: Page, teller: Teller): void {
  const { story } = store.state
  if (story) {
    const p = new URLSearchParams(location.hash.slice(1))
    const step = Math.floor(Number(p.get('step') ?? 0) || 0) - 1
    const known = p.has('step') ? Math.min(Math.max(step, teller.first), story.steps.length - 1) : teller.first
    store.set({ step: known, telling: p.has('step') || location.hash.length < 2 })
    if (!p.has('from') && store.state.telling) return teller.go(known) // it names no view of its own
  }
  link.read(location.hash, store)
  viewer.keepTimes = store.state.panel !== 'none'
  if (store.state.width > 0) viewer.look(viewer.camera, { forget: true }) // as far as there is something to see
  inquiry.renew()
}

/** follow keeps the document as the state says, and the state as the system says. */
function follow({ store }: Page, title: string): void {
  const system = matchMedia('(prefers-color-scheme: dark)')
  const saved = read()
  store.set({ systemDark: system.matches, theme: saved === 'light' || saved === 'dark' ? saved : 'auto' })
  system.addEventListener('change', () => store.set({ systemDark: system.matches }))
  let theme = store.state.theme
  let painted: unknown = null
  let toast = ''
  let fade = 0
  const apply = () => {
    const s = store.state
    document.documentElement.dataset['theme'] = dark(s) ? 'dark' : 'light'
    const palette = s.palettes[dark(s) ? 'dark' : 'light']
    if (palette !== painted) {
      painted = palette
      for (const p of palette) document.documentElement.style.setProperty('--' + p.name, p.color)
    }
    const name = s.tabs[s.tab]?.info.name
    document.title = title || (name ? `${name} – mirador` : 'mirador')
    if (s.theme !== theme) write((theme = s.theme))
    if (s.toast !== toast) {
      toast = s.toast
      clearTimeout(fade)
      if (toast) fade = setTimeout(() => store.set({ toast: '' }), 4000)
    }
  }
  store.listen(apply)
  apply()
}

function read(): string | null {
  try {
    return localStorage.getItem(remembered)
  } catch {
    return null // the browser keeps nothing
  }
}

function write(theme: string): void {
  try {
    localStorage.setItem(remembered, theme)
  } catch {
    // as above: the switch works all the same
  }
}

/** remember keeps the URL at what is seen, a little behind it: browsers do not like it often. */
function remember({ store }: Page): void {
  let later = 0
  store.listen(() => {
    if (later) return
    later = setTimeout(() => {
      later = 0
      const fragment = link.write(store.state)
      if (fragment && location.hash.slice(1) !== fragment) history.replaceState(null, '', '#' + fragment)
    }, 300)
  })
}

/** Told is a command as it stands in a menu. */
interface Told {
  id: string
  title: string
  group: string
  keys: string
}

/** told makes a menu's items of commands; a tab's is its trace's name. */
function told(all: Command[], traces: string[]): Told[] {
  return all.flatMap(({ id, title, group, keys, shown }) => {
    const tab = /^tab-(\d)$/.exec(id)
    const name = tab ? traces[Number(tab[1]) - 1] : title
    return name === undefined ? [] : [{ id, title: name, group, keys: shown ?? keys[0] ?? '' }]
  })
}

declare global {
  interface Window {
    /** mirador asks the engine, for scripts: the questions are those of package engine, and a picture is its bytes. */
    mirador?: {
      ask(ask: string, trace?: number, fields?: Record<string, unknown>): Promise<unknown>
      /** commands are those of the trace that is shown, for the menus of a window. */
      commands(): Told[]
      run(id: string): void
    }
    trustedTypes?: {
      createPolicy(name: string, rules: { createScriptURL: (url: string) => string }): { createScriptURL(url: string): unknown }
    }
  }
}

start()
