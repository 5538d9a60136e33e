import { useEffect, useRef } from 'preact/hooks'
import { scrollMax } from './camera'
import { usePage, usePicked, usePickedTab } from './context'
import { Icon } from './icons'
import { attach } from './input'
import type { Mark } from './store'
import { duration, moment } from './time'

/** The picture, and what lies over it. */
export function Picture({ start }: { start: (canvas: HTMLCanvasElement) => void }) {
  const page = usePage()
  const box = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const mode = usePicked((s) => s.mode)

  useEffect(() => {
    const el = box.current!
    const measure = () => {
      const { width, height } = el.getBoundingClientRect()
      if (width > 0 && height > 0) page.viewer.resize(Math.round(width), Math.round(height), devicePixelRatio || 1)
    }
    const observer = new ResizeObserver(measure)
    observer.observe(el)
    measure()
    start(canvas.current!)
    const detach = attach(el, page.viewer, page.inquiry)
    return () => {
      observer.disconnect()
      detach()
    }
  }, [])

  return (
    <div
      class="picture" ref={box} tabIndex={0} hidden={mode === 'table'} role="application" id="picture"
      aria-label="Timeline of threads" aria-describedby="picture-help"
    >
      <canvas ref={canvas} aria-hidden="true" />
      <p id="picture-help" class="unseen">
        A picture of when threads ran and who woke whom. W and S zoom, A and D move in time, the arrow keys too; slash
        searches; T shows the same threads as a table; question mark lists all keys.
      </p>
      <RangeShade />
      <Marks />
      <Area />
      <Pointer />
      <Scrollbar />
    </div>
  )
}

/** useProject returns where a time lies, in px. */
function useProject(): (time: number) => number {
  const { viewer } = usePage()
  const camera = usePickedTab((t) => t.camera)
  const width = usePicked((s) => s.width)
  usePickedTab((t) => t.fold)
  return (time) => (camera ? ((viewer.folded(time) - camera.from) / (camera.to - camera.from)) * width : 0)
}

function RangeShade() {
  const range = usePickedTab((t) => t.range)
  const project = useProject()
  const width = usePicked((s) => s.width)
  if (!range) return null
  const left = Math.max(-10, project(range.from))
  const right = Math.min(width + 10, project(range.to))
  if (right < left) return null
  return (
    <div class="range" style={{ left: `${left}px`, width: `${right - left}px` }}>
      <span class="range-length">{duration(range.to - range.from)}</span>
    </div>
  )
}

function Area() {
  const area = usePicked((s) => s.area)
  const { viewer } = usePage()
  const camera = usePickedTab((t) => t.camera)
  if (!area || !camera) return null
  const left = Math.min(area.x0, area.x1)
  const wide = Math.abs(area.x1 - area.x0)
  return (
    <div class="area" style={{ left: `${left}px`, width: `${wide}px` }}>
      <span class="range-length">{duration(viewer.timeAt(left + wide) - viewer.timeAt(left))}</span>
    </div>
  )
}

function Marks() {
  const { store, viewer } = usePage()
  const marks = usePickedTab((t) => t.marks) ?? []
  const width = usePicked((s) => s.width)
  const project = useProject()
  const seen = marks.map((m) => ({ m, x: project(m.time) })).filter(({ x }) => x >= 0 && x <= width)
  const remove = (m: Mark) => store.setTab({ marks: marks.filter((o) => o !== m) })
  return (
    <>
      {seen.map(({ m, x }) => (
        <div class="mark" key={`${m.time}${m.name}`} style={{ transform: `translateX(${x}px)` }}>
          <button
            class="mark-flag" title="Remove this mark" aria-label={`Mark ${m.name}, remove`}
            onClick={() => {
              remove(m)
              viewer.say(`Mark ${m.name} removed`)
            }}
          >
            {m.name}
          </button>
        </div>
      ))}
    </>
  )
}

