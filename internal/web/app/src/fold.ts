// With folded time, long idle stretches take as little room as a short one.
// The picture is linear in folded time; this is the way there and back.

export interface Fold {
  from: number
  to: number
  kept: number // how long the stretch seems
}

/** fold returns the folded time of a real one. */
export function fold(folds: Fold[], t: number): number {
  let gone = 0
  for (const f of folds) {
    if (t <= f.from) break
    const long = f.to - f.from
    gone += (long - f.kept) * Math.min(1, (t - f.from) / long)
  }
  return t - gone
}

/** unfold is fold's inverse. */
export function unfold(folds: Fold[], u: number): number {
  let gone = 0
  for (const f of folds) {
    const start = f.from - gone
    if (u <= start) break
    const long = f.to - f.from
    if (u < start + f.kept) return f.from + (long * (u - start)) / f.kept
    gone += long - f.kept
  }
  return u + gone
}
