/** The known word closest to a mistyped one. Pure. */

/** Edit distance: one insertion, deletion, replacement or swap of neighbours costs 1. */
export const distance = (a: string, b: string): number => {
  let before: ReadonlyArray<number> = []
  let above = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      const least = Math.min((above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (above[j - 1] ?? 0) + (same ? 0 : 1))
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row.push(swapped ? Math.min(least, (before[j - 2] ?? 0) + 1) : least)
    }
    before = above
    above = row
  }
  return above[b.length] ?? 0
}

/** The nearest known word, when it is near enough to be meant: at most a third of its letters differ, case aside. */
export const nearest = (word: string, known: Iterable<string>): string | undefined => {
  let best: { readonly word: string; readonly cost: number } | undefined
  for (const candidate of known) {
    const cost = distance(word.toLowerCase(), candidate.toLowerCase())
    if (cost <= Math.max(1, Math.ceil(candidate.length / 3)) && cost < (best?.cost ?? Infinity))
      best = { word: candidate, cost }
  }
  return best?.word
}

/** ` Did you mean "models"?`, or nothing. */
export const hint = (word: string, known: Iterable<string>): string => {
  const found = nearest(word, known)
  return found === undefined ? "" : ` Did you mean "${found}"?`
}
