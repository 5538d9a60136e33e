import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { usePage, usePicked } from '../context'
import { Icon } from '../icons'
import { count, share } from '../time'
import { add, hide, look, mark } from './acts'
import { useAnswer } from './ask'
import { amount, outlook, type FunctionDetail, type FunctionRow, type FunctionTable } from './model'

export const pageSize = 100

export interface Column<R> {
  id: string
  title: string
  number: boolean
  cell: (r: R) => ComponentChildren
}

/** A table that is sorted by its heads, and shown page by page. */
export function Sorted<R>(p: {
  label: string; columns: Column<R>[]; rows: R[]; total: number; offset: number; sort: { by: string; desc: boolean }
  onSort: (by: string) => void; onPage: (offset: number) => void; id: (r: R) => string; selected?: (r: R) => boolean; empty: string
  onRow?: (r: R) => void
}) {
  const last = Math.min(p.offset + pageSize, p.total)
  return (
    <>
      <div class="table-scroll" tabIndex={0} role="group" aria-label={p.label}>
        <table class="threads amounts">
          <caption class="unseen">{p.label}</caption>
          <thead>
            <tr>
              {p.columns.map((c) => (
                <th key={c.id} scope="col" class={c.number ? 'number' : ''} aria-sort={p.sort.by === c.id ? (p.sort.desc ? 'descending' : 'ascending') : 'none'}>
                  <button onClick={() => p.onSort(c.id)}>{c.title}<span class="arrow" aria-hidden="true" /></button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {p.rows.map((r) => (
              <tr key={p.id(r)} class={p.selected?.(r) ? 'selected' : ''} onClick={() => p.onRow?.(r)}>
                {p.columns.map((c, i) => (i === 0 ? <th key={c.id} scope="row">{c.cell(r)}</th> : <td key={c.id} class={c.number ? 'number' : ''}>{c.cell(r)}</td>))}
              </tr>
            ))}
          </tbody>
        </table>
        {p.total === 0 && <p class="empty">{p.empty}</p>}
      </div>
      {p.total > pageSize && (
        <div class="pager">
          <button class="action" disabled={p.offset === 0} onClick={() => p.onPage(Math.max(0, p.offset - pageSize))}>Previous</button>
          <span role="status">{`${count(p.offset + 1)}–${count(last)} of ${count(p.total)}`}</span>
          <button class="action" disabled={last >= p.total} onClick={() => p.onPage(p.offset + pageSize)}>Next</button>
        </div>
      )}
    </>
  )
}

/** useSort holds how a table is sorted: a column's second press turns it round. */
export function useSort(by: string): [{ by: string; desc: boolean }, (by: string) => void, (by: string) => void] {
  const [sort, setSort] = useState({ by, desc: true })
  return [sort, (id) => setSort((s) => ({ by: id, desc: s.by === id ? !s.desc : id !== 'name' && id !== 'module' })), (id) => setSort({ by: id, desc: true })]
}

/** Bar is an amount with its share of the whole as a bar. */
export function Bar({ part, whole, text }: { part: number; whole: number; text: string }) {
  const wide = whole > 0 ? Math.max(0, Math.min(1, part / whole)) : 0
  return (
    <span class="bar" title={share(part, whole)}>
      <i style={{ width: `${100 * wide}%` }} />
      <span>{text}</span>
    </span>
  )
}

/** The functions, by what they allocated. */
export function Functions() {
  const { store } = usePage()
  const tab = usePicked((s) => s.tabs[s.tab])
  const o = tab?.outlook ?? outlook
  const [sort, onSort, first] = useSort(o.base ? 'change' : 'self')
  const [offset, setOffset] = useState(0)
  useEffect(() => setOffset(0), [o.query, o.filter, sort])
  const compared = o.base !== null
  useEffect(() => first(compared ? 'change' : 'self'), [compared])
  const { value, error } = useAnswer<FunctionTable>('functions', {
    query: o.query, sort: sort.by, desc: sort.desc, offset, limit: pageSize, memory: { filter: o.filter, base: o.base },
  })
  if (!tab) return null
  if (o.marked) return <Detail name={o.marked} />
  const unit = compared ? (tab.info.memory!.unit > 0 ? 1 : 0) : tab.info.memory!.unit
  const whole = tab.info.memory!.samples * (compared && unit > 0 ? tab.info.memory!.unit : 1)
  const name: Column<FunctionRow> = {
    id: 'name', title: 'Function', number: false,
    cell: (r) => (
      <button class="link" onClick={(e) => { e.stopPropagation(); mark(store, r.name) }} title={`${r.name}: callers and callees`}>
        <bdi class="link-title">{r.name}</bdi>
      </button>
    ),
  }
  const columns: Column<FunctionRow>[] = compared
    ? [
        name,
        { id: 'change', title: 'Change', number: true, cell: (r) => <Change now={r.self} before={r.baseSelf} unit={unit} /> },
        { id: 'changeAmount', title: 'With callees', number: true, cell: (r) => <Change now={r.amount} before={r.baseAmount} unit={unit} /> },
        { id: 'self', title: 'Now', number: true, cell: (r) => amount(r.self, unit) },
      ]
    : [
        name,
        { id: 'self', title: 'Own', number: true, cell: (r) => <Bar part={r.self} whole={whole} text={amount(r.self, unit)} /> },
        { id: 'amount', title: 'With callees', number: true, cell: (r) => <Bar part={r.amount} whole={whole} text={amount(r.amount, unit)} /> },
        { id: 'live', title: 'Alive at end', number: true, cell: (r) => amount(r.live, unit) },
      ]
  return (
    <>
      {error && <p class="bad panel-note" role="alert">{error}</p>}
      <Sorted
        label="Functions" columns={columns} rows={value?.rows ?? []} total={value?.total ?? 0} offset={offset} sort={sort} onSort={onSort}
        onPage={setOffset} id={(r: FunctionRow) => r.name} onRow={(r) => mark(store, r.name)}
        empty={o.query ? 'No function matches the search' : 'Nothing is selected'}
      />
    </>
  )
}

/** Change is a difference, with a sign and a colour. */
export function Change({ now, before, unit }: { now: number; before: number; unit: number }) {
  const d = now - before
  const kind = d > 0 ? 'grew' : d < 0 ? 'shrank' : ''
  return <span class={`change ${kind}`} title={`${amount(before, unit)} before, ${amount(now, unit)} now`}>{d > 0 ? '+' : ''}{d === 0 ? '±0' : amount(d, unit)}</span>
}

/** A function with its callers and callees. */
function Detail({ name }: { name: string }) {
  const { store } = usePage()
  const tab = usePicked((s) => s.tabs[s.tab])
  const o = tab?.outlook ?? outlook
  const { value } = useAnswer<FunctionDetail>('function', { query: name, memory: { filter: o.filter } })
  const [sort, setSort] = useState<'name' | 'amount'>('amount')
  if (!tab) return null
  const unit = tab.info.memory!.unit
  const d = value?.name === name ? value : null
  return (
    <div class="panel-body detail" tabIndex={0} role="group" aria-label={`Function ${name}`}>
      <div class="detail-head">
        <h2><bdi>{name}</bdi></h2>
        <button class="tool" aria-label="Back to all functions" title="All functions (Esc)" onClick={() => look(store, { marked: '' }, true)}><Icon name="close" /></button>
      </div>
      <div class="actions">
        <button class="action" onClick={() => add(store, { what: 'inside', text: name })}>Only inside</button>
        <button class="action" onClick={() => add(store, { what: 'outside', text: name })}>Not inside</button>
        <button class="action" onClick={() => hide(store, name)}>Hide</button>
        <button class="action" onClick={() => look(store, { query: name }, true)}>Find</button>
      </div>
      {d && (
        <>
          <dl class="facts">
            <dt>Own</dt><dd>{amount(d.self, unit)}</dd>
            <dt>With callees</dt><dd>{amount(d.amount, unit)}, {share(d.amount, tab.info.memory!.samples)} of the trace</dd>
            <dt>Blocks</dt><dd>{count(d.blocks)} sampled</dd>
            <dt>Alive at end</dt><dd>{amount(d.live, unit)} of its own</dd>
            <dt>Module</dt><dd><bdi>{d.module}</bdi></dd>
          </dl>
          <p class="sub"><button class="small inline" onClick={() => setSort(sort === 'name' ? 'amount' : 'name')}>{sort === 'name' ? 'Order by amount' : 'Order by name'}</button></p>
          <Neighbors title="Callers" list={d.callers} whole={d.amount} unit={unit} sort={sort} query={o.query} />
          <Neighbors title="Callees" list={d.callees} whole={d.amount} unit={unit} sort={sort} query={o.query} />
        </>
      )}
    </div>
  )
}

function Neighbors(p: { title: string; list: { name: string; amount: number }[]; whole: number; unit: number; sort: 'name' | 'amount'; query: string }) {
  const { store } = usePage()
  const [all, setAll] = useState(false)
  const sorted = p.sort === 'name' ? [...p.list].sort((a, b) => (a.name < b.name ? -1 : 1)) : p.list
  const shown = all ? sorted : sorted.slice(0, 12)
  return (
    <section class="section">
      <h3>{p.title}<span class="total">{count(p.list.length)}</span></h3>
      <ul class="links">
        {shown.map((n) => (
          <li key={n.name}>
            <button class="link with-bar" onClick={() => mark(store, n.name)}>
              <bdi class="link-title">{n.name}</bdi>
              <Bar part={n.amount} whole={p.whole} text={amount(n.amount, p.unit)} />
            </button>
          </li>
        ))}
      </ul>
      {p.list.length === 0 && <p class="note">None</p>}
      {p.list.length > 12 && <button class="small inline" onClick={() => setAll(!all)}>{all ? 'Fewer' : `All ${count(p.list.length)}`}</button>}
    </section>
  )
}
