import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { usePage, usePicked } from './context'
import { Icon } from './icons'
import type { Node } from './story'

/** The story beside the picture: its steps, of which one is told. */
export function Telling() {
  const { teller } = usePage()
  const story = usePicked((s) => s.story)
  const step = usePicked((s) => s.step)
  const telling = usePicked((s) => s.telling)
  const body = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const box = body.current
    const told = box?.querySelector<HTMLElement>('.step.told')
    if (!box) return
    const end = told ? told.offsetTop + told.offsetHeight - box.clientHeight : 0
    box.scrollTop = told ? Math.min(told.offsetTop - 8, Math.max(0, end)) : 0 // all of the step, as far as there is room
  }, [step, telling])
  if (!story || !telling) return null
  const count = story.steps.length
  return (
    <aside class="story" aria-label="Story">
      <div class="story-head">
        <h2><bdi>{story.title || 'Story'}</bdi></h2>
        <button class="tool" aria-label="Put the story away" title="Put the story away (Y)" onClick={() => teller.toggle()}>
          <Icon name="close" />
        </button>
      </div>
      <div class="story-body" ref={body} tabIndex={0} role="group" aria-label="Story's text">
        {step < 0 && <Prose nodes={story.intro} />}
        {count > 0 && (
          <ol class="steps">
            {story.steps.map((s, i) => (
              <li key={i} class={i === step ? 'step told' : i < step ? 'step past' : 'step'}>
                <h3>
                  <button class="step-title" {...(i === step ? { 'aria-current': 'step' as const } : {})} onClick={() => teller.go(i)}>
                    <span class="step-number">{i + 1}</span>
                    <bdi>{s.title}</bdi>
                  </button>
                </h3>
                {i === step && <Prose nodes={s.body} />}
              </li>
            ))}
          </ol>
        )}
      </div>
      {count > 0 && (
        <div class="story-foot">
          <button class="action" disabled={step <= teller.first} onClick={() => teller.previous()} title="Previous step (K)">
            <Icon name="back" />
            Back
          </button>
          <span class="story-at" role="status">
            {step < 0 ? `${count} steps` : (
              <>
                <span class="unseen">Step </span>{step + 1} of {count}<span class="unseen">: {story.steps[step]!.title}</span>
              </>
            )}
          </span>
          <button class="action primary" disabled={step >= count - 1} onClick={() => teller.next()} title="Next step (J)">
            {step < 0 ? 'Begin' : 'Next'}
            <Icon name="forth" />
          </button>
        </div>
      )}
    </aside>
  )
}

function Prose({ nodes }: { nodes: Node[] }) {
  return <div class="prose"><Text nodes={nodes} /></div>
}

/** Text shows the parts of a text. What it is made of comes from this list alone, never from the text. */
function Text({ nodes }: { nodes: Node[] | undefined }) {
  return <>{nodes?.map((n, i) => <Part key={i} node={n} />)}</>
}

function Part({ node }: { node: Node }): ComponentChildren {
  const inner = <Text nodes={node.children} />
  switch (node.kind) {
    case 'text':
      return node.text
    case 'p':
      return <p dir="auto">{inner}</p>
    case 'em':
      return <em>{inner}</em>
    case 'strong':
      return <strong>{inner}</strong>
    case 'code':
      return <code>{node.text}</code>
    case 'pre':
      return <pre tabIndex={0} role="group" aria-label="Code"><code>{node.text}</code></pre>
    case 'ul':
      return <ul>{inner}</ul>
    case 'ol':
      return <ol>{inner}</ol>
    case 'li':
      return <li dir="auto">{inner}</li>
    case 'blockquote':
      return <blockquote>{inner}</blockquote>
    case 'h3':
      return <h4>{inner}</h4>
    case 'hr':
      return <hr />
    case 'br':
      return <br />
    case 'a':
      return <a href={elsewhere(node.text ?? '')} target="_blank" rel="noopener noreferrer">{inner}</a>
    case 'view':
      return <View to={node.text ?? ''}>{inner}</View>
  }
  return inner
}

/** elsewhere lets an address lead to another page, and nowhere else. */
function elsewhere(address: string): string {
  return /^(https?:\/\/|mailto:)/i.test(address) ? address : '#'
}

function View({ to, children }: { to: string; children: ComponentChildren }) {
  const { teller } = usePage()
  return <button class="view-link" title="Look at it" onClick={() => void teller.look(to)}>{children}</button>
}
