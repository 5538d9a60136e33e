import type { Command } from './commands'

/** names returns what a key event may be called in a command's keys. */
function names(e: KeyboardEvent): string[] {
  const ctrl = e.ctrlKey || e.metaKey ? 'Ctrl+' : ''
  const shift = e.shiftKey ? 'Shift+' : ''
  const all = [ctrl + shift + e.code, ctrl + shift + e.key]
  if (!ctrl && e.key.length === 1 && !/[a-z]/i.test(e.key)) all.push(e.key) // "?" needs Shift on some keyboards
  if (ctrl && !shift) all.push(ctrl + e.key.toLowerCase())
  if (!ctrl && !shift) all.push(e.key.toLowerCase())
  return all
}

const typing = 'input:not([type=checkbox]), textarea, select, [contenteditable]'
const pressing = 'button, a[href], summary, input[type=checkbox], [role=option], th'

/** listen runs commands by their keys; it returns what undoes it. */
export function listen(commands: () => Command[], reducedMotion: () => boolean, blocked: () => boolean): () => void {
  const held = new Map<string, Command>() // by physical key
  let ticking = 0
  let last = 0

  const tick = (now: number) => {
    const seconds = Math.min(0.05, (now - last) / 1000)
    last = now
    for (const c of held.values()) c.hold?.(seconds)
    ticking = held.size > 0 ? requestAnimationFrame(tick) : 0
  }
  const hold = (code: string, c: Command) => {
    held.set(code, c)
    if (ticking) return
    last = performance.now()
    ticking = requestAnimationFrame(tick)
  }

  const down = (e: KeyboardEvent) => {
    if (e.altKey || e.isComposing || blocked()) return
    const target = e.target instanceof Element ? e.target : document.body
    if (target.closest(typing)) return
    if ((e.key === 'Enter' || e.key === ' ') && target.closest(pressing)) return
    if (e.key.startsWith('Arrow') && target.closest('[data-arrows]')) return
    const called = names(e)
    const command = commands().find((c) => c.keys.some((k) => called.includes(k)))
    if (!command) return
    e.preventDefault()
    if (command.hold && !reducedMotion()) {
      if (!e.repeat) {
        command.hold(1 / 20) // a short press does something too
        hold(e.code, command)
      }
      return
    }
    if (!e.repeat || command.hold) command.run()
  }
  const up = (e: KeyboardEvent) => held.delete(e.code)
  const blur = () => held.clear()

  addEventListener('keydown', down)
  addEventListener('keyup', up)
  addEventListener('blur', blur)
  return () => {
    removeEventListener('keydown', down)
    removeEventListener('keyup', up)
    removeEventListener('blur', blur)
    cancelAnimationFrame(ticking)
  }
}
