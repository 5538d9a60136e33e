import { useEffect, useRef, useState } from 'preact/hooks'
import { usePage, usePicked, usePickedTab } from '../context'
import { moment } from '../time'
import { brush, look, move } from './acts'
import { useAnswer } from './ask'
import { List, useSize } from './canvas'
import { Moment } from './moment'
import { brushes, fields, viewOf, type Brush } from './model'

const slack = 4 // px that a click may move

/** What was alive over time: drag to filter by time, click to ask about a moment. */
export function Chart() {
  const { store } = usePage()
  const box = useRef<HTMLDivElement>(null)
  const size = useSize(box)
  const tab = usePicked((s) => s.tabs[s.tab])
  const [pointer, setPointer] = useState<number | null>(null)
  const [area, setArea] = useState<{ x0: number; x1: number } | null>(null)
  const view = tab ? viewOf(tab) : { from: 0, to: 1 }
  const { value, busy } = useAnswer<ArrayBuffer>(size.width > 0 && size.height > 0 ? 'chart' : null, { view: { ...view, ...size }, memory: { filter: tab?.outlook.filter ?? [] } })
  const at = usePickedTab((t) => t.outlook.at) ?? null

  useEffect(() => {
    const el = box.current!
    const wheel = (e: WheelEvent) => {
      e.preventDefault()
      const now = store.tab
      if (!now) return
      const v = viewOf(now)
      const x = (e.clientX - el.getBoundingClientRect().left) / el.clientWidth
      if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) move(store, 1, null, ((e.deltaX || e.deltaY) / el.clientWidth) * 1)
      else move(store, Math.exp(e.deltaY * 0.0018), v.from + (v.to - v.from) * x)
    }
    el.addEventListener('wheel', wheel, { passive: false })
    return () => el.removeEventListener('wheel', wheel)
  }, [])

  if (!tab) return null
  const o = tab.outlook
  const perPx = (view.to - view.from) / Math.max(1, size.width)
  const time = (x: number) => view.from + x * perPx
  const x = (t: number) => (t - view.from) / perPx
  const place = (e: PointerEvent) => e.clientX - box.current!.getBoundingClientRect().left

  const down = (e: PointerEvent) => {
    if (e.button > 1 || (e.target as Element).closest('button, .brush-grip')) return
    const el = box.current!
    el.setPointerCapture(e.pointerId)
    el.focus({ preventScroll: true })
    const start = place(e)
    const pan = e.button === 1 || e.shiftKey
    let last = start
    const moved = (m: PointerEvent) => {
      const now = place(m)
      if (pan) {
        move(store, 1, null, (last - now) / el.clientWidth)
        last = now
      } else setArea({ x0: start, x1: now })
    }
    const up = (u: PointerEvent) => {
      el.removeEventListener('pointermove', moved)
      el.removeEventListener('pointerup', up)
      el.removeEventListener('pointercancel', up)
      setArea(null)
      if (pan || u.type === 'pointercancel') return
      const end = place(u)
      if (Math.abs(end - start) >= slack) brush(store, o.brush, time(start), time(end))
      else look(store, { at: Math.min(Math.max(time(end), 0), tab.info.duration) }, true)
    }
    el.addEventListener('pointermove', moved)
    el.addEventListener('pointerup', up)
    el.addEventListener('pointercancel', up)
  }

  const key = (e: KeyboardEvent) => {
    if (e.key !== 'Enter' || e.target !== e.currentTarget) return
    e.preventDefault()
    look(store, { at: o.at === null ? tab.info.memory!.peak.time : null }, true)
  }

  const round = Math.pow(10, Math.floor(Math.log10(perPx || 1e-6)))
  const shades = o.filter.flatMap((c, i) => (fields[c.what] === 'time' && (c.from !== undefined || c.to !== undefined) ? [{ c, i }] : []))
  return (
    <section class="chart" aria-label="Memory over time">
      <div
        class="chart-box" ref={box} tabIndex={0} role="application" aria-label="Live memory over time" aria-describedby="chart-help"
        onPointerDown={down} onPointerMove={(e) => e.pointerType === 'mouse' && setPointer(place(e))} onPointerLeave={() => setPointer(null)}
        onDblClick={() => look(store, { view: null }, true)} onKeyDown={key}
      >
        <List answer={value} busy={busy} store={store} label="Memory that was alive over time" />
        <p id="chart-help" class="unseen">
          How much memory was alive over time, and how much of what the filter selects. W and S zoom, A and D move, 0 shows all; Enter
          picks the peak; dragging filters by time, and so do the clauses above.
        </p>
        {shades.map(({ c, i }) => (
          <Shade key={i} left={x(c.from ?? 0)} right={x(c.to ?? tab.info.duration)} width={size.width} grips={c.from !== c.to}
            drag={(side, px) => {
              const other = side === 'left' ? (c.to ?? tab.info.duration) : (c.from ?? 0)
              brush(store, c.what as Brush, time(px), other, true)
            }}
          />
        ))}
        {area && (
          <div class="area" style={{ left: `${Math.min(area.x0, area.x1)}px`, width: `${Math.abs(area.x1 - area.x0)}px` }}>
            <span class="range-length">{moment(Math.abs(area.x1 - area.x0) * perPx, round, tab.info.duration)}</span>
          </div>
        )}
        {pointer !== null && !area && at === null && (
          <div class="hair" style={{ transform: `translateX(${pointer}px)` }}>
            <span class={pointer > size.width - 90 ? 'hair-time flip' : 'hair-time'}>{moment(time(pointer), round, view.to)}</span>
          </div>
        )}
        {at !== null && x(at) >= 0 && x(at) <= size.width && <div class="moment-line" style={{ transform: `translateX(${x(at)}px)` }} />}
      </div>
      {at !== null && <Moment time={at} x={x(at)} width={size.width} round={round} />}
      <div class="brush-kind" role="radiogroup" aria-label="Dragging over the chart selects what was">
        {brushes.map((b) => (
          <button
            key={b} role="radio" aria-checked={o.brush === b} title={`Dragging selects what was ${b} then`}
            onClick={() => {
              const c = o.filter.find((f) => f.what === o.brush && f.from !== undefined)
              const filter = c ? o.filter.filter((f) => f !== c && f.what !== b) : o.filter
              look(store, { brush: b, filter: c ? [...filter, { ...c, what: b }] : filter })
            }}
          >
            {b}
          </button>
        ))}
      </div>
      {o.view && <button class="chart-whole action" onClick={() => look(store, { view: null }, true)}>Whole trace</button>}
    </section>
  )
}

