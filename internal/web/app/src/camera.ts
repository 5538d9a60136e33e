// Where one looks: times at the edges, and rows. All functions return a new
// Camera and leave the old one as it is. Where time is folded, a camera's times
// are folded ones.

import type { Rows } from './protocol'

export interface Camera {
  from: number // the time at the left edge, in s
  to: number
  rows: Rows
  focus: number // of the fisheye, in rows' units
  scroll: number // of linear rows, in px
}

/** The room that a trace takes, and the picture's. */
export interface Room {
  duration: number
  rows: number // the y of the last row
  width: number // in px
  height: number
}

export const rowHeight = 30
const marginX = 20
const marginY = 30

/** whole shows a trace from its start to its end. */
export function whole(room: Room, c?: Camera): Camera {
  const duration = room.duration > 0 ? room.duration : 1e-6
  const margin = Math.min(marginX, room.width / 8)
  const perPx = duration / Math.max(1, room.width - 2 * margin)
  const from = -margin * perPx
  const fits = room.rows + 2 * marginY <= room.height
  return {
    from,
    to: from + room.width * perPx,
    rows: c?.rows ?? (fits ? 'linear' : 'fisheye'),
    focus: c?.focus ?? 0,
    scroll: c?.scroll ?? 0,
  }
}

/** settle keeps a camera near its trace: some of it stays in sight, and rows end at the edges. */
export function settle(c: Camera, room: Room): Camera {
  const most = 4 * (whole(room).to - whole(room).from)
  const span = Math.min(Math.max(c.to - c.from, 1e-9), most)
  const keep = 0.1 * span
  const middle = (c.from + c.to - span) / 2
  const from = Math.min(Math.max(middle, keep - span), room.duration - keep)
  const asked = span === c.to - c.from && from === middle // then to the last bit
  return {
    ...c,
    from: asked ? c.from : from,
    to: asked ? c.to : from + span,
    focus: Math.min(Math.max(c.focus, 0), room.rows),
    scroll: Math.min(Math.max(c.scroll, 0), scrollMax(room)),
  }
}

export function scrollMax(room: Room): number {
  return Math.max(0, room.rows + 2 * marginY - room.height)
}

/** zoom makes a px stand for factor times as much time, about the time that lies at x. */
export function zoom(c: Camera, room: Room, factor: number, x: number): Camera {
  const at = c.from + ((c.to - c.from) * x) / room.width
  return settle({ ...c, from: at - (at - c.from) * factor, to: at + (c.to - at) * factor }, room)
}

/** pan moves the picture by so many px, to the right and down. */
export function pan(c: Camera, room: Room, dx: number, dy: number, y = room.height / 2): Camera {
  const dt = ((c.to - c.from) * dx) / room.width
  const moved = { ...c, from: c.from - dt, to: c.to - dt }
  if (c.rows === 'linear') moved.scroll = c.scroll - dy
  else if (dy !== 0) moved.focus = refocus(c.focus, room, dy, y)
  return settle(moved, room)
}

/** spread is how far the fisheye reaches, in rows' units: the scene's formula. */
function spread(focus: number, room: Room): number {
  const d = Math.min(focus, room.rows - focus)
  return 2 * room.height * (0.5 - 0.25 * Math.tanh(d / 1000))
}

/** project returns where a row lies in px from the top. */
export function project(y: number, c: Camera, room: Room): number {
  if (c.rows === 'linear') return y + marginY - c.scroll
  const focus = Math.min(Math.max(c.focus, 0), room.rows)
  const s = spread(focus, room)
  const edge = Math.min(marginY, room.height / 4)
  const base = Math.tanh(-focus / s)
  const gain = (room.height - 2 * edge) / (Math.tanh((room.rows - focus) / s) - base || 1)
  return edge + gain * (Math.tanh((y - focus) / s) - base)
}

/** rowAt is project's inverse. */
export function rowAt(py: number, c: Camera, room: Room): number {
  if (c.rows === 'linear') return py - marginY + c.scroll
  const focus = Math.min(Math.max(c.focus, 0), room.rows)
  const s = spread(focus, room)
  const edge = Math.min(marginY, room.height / 4)
  const base = Math.tanh(-focus / s)
  const gain = (room.height - 2 * edge) / (Math.tanh((room.rows - focus) / s) - base || 1)
  const t = base + (py - edge) / gain
  if (t <= -1) return 0
  if (t >= 1) return room.rows
  return Math.min(Math.max(0, focus + s * Math.atanh(t)), room.rows)
}

/** refocus finds the focus that moves what lies at y px down by dy px, as far as that goes. */
function refocus(focus: number, room: Room, dy: number, y: number): number {
  const camera = { from: 0, to: 1, rows: 'fisheye' as const, focus, scroll: 0 }
  const under = rowAt(y, camera, room)
  // Moving the focus towards the end moves the rows up; the two ends are the limits.
  let low = 0
  let high = room.rows
  const target = project(under, camera, room) + dy
  if (dy > 0) high = focus
  else low = focus
  for (let i = 0; i < 30; i++) {
    const middle = (low + high) / 2
    if (project(under, { ...camera, focus: middle }, room) > target) low = middle
    else high = middle
  }
  return (low + high) / 2
}

/** reveal moves as little as it must to show a time and a row away from the edges. */
export function reveal(c: Camera, room: Room, time: number, y: number | null): Camera {
  const span = c.to - c.from
  let { from, focus, scroll } = c
  if (time < c.from + 0.08 * span || time > c.to - 0.08 * span) from = time - span / 2
  if (y !== null) {
    if (c.rows === 'fisheye') focus = y
    else if (y + marginY < scroll + 40) scroll = y - room.height / 3
    else if (y + marginY > scroll + room.height - 40) scroll = y + 2 * marginY - (2 * room.height) / 3
  }
  return settle({ ...c, from, to: from + span, focus, scroll }, room)
}

/** between goes from one camera to another: t runs from 0 to 1. */
export function between(a: Camera, b: Camera, t: number): Camera {
  const mix = (x: number, y: number) => x + (y - x) * t
  // Zooming by a constant factor each moment looks steady.
  const spanA = a.to - a.from
  const spanB = b.to - b.from
  const span = spanA * Math.pow(spanB / spanA, t)
  const k = Math.abs(spanB - spanA) < 1e-12 * spanA ? t : (spanA - span) / (spanA - spanB)
  const from = a.from + (b.from - a.from) * k
  return { rows: b.rows, from, to: from + span, focus: mix(a.focus, b.focus), scroll: mix(a.scroll, b.scroll) }
}

export function same(a: Camera, b: Camera): boolean {
  return a.from === b.from && a.to === b.to && a.rows === b.rows && a.focus === b.focus && a.scroll === b.scroll
}
