import { run, usePage, usePicked, usePickedTab } from './context'
import { FindingsLine } from './findings'
import { count, duration, plural, share } from './time'

/** The foot of the page: what is seen, in numbers. */
export function Status() {
  const page = usePage()
  const meta = usePicked((s) => s.meta)
  const summary = usePicked((s) => s.summary)
  const rows = usePickedTab((t) => t.camera?.rows)
  const fold = usePickedTab((t) => t.fold)
  const folds = usePickedTab((t) => t.info.folds?.length ?? 0)
  const whole = summary ? summary.to - summary.from : 0
  return (
    <footer class="status">
      <div class="status-view">
        {meta && <span>{plural(meta.threadsVisible, 'thread')}</span>}
        {summary && whole > 0 && (
          <>
            <span>{duration(whole)}</span>
            <span class="balance" role="img" aria-label={`busy ${share(summary.busy, whole)}, idle ${share(summary.idle, whole)}, GC ${share(summary.gc, whole)}`}>
              <i class="busy" style={{ width: `${(100 * summary.busy) / whole}%` }} />
              <i class="gc" style={{ width: `${(100 * summary.gc) / whole}%` }} />
            </span>
            <span class="busy-text">busy {share(summary.busy, whole)}</span>
            <span class="idle-text">idle {share(summary.idle, whole)}</span>
            {summary.gc > 0 && <span class="gc-text">GC {share(summary.gc, whole)}</span>}
          </>
        )}
        {meta && meta.hiddenArrows > 0 && (
          <span class="left-out" title="Zoom in to see them">{count(meta.hiddenArrows)} arrows not drawn</span>
        )}
        {meta && meta.mergedThreads > 0 && (
          <span class="left-out" title="Zoom in to see them one by one">{count(meta.mergedThreads)} threads merged</span>
        )}
      </div>
      <FindingsLine />
      {(folds ?? 0) > 0 && (
        <button class={!fold && summary && summary.idle > 0.8 * whole ? 'foot-switch suggest' : 'foot-switch'} title="Draw long idle stretches as short breaks (O)" aria-pressed={fold === true} onClick={() => run(page, 'fold')}>
          Fold idle
        </button>
      )}
      <button class="foot-switch" title="Fisheye or linear rows (L)" onClick={() => run(page, 'rows')}>
        {rows === 'linear' ? 'Linear rows' : 'Fisheye rows'}
      </button>
    </footer>
  )
}

/** Announce tells what happened, also to who does not see it. */
export function Announce() {
  const toast = usePicked((s) => s.toast)
  const busy = usePicked((s) => s.busy)
  const text = busy || toast
  return (
    <div class="toast-place" role="status" aria-live="polite">
      {text && <div class="toast">{text}</div>}
    </div>
  )
}
