import uFuzzy from '@leeoniya/ufuzzy'
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Command } from './commands'
import { usePage, usePicked, usePickedTab } from './context'
import { Icon } from './icons'
import { MemoryChoices } from './memory/export'
import { isMemory } from './memory/model'
import { moment, parse } from './time'

/** Whatever dialog is open. */
export function Dialogs() {
  const dialog = usePicked((s) => s.dialog)
  switch (dialog) {
    case 'help':
      return <Help />
    case 'palette':
      return <Palette />
    case 'export':
      return <Export />
    case 'start':
      return <TimeDialog what="start" />
    case 'duration':
      return <TimeDialog what="duration" />
  }
  return null
}

/** Modal is a dialog that takes the focus and gives it back. */
function Modal(p: { label: string; class: string; children: ComponentChildren }) {
  const { store } = usePage()
  const ref = useRef<HTMLDialogElement>(null)
  const close = () => store.set({ dialog: 'none' })
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null
    ref.current!.showModal()
    return () => {
      if (before?.isConnected && before !== document.body) before.focus()
      else document.getElementById('picture')?.focus()
    }
  }, [])
  return (
    <dialog
      ref={ref} class={`dialog ${p.class}`} aria-label={p.label} onClose={close}
      onPointerDown={(e) => e.target === ref.current && close()}
    >
      <div class="dialog-body">{p.children}</div>
    </dialog>
  )
}

function Keys({ command }: { command: Command }) {
  const text = command.shown ?? command.keys[0] ?? ''
  return (
    <span class="keys">
      {text.split(' ').filter(Boolean).map((k) => <kbd key={k}>{k}</kbd>)}
    </span>
  )
}

const gestures: [string, string][] = [
  ['Wheel', 'zoom about the pointer'],
  ['Drag', 'move in time and rows'],
  ['Alt wheel', 'move in rows'],
  ['Shift wheel', 'move in time'],
  ['Ctrl drag', 'zoom to an area'],
  ['Shift drag', 'select a range'],
  ['Click', 'select a thread or an arrow'],
  ['Double click', 'highlight what it became'],
  ['One finger', 'move'],
  ['Two fingers', 'zoom'],
]

function Help() {
  const { commands, store } = usePage()
  const groups = [...new Set(commands.map((c) => c.group))].filter((g) => g !== 'Traces')
  return (
    <Modal label="Help" class="help">
      <div class="dialog-head">
        <h2>Keys and gestures</h2>
        <button class="tool" aria-label="Close" onClick={() => store.set({ dialog: 'none' })}><Icon name="close" /></button>
      </div>
      <div class="help-groups" tabIndex={0} role="group" aria-label="Keys and gestures">
        {groups.map((g) => (
          <section key={g}>
            <h3>{g}</h3>
            <dl>
              {commands.filter((c) => c.group === g && c.keys.length > 0).map((c) => (
                <div key={c.id}><dt><Keys command={c} /></dt><dd>{c.title}</dd></div>
              ))}
              {g === 'Show' && <div><dt><kbd>1</kbd>…<kbd>9</kbd></dt><dd>Another trace</dd></div>}
            </dl>
          </section>
        ))}
        <section>
          <h3>Mouse and touch</h3>
          <dl>
            {gestures.map(([k, t]) => (
              <div key={k}><dt><kbd>{k}</kbd></dt><dd>{t[0]!.toUpperCase() + t.slice(1)}</dd></div>
            ))}
          </dl>
        </section>
        <Legend />
      </div>
    </Modal>
  )
}

const legend: [string, string][] = [
  ['running', 'ran'],
  ['waiting', 'waited'],
  ['try_read', 'looked at another, and waits'],
  ['read', 'was woken by a result'],
  ['read-failed', 'was woken by a failure'],
  ['resolve', 'resolved another'],
  ['signal', 'signalled another'],
  ['failed', 'failed'],
]

function Legend() {
  return (
    <section>
      <h3>Lines and arrows</h3>
      <dl>
        {legend.map(([how, text]) => (
          <div key={how}><dt><span class={`how long ${how}`} /></dt><dd>{text}</dd></div>
        ))}
      </dl>
    </section>
  )
}

const fuzzy = new uFuzzy({ intraMode: 1 })

