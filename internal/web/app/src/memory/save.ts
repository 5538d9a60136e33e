import { envelope } from '../protocol'
import { dark } from '../store'
import type { Viewer } from '../viewer'
import { paint } from './canvas'
import { asked, viewOf } from './model'

/** save makes a file of the chart or the flame graph: SVG by the engine, PNG of the very picture that is shown. */
export async function save(viewer: Viewer, what: 'chart' | 'flame', format: 'svg' | 'png'): Promise<void> {
  const { store, engine } = viewer
  const tab = store.tab
  if (!tab?.info.memory) return
  const s = store.state
  const el = document.querySelector<HTMLElement>(what === 'chart' ? '.chart-box' : '.flame-scroll')
  const width = Math.max(400, el?.clientWidth ?? 1200)
  const height = Math.max(what === 'chart' ? 120 : 300, el?.clientHeight ?? 600)
  const view = { width, height, scroll: 0, ...(what === 'chart' ? viewOf(tab) : {}) }
  const fields = { ...asked(tab.outlook), view, query: tab.outlook.query, what, theme: dark(s) ? 'dark' : 'light' }
  try {
    let blob: Blob
    if (format === 'svg') {
      const file = await engine.ask<ArrayBuffer>('draw', s.tab, fields)
      blob = new Blob([new Uint8Array(file, envelope)], { type: 'image/svg+xml' })
    } else {
      const canvas = new OffscreenCanvas(1, 1)
      paint(canvas, await engine.ask<ArrayBuffer>(what, s.tab, fields), s, devicePixelRatio || 1)
      blob = await canvas.convertToBlob({ type: 'image/png' })
    }
    const a = document.createElement('a')
    a.href = URL.createObjectURL(blob)
    a.download = `${tab.info.name.replace(/\.[^.]*$/, '')}-${what}.${format}`
    a.click()
    setTimeout(() => URL.revokeObjectURL(a.href), 10_000)
    viewer.say(`Saved as ${format.toUpperCase()}`)
  } catch (e) {
    viewer.say((e as Error).message)
  }
}
