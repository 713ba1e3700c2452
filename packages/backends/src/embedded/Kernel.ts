/**
 * The inner loops: matrix times vector, for one position and for two at once.
 *
 * K1. Every output is summed over `j` from first to last, in both forms, so that a number never depends on how positions were
 *     grouped: a reply is the same whether its prompt was kept or evaluated again.
 * K2. Several sums run side by side, so that one load serves more than one of them; that is all the speed there is.
 */

/** What a product reads and where it puts it. Vectors of a second position follow the first at these distances. */
export interface Product {
  readonly weights: Float32Array
  /** Length of a row, and of the vector. */
  readonly columns: number
  readonly rows: number
}

/** `out[at + i] = weights[i] · x` for one position. */
export const one = (out: Float32Array, at: number, x: Float32Array, { columns, rows, weights: w }: Product): void => {
  const whole = rows - (rows % 4)
  let row = 0
  for (let i = 0; i < whole; i += 4) {
    const row1 = row + columns
    const row2 = row1 + columns
    const row3 = row2 + columns
    let a = 0
    let b = 0
    let c = 0
    let d = 0
    for (let j = 0; j < columns; j++) {
      const value = x[j]!
      a += w[row + j]! * value
      b += w[row1 + j]! * value
      c += w[row2 + j]! * value
      d += w[row3 + j]! * value
    }
    out[at + i] = a
    out[at + i + 1] = b
    out[at + i + 2] = c
    out[at + i + 3] = d
    row = row3 + columns
  }
  for (let i = whole; i < rows; i++, row += columns) {
    let a = 0
    for (let j = 0; j < columns; j++) a += w[row + j]! * x[j]!
    out[at + i] = a
  }
}

/** The same for two positions, `x[0..columns)` and `x[columns..2·columns)`; the second result follows `rows` later. */
export const two = (out: Float32Array, at: number, x: Float32Array, { columns, rows, weights: w }: Product): void => {
  const whole = rows - (rows % 2)
  let row = 0
  for (let i = 0; i < whole; i += 2) {
    const row1 = row + columns
    let a = 0
    let b = 0
    let c = 0
    let d = 0
    for (let j = 0; j < columns; j++) {
      const u = w[row + j]!
      const v = w[row1 + j]!
      const p = x[j]!
      const q = x[columns + j]!
      a += u * p
      b += u * q
      c += v * p
      d += v * q
    }
    out[at + i] = a
    out[at + rows + i] = b
    out[at + i + 1] = c
    out[at + rows + i + 1] = d
    row = row1 + columns
  }
  for (let i = whole; i < rows; i++, row += columns) {
    let a = 0
    let b = 0
    for (let j = 0; j < columns; j++) {
      a += w[row + j]! * x[j]!
      b += w[row + j]! * x[columns + j]!
    }
    out[at + i] = a
    out[at + rows + i] = b
  }
}
