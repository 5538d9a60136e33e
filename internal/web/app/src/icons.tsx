// The page's icons, drawn on a grid of 16.

const paths = {
  search: 'M7 12a5 5 0 1 0 0-10 5 5 0 0 0 0 10Zm3.6-1.4L14 14',
  sun: 'M8 10.8a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6ZM8 1v1.6M8 13.4V15M1 8h1.6M13.4 8H15M3 3l1.1 1.1M11.9 11.9 13 13M3 13l1.1-1.1M11.9 4.1 13 3',
  moon: 'M13.5 9.6A5.8 5.8 0 0 1 6.4 2.5a5.8 5.8 0 1 0 7.1 7.1Z',
  help: 'M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13ZM6 6.3c.2-1.2 1-1.8 2-1.8 1.2 0 2 .8 2 1.8 0 1.4-2 1.5-2 3M8 11.4v.2',
  export: 'M8 10V2M5 4.6 8 1.8l3 2.8M2.5 9.5v4h11v-4',
  close: 'M3.5 3.5l9 9M12.5 3.5l-9 9',
  findings: 'M8 1.8 14.6 13.5H1.4ZM8 6.3v3.2M8 11.5v.2',
  counters: 'M1.5 13.5h13M2 10h3V6h4v2.5h3V3h2.5',
  timeline: 'M1.5 4h8M5 8h9.5M1.5 12h6',
  table: 'M1.8 2.5h12.4v11H1.8ZM1.8 6.2h12.4M1.8 9.9h12.4M6.5 6.2v7.3',
  back: 'M7 3.5 2.5 8 7 12.5M2.5 8h11',
  forth: 'M9 3.5 13.5 8 9 12.5M13.5 8h-11',
  fit: 'M2 5.5V2h3.5M10.5 2H14v3.5M14 10.5V14h-3.5M5.5 14H2v-3.5',
  pin: 'M6 1.8h4M6.7 1.8v4.4L4.2 9.3h7.6L9.3 6.2V1.8M8 9.3v5',
  link: 'M6.7 9.3 9.3 6.7M7.3 4.6l1.5-1.5a2.9 2.9 0 0 1 4.1 4.1l-1.5 1.5M8.7 11.4l-1.5 1.5a2.9 2.9 0 0 1-4.1-4.1l1.5-1.5',
  reload: 'M13.5 8a5.5 5.5 0 1 1-1.7-4M13.5 1.8v3h-3',
  follow: 'M2 8h8M7.5 4.5 11 8l-3.5 3.5M13.8 3v10',
  mark: 'M4 14.5V2h8l-2 3 2 3H4',
  more: 'M3 8h.1M8 8h.1M13 8h.1',
  command: 'M3 5l3 3-3 3M8.5 11.5H13',
  rows: 'M2 3h12M2 6h12M2 8h12M2 10h12M2 13h12',
  eye: 'M1.3 8S3.8 3.6 8 3.6 14.7 8 14.7 8 12.2 12.4 8 12.4 1.3 8 1.3 8ZM8 9.9a1.9 1.9 0 1 0 0-3.8 1.9 1.9 0 0 0 0 3.8Z',
  plus: 'M8 3v10M3 8h10',
  story: 'M8 4.2C6.6 3 4.6 2.6 2 2.8v9.6c2.6-.2 4.6.2 6 1.3 1.4-1.1 3.4-1.5 6-1.3V2.8c-2.6-.2-4.6.2-6 1.4ZM8 4.2v9.5',
  trash: 'M3 4h10M6 4V2.5h4V4M4.5 4l.6 9.5h5.8l.6-9.5',
}

export type IconName = keyof typeof paths

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={paths[name]} fill="none" stroke="currentColor" stroke-width="1.4" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  )
}
