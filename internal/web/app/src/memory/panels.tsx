import { useEffect, useState } from 'preact/hooks'
import { usePage, usePicked } from '../context'
import { bytes, count, duration, plural, share } from '../time'
import { add, look, mark } from './acts'
import { useAnswer } from './ask'
import { amount, growth, outlook, type Bucket, type Groups, type Histograms as Data, type Spot, type SpotTable, type Way } from './model'
import { Bar, pageSize, Sorted, useSort, type Column } from './table'

/** Points of interest: the places that allocate, and what became of it. */
export function Spots() {
  const { store } = usePage()
  const tab = usePicked((s) => s.tabs[s.tab])
  const o = tab?.outlook ?? outlook
  const [sort, onSort] = useSort('amount')
  const [offset, setOffset] = useState(0)
  useEffect(() => setOffset(0), [o.query, o.filter, sort])
  const { value } = useAnswer<SpotTable>('spots', {
    query: o.query, sort: sort.by, desc: sort.desc, offset, limit: pageSize, memory: { filter: o.filter },
  })
  if (!tab) return null
  const { unit, samples } = tab.info.memory!
  const columns: Column<Spot>[] = [
    {
      id: 'name', title: 'Place', number: false,
      cell: (r) => (
        <button class="link spot" onClick={(e) => { e.stopPropagation(); mark(store, r.name) }} title={`${r.name} at ${r.place}`}>
          <span class="spot-text">
            <bdi class="link-title">{r.name}</bdi>
            <span class="spot-place">
              <bdi>{shortly(r.place)}</bdi>
              {r.growing && <span class="state failed" title={`What is alive grows by ${growth(r.slope, unit)} a second`}>grows</span>}
              {r.neverFreed && !r.growing && <span class="state never-resolved" title="None of its blocks has been collected">never freed</span>}
            </span>
          </span>
        </button>
      ),
    },
    { id: 'amount', title: 'Allocated', number: true, cell: (r) => <Bar part={r.amount} whole={samples} text={amount(r.amount, unit)} /> },
    { id: 'live', title: 'Alive at end', number: true, cell: (r) => amount(r.live, unit) },
    { id: 'typical', title: 'Lives', number: true, cell: (r) => (r.typical > 0 ? duration(r.typical) : '–') },
  ]
  return (
    <Sorted
      label="Places that allocate" columns={columns} rows={value?.rows ?? []} total={value?.total ?? 0} offset={offset} sort={sort}
      onSort={onSort} onPage={setOffset} id={(r: Spot) => r.name + r.place} empty={o.query ? 'No place matches the search' : 'Nothing is selected'}
    />
  )
}

/** shortly leaves the file of a place, with the folder that it is in: the beginning of a path tells least. */
function shortly(place: string): string {
  return place.split('/').slice(-2).join('/')
}

/** Hot paths: the call stacks that most goes through. */
export function Ways() {
  const { store } = usePage()
  const tab = usePicked((s) => s.tabs[s.tab])
  const o = tab?.outlook ?? outlook
  const { value } = useAnswer<Way[]>('ways', { memory: { filter: o.filter } })
  if (!tab) return null
  const { unit } = tab.info.memory!
  const whole = value?.reduce((m, w) => Math.max(m, w.amount), 0) ?? 0
  return (
    <div class="panel-body" tabIndex={0} role="group" aria-label="Hot paths">
      <p class="note lead">The longest call stacks that at least 2 % of what is selected was allocated in</p>
      {value?.map((w, i) => (
        <details class="way" key={i} open={i === 0}>
          <summary>
            <bdi class="link-title">{w.stack.at(-1)}</bdi>
            <Bar part={w.amount} whole={whole} text={amount(w.amount, unit)} />
          </summary>
          <ol>
            {w.deep > w.stack.length && <li class="note">{plural(w.deep - w.stack.length, 'caller')} above</li>}
            {w.stack.map((f, k) => (
              <li key={k}><button class="link" onClick={() => mark(store, f)}><bdi class="link-title">{f}</bdi></button></li>
            ))}
          </ol>
        </details>
      ))}
      {value?.length === 0 && <p class="empty">No call stack has as much</p>}
    </div>
  )
}

