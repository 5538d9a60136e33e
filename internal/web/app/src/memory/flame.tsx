import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { usePage, usePicked } from '../context'
import { share } from '../time'
import { zoom } from './acts'
import { useAnswer } from './ask'
import { List, metaOf, useSize } from './canvas'
import { FrameMenu, type MenuAt } from './menu'
import { amount, asked, outlook, type Box, type FlameMeta } from './model'

/** The flame graph: where what the filter selects was allocated. */
export function Flame() {
  const { store, viewer } = usePage()
  const scroller = useRef<HTMLDivElement>(null)
  const size = useSize(scroller)
  const tab = usePicked((s) => s.tab)
  const o = usePicked((s) => s.tabs[s.tab]?.outlook) ?? outlook
  const [top, setTop] = useState(0)
  const [hover, setHover] = useState<Box | null>(null)
  const [held, setHeld] = useState<{ box: Box; top: number; width: number } | null>(null) // where the keys are, and how it was seen
  const [menu, setMenu] = useState<MenuAt | null>(null)
  const [rows, setRows] = useState(0)
  const wider = held ? size.width / held.width : 1
  const cursor = held && { ...held.box, x: held.box.x * wider, width: held.box.width * wider, y: held.box.y + held.top - top }
  const tall = rows * 20 + 24
  const most = Math.max(0, tall - size.height)
  const scroll = o.flipped ? Math.max(0, most - top) : top
  const view = { width: size.width, height: size.height, scroll }
  const question = { view, query: o.query }
  const { value, error, busy: drawing } = useAnswer<ArrayBuffer>(size.width > 0 && size.height > 0 ? 'flame' : null, { ...question, ...asked(o) })
  const meta = metaOf<FlameMeta>(value)
  useEffect(() => {
    if (meta) setRows(meta.rows)
  }, [value])
  useLayoutEffect(() => {
    const el = scroller.current!
    el.scrollTop = o.flipped ? el.scrollHeight : 0
  }, [o.flipped, tab])
  // Where the flame graph begins at the bottom, more rows push it up.
  useLayoutEffect(() => {
    const el = scroller.current!
    if (o.flipped && scroll < 1) el.scrollTop = el.scrollHeight
  }, [rows, size.height])
  useEffect(() => setHeld(null), [tab, o.inverted, o.focus, o.filter, o.hidden, o.base, o.flipped])
  useEffect(() => {
    setHover(null)
    setMenu(null)
  }, [tab, o.inverted, o.focus, o.filter, o.hidden, o.base, o.flipped, scroll])

  const ask = (x: number, y: number, what = ''): Promise<Box | null> =>
    viewer.engine.ask<Box | null>('box', tab, { ...question, ...asked(o), x, y, what })
  const point = (e: MouseEvent) => {
    const r = scroller.current!.getBoundingClientRect()
    return { x: e.clientX - r.left, y: e.clientY - r.top }
  }
  const asking = useRef<{ x: number; y: number } | null>(null)
  const busy = useRef(false)
  const over = (e: PointerEvent) => {
    if (e.pointerType !== 'mouse' || e.buttons !== 0) return
    asking.current = point(e)
    next()
  }
  const next = () => {
    const p = asking.current
    if (!p || busy.current) return
    asking.current = null
    if (hover && p.y >= hover.y && p.y < hover.y + hover.height && p.x >= hover.x && p.x < hover.x + hover.width) return
    busy.current = true
    ask(p.x, p.y).then(
      (b) => {
        busy.current = false
        setHover(b)
        next()
      },
      () => (busy.current = false),
    )
  }
  const leave = () => {
    asking.current = null
    setHover(null)
  }
  const click = async (e: MouseEvent) => {
    const p = point(e)
    const b = await ask(p.x, p.y).catch(() => null)
    setMenu(null)
    if (!b) return
    go(b)
  }
  const go = (b: Box) => {
    if (b.kind === 'all') {
      if (o.focus) zoom(store, null)
    } else if (b.kind === 'function' && b.focus) zoom(store, b.focus)
  }
  const context = async (e: MouseEvent) => {
    e.preventDefault()
    const p = point(e)
    const b = await ask(p.x, p.y).catch(() => null)
    setMenu(b ? { box: b, x: p.x, y: p.y } : null)
  }
  const arrows: Record<string, string> = {
    ArrowUp: o.flipped ? 'child' : 'parent', ArrowDown: o.flipped ? 'parent' : 'child', ArrowLeft: 'left', ArrowRight: 'right',
  }
  const key = async (e: KeyboardEvent) => {
    if (e.target !== e.currentTarget || e.ctrlKey || e.metaKey || e.altKey) return
    const what = arrows[e.key]
    if (what) {
      e.preventDefault()
      await step(cursor ? what : '')
    } else if (e.key === 'Enter' && cursor) {
      e.preventDefault()
      go(cursor)
    } else if ((e.key === 'ContextMenu' || e.key === ' ') && cursor) {
      e.preventDefault()
      setMenu({ box: cursor, x: cursor.x + 8, y: cursor.y + 18 })
    } else if (e.key === 'Backspace' && o.focus) {
      e.preventDefault()
      zoom(store, null)
    }
  }
  /** step goes from the box that the keys are at, or the first one, to another. */
  const step = async (what: string) => {
    const from = cursor ? { x: cursor.x + cursor.width / 2, y: cursor.y + 3 } : { x: 1, y: o.flipped ? size.height - 4 + scroll : 4 - scroll }
    const b = await ask(from.x, from.y, what).catch(() => null)
    if (!b) return
    setHeld({ box: b, top, width: size.width })
    reveal(b)
  }
  useLayoutEffect(() => {
    const el = scroller.current!
    const hit = (e: Event) => void step((e as CustomEvent<boolean>).detail ? 'previous' : 'next')
    el.addEventListener('hit', hit)
    return () => el.removeEventListener('hit', hit)
  })
  const reveal = (b: Box) => {
    const el = scroller.current
    if (!el) return
    if (b.y + b.height > size.height) el.scrollTop += b.y + b.height - size.height + 20
    else if (b.y < 0) el.scrollTop += b.y - 20
  }
  const shown = hover ?? (cursor && cursor.y > -cursor.height && cursor.y < size.height ? cursor : null)
  const empty = meta !== null && meta.whole === 0
  return (
    <div class="flame">
      <div
        class="flame-scroll" ref={scroller} tabIndex={0} role="application" data-arrows id="flame" aria-label="Flame graph"
        aria-describedby="flame-help flame-at" onScroll={(e) => setTop((e.currentTarget as HTMLElement).scrollTop)}
        onPointerMove={over} onPointerLeave={leave} onClick={(e) => void click(e)} onContextMenu={(e) => void context(e)} onKeyDown={(e) => void key(e)}
      >
        <div class="flame-tall" style={{ height: `${Math.max(tall, size.height)}px` }}>
          <div class="flame-view" style={{ height: `${size.height}px` }}>
            <List answer={value} busy={drawing} store={store} label="Where it was allocated" />
            {cursor && <i class="flame-cursor" style={place(cursor)} />}
            {hover && hover.kind !== 'rest' && <i class="flame-hover" style={place(hover)} />}
          </div>
        </div>
      </div>
      <p id="flame-help" class="unseen">
        Boxes are functions, as wide as what was allocated in them and below. Arrow keys go from box to box, Enter zooms, Space opens a menu, Backspace shows all.
      </p>
      <p id="flame-at" class="unseen" aria-live="polite">{cursor ? `${cursor.name}, ${amount(cursor.amount, cursor.unit)}` : ''}</p>
      {error && <p class="flame-note" role="alert">{error}</p>}
      {empty && !error && <p class="flame-note">Nothing is selected: take a clause away</p>}
      {!empty && meta !== null && meta.shown === 0 && !error && <p class="flame-note">Nothing of what is selected is in here</p>}
      {meta?.full && <p class="flame-full">Deep parts are left out: zoom in to see them</p>}
      {shown && !menu && <Tip box={shown} width={size.width} height={size.height} />}
      {menu && <FrameMenu at={menu} width={size.width} height={size.height} close={() => setMenu(null)} zoom={() => go(menu.box)} />}
    </div>
  )
}