/** Pointer tells what lies under the mouse, and when that is. */
function Pointer() {
  const { viewer } = usePage()
  const pointer = usePicked((s) => s.pointer)
  const hover = usePicked((s) => s.hover)
  const area = usePicked((s) => s.area)
  const camera = usePickedTab((t) => t.camera)
  const width = usePicked((s) => s.width)
  const height = usePicked((s) => s.height)
  if (!pointer || !camera || area) return null
  const perPx = (camera.to - camera.from) / width
  const fine = (t: number) => moment(t, Math.pow(10, Math.floor(Math.log10(perPx))), viewer.times().to)
  const low = hover !== null && hover.y > Math.max(height - 150, height / 2)
  const right = pointer.x > Math.max(width - 280, width / 2)
  return (
    <>
      <div class="hair" style={{ transform: `translateX(${pointer.x}px)` }}>
        <span class={right ? 'hair-time flip' : 'hair-time'}>{fine(viewer.timeAt(pointer.x))}</span>
      </div>
      {hover && (
        <div
          class="tip"
          style={{
            transform: `translate(${right ? hover.x - 14 : hover.x + 14}px, ${low ? hover.y - 12 : hover.y + 16}px) translate(${right ? '-100%' : '0'}, ${low ? '-100%' : '0'})`,
          }}
        >
          <bdi>{hover.title}</bdi>
          {hover.to !== undefined && <bdi class="tip-to">{hover.to}</bdi>}
          <span>
            {hover.how && <i class={`how ${hover.how}`} />}
            {hover.about}
            {hover.time !== undefined && ` · ${fine(hover.time)}`}
          </span>
        </div>
      )}
    </>
  )
}

/** Scrollbar moves linear rows. */
function Scrollbar() {
  const { viewer, store } = usePage()
  const camera = usePickedTab((t) => t.camera)
  const height = usePicked((s) => s.height)
  const info = usePickedTab((t) => t.info)
  const room = { ...viewer.room(), height, rows: info?.height ?? 0 }
  const most = scrollMax(room)
  if (camera?.rows !== 'linear' || most <= 0) return null
  const content = most + height
  const thumb = Math.max(28, (height * height) / content)
  const top = (camera.scroll / most) * (height - thumb)
  const to = (scroll: number) => viewer.look({ ...viewer.camera, scroll })

  const down = (e: PointerEvent) => {
    const track = e.currentTarget as HTMLElement
    const at = e.clientY - track.getBoundingClientRect().top
    let grip = at - top
    if (grip < 0 || grip > thumb) {
      grip = thumb / 2
      to(((at - grip) / (height - thumb)) * most)
    }
    track.setPointerCapture(e.pointerId)
    const move = (m: PointerEvent) => {
      const y = m.clientY - track.getBoundingClientRect().top
      to(((y - grip) / (height - thumb)) * most)
    }
    track.addEventListener('pointermove', move)
    const up = () => track.removeEventListener('pointermove', move)
    track.addEventListener('pointerup', up, { once: true })
    track.addEventListener('pointercancel', up, { once: true })
    e.stopPropagation()
  }
  const wheel = (e: WheelEvent) => {
    e.preventDefault()
    e.stopPropagation()
    to((store.tab?.camera?.scroll ?? 0) + e.deltaY)
  }
  return (
    <div
      class="scrollbar" onPointerDown={down} onWheel={wheel} role="scrollbar" aria-controls="picture" aria-label="Rows"
      aria-orientation="vertical" aria-valuenow={Math.round(camera.scroll)} aria-valuemin={0} aria-valuemax={Math.round(most)}
    >
      <div class="scrollbar-thumb" style={{ height: `${thumb}px`, transform: `translateY(${top}px)` }} />
    </div>
  )
}

/** Ended says that there is nobody any more who answers. */
export function Ended() {
  const ended = usePicked((s) => s.ended)
  if (!ended) return null
  return (
    <div class="banner" role="alert">
      <Icon name="findings" />
      <span>
        {ended[0]!.toUpperCase() + ended.slice(1)}. What is shown stays, but nothing new can be asked.
      </span>
    </div>
  )
}
