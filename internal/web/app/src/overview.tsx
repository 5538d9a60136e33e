import { useEffect, useRef } from 'preact/hooks'
import { usePage, usePicked, usePickedTab } from './context'
import type { Overview as Data } from './protocol'
import { dark, type Range } from './store'

const height = 48

/** The whole trace as a strip, with a window for what is seen of it. */
export function Overview() {
  const { viewer, store } = usePage()
  const box = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const data = usePicked((s) => s.overview)
  const width = usePicked((s) => s.width)
  const ratio = usePicked((s) => s.ratio)
  const theme = usePicked(dark)
  const camera = usePickedTab((t) => t.camera)
  const hidden = usePickedTab((t) => t.hidden)
  const mode = usePicked((s) => s.mode)

  useEffect(() => {
    if (canvas.current && data) paint(canvas.current, data, ratio, hidden ?? [])
  }, [data, width, ratio, theme, hidden, mode])

  if (!camera) return <div class="overview" />
  const whole = data ? data.to - data.from : (store.tab?.info.duration ?? 1)
  const share = (t: number) => Math.min(1, Math.max(0, t / whole))
  const times = viewer.times()
  const left = share(times.from)
  const right = share(times.to)

  const down = (e: PointerEvent) => {
    if (e.button !== 0) return
    const el = box.current!
    const r = el.getBoundingClientRect()
    const time = (m: PointerEvent) => ((m.clientX - r.left) / r.width) * whole
    const start = time(e)
    const grabbed = viewer.times()
    const at = (e.target as HTMLElement).dataset['grip']
    const inside = start >= grabbed.from && start <= grabbed.to
    const move = (m: PointerEvent) => {
      const to = dragged(grabbed, at ?? (inside ? 'window' : 'new'), start, time(m))
      viewer.lookAt(to.from, to.to)
    }
    el.setPointerCapture(e.pointerId)
    el.addEventListener('pointermove', move)
    const up = (m: PointerEvent) => {
      el.removeEventListener('pointermove', move)
      if (!inside && !at && Math.abs(m.clientX - e.clientX) < 4) {
        const half = (grabbed.to - grabbed.from) / 2
        viewer.lookAt(start - half, start + half, { glide: true })
      }
    }
    el.addEventListener('pointerup', up, { once: true })
    el.addEventListener('pointercancel', up, { once: true })
  }
  const wheel = (e: WheelEvent) => {
    e.preventDefault()
    const r = box.current!.getBoundingClientRect()
    const c = viewer.times()
    const at = ((e.clientX - r.left) / r.width) * whole
    const k = Math.exp(e.deltaY * 0.0018)
    const anchor = at >= c.from && at <= c.to ? at : (c.from + c.to) / 2
    viewer.lookAt(anchor - (anchor - c.from) * k, anchor + (c.to - anchor) * k)
  }

  return (
    <div
      class="overview" ref={box} onPointerDown={down} onWheel={wheel} onDblClick={() => viewer.whole()} role="img"
      aria-label="Overview of the whole trace: threads alive, collections, failures and search hits"
    >
      <canvas ref={canvas} />
      <div class="overview-shade" style={{ left: 0, width: `${100 * left}%` }} />
      <div class="overview-shade" style={{ left: `${100 * right}%`, right: 0 }} />
      <div class={left === 0 && right === 1 ? 'overview-window whole' : 'overview-window'} style={{ left: `${100 * left}%`, width: `max(6px, ${100 * (right - left)}%)` }}>
        <div class="overview-grip left" data-grip="left" />
        <div class="overview-grip right" data-grip="right" />
      </div>
    </div>
  )
}

/** dragged is where one looks after a part of the window was dragged. */
function dragged(c: Range, part: string, start: number, now: number): Range {
  const least = (c.to - c.from) * 1e-3
  switch (part) {
    case 'left':
      return { from: Math.min(c.from + now - start, c.to - least), to: c.to }
    case 'right':
      return { from: c.from, to: Math.max(c.to + now - start, c.from + least) }
    case 'new':
      return now === start ? c : { from: Math.min(start, now), to: Math.max(start, now) }
  }
  return { from: c.from + now - start, to: c.to + now - start }
}

function paint(canvas: HTMLCanvasElement, data: Data, ratio: number, hidden: string[]): void {
  const n = data.alive.length
  canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio))
  canvas.height = Math.round(height * ratio)
  const ctx = canvas.getContext('2d')!
  const css = getComputedStyle(canvas)
  const color = (name: string) => css.getPropertyValue(name)
  ctx.scale(canvas.width / n, ratio)
  const bottom = height - 1
  const column = (values: number[], from: number, room: number, style: string) => {
    ctx.fillStyle = style
    values.forEach((v, i) => v > 0 && ctx.fillRect(i, from - Math.max(1, v * room), 1.02, Math.max(1, v * room)))
  }
  column(data.alive, bottom, height - 10, color('--strip-alive'))
  column(data.busy.map((b, i) => b * Math.max(0.12, data.alive[i] ?? 0)), bottom, height - 10, color('--strip-busy'))
  ctx.fillStyle = color('--strip-gc')
  data.gc.forEach((v, i) => {
    if (v <= 0) return
    ctx.globalAlpha = Math.min(1, 0.35 + v)
    ctx.fillRect(i, 0, Math.max(1, n / canvas.clientWidth), 5)
  })
  ctx.globalAlpha = 1
  for (const c of data.counters ?? []) {
    if (hidden.includes(c.name)) continue
    ctx.strokeStyle = color(`--counter-${c.style}`)
    ctx.lineWidth = n / Math.max(1, canvas.clientWidth)
    ctx.beginPath()
    c.values.forEach((v, i) => {
      if (v < 0) return
      const y = bottom - 1 - v * (height - 12)
      if (i > 0 && c.values[i - 1]! >= 0) ctx.lineTo(i, y)
      else ctx.moveTo(i, y)
      ctx.lineTo(i + 1, y)
    })
    ctx.stroke()
  }
  const ticks = (counts: number[] | undefined, style: string, from: number, long: number) => {
    ctx.fillStyle = style
    const wide = (2 * n) / Math.max(1, canvas.clientWidth)
    counts?.forEach((v, i) => v > 0 && ctx.fillRect(i - wide / 2, from, wide, long))
  }
  ticks(data.failures, color('--strip-failure'), 6, 10)
  ticks(data.hits, color('--strip-hit'), bottom - 14, 14)
}
