import { useEffect, useRef, useState } from 'preact/hooks'
import { usePage, usePicked, usePickedTab } from '../context'
import { asked, outlook } from './model'

export interface Asked<T> {
  value: T | null
  error: string
  busy: boolean // value is the answer to an earlier question, and a newer one is on its way
}

/**
 * useAnswer asks something about the trace of memory that is shown, and again
 * when the question changes. Until then the last answer stays.
 */
export function useAnswer<T>(ask: string | null, fields: Record<string, unknown> = {}, wait = 0): Asked<T> {
  const { viewer } = usePage()
  const tab = usePicked((s) => s.tab)
  const generation = usePickedTab((t) => t.info.generation)
  const looks = usePickedTab((t) => t.outlook) ?? outlook
  const question = JSON.stringify({ ...asked(looks), ...fields })
  const key = ask === null ? null : JSON.stringify([ask, tab, generation, question])
  const [answer, setAnswer] = useState<{ key: string; tab: number; value: T | null; error: string }>({ key: '', tab, value: null, error: '' })
  const newest = useRef<string | null>(null)
  const underWay = useRef(false)

  useEffect(() => {
    newest.current = key
    if (key === null || ask === null) return
    const go = () => {
      const mine = newest.current
      if (underWay.current || mine === null) return
      underWay.current = true
      const [name, number, , text] = JSON.parse(mine) as [string, number, number, string]
      const done = (value: T | null, error: string) => {
        underWay.current = false
        setAnswer((a) => ({ key: mine, tab: number, value: value ?? (error && a.tab === number ? a.value : null), error }))
        if (newest.current !== mine) go() // only the newest of those that came meanwhile
      }
      viewer.engine.ask<T>(name, number, JSON.parse(text) as Record<string, unknown>).then((v) => done(v, ''), (e: Error) => done(null, e.message))
    }
    if (wait === 0) {
      go()
      return
    }
    const timer = setTimeout(go, wait)
    return () => clearTimeout(timer)
  }, [key])
  useEffect(() => () => void (newest.current = null), [])

  const mine = answer.tab === tab
  return { value: mine ? answer.value : null, error: mine ? answer.error : '', busy: key !== null && answer.key !== key }
}
