import { useEffect, useRef } from 'preact/hooks'
import { usePage } from '../context'
import { add, hide, mark } from './acts'
import type { Box } from './model'

export interface MenuAt {
  box: Box
  x: number
  y: number
}

/** What can be done with a box of the flame graph. */
export function FrameMenu(p: { at: MenuAt; width: number; height: number; close: () => void; zoom: () => void }) {
  const { store, viewer } = usePage()
  const list = useRef<HTMLUListElement>(null)
  const { box } = p.at
  useEffect(() => {
    list.current?.querySelector<HTMLElement>('button')?.focus({ preventScroll: true })
    const away = (e: Event) => !list.current?.contains(e.target as Node) && p.close()
    addEventListener('pointerdown', away, true)
    return () => removeEventListener('pointerdown', away, true)
  }, [])
  const copy = (text: string) => {
    navigator.clipboard.writeText(text).then(() => viewer.say('Copied'), () => viewer.say('The browser does not let a page copy'))
  }
  const acts: [string, () => void][] = [[box.kind === 'all' ? 'Show all' : 'Zoom', p.zoom]]
  if (box.kind === 'function') {
    acts.push(
      ['Callers and callees', () => mark(store, box.name)],
      ['Only what is inside it', () => add(store, { what: 'inside', text: box.name })],
      ['Only what is not inside it', () => add(store, { what: 'outside', text: box.name })],
      [`Only what is inside ${box.module}`, () => add(store, { what: 'inside', text: box.module + '.*' })],
      [`Only what is not inside ${box.module}`, () => add(store, { what: 'outside', text: box.module + '.*' })],
      ['Hide the function', () => hide(store, box.name)],
      ['Copy its name', () => copy(box.name)],
      ['Copy the stack', () => copy(box.path.join('\n'))],
    )
  }
  const key = (e: KeyboardEvent) => {
    e.stopPropagation()
    const all = [...list.current!.querySelectorAll('button')]
    const at = all.indexOf(document.activeElement as HTMLButtonElement)
    if (e.key === 'Escape' || e.key === 'Tab') {
      e.preventDefault()
      p.close()
      document.getElementById('flame')?.focus({ preventScroll: true })
    } else if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
      e.preventDefault()
      all[(at + (e.key === 'ArrowDown' ? 1 : -1) + all.length) % all.length]?.focus()
    }
  }
  const left = Math.max(8, Math.min(p.at.x, p.width - 288))
  const tall = acts.length * 28 + 14
  const top = Math.max(4, Math.min(p.at.y, p.height - tall))
  return (
    <ul class="menu" role="menu" aria-label={box.name} ref={list} style={{ left: `${left}px`, top: `${top}px` }} onKeyDown={key}>
      {acts.map(([text, run]) => (
        <li key={text} role="none">
          <button
            role="menuitem" tabIndex={-1}
            onClick={() => {
              p.close()
              document.getElementById('flame')?.focus({ preventScroll: true })
              run()
            }}
          >
            <bdi>{text}</bdi>
          </button>
        </li>
      ))}
    </ul>
  )
}