function Palette() {
  const page = usePage()
  const tabs = usePicked((s) => s.tabs)
  const counters = usePickedTab((t) => t.info.counters) ?? []
  const [query, setQuery] = useState('')
  const [active, setActive] = useState(0)
  const list = useRef<HTMLUListElement>(null)

  const all = useMemo(() => {
    const plain = page.commands.filter((c) => c.group !== 'Traces' && c.id !== 'palette' && c.id !== 'away')
    const traces: Command[] = tabs.length < 2 ? [] : tabs.map((t, i) => ({
      id: `trace-${i}`, title: `Show ${t.info.name}`, group: 'Traces', keys: [String(i + 1)], run: () => page.viewer.switchTo(i),
    }))
    const switches: Command[] = counters.map((c) => ({
      id: `counter-${c.name}`, title: `Counter ${c.name} on or off`, group: 'Counters', keys: [], run: () => flip(page, c.name),
    }))
    return [...plain, ...traces, ...switches]
  }, [page, tabs, counters])

  const found = useMemo(() => {
    const wanted = query.replace(/^>\s*/, '')
    if (!wanted.trim()) return all
    const titles = all.map((c) => `${c.title} ${c.group}`)
    const [ids, info, order] = fuzzy.search(titles, wanted, 1)
    if (!ids) return []
    return info && order ? order.map((o) => all[info.idx[o]!]!) : ids.map((i) => all[i]!)
  }, [query, all])

  const choose = (c: Command | undefined) => {
    if (!c) return
    page.store.set({ dialog: 'none' })
    queueMicrotask(c.run)
  }
  const key = (e: KeyboardEvent) => {
    if (e.key === 'Enter') choose(found[active])
    else if (e.key === 'ArrowDown') setActive(Math.min(found.length - 1, active + 1))
    else if (e.key === 'ArrowUp') setActive(Math.max(0, active - 1))
    else return
    e.preventDefault()
  }
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' })
  }, [active])

  return (
    <Modal label="All commands" class="palette">
      <div class="palette-input">
        <Icon name="command" />
        <input
          type="text" autofocus placeholder="What do you want to do?" aria-label="Command" value={query} role="combobox"
          aria-expanded="true" aria-controls="commands" aria-autocomplete="list" autocomplete="off" spellcheck={false}
          {...(found[active] ? { 'aria-activedescendant': `command-${found[active].id}` } : {})}
          onInput={(e) => { setQuery((e.target as HTMLInputElement).value); setActive(0) }} onKeyDown={key}
        />
      </div>
      <ul id="commands" role="listbox" aria-label="Commands" ref={list}>
        {found.map((c, i) => (
          <li
            key={c.id} id={`command-${c.id}`} role="option" aria-selected={i === active} onPointerMove={() => setActive(i)}
            onClick={() => choose(c)}
          >
            <span class="palette-title">{c.title}</span>
            <span class="palette-group">{c.group}</span>
            <Keys command={c} />
          </li>
        ))}
        {found.length === 0 && <li class="palette-none" role="option" aria-selected={false} aria-disabled="true">No such command</li>}
      </ul>
    </Modal>
  )
}

function flip(page: ReturnType<typeof usePage>, name: string): void {
  const hidden = page.store.tab?.hidden ?? []
  page.store.setTab({ hidden: hidden.includes(name) ? hidden.filter((h) => h !== name) : [...hidden, name] })
}

function Export() {
  const { inquiry, store } = usePage()
  const memory = usePicked(isMemory)
  const width = usePicked((s) => s.width)
  const height = usePicked((s) => s.height)
  const ratio = usePicked((s) => s.ratio)
  const save = (format: 'svg' | 'png') => {
    store.set({ dialog: 'none' })
    void inquiry.save(format)
  }
  return (
    <Modal label="Export" class="export">
      <div class="dialog-head">
        <h2>Export what is seen</h2>
        <button class="tool" aria-label="Close" onClick={() => store.set({ dialog: 'none' })}><Icon name="close" /></button>
      </div>
      {memory ? <MemoryChoices /> : <div class="choices">
        <button class="choice" onClick={() => save('svg')}>
          <strong>SVG</strong>
          <span>Sharp at any size, for documents</span>
        </button>
        <button class="choice" onClick={() => save('png')}>
          <strong>PNG</strong>
          <span>{Math.round(width * ratio)} × {Math.round(height * ratio)} pixels, for a message</span>
        </button>
      </div>}
    </Modal>
  )
}

/** TimeDialog asks for the time at the left edge, or for how much time is seen. */
function TimeDialog({ what }: { what: 'start' | 'duration' }) {
  const { viewer, store } = usePage()
  const c = viewer.times()
  const span = c.to - c.from
  const step = Math.pow(10, Math.floor(Math.log10(span / 2000)))
  const [text, setText] = useState(() => moment(what === 'start' ? c.from : span, step, what === 'start' ? c.to : span).replace(/\u2009/g, ''))
  const value = parse(text)
  const good = Number.isFinite(value) && (what === 'start' || value > 0)
  const go = (e: Event) => {
    e.preventDefault()
    if (!good) return
    store.set({ dialog: 'none' })
    if (what === 'start') viewer.lookAt(value, value + span, { glide: true })
    else viewer.lookAt(c.from, c.from + value, { glide: true })
  }
  return (
    <Modal label={what === 'start' ? 'Start time' : 'Duration'} class="ask">
      <form onSubmit={go}>
        <label>
          <span>{what === 'start' ? 'Start time' : 'Duration'}</span>
          <input
            type="text" autofocus value={text} spellcheck={false} autocomplete="off" aria-invalid={!good}
            onInput={(e) => setText((e.target as HTMLInputElement).value)} onFocus={(e) => (e.target as HTMLInputElement).select()}
          />
        </label>
        <p class="note">{good ? 'As in 12ms, 3us or 1.5s' : 'Not a time: write it as 12ms, 3us or 1.5s'}</p>
        <div class="buttons">
          <button type="button" class="action" onClick={() => store.set({ dialog: 'none' })}>Cancel</button>
          <button type="submit" class="action primary" disabled={!good}>Go there</button>
        </div>
      </form>
    </Modal>
  )
}
