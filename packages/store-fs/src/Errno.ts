/** What a failed call to the operating system means, in words a user can act on. Pure and total. */

const words: ReadonlyMap<string, string> = new Map([
  ["ENOSPC", "no space is left on the disk; free some, then go on"],
  ["EDQUOT", "the disk quota is used up; free some space, then go on"],
  ["EFBIG", "the file would grow beyond the size that is allowed here"],
  ["EACCES", "permission is denied; check who owns it and its mode"],
  ["EPERM", "the operation is not permitted"],
  ["EROFS", "the file system is read-only"],
  ["EIO", "the disk reports an input/output error"],
  ["ENOENT", "there is no such file or folder"],
  ["ENOTDIR", "a part of the path is not a folder"],
  ["EEXIST", "something else has that name"],
  ["EISDIR", "it is a folder, not a file"],
  ["EMFILE", "this process has too many files open"],
  ["ENFILE", "the system has too many files open"],
  ["ENAMETOOLONG", "the name is too long"],
  ["ELOOP", "its symbolic links form a loop"],
  ["ESTALE", "the network file system lost the file"]
])

/** The code of a Node error (`ENOSPC`), or undefined for anything else. */
export const code = (error: unknown): string | undefined => {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined
  return typeof error.code === "string" ? error.code : undefined
}

/** One clause, with the code in brackets. */
export const describe = (error: unknown): string => {
  const known = code(error)
  if (known !== undefined) return `${words.get(known) ?? "the system refused"} (${known})`
  return error instanceof Error ? error.message : String(error)
}

/** Failures that pass: the file is as it was, and the next write may well succeed. */
export const passes = (error: unknown): boolean => {
  const known = code(error)
  return known === "ENOSPC" || known === "EDQUOT" || known === "EFBIG" || known === "EAGAIN" || known === "EINTR"
}