function place(b: Box): Record<string, string> {
  return { left: `${b.x}px`, top: `${b.y}px`, width: `${Math.max(2, b.width)}px`, height: `${b.height - 1}px` }
}

function Tip({ box, width, height }: { box: Box; width: number; height: number }) {
  const w = Math.min(360, width - 16)
  const left = Math.min(Math.max(8, box.x + Math.min(box.width, 200) / 2 - w / 2), width - w - 8)
  const below = box.y + box.height + 110 < height
  const ours = box.amount - box.base
  return (
    <div class="flame-tip" style={{ left: `${left}px`, maxWidth: `${w}px`, ...(below ? { top: `${box.y + box.height + 6}px` } : { bottom: `${height - box.y + 6}px` }) }}>
      <bdi>{box.kind === 'rest' ? 'Smaller ones' : box.name}</bdi>
      {box.base === 0 && ours === box.amount ? (
        <span>
          {amount(box.amount, box.unit)} · {share(box.amount, box.whole)}
          {box.kind === 'function' && ` · ${amount(box.self, box.unit)} of its own`}
        </span>
      ) : (
        <span>{amount(box.base, box.unit)} before, {amount(ours, box.unit)} now</span>
      )}
      {box.kind === 'function' && box.module !== box.name && <span>{box.module} · {box.deep} deep</span>}
    </div>
  )
}
