// Mouse, wheel and touch on the picture.

import * as cam from './camera'
import type { Inquiry } from './inquire'
import type { Viewer } from './viewer'

const slack = 4 // px that a click may move
const doubleTap = 300 // ms

type Drag =
  | { kind: 'pan'; x: number; y: number; moved: boolean; alone: boolean }
  | { kind: 'area' | 'range'; x0: number }
  | { kind: 'pinch'; apart: number; x: number; y: number }

/** attach makes an element obey; it returns what undoes it. */
export function attach(el: HTMLElement, viewer: Viewer, inquiry: Inquiry): () => void {
  const { store } = viewer
  const fingers = new Map<number, { x: number; y: number }>()
  let drag: Drag | null = null
  let lastTap = { time: 0, x: 0, y: 0 }

  const point = (e: MouseEvent) => {
    const r = el.getBoundingClientRect()
    return { x: e.clientX - r.left, y: e.clientY - r.top }
  }

  const down = (e: PointerEvent) => {
    if (e.pointerType === 'mouse' && e.button > 1) return
    if ((e.target as Element).closest('button, input, .scrollbar')) return
    el.setPointerCapture(e.pointerId)
    el.focus({ preventScroll: true })
    const p = point(e)
    fingers.set(e.pointerId, p)
    store.set({ hover: null })
    if (fingers.size === 2) {
      drag = pinch(fingers)
      return
    }
    if (e.pointerType === 'mouse' && e.button === 0 && (e.shiftKey || e.ctrlKey || e.metaKey)) {
      drag = { kind: e.shiftKey ? 'range' : 'area', x0: p.x }
      store.set({ area: { x0: p.x, x1: p.x } })
      return
    }
    drag = { kind: 'pan', ...p, moved: false, alone: true }
  }

  const move = (e: PointerEvent) => {
    const p = point(e)
    if (e.pointerType === 'mouse') store.set({ pointer: p })
    if (!fingers.has(e.pointerId)) {
      if (e.pointerType === 'mouse') inquiry.hover(p.x, p.y)
      return
    }
    fingers.set(e.pointerId, p)
    switch (drag?.kind) {
      case 'pan': {
        const dx = p.x - drag.x
        const dy = p.y - drag.y
        if (!drag.moved && Math.hypot(dx, dy) < slack) return
        viewer.pan(dx, dy, drag.y)
        el.dataset['dragging'] = ''
        drag = { ...drag, ...p, moved: true }
        return
      }
      case 'area':
      case 'range':
        store.set({ area: { x0: drag.x0, x1: p.x } })
        return
      case 'pinch': {
        const next = pinch(fingers)
        const c = cam.zoom(viewer.camera, viewer.room(), drag.apart / next.apart, next.x)
        viewer.look(cam.pan(c, viewer.room(), next.x - drag.x, next.y - drag.y, drag.y))
        drag = next
        return
      }
    }
  }

  const up = (e: PointerEvent) => {
    if (!fingers.delete(e.pointerId)) return
    const p = point(e)
    const was = drag
    drag = null
    delete el.dataset['dragging']
    if (was?.kind === 'pinch') {
      const rest = [...fingers.values()][0]
      if (rest) drag = { kind: 'pan', ...rest, moved: true, alone: false }
      return
    }
    if (was?.kind === 'area' || was?.kind === 'range') {
      store.set({ area: null })
      const [x0, x1] = [Math.min(was.x0, p.x), Math.max(was.x0, p.x)]
      if (x1 - x0 < slack) return
      const stretch = { from: viewer.timeAt(x0), to: viewer.timeAt(x1) }
      if (was.kind === 'area') viewer.lookAt(stretch.from, stretch.to, { glide: true })
      else store.setTab({ range: stretch }, undefined, { panel: 'range' })
      return
    }
    if (was?.kind !== 'pan' || was.moved || !was.alone || e.type === 'pointercancel') return
    if (e.pointerType === 'touch') {
      const again = e.timeStamp - lastTap.time < doubleTap && Math.hypot(p.x - lastTap.x, p.y - lastTap.y) < 30
      lastTap = { time: e.timeStamp, ...p }
      if (again) {
        void inquiry.chainAt(p.x, p.y)
        return
      }
    }
    if (e.button === 0) void inquiry.clickAt(p.x, p.y)
  }

  const double = (e: MouseEvent) => {
    const p = point(e)
    void inquiry.chainAt(p.x, p.y)
  }

  const wheel = (e: WheelEvent) => {
    e.preventDefault()
    const unit = e.deltaMode === WheelEvent.DOM_DELTA_LINE ? 32 : e.deltaMode === WheelEvent.DOM_DELTA_PAGE ? 400 : 1
    const dx = e.deltaX * unit
    const dy = e.deltaY * unit
    const p = point(e)
    if (e.altKey) viewer.pan(0, -dy, p.y)
    else if (e.shiftKey) viewer.pan(-(dx || dy), 0)
    else if (Math.abs(dx) > Math.abs(dy)) viewer.pan(-dx, 0)
    else viewer.look(cam.zoom(viewer.camera, viewer.room(), Math.exp(dy * (e.ctrlKey ? 0.01 : 0.0018)), p.x))
  }

  const leave = () => inquiry.leave()
  const options = { passive: false }
  el.addEventListener('pointerdown', down)
  el.addEventListener('pointermove', move)
  el.addEventListener('pointerup', up)
  el.addEventListener('pointercancel', up)
  el.addEventListener('pointerleave', leave)
  el.addEventListener('dblclick', double)
  el.addEventListener('wheel', wheel, options)
  return () => {
    el.removeEventListener('pointerdown', down)
    el.removeEventListener('pointermove', move)
    el.removeEventListener('pointerup', up)
    el.removeEventListener('pointercancel', up)
    el.removeEventListener('pointerleave', leave)
    el.removeEventListener('dblclick', double)
    el.removeEventListener('wheel', wheel)
  }
}

function pinch(fingers: Map<number, { x: number; y: number }>): { kind: 'pinch'; apart: number; x: number; y: number } {
  const [a, b] = [...fingers.values()]
  // Only the distance in time counts: rows have no zoom.
  return { kind: 'pinch', apart: Math.max(20, Math.hypot(a!.x - b!.x, a!.y - b!.y)), x: (a!.x + b!.x) / 2, y: (a!.y + b!.y) / 2 }
}
