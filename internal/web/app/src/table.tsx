import { useEffect, useState } from 'preact/hooks'
import { usePage, usePicked, usePickedTab } from './context'
import type { Table as Data, TableRow } from './protocol'
import { count, duration, moment } from './time'

const pageSize = 100

const columns: { id: string; title: string; number: boolean }[] = [
  { id: 'title', title: 'Thread', number: false },
  { id: 'tid', title: 'Number', number: true },
  { id: 'type', title: 'Type', number: false },
  { id: 'start', title: 'Start', number: true },
  { id: 'lasted', title: 'Lasted', number: true },
  { id: 'runs', title: 'Runs', number: true },
  { id: 'ran', title: 'Ran', number: true },
  { id: 'state', title: 'State', number: false },
]

/** The threads as a table: what the picture shows, for who does not see it. */
export function Table() {
  const { viewer, store } = usePage()
  const tab = usePicked((s) => s.tab)
  const generation = usePickedTab((t) => t.info.generation)
  const query = usePickedTab((t) => t.query) ?? ''
  const error = usePicked((s) => s.queryError)
  const [sort, setSort] = useState({ by: 'start', desc: false })
  const [offset, setOffset] = useState(0)
  const [data, setData] = useState<Data | null>(null)

  useEffect(() => setOffset(0), [tab, query])
  useEffect(() => {
    let stale = false
    const wait = setTimeout(() => {
      viewer.engine
        .ask<Data>('table', tab, { query: error ? '' : query, sort: sort.by, desc: sort.desc, offset, limit: pageSize })
        .then((d) => !stale && setData(d), () => {})
    }, 60)
    return () => {
      stale = true
      clearTimeout(wait)
    }
  }, [tab, generation, query, error, sort, offset])

  const by = (id: string) => {
    setOffset(0)
    setSort({ by: id, desc: sort.by === id ? !sort.desc : false })
  }
  const last = data ? Math.min(data.offset + pageSize, data.total) : 0
  return (
    <div class="table-place">
      <div class="table-scroll" tabIndex={0} role="group" aria-label="Table of threads">
        <table class="threads">
          <caption class="unseen">Threads{query && `, those that match ${query}`}</caption>
          <thead>
            <tr>
              {columns.map((c) => (
                <th
                  key={c.id} scope="col" class={c.number ? 'number' : ''}
                  aria-sort={sort.by === c.id ? (sort.desc ? 'descending' : 'ascending') : 'none'}
                >
                  <button onClick={() => by(c.id)}>{c.title}<span class="arrow" aria-hidden="true" /></button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {data?.rows.map((r) => <Row key={r.thread} r={r} />)}
          </tbody>
        </table>
        {data?.total === 0 && <p class="empty">{query ? 'No thread matches the search' : 'The trace has no threads'}</p>}
      </div>
      <div class="pager">
        <button class="action" disabled={offset === 0} onClick={() => setOffset(Math.max(0, offset - pageSize))}>Previous</button>
        <span role="status">{data && data.total > 0 ? `${count(data.offset + 1)}–${count(last)} of ${count(data.total)}` : ''}</span>
        <button class="action" disabled={!data || last >= data.total} onClick={() => setOffset(offset + pageSize)}>Next</button>
        <button class="action back-link" onClick={() => store.set({ mode: 'timeline' })}>Back to the timeline</button>
      </div>
    </div>
  )
}

/** useExactly writes times so that threads of the trace can be told apart. */
function useExactly(): (t: number) => string {
  const reach = usePickedTab((t) => t.info.duration) ?? 1
  const step = Math.max(1e-9, Math.pow(10, Math.floor(Math.log10(reach / 1e6))))
  return (t) => moment(t, step, reach)
}

function Row({ r }: { r: TableRow }) {
  const { inquiry, store } = usePage()
  const selected = usePickedTab((t) => t.selected?.thread === r.thread)
  const at = useExactly()
  const show = () => {
    store.set({ mode: 'timeline' })
    inquiry.select({ ...r, time: r.start }, true)
  }
  return (
    <tr class={selected ? 'selected' : ''} onClick={() => inquiry.select({ ...r, time: r.start })} onDblClick={show}>
      <th scope="row">
        <button class="link" onClick={(e) => { e.stopPropagation(); show() }} title="Show it in the timeline">
          <bdi class="link-title">{r.title}</bdi>
        </button>
      </th>
      <td class="number">{r.tid}</td>
      <td>{r.type}</td>
      <td class="number">{at(r.start)}</td>
      <td class="number">{duration(r.end - r.start)}</td>
      <td class="number">{count(r.runs)}</td>
      <td class="number">{duration(r.ran)}</td>
      <td>{r.state === 'resolved' ? <span class="quiet">resolved</span> : <span class={`state ${r.state.replace(' ', '-')}`} title={r.failure}>{r.state}</span>}</td>
    </tr>
  )
}
