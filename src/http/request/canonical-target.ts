import { attempt } from '../../lib/encoding/parse-error.ts';

/** Literal characters of a path (RFC 3986), without `;`, with which parameters start for some servers. */
const PATH_CHARACTERS = /^[A-Za-z0-9\-._~:@!$&'()*+,=/%]*$/;
/** Visible ASCII without `#`, and without `;`, which some servers read as `&`. */
const QUERY_CHARACTERS = /^[!-"$-:<-~]*$/;
/** Characters whose escape is equivalent to the character, or has a meaning for some server after decoding. */
const NEEDLESSLY_ESCAPED = /[A-Za-z0-9\-._~@/\\%?#;\p{Cc}]/u;
const ESCAPED_COLON = /%3A/gi;

export interface RequestTarget {
  readonly path: string;
  /** Without the question mark; empty if there is none. */
  readonly query: string;
}

/** Replaces `%3A` by `:` in the path: some clients escape the colon of `transactions:listErc20`, and every server reads both alike. */
export function unescapeColons(url: string): string {
  if (!url.includes('%')) return url;
  const { path } = splitTarget(url);
  return path.replace(ESCAPED_COLON, ':') + url.slice(path.length);
}

/**
 * Returns the problem of a request target that servers may read differently, in words that follow `the`; undefined if there is none. A
 * target is forwarded unchanged, so what some servers correct or decode and others do not is refused: dot segments, encoded slashes,
 * characters encoded twice, empty segments.
 */
export function findTargetProblem({ path, query }: RequestTarget): string | undefined {
  const problem = findPathProblem(path);
  if (problem !== undefined) return `path of the URL ${problem}`;
  const queryProblem = findQueryProblem(query);
  return queryProblem && `query of the URL ${queryProblem}`;
}

function findPathProblem(path: string): string | undefined {
  if (!path.startsWith('/') || !PATH_CHARACTERS.test(path)) return 'has a character that does not belong there';
  if (path.includes('//') || path.endsWith('/')) return 'has an empty segment';
  if (path.includes('.') && hasDotSegment(path)) return 'has a dot segment';
  return path.includes('%') ? findEscapeProblem(path) : undefined;
}

function hasDotSegment(path: string): boolean {
  const segments = path.split('/');
  return segments.some((segment) => segment === '.' || segment.startsWith('..') || segment.endsWith('..'));
}

/** Allows any escape, because names and values are checked after decoding. */
function findQueryProblem(query: string): string | undefined {
  if (!QUERY_CHARACTERS.test(query)) return 'has a character that must be escaped';
  return query.includes('%') && !isUtf8(query) ? 'has an escape that is broken or not UTF-8' : undefined;
}

function findEscapeProblem(path: string): string | undefined {
  for (const [escape] of path.matchAll(/%.{0,2}/g)) {
    if (!/^%[0-9a-fA-F]{2}$/.test(escape)) return `has a broken escape ${escape}`;
    const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    // Bytes from 0x80 on are parts of UTF-8 characters.
    if (character < '\x80' && NEEDLESSLY_ESCAPED.test(character))
      return `has the escape ${escape}, which is not forwarded`;
  }
  return isUtf8(path) ? undefined : 'is not UTF-8';
}

export function splitTarget(url: string): RequestTarget {
  const mark = url.indexOf('?');
  return mark === -1 ? { path: url, query: '' } : { path: url.slice(0, mark), query: url.slice(mark + 1) };
}

function isUtf8(text: string): boolean {
  return !(attempt(() => decodeURIComponent(text), URIError) instanceof URIError);
}
