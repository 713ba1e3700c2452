/**
 * A sum over the front of an array that only grows: what was visited once is not visited again, so that a round costs what it added
 * and not what the conversation holds.
 *
 * P1. Kept by the array's identity, as a value for each length. Another array, a compaction's for one, begins anew.
 * P2. An array that was shortened or written over at the length asked for is told by its last item, and begins anew.
 */
export type Fold<A, B> = (items: ReadonlyArray<A>, count?: number) => B

/** `count` items from the front (default: all) folded with `step`, beginning with `first`. */
export const fold = <A extends object, B>(first: B, step: (before: B, item: A) => B): Fold<A, B> => {
  const kept = new WeakMap<ReadonlyArray<A>, Array<Visited<A, B>>>()
  return (items, count = items.length) => {
    const length = Math.min(count, items.length)
    if (length <= 0) return first
    let visited = kept.get(items)
    if (visited === undefined || !agrees(visited, items, length)) {
      visited = []
      kept.set(items, visited)
    }
    while (visited.length < length) {
      const item = items[visited.length]
      if (item === undefined) break
      visited.push({ item, value: step(visited.at(-1)?.value ?? first, item) })
    }
    return visited[length - 1]?.value ?? first
  }
}

interface Visited<A, B> {
  readonly item: A
  readonly value: B
}

const agrees = <A, B>(visited: ReadonlyArray<Visited<A, B>>, items: ReadonlyArray<A>, length: number): boolean => {
  const at = Math.min(visited.length, length) - 1
  return visited[at]?.item === items[at]
}