/** The time that a clause is about. */
function Shade(p: { left: number; right: number; width: number; grips: boolean; drag: (side: 'left' | 'right', x: number) => void }) {
  const left = Math.max(-10, p.left)
  const right = Math.min(p.width + 10, p.right)
  if (right < left) return null
  const down = (side: 'left' | 'right') => (e: PointerEvent) => {
    e.stopPropagation()
    const grip = e.currentTarget as HTMLElement
    const box = grip.closest('.chart-box')!
    grip.setPointerCapture(e.pointerId)
    let waiting = 0
    const moved = (m: PointerEvent) => {
      const x = m.clientX - box.getBoundingClientRect().left
      cancelAnimationFrame(waiting)
      waiting = requestAnimationFrame(() => p.drag(side, x))
    }
    grip.addEventListener('pointermove', moved)
    const up = () => grip.removeEventListener('pointermove', moved)
    grip.addEventListener('pointerup', up, { once: true })
    grip.addEventListener('pointercancel', up, { once: true })
  }
  return (
    <div class="range brushed" style={{ left: `${left}px`, width: `${Math.max(0, right - left)}px` }}>
      {p.grips && p.left >= 0 && <div class="brush-grip left" onPointerDown={down('left')} />}
      {p.grips && p.right <= p.width && <div class="brush-grip right" onPointerDown={down('right')} />}
    </div>
  )
}

