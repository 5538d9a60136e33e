import { useEffect, useRef, useState } from 'preact/hooks'
import { usePage, usePicked } from './context'
import { Icon } from './icons'

/** Drop lets somebody drop files on the page, which are opened in tabs of their own. */
export function Drop() {
  const { viewer, store } = usePage()
  const [over, setOver] = useState(false)
  const opens = usePicked((s) => s.opens)
  useEffect(() => {
    const files = (e: DragEvent) => e.dataTransfer?.types.includes('Files') ?? false
    let depth = 0 // one enters an element before one leaves another
    const enter = (e: DragEvent) => {
      if (files(e)) setOver(++depth > 0)
    }
    const leave = (e: DragEvent) => {
      if (files(e)) setOver(--depth > 0)
    }
    const drag = (e: DragEvent) => {
      if (!files(e)) return
      e.preventDefault() // the browser would leave the page for the file
      e.dataTransfer!.dropEffect = store.state.opens ? 'copy' : 'none'
    }
    const drop = async (e: DragEvent) => {
      if (!files(e)) return
      e.preventDefault()
      depth = 0
      setOver(false)
      for (const file of [...e.dataTransfer!.files].slice(0, 16)) await viewer.openFile(file)
    }
    const dropped = (e: DragEvent) => void drop(e)
    addEventListener('dragenter', enter)
    addEventListener('dragleave', leave)
    addEventListener('dragover', drag)
    addEventListener('drop', dropped)
    return () => {
      removeEventListener('dragenter', enter)
      removeEventListener('dragleave', leave)
      removeEventListener('dragover', drag)
      removeEventListener('drop', dropped)
    }
  }, [])
  if (!over || !opens) return null
  return (
    <div class="drop" aria-hidden="true">
      <p>Drop a trace to open it</p>
    </div>
  )
}

/** OpenFile is a button that lets somebody choose a file. */
export function OpenFile() {
  const { viewer } = usePage()
  const opens = usePicked((s) => s.opens)
  const input = useRef<HTMLInputElement>(null)
  if (!opens) return null
  const chosen = async (e: Event) => {
    const field = e.currentTarget as HTMLInputElement
    const files = [...(field.files ?? [])]
    field.value = ''
    for (const file of files) await viewer.openFile(file)
  }
  return (
    <>
      <button class="tool open-file" id="open-file" aria-label="Open a trace" title="Open a trace, or drop it on the page" onClick={() => input.current?.click()}>
        <Icon name="plus" />
      </button>
      <input type="file" multiple hidden ref={input} onChange={(e) => void chosen(e)} />
    </>
  )
}
