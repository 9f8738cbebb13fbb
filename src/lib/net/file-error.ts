/** Our words for the codes of file systems, whose messages name calls. */
const WORDS: ReadonlyMap<unknown, string> = new Map([
  ['ENOENT', 'there is no such file'],
  ['EISDIR', 'it is a folder'],
  ['ENOTDIR', 'a part of its path is a file, in place of a folder'],
  ['EACCES', 'permission denied'],
  ['EROFS', 'the file system is read-only'],
  ['ENOSPC', 'there is no space left'],
]);

/** Describes why a file or folder cannot be read or written, without its path. */
export function describeFileError(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  return WORDS.get('code' in cause ? cause.code : undefined) ?? cause.message;
}