/** How large blocks were, and how long they lived. */
export function Histograms() {
  const tab = usePicked((s) => s.tabs[s.tab])
  const o = tab?.outlook ?? outlook
  const { value } = useAnswer<Data>('histograms', { memory: { filter: o.filter } })
  const { store } = usePage()
  if (!tab || !value) return <div class="panel-body" />
  const { unit, samples } = tab.info.memory!
  return (
    <div class="panel-body" tabIndex={0} role="group" aria-label="Histograms">
      <Histogram title="Lifetime" buckets={value.lifetimes} unit={unit} write={duration} pick={(b) => add(store, { what: 'lifetime', from: b.from, to: b.to })} />
      <p class="sub below">
        <button class="small inline" onClick={() => add(store, { what: 'never' })}>
          {amount(value.never, unit)} never collected, {share(value.never, samples)} of the trace
        </button>
      </p>
      <Histogram title="Size" buckets={value.sizes} unit={unit} write={bytes} pick={(b) => add(store, { what: 'size', from: b.from, to: Math.max(b.from, b.to - 1) })} />
      <p class="note">Grey is the whole trace, blue what is selected. Press a bar to select what is in it.</p>
    </div>
  )
}

function Histogram(p: { title: string; buckets: Bucket[]; unit: number; write: (v: number) => string; pick: (b: Bucket) => void }) {
  const most = p.buckets.reduce((m, b) => Math.max(m, b.all), 1)
  return (
    <section class="section" aria-label={p.title}>
      <h3>{p.title}</h3>
      <ul class="histogram">
        {p.buckets.map((b) => (
          <li key={b.from}>
            <button
              onClick={() => p.pick(b)} title={`${p.write(b.from)} to ${p.write(b.to)}: ${count(b.blocks)} sampled blocks`}
            >
              <span class="bucket-name">{p.write(b.from)}</span>
              <span class="bucket-bar">
                <i class="all" style={{ width: `${(100 * b.all) / most}%` }} />
                {b.amount > 0 && <i class="part" style={{ width: `${(100 * b.amount) / most}%` }} />}
              </span>
              <span class="bucket-amount">{b.amount > 0 ? amount(b.amount, p.unit) : ''}</span>
            </button>
          </li>
        ))}
      </ul>
      {p.buckets.length === 0 && <p class="note">No block was collected</p>}
    </section>
  )
}

/** Who allocated: by domain, goroutine and heap. */
export function GroupsPanel() {
  const { store } = usePage()
  const tab = usePicked((s) => s.tabs[s.tab])
  const o = tab?.outlook ?? outlook
  const { value } = useAnswer<Groups>('groups', { memory: { filter: o.filter } })
  if (!tab || !value) return <div class="panel-body" />
  const { unit } = tab.info.memory!
  const lists = [
    { title: 'Domains', what: 'domain' as const, list: value.domains },
    { title: 'Goroutines', what: 'goroutine' as const, list: value.goroutines },
    { title: 'Heaps', what: 'source' as const, list: value.sources },
  ]
  return (
    <div class="panel-body" tabIndex={0} role="group" aria-label="Who allocated">
      {lists.filter((l) => l.list.length > 0).map((l) => {
        const whole = l.list.reduce((m, g) => m + g.amount, 0)
        return (
          <section class="section" key={l.title}>
            <h3>{l.title}<span class="total">{count(l.list.length)}</span></h3>
            <ul class="links">
              {l.list.map((g) => (
                <li key={g.number}>
                  <button
                    class="link with-bar" title={`${count(g.blocks)} sampled blocks, ${amount(g.live, unit)} alive at the end`}
                    onClick={() => add(store, l.what === 'source' ? { what: 'source', text: g.name! } : { what: l.what, from: g.number })}
                  >
                    <span class="link-title">{g.name ?? `${l.what} ${g.number}`}</span>
                    <Bar part={g.amount} whole={whole} text={amount(g.amount, unit)} />
                  </button>
                </li>
              ))}
            </ul>
          </section>
        )
      })}
      {value.more > 0 && <p class="note">and {plural(value.more, 'more goroutine')}</p>}
      {!tab.info.memory!.goroutines && <p class="note">The trace does not tell which goroutine allocated.</p>}
      <button class="small inline" onClick={() => look(store, { filter: o.filter.filter((c) => !['domain', 'goroutine', 'source'].includes(c.what)) })}>Show all again</button>
    </div>
  )
}
