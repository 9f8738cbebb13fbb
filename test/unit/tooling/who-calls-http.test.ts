import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, written } from '../../../scripts/checks/project.ts';

const CALLS = [
  /^import (?!type\b)(?!\{ type [^,}]* \})[^;]*from 'undici'/m,
  /['"]undici\//,
  /(?<![.\w#])fetch\(\s*[`'"\w]/,
  /^import (?:\* as )?\w+ from 'node:(?:https?|http2)'/m,
  /^import (?!type\b)[^;]*\b(?:request|get|connect)\b[^;]*from 'node:http/m,
];

/** Each is opened for one address, which the configuration gives: nothing else can be called over HTTP or a web socket. */
test('HTTP and web sockets are opened in one file each', () => {
  const callers = written
    // Of the console, what runs in the browser, which calls its own origin.
    .filter((file) => file.startsWith('src/') && !file.startsWith('src/console/page/'))
    .filter((file) => CALLS.some((pattern) => pattern.test(readFileSync(join(ROOT, file), 'utf8'))));
  // In the cache it is the name of a parameter.
  expect(callers.filter((file) => file !== 'src/proxy/client/response-cache.ts')).toEqual([
    'src/lib/net/http-port.ts',
    'src/lib/net/web-socket.ts',
  ]);
});
