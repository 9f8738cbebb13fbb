/**
 * The rule by which a request target is passed on as it came: read by any server, it must mean what it means to us. URLs
 * that some servers mend or decode and others do not (dot segments, encoded slashes, twice encoded characters, empty
 * segments) are refused instead of being mended.
 */

/** What a path holds literally, by RFC 3986, without `;`, which some servers take for the start of parameters. */
const PATH_CHARACTERS = /^[A-Za-z0-9\-._~:@!$&'()*+,=/%]*$/;
/** Visible ASCII without `#`. */
const QUERY_CHARACTERS = /^[!-~]*$/;
/** Characters whose escape means the same as they themselves, or that some server gives a meaning after decoding. */
const NEEDLESSLY_ESCAPED = /[A-Za-z0-9\-._~:@/\\%?#;\p{Cc}]/u;

export interface RequestTarget {
  readonly path: string;
  /** Without the question mark; empty where there is none. */
  readonly query: string;
}

/** What is wrong with a request target, in words that go after `the path of the URL`; undefined where nothing is. */
export function findTargetProblem({ path, query }: RequestTarget): string | undefined {
  if (!path.startsWith('/') || !PATH_CHARACTERS.test(path)) return 'has a character that does not belong there';
  const segments = path.slice(1).split('/');
  if (segments.includes('')) return 'has an empty segment';
  if (segments.some((segment) => segment === '.' || segment.startsWith('..') || segment.endsWith('..'))) {
    return 'has a dot segment';
  }
  if (path.includes('%')) {
    const problem = findEscapeProblem(path);
    if (problem !== undefined) return problem;
  }
  if (!QUERY_CHARACTERS.test(query) || query.includes('#')) return 'has a query with a character that must be escaped';
  return undefined;
}

function findEscapeProblem(path: string): string | undefined {
  for (const [escape] of path.matchAll(/%.{0,2}/g)) {
    if (!/^%[0-9a-fA-F]{2}$/.test(escape)) return `has a broken escape ${escape}`;
    const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    // Bytes from 0x80 on are parts of UTF-8 characters.
    if (character < '\x80' && NEEDLESSLY_ESCAPED.test(character))
      return `has the escape ${escape}, which is not passed on`;
  }
  return isUtf8(path) ? undefined : 'is not UTF-8';
}

export function splitTarget(url: string): RequestTarget {
  const mark = url.indexOf('?');
  return mark === -1 ? { path: url, query: '' } : { path: url.slice(0, mark), query: url.slice(mark + 1) };
}

function isUtf8(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
