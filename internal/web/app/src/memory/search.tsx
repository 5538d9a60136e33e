import { usePage, usePicked } from '../context'
import { Icon } from '../icons'
import { count } from '../time'
import { look, stepHit } from './acts'
import { useAnswer } from './ask'
import { metaOf } from './canvas'
import { asked, outlook, type FlameMeta } from './model'

/** The header's search, in a trace of memory: for functions. */
export function MemorySearch() {
  const { store } = usePage()
  const o = usePicked((s) => s.tabs[s.tab]?.outlook) ?? outlook
  const { value, error } = useAnswer<ArrayBuffer>(
    o.query === '' ? null : 'flame', { view: { width: 64, height: 1, scroll: 0 }, query: o.query, ...asked({ ...o, marked: '' }) }, 80,
  )
  const meta = o.query === '' ? null : metaOf<FlameMeta>(value)
  const input = (e: Event) => {
    const query = (e.target as HTMLInputElement).value
    if (query.startsWith('>')) store.set({ dialog: 'palette' })
    else look(store, { query }, true)
  }
  const key = (e: KeyboardEvent) => {
    if (e.key === 'Enter') {
      e.preventDefault()
      if (o.query) stepHit(e.shiftKey)
    }
    if (e.key !== 'Escape') return
    e.preventDefault()
    if (o.query) look(store, { query: '' }, true)
    else document.getElementById('flame')?.focus()
  }
  return (
    <div class="search">
      <Icon name="search" />
      <input
        id="search" type="text" value={o.query} placeholder="Search functions, /regexp/" aria-label="Search functions" autocomplete="off"
        autocapitalize="off" spellcheck={false} aria-invalid={error !== ''} onInput={input} onKeyDown={key}
      />
      {o.query === '' ? (
        <kbd>/</kbd>
      ) : (
        <>
          <span class="search-count" role="status" title="Enter for the next one, Shift Enter for the previous">{error ? 'not a regexp' : meta ? count(meta.functions) : '…'}</span>
          <button class="search-clear" aria-label="Clear the search" onClick={() => look(store, { query: '' }, true)}><Icon name="close" /></button>
        </>
      )}
    </div>
  )
}
